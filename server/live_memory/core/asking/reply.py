"""An answer as the caller reads it: text, sources of a model's with their checks, one last line."""

from live_memory.core.asking.answer import Answer, CitationStatus, Mode, StopReason
from live_memory.core.reading.inert import visible
from live_memory.core.reading.text import clean

__all__ = ["render"]

# A default answer stays under this many characters; clients move longer tool
# results to a file. More is allowed only to a caller who asked for more tokens.
_MARKS = {
    CitationStatus.VERIFIED: "verified",
    CitationStatus.CORRECTED: "line corrected",
    CitationStatus.UNSUPPORTED: "not found there",
}


def render(answer: Answer) -> str:
    """One text block, which does nothing where it is shown."""
    parts = [f"({answer.notice})"] if answer.notice else []
    if answer.stop is not StopReason.ANSWERED:
        parts.append(f"(Partial: stopped by {answer.stop}.)")
    parts.append(answer.text.rstrip())
    # Without a model the text is its places.
    if answer.citations and answer.mode is not Mode.EVIDENCE:
        lines = [f"- {citation} ({_MARKS[citation.status]})" for citation in answer.citations]
        parts.append("Sources:\n" + "\n".join(lines))
    parts.append(_metadata(answer))
    return visible(clean("\n\n".join(parts) + "\n"))


def _metadata(answer: Answer) -> str:
    good = sum(c.status is CitationStatus.VERIFIED for c in answer.citations)
    fields = [
        f"mode {answer.mode}",
        f"model {' '.join((answer.model or 'none').split())}",
        f"{answer.elapsed_s:.1f} s",
        f"grounding {answer.grounding}",
        f"verified {good}/{len(answer.citations)}",
        f"files {len(answer.evidence)}",
    ]
    usage = answer.usage
    if usage.tool_calls:
        fields.append(f"tool calls {usage.tool_calls}")
    if usage.model_calls:
        cached = round(100 * usage.cached_tokens / max(1, usage.input_tokens))
        fields.append(
            f"tokens {usage.input_tokens} in ({cached} % cached) {usage.output_tokens} out"
        )
        fields.append(_price(answer))
        fields.append(f"window {100 * answer.window_share:.0f} %")
    else:
        fields.append("free")
    return "[" + " · ".join(fields) + "]"


def _price(answer: Answer) -> str:
    if answer.is_subscription:
        return "subscription"
    return "price unknown" if answer.cost_usd is None else f"${answer.cost_usd:.4f}"
