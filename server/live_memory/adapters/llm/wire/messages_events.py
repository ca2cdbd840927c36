"""Messages API events into a draft; its input count leaves the cache out, ours does not."""

import json
from collections.abc import Mapping

from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import Complaint
from live_memory.adapters.llm.wire.draft import Draft, DraftCall
from live_memory.core.companion.chat import ReplyStop

__all__ = ["MessagesEvents"]

# `pause_turn` is a turn that the model meant to go on with, so it is cut.
_STOPS = {
    "max_tokens": ReplyStop.LENGTH,
    "tool_use": ReplyStop.TOOL_CALLS,
    "refusal": ReplyStop.REFUSED,
    "pause_turn": ReplyStop.CUT,
}
_FULL = "model_context_window_exceeded"


class MessagesEvents:
    """Reads the events of one reply into its draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._calls: dict[int, DraftCall] = {}
        self._thinking: dict[int, dict[str, str]] = {}
        self._input: dict[str, int] = {}

    def take(self, event: Mapping[str, object]) -> str:
        """Take the next event, or a reply that came whole, and give what may be shown of it.

        Raises:
            Complaint: the endpoint reported an error inside the stream.
        """
        index, kind = loose.count(event.get("index")), loose.string(event.get("type"))
        if kind == "error" or event.get("error"):
            raise Complaint(0, json.dumps({"error": event.get("error")}), {})
        match kind:
            case "message_start":
                return self._start(loose.mapping(event.get("message")))
            case "content_block_start":
                return self._open(index, loose.mapping(event.get("content_block")))
            case "content_block_delta":
                return self._hear(index, loose.mapping(event.get("delta")))
            case "message_delta":
                self._stop(loose.string(loose.mapping_in(event, "delta").get("stop_reason")))
                self._count(loose.mapping(event.get("usage")))
            case "message_stop":
                self._draft.is_complete = True
            case _ if "content" in event:
                shown = self._start(event)
                self._stop(loose.string(event.get("stop_reason")))
                return shown
            case _:
                pass
        return ""

    def _start(self, message: Mapping[str, object]) -> str:
        self._draft.model = loose.string(message.get("model")) or self._draft.model
        self._count(loose.mapping(message.get("usage")))
        blocks = enumerate(loose.items(message.get("content")))
        return "".join(self._open(index, loose.mapping(block)) for index, block in blocks)

    def _open(self, index: int, block: Mapping[str, object]) -> str:
        match block.get("type"):
            case "tool_use":
                call = DraftCall(loose.string(block.get("id")), loose.string(block.get("name")))
                self._calls[index] = call
                self._draft.calls.append(call)
                if block.get("input"):
                    call.add(json.dumps(block["input"]))
            case "thinking" | "redacted_thinking":
                texts = {key: value for key, value in block.items() if isinstance(value, str)}
                self._thinking[index] = texts
                self._draft.echo["thinking"] = list(self._thinking.values())
            case "text":
                return self._draft.spoken.add(loose.string(block.get("text")))
        return ""

    def _hear(self, index: int, delta: Mapping[str, object]) -> str:
        if piece := loose.string(delta.get("text")):
            return self._draft.spoken.add(piece)
        if (piece := loose.string(delta.get("partial_json"))) and index in self._calls:
            self._calls[index].add(piece)
        for key in ("thinking", "signature"):
            if (piece := loose.string(delta.get(key))) and index in self._thinking:
                thought = self._thinking[index]
                thought[key] = thought.get(key, "") + piece
        return ""

    def _count(self, usage: Mapping[str, object]) -> None:
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            self._input[key] = loose.count(usage.get(key)) or self._input.get(key, 0)
        if usage:
            self._draft.counted(
                input=sum(self._input.values()),
                cache_read=self._input["cache_read_input_tokens"],
                cache_write=self._input["cache_creation_input_tokens"],
                output=loose.count(usage.get("output_tokens")),
            )

    def _stop(self, reason: str) -> None:
        self._draft.is_overflow = reason == _FULL
        if reason:
            self._draft.stop = _STOPS.get(reason, ReplyStop.END)
