"""`/metrics`: what is open now and what models took, in the text form that Prometheus reads."""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from live_memory import __version__
from live_memory.core.companion.chat import Spend
from live_memory.core.reading.observation import clean, visible
from live_memory.flow.workspace import WorkspaceStats

__all__ = ["CONTENT_TYPE", "told"]

CONTENT_TYPE = CONTENT_TYPE_LATEST

_OF_WORKSPACE = {
    "indexed_files": "Files in the index.",
    "files_waiting": "Files that are not indexed yet.",
    "known_files": "Files that memory knows by the bytes they have.",
    "facts": "Facts in the ledger, findings among them.",
    "findings": "Facts that agents concluded.",
    "stale_facts": "Facts whose files changed since.",
    "notes": "Notes that people and agents told, and that count.",
    "open_handoffs": "Handoffs that can be claimed.",
    "questions": "Questions answered.",
    "questions_answered_by_findings": "Questions that findings led.",
    "window_tokens": "Tokens in the window.",
    "model_calls": "Calls of a model for this workspace.",
    "cost_usd": "US dollars that these took.",
    "tokens_saved": "Tokens of reading that answers spared, negative where they took more.",
    "hook_events": "Events of hosts since the workspace was opened.",
    "dropped_events": "Events lost to a bound.",
}
_OF_SPEND = {
    "calls": "Calls of models since the server started.",
    "tokens": "Tokens in and out of models since the server started.",
    "cached_tokens": "Of these, tokens that a provider's cache had.",
    "cost_usd": "US dollars that models took since the server started.",
    "unpriced_calls": "Calls whose price is not known.",
}


def told(open_now: Sequence[WorkspaceStats], spend: Spend) -> bytes:
    """The figures of the workspaces that are open, and of all models by cause."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(_families(open_now, spend)))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(open_now: Sequence[WorkspaceStats], spend: Spend) -> Iterator[Metric]:
    yield InfoMetricFamily("live_memory", "The server.", value={"version": __version__})
    yield GaugeMetricFamily("live_memory_open_workspaces", "Open workspaces.", len(open_now))
    for name, says in _OF_WORKSPACE.items():
        family = GaugeMetricFamily(f"live_memory_{name}", says, labels=["workspace"])
        for stats in open_now:
            family.add_metric([visible(clean(stats.workspace.root))], getattr(stats, name))
        yield family
    for name, says in _OF_SPEND.items():
        counter = CounterMetricFamily(f"live_memory_model_{name}", says, labels=["cause"])
        for cause, spent in spend.by_cause.items():
            counter.add_metric([cause.value], getattr(spent, name))
        yield counter
