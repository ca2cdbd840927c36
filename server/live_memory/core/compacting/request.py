"""What a model is asked when entries become facts: lines, earlier answers as hints, old facts.

It gets no tools, and neither the question at hand nor the last ones: a summary should serve
whatever is asked next.
"""

from collections.abc import Iterator, Sequence
from importlib import resources

from live_memory.core.asking.answer import CUT_OFF
from live_memory.core.compacting.standing import SourceText
from live_memory.core.companion.chat import Block, Cause, ModelRequest, UserTurn
from live_memory.core.companion.rendering import numbered, one_line, quoted, render_fact
from live_memory.core.memory.coverage import Span, merged
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.memory.ledger import Fact
from live_memory.core.values import RelPath

__all__ = ["summary_request"]

# A fact of two sentences with its place, as a JSON line; all of them must fit one reply of the
# cheap models there are.
_TOKENS_A_FACT, _MOST_TOKENS = 130, 8_000


def summary_request(
    sources: Sequence[SourceText],
    answers: Sequence[QuestionAnswered],
    doubtful: Sequence[Fact],
    *,
    most_facts: int,
) -> ModelRequest:
    """Ask for the facts that these lines hold."""
    parts = [text for source in sources for text in _shown(source)]
    for asked in answers:
        parts.append(f"=== earlier question\n{quoted(asked.question.text)}")
        is_whole = CUT_OFF not in (asked.answer.notice or "")
        what = "a hint" if is_whole else "a hint that was cut off before its end"
        parts.append(f"=== its answer, {what}\n{quoted(asked.answer.text)}")
    if doubtful:
        old = "".join(quoted(render_fact(fact)) for fact in doubtful)
        parts.append(f"=== facts whose source changed since\n{old}")
    parts.append(f"=== task\nWrite at most {most_facts} facts as JSON lines.\n")
    page = resources.files("live_memory.core.compacting").joinpath("summary.md")
    return ModelRequest(
        system=(Block(page.read_text(encoding="utf-8"), is_cache_end=True),),
        messages=(UserTurn(tuple(Block(part) for part in parts)),),
        max_output_tokens=max(_TOKENS_A_FACT, min(_TOKENS_A_FACT * most_facts, _MOST_TOKENS)),
        cause=Cause.COMPACTION,
    )


def _shown(source: SourceText) -> Iterator[str]:
    """Each run of lines under its own header, so that gaps show."""
    for start, end in merged((n, n) for n in source.lines):
        yield _header(source.path, (start, end)) + numbered(
            tuple(one_line(source.lines[n]) for n in range(start, end + 1)), start=start
        )


def _header(path: RelPath, lines: Span) -> str:
    return f"=== file {one_line(path.text)}, lines {lines[0]}-{lines[1]}\n"
