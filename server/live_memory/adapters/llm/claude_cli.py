"""The model behind the user's own Claude Code: one process for one question, never longer."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from live_memory.adapters.llm import prices
from live_memory.adapters.llm.claude_messages import content_of, refuses_marks, retold
from live_memory.adapters.llm.claude_process import Launcher, Session
from live_memory.adapters.llm.endpoint import EndpointQuirks
from live_memory.adapters.llm.installed_client import SERVER, ClaudeProgram
from live_memory.adapters.llm.quirks import cleaned
from live_memory.adapters.llm.reply_assembly import ReplyDraft
from live_memory.adapters.llm.reply_check import ModelWords, given_up, judged
from live_memory.adapters.llm.streaming import unheard
from live_memory.core.companion.chat import (
    Abilities,
    AssistantTurn,
    Message,
    ModelReply,
    ModelRequest,
    ToolResults,
    UserTurn,
)
from live_memory.core.errors import ModelUnavailable, ModelUnreachable
from live_memory.ports import LanguageModel

__all__ = ["ClaudeCli"]

# What the client calls the newest of the cheap models; the smallest window any of them has had.
_HAIKU, _CONTEXT_TOKENS = "haiku", 200_000
_LONGEST_NAME = 200
_MAKER = "https://api.anthropic.com"


@dataclass(slots=True)
class _Learned:
    """What running clients taught us."""

    model: str
    has_key: bool = False
    has_mark: bool = True


class ClaudeCli:
    """A `LanguageModel` that starts the client in `folder`, which is ours alone."""

    def __init__(self, program: ClaudeProgram, folder: Path, *, model: str = _HAIKU) -> None:
        self._launcher = Launcher(program, folder, model=model)
        self._learned = _Learned(model)

    @property
    def abilities(self) -> Abilities:
        """What is known of the model."""
        return _abilities(self._learned)

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[LanguageModel]:
        """A model for one question; at the end its process is gone."""
        talk = _Conversation(self._launcher, self._learned)
        try:
            yield talk
        finally:
            await talk.aclose()

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask once, in a process of its own."""
        async with self.conversation() as talk:
            return await talk.complete(request, heard=heard, lost=lost)

    async def aclose(self) -> None:
        """Every conversation ends its own process."""


class _Conversation:
    """Goes on in the running client as long as a request extends what was said there."""

    def __init__(self, launcher: Launcher, learned: _Learned) -> None:
        self._launcher = launcher
        self._learned = learned
        self._session: Session | None = None
        self._asked: ModelRequest | None = None
        self._known: tuple[Message, ...] = ()

    @property
    def abilities(self) -> Abilities:
        """What is known of the model."""
        return _abilities(self._learned)

    def conversation(self) -> AbstractAsyncContextManager[LanguageModel]:
        """It is one."""
        return nullcontext(self)

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask once; cancelled, the client goes on running and can be told to conclude."""
        session, reply = None, None
        try:
            session = await self._told(request)
            draft = await session.reply(request.max_output_tokens, heard or unheard)
            reply = self._reply(draft, request, has_key=session.has_key)
        except ModelUnavailable as problem:
            await self.aclose()
            if self._learned.has_mark and refuses_marks(str(problem)):
                self._learned.has_mark = False
                raise ModelUnreachable("Claude Code sets more cache marks than expected") from None
            raise
        else:
            return reply
        finally:
            if session is not None and lost is not None:
                drafts = session.drafts if reply is None else session.drafts[:-1]
                for draft in filter(lambda one: one.is_begun, drafts):
                    lost(self._priced(given_up(draft, request), draft, has_key=session.has_key))

    async def aclose(self) -> None:
        """End the process."""
        session, self._session, self._asked, self._known = self._session, None, None, ()
        if session is not None:
            try:
                await session.end()
            finally:
                self._launcher.give_back(self)

    async def _told(self, request: ModelRequest) -> Session:
        """The client, once it knows everything that the request says."""
        news = self._news(request)
        session = self._session
        if session is None or not news or session.is_astray:
            await self.aclose()
            session = await self._begun(request)
            self._known = request.messages
            await session.say(retold(request.messages, has_mark=self._learned.has_mark))
            return session
        results = [result for m in news if isinstance(m, ToolResults) for result in m.results]
        words = [m for m in news if isinstance(m, UserTurn)]
        self._known = request.messages
        if words:
            # Marks stand in the first turn alone.
            content = [part for turn in words for part in content_of(turn, has_mark=False)]
            await session.say(content, results)
        else:
            await session.give(results)
        return session

    async def _begun(self, request: ModelRequest) -> Session:
        client = await self._launcher.start(self, max_output_tokens=request.max_output_tokens)
        session = self._session = Session(client, request.tools)
        self._asked = request
        await session.begin("\n".join(block.text for block in request.system))
        return session

    def _news(self, request: ModelRequest) -> tuple[Message, ...]:
        """What the client has not heard yet; nothing where this is no extension of its talk."""
        asked = self._asked
        if asked is None or (asked.system, asked.tools) != (request.system, request.tools):
            return ()
        known = self._known
        if request.messages[: len(known)] != known and isinstance(known[-1], AssistantTurn):
            known = known[:-1]  # calls that the caller never took up
        news = request.messages[len(known) :]
        if request.messages[: len(known)] != known or any(
            isinstance(message, AssistantTurn) for message in news
        ):
            return ()
        return news

    def _reply(self, draft: ReplyDraft, request: ModelRequest, *, has_key: bool) -> ModelReply:
        self._learned.has_key = has_key
        # Calls written as text are not the client's, which would wait for no result of theirs.
        said = judged(draft, replace(request, tools=()), EndpointQuirks())
        calls = tuple(
            replace(call, name=call.name.removeprefix(f"mcp__{SERVER}__"))
            for call in said.turn.tool_calls
        )
        turn = replace(said.turn, tool_calls=calls)
        self._known = (*self._known, turn)
        return self._priced(replace(said, turn=turn), draft, has_key=has_key)

    def _priced(self, said: ModelWords, draft: ReplyDraft, *, has_key: bool) -> ModelReply:
        model = cleaned(draft.model)[:_LONGEST_NAME] or self._learned.model
        self._learned.model = model
        cost = prices.cost_usd(said.usage, model, base_url=_MAKER) if has_key else None
        return ModelReply(said.turn, said.stop, said.usage, model, cost)


def _abilities(learned: _Learned) -> Abilities:
    return Abilities(
        model=learned.model,
        context_tokens=_CONTEXT_TOKENS,
        has_tools=True,
        enforces_schema=False,
        is_subscription=not learned.has_key,
    )
