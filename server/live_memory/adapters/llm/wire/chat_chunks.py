"""Chat Completions chunks into a draft: native calls, both ways of counting cached tokens."""

import json
from collections.abc import Mapping

from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import Complaint
from live_memory.adapters.llm.wire.draft import Draft, DraftCall
from live_memory.core.companion.chat import ReplyStop

__all__ = ["ChatChunks"]

_STOPS = {
    "length": ReplyStop.LENGTH,
    "max_tokens": ReplyStop.LENGTH,
    "content_filter": ReplyStop.REFUSED,
    "tool_calls": ReplyStop.TOOL_CALLS,
    "function_call": ReplyStop.TOOL_CALLS,
}


class ChatChunks:
    """Reads the events of one reply into its draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._by_index: dict[int, DraftCall] = {}
        self._reasoning: list[str] = []

    def take(self, event: Mapping[str, object]) -> str:
        """Take the next event, or a reply that came whole, and give what may be shown of it.

        Raises:
            Complaint: the endpoint stopped because it has too much to do.
        """
        self._draft.model = loose.string(event.get("model")) or self._draft.model
        self._count(event.get("usage") or loose.mapping_in(event, "x_groq", "usage"))
        choices = loose.items(event.get("choices"))
        choice = loose.mapping(choices[0]) if choices else {}
        shown = self._hear(loose.mapping(choice.get("delta") or choice.get("message")))
        self._stop(loose.string(choice.get("finish_reason")))
        return shown

    def _hear(self, delta: Mapping[str, object]) -> str:
        for field in ("reasoning_content", "reasoning"):
            if piece := loose.string(delta.get(field)):
                self._reasoning.append(piece)
                self._draft.echo["reasoning_content"] = "".join(self._reasoning)
                break
        for part in loose.items(delta.get("tool_calls")):
            self._call(loose.mapping(part))
        if refusal := loose.string(delta.get("refusal")):
            self._draft.stop = ReplyStop.REFUSED
            return self._draft.spoken.add(refusal)
        return self._draft.spoken.add(_content(delta.get("content")))

    def _call(self, part: Mapping[str, object]) -> None:
        function = loose.mapping(part.get("function"))
        call_id, name = loose.string(part.get("id")), loose.string(function.get("name"))
        index = loose.count(part.get("index")) if "index" in part else len(self._by_index) - 1
        call = self._by_index.get(index)
        # Some endpoints give every call the same index, or none, and tell them apart by id.
        if call is None or (call_id and call.id and call_id != call.id):
            index = index if index not in self._by_index and index >= 0 else len(self._by_index)
            call = DraftCall()
            self._by_index[index] = call
            self._draft.calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        arguments = function.get("arguments")
        if arguments is not None:
            call.add(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _count(self, usage: object) -> None:
        numbers = loose.mapping(usage)
        details = loose.mapping(numbers.get("prompt_tokens_details"))
        if not numbers:
            return
        self._draft.counted(
            input=loose.count(numbers.get("prompt_tokens")),
            cache_read=loose.count(details.get("cached_tokens"))
            or loose.count(numbers.get("prompt_cache_hit_tokens")),
            cache_write=loose.count(details.get("cache_write_tokens")),
            output=loose.count(numbers.get("completion_tokens")),
        )

    def _stop(self, reason: str) -> None:
        if reason == "insufficient_system_resource":
            raise Complaint(503, reason, {})
        if reason and self._draft.stop is not ReplyStop.REFUSED:
            self._draft.stop = _STOPS.get(reason, ReplyStop.END)


def _content(value: object) -> str:
    """Text, which some endpoints send as a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(loose.string(loose.mapping(part).get("text")) for part in loose.items(value))
