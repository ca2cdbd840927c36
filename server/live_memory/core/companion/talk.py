"""One question's talk with the model, as an immutable value that only grows."""

from dataclasses import dataclass, replace
from typing import Self

from live_memory.core.companion.chat import (
    Block,
    Message,
    ModelReply,
    ModelRequest,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)

__all__ = ["Talk"]


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said so far, and how many replies there were."""

    system: tuple[Block, ...]
    messages: tuple[Message, ...]
    replies: int = 0

    def request(self, tools: tuple[ToolSpec, ...], *, max_output_tokens: int) -> ModelRequest:
        """The next call; tools stay the same through a talk, or the cache would be lost."""
        return ModelRequest(self.system, self.messages, tools, max_output_tokens)

    def heard(self, reply: ModelReply) -> Self:
        """Add the model's turn."""
        return replace(self, messages=(*self.messages, reply.turn), replies=self.replies + 1)

    def saw(self, results: tuple[ToolResult, ...]) -> Self:
        """Add what its calls gave."""
        return replace(self, messages=(*self.messages, ToolResults(results)))

    def told(self, text: str) -> Self:
        """Add a sentence of ours."""
        return replace(self, messages=(*self.messages, UserTurn((Block(text),))))
