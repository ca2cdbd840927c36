"""A talk as the client takes it: its first turn as it is, what followed as a record in words.

The client takes only a user's words. So when a talk must go on in a new client, what its model
said and saw before is told to it, behind the same first turn, which a provider's cache knows.
"""

from collections.abc import Sequence
from typing import assert_never

from live_memory.adapters.llm.claude_cli.speech import Json
from live_memory.core.companion.chat import AssistantTurn, Block, Message, ToolResults, UserTurn
from live_memory.core.companion.rendering import quoted

__all__ = ["content_of", "retold"]


def content_of(turn: UserTurn, *, has_mark: bool) -> list[Json]:
    """Our words; of the cache's marks the last is kept, for the client sets three of its four."""
    blocks = [block for block in turn.blocks if block.text.strip()]
    last = max((n for n, block in enumerate(blocks) if block.is_cache_end), default=None)
    return [_block(block, is_marked=has_mark and n == last) for n, block in enumerate(blocks)]


def retold(messages: Sequence[Message], *, has_mark: bool) -> list[Json]:
    """A whole talk, as one turn of ours."""
    first, *rest = messages
    if not isinstance(first, UserTurn):
        first, rest = UserTurn(()), list(messages)
    content = content_of(first, has_mark=has_mark)
    content += [_block(Block(text), is_marked=False) for text in map(_told, rest)]
    return content


def _told(message: Message) -> str:
    match message:
        case UserTurn(blocks):
            return "".join(block.text for block in blocks)
        case AssistantTurn(text, tool_calls):
            calls = "".join(f"{call.name} {call.arguments}\n" for call in tool_calls)
            return f"=== you said so far\n{quoted(text)}=== you called\n{quoted(calls)}"
        case ToolResults(results):
            return "".join(f"=== result\n{quoted(result.text)}" for result in results)
        case _:
            assert_never(message)


def _block(block: Block, *, is_marked: bool) -> Json:
    text: Json = {"type": "text", "text": block.text}
    return {**text, "cache_control": {"type": "ephemeral"}} if is_marked else text
