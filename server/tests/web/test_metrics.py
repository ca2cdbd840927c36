"""`/metrics` by the library's own parser, the page's figures and `/stats`, against the model's."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.scripted_endpoint import Text, serving
from tests.support.server import RunningServer, running_server

_USAGE = {
    "prompt_tokens": 1_234,
    "completion_tokens": 56,
    "prompt_tokens_details": {"cached_tokens": 1_000},
}


def test_metrics_page_stats_and_the_model_agree_to_the_token(tmp_path: Path) -> None:
    project = tmp_path / 'odd "name"\\'
    project.mkdir()
    (project / "a.py").write_text("RETRY_LIMIT = 3\n")
    with serving() as endpoint:
        model = endpoint.open(rules=[lambda _: Text("RETRY_LIMIT is 3 (a.py:1).", usage=_USAGE)])
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{model.base_url}/v1",
            "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
            "LIVE_MEMORY_PRICE_INPUT": "2",
            "LIVE_MEMORY_PRICE_OUTPUT": "10",
            "LIVE_MEMORY_SPEND_CAP_TOKENS_HOUR": "70000",
            "LIVE_MEMORY_SPEND_CAP_USD_DAY": "1.5",
        }
        with running_server(tmp_path / "server", **settings) as server:
            for question in ("Where is RETRY_LIMIT set?", "How often is it tried again?"):
                server.ask(question, project)
            note = {"cwd": str(project), "text": "It is 3, as ever.", "category": "decision"}
            server.request("POST", "/v1/remember", note)
            left = {"cwd": str(project), "action": "leave", "summary": "Half is done."}
            server.request("POST", "/v1/handoff", left)
            stats = _figures(server, f"/stats?cwd={quote(str(project))}")
            page = _figures(server, "/v1/overview")
            reply = server.request("GET", "/metrics")

    families = {
        family.name: family for family in text_string_to_metric_families(reply.body.decode())
    }
    calls = len(model.requests)
    assert calls >= 2

    def of_model(name: str) -> float:
        return sum(s.value for s in families[f"live_memory_model_{name}"].samples)

    assert of_model("calls") == calls == stats["model_calls"]
    assert of_model("tokens") == calls * (1_234 + 56)
    assert of_model("cached_tokens") == calls * 1_000
    assert of_model("unpriced_calls") == 0
    cost_usd = of_model("cost_usd")
    assert stats["cost_usd"] == pytest.approx(cost_usd)
    assert cost_usd > 0
    for told in (stats, page):
        assert sum(spent["calls"] for spent in told["spend"].values()) == calls
        assert sum(spent["tokens"] for spent in told["spend"].values()) == of_model("tokens")
        assert sum(spent["cached_tokens"] for spent in told["spend"].values()) == calls * 1_000
        assert told["caps"] == {"tokens_an_hour": 70_000, "usd_a_day": 1.5}
        lately = told["spent_lately"]
        assert lately["tokens_an_hour"] == of_model("tokens")
        assert lately["usd_a_day"] == pytest.approx(cost_usd)
    assert sum(hour["tokens"] for hour in page["hours"]) == of_model("tokens")
    assert sum(hour["cost_usd"] for hour in page["hours"]) == pytest.approx(cost_usd)
    (questions,) = families["live_memory_questions"].samples
    assert (questions.labels, questions.value) == ({"workspace": str(project)}, 2)
    assert (stats["notes"], stats["open_handoffs"]) == (1, 1)
    same = "notes open_handoffs facts known_files indexed_files tokens_saved cost_usd"
    for name in same.split():
        (sample,) = families[f"live_memory_{name}"].samples
        assert sample.value == stats[name], name
    assert reply.headers["content-type"].startswith("text/plain")


def _figures(server: RunningServer, path: str) -> dict[str, Any]:
    found: dict[str, Any] = server.request("GET", path).json
    return found


def test_what_was_paid_before_a_restart_counts_for_the_caps_alone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("RETRY_LIMIT = 3\n")
    with serving() as endpoint:
        model = endpoint.open(rules=[lambda _: Text("RETRY_LIMIT is 3 (a.py:1).", usage=_USAGE)])
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{model.base_url}/v1",
        }
        with running_server(tmp_path / "server", **settings) as server:
            server.ask("Where is RETRY_LIMIT set?", project)
        with running_server(tmp_path / "server", **settings) as server:
            stats = _figures(server, f"/stats?cwd={quote(str(project))}")
            page = _figures(server, "/v1/overview")

    took = len(model.requests) * (1_234 + 56)
    assert took > 0
    for told in (stats, page):
        assert told["spend"] == {}
        assert told["spent_lately"]["tokens_an_hour"] == took


def test_without_a_model_there_is_nothing_to_cap(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        for path in (f"/stats?cwd={quote(str(tmp_path))}", "/v1/overview"):
            told = _figures(server, path)
            assert (told["caps"], told["spent_lately"]) == (None, None)


def test_without_the_token_there_are_none(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.request("GET", "/metrics", headers={"Authorization": ""}).status == 401
