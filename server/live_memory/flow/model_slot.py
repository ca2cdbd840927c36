"""The model in use, its purse, and the one reference to them, which a change of settings swaps."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio

from live_memory.core.companion.chat import (
    DAY_S,
    Abilities,
    Block,
    Caps,
    ModelReply,
    ModelRequest,
    ModelUsage,
    Payment,
    Spend,
    ToolChoice,
    ToolSpec,
    UserTurn,
    both,
)
from live_memory.core.companion.prompt import prompt_tokens
from live_memory.core.errors import (
    LoginRefused,
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelResting,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
    RequestRefused,
    SpendCapped,
    StoreUnavailable,
)
from live_memory.core.tokens import Calibration
from live_memory.core.values import Instant, TokenCount
from live_memory.ports import Clock, LanguageModel, PaymentBook

__all__ = [
    "Borrowed",
    "Companion",
    "Meter",
    "ModelRest",
    "ModelSlot",
    "ProbeVerdict",
    "SpendLimiter",
    "probe",
]

_FIRST_S, _LONGEST_S = 5.0, 300.0
# A model that takes longer than this is not there for anybody; whoever gave it less is alone.
_PATIENCE_S = 30.0


class ModelRest:
    """Owner of what is known of a model's failures; one a configuration, for all workspaces.

    A model that failed is left alone for a while that grows, so that nobody waits for it in vain.
    Where the while is over, one call finds out for all; a success ends it, and so does a change of
    the configuration, which makes another of these.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._until = self._began_at = float("-inf")
        self._pause_s = 0.0
        self._is_found_out = False
        self._problem = ModelUnavailable("the model was not asked yet")

    @property
    def note(self) -> str | None:
        """Why no question reaches the model now, in words for a person."""
        return self._said() if self._pause_s and self._left_s() > 0 else None

    def check(self) -> None:
        """Go on only where the model may be asked.

        Raises:
            ModelResting: it rests, or somebody else finds out whether it is back.
        """
        if self._pause_s and (self._left_s() > 0 or self._is_found_out):
            raise ModelResting(self._said(), error_class=self._problem.error_class)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Make one call, and take notice of how it ends.

        Raises:
            ModelResting: it may not be made.
        """
        self.check()
        began_at, finds_out = anyio.current_time(), bool(self._pause_s)
        self._is_found_out = self._is_found_out or finds_out
        try:
            yield
            self.worked()
        except (PromptTooLong, ModelLacksTools, RequestRefused):
            # The endpoint serves: it is this request that it will not have.
            self.worked()
            raise
        except LoginRefused:
            # Who reads logins leaves this one alone, and takes a new one at once.
            raise
        except (ModelUnreachable, ModelOverloaded, ModelRefused) as problem:
            self.failed(problem, began_at=began_at)
            raise
        finally:
            if finds_out:
                self._is_found_out = False

    def worked(self) -> None:
        """The model is there."""
        self._pause_s, self._until = 0.0, float("-inf")

    def late(self, problem: ModelUnavailable, *, began_at: float) -> None:
        """Nothing came before a deadline; that counts where it was long enough for any model."""
        if anyio.current_time() - began_at >= _PATIENCE_S:
            self.failed(problem, began_at=began_at)

    def failed(self, problem: ModelUnavailable, *, began_at: float) -> None:
        """Rest; of the calls that were under way together, one counts."""
        if began_at < self._began_at:
            return
        self._problem = problem
        self._pause_s = min(2 * self._pause_s, _LONGEST_S) if self._pause_s else _FIRST_S
        self._began_at = anyio.current_time()
        self._until = self._began_at + self._pause_s

    def _left_s(self) -> float:
        return self._until - anyio.current_time()

    def _said(self) -> str:
        why, left_s = str(self._problem).rstrip("."), self._left_s()
        if left_s <= 0:
            return f"it is being found out whether the model is back; it failed before: {why}"
        until = datetime.fromtimestamp(self._clock.now() + left_s, UTC)
        return f"the model is not asked again before {until:%H:%M:%S} UTC, because it failed: {why}"


_KEEP_S = 0.8


class SpendLimiter:
    """The only writer of what was spent; every call passes it before it is made.

    `problem` says why what is spent would be forgotten by a restart, if so.
    """

    def __init__(self, caps: Caps, *, clock: Clock, book: PaymentBook | None = None) -> None:
        self.caps = caps
        self.spend = Spend()
        self.calibration = Calibration()
        self.problem: str | None = None
        self._clock = clock
        self._book = book
        self._opening = anyio.Lock()
        self._is_open = book is None
        self._is_told = False
        # Payments that the book did not take, oldest first.
        self._unkept: list[Payment] = []

    def take_subscription_notice(self) -> bool:
        """Whether nobody has been told yet that a subscription is used."""
        first, self._is_told = not self._is_told, True
        return first

    async def known(self) -> Spend:
        """What was spent, with what was paid within a day before the start."""
        async with self._opening:
            if self._book is not None and not self._is_open:
                await self._open(self._book)
        return self.spend

    async def check(self) -> None:
        """Let a call through, or not.

        Raises:
            SpendCapped: a cap is reached.
        """
        why = (await self.known()).refusal(self.caps, now=self._clock.now())
        if why is not None:
            raise SpendCapped(why)

    def pay(self, request: ModelRequest, reply: ModelReply) -> None:
        """Note what a call took; `keep` writes it down."""
        now = self._clock.now()
        self.spend = self.spend.paid(request.cause, reply.usage, reply.cost_usd, now=now)
        if not reply.usage.is_estimated and request.estimated_tokens is not None:
            self.calibration = self.calibration.observed(
                reply.model,
                estimated=TokenCount(request.estimated_tokens),
                used=TokenCount(reply.usage.input),
            )
        if self._book is not None:
            self._unkept.append(self.spend.recent[-1])

    async def keep(self) -> None:
        """Write down what is not written yet; `problem` says whether that worked."""
        async with self._opening:
            if self._book is None:
                return
            if not self._is_open:
                await self._open(self._book)
            try:
                # Before the earlier ones are known, these would be counted twice.
                while self._unkept and self._is_open:
                    await self._book.add(self._unkept[0])
                    del self._unkept[0]
            except StoreUnavailable as problem:
                self.problem = f"what is spent is not kept: {problem}"
            if not self._unkept and self._is_open:
                self.problem = None

    async def _open(self, book: PaymentBook) -> None:
        try:
            earlier = await book.load(since=Instant(self._clock.now() - DAY_S))
            self.spend = self.spend.with_earlier(earlier)
            self._is_open = True
        except StoreUnavailable as problem:
            what = "what is spent is not kept" if self._unkept else "what was spent is not known"
            self.problem = f"{what}: {problem}"


class Meter:
    """A `LanguageModel` that pays from the purse and counts for one question.

    A reply that nobody gets counts like any other, by its length where the endpoint told nothing.
    """

    def __init__(
        self, model: LanguageModel, purse: SpendLimiter, rest: ModelRest | None = None
    ) -> None:
        """With a `rest`, calls are made only where the model does not have it."""
        self._model = model
        self._purse = purse
        self._rest = rest
        self.calls = 0
        self.usage = ModelUsage()
        self.cost_usd: float | None = 0.0

    @property
    def abilities(self) -> Abilities:
        """Those of the model."""
        return self._model.abilities

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[LanguageModel]:
        """Count what is asked within one conversation of the model."""
        if self._rest is not None:
            self._rest.check()
        async with self._model.conversation() as model:
            own, self._model = self._model, model
            try:
                yield self
            finally:
                self._model = own

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask once, if the caps allow; else a `ModelUnavailable` says which one is reached."""
        await self._purse.check()
        if request.estimated_tokens is None:
            request = replace(request, estimated_tokens=prompt_tokens(request))

        def take(reply: ModelReply) -> None:
            self._take(request, reply)
            if lost is not None:
                lost(reply)

        try:
            with self._rest.call() if self._rest is not None else nullcontext():
                self.calls += 1
                reply = await self._model.complete(request, heard=heard, lost=take)
                self._take(request, reply)
        finally:
            # Whoever gave up waits no longer for the disk than a reply does.
            with anyio.move_on_after(_KEEP_S, shield=True):
                await self._purse.keep()
        return reply

    def _take(self, request: ModelRequest, reply: ModelReply) -> None:
        self._purse.pay(request, reply)
        self.usage = both(self.usage, reply.usage)
        known = self.cost_usd is not None and reply.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (reply.cost_usd or 0.0) if known else None

    async def aclose(self) -> None:
        """The model's owner closes it."""


@dataclass(frozen=True, slots=True)
class Companion:
    """The model that answers, who pays, how large its window may be, and whether it rests."""

    model: LanguageModel
    purse: SpendLimiter
    clock: Clock
    max_context_tokens: int
    rest: ModelRest

    @property
    def window_tokens(self) -> int:
        """Tokens of memory that fit a prompt, in tokens as we estimate them."""
        abilities = self.model.abilities
        most = min(self.max_context_tokens, abilities.context_tokens)
        one = self.purse.calibration.applied(abilities.model, TokenCount(1_000)) / 1_000
        return int(most / one)


# Lends the companion for one piece of work.
Borrowed = Callable[[], AbstractAsyncContextManager[Companion | None]]


@dataclass(slots=True)
class _Lent:
    """A companion and how many questions use it."""

    companion: Companion
    users: int = 0
    is_retired: bool = False


class ModelSlot:
    """Owner of the companion: questions borrow it, and a retired one closes after its last."""

    def __init__(self, companion: Companion | None = None) -> None:
        self._current = _Lent(companion) if companion else None

    @property
    def companion(self) -> Companion | None:
        """The one that a question would get now."""
        return self._current.companion if self._current else None

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[Companion | None]:
        """The companion for one question, or none where there is no model."""
        lent = self._current
        if lent is None:
            yield None
            return
        lent.users += 1
        try:
            yield lent.companion
        finally:
            lent.users -= 1
            await self._close_if_done(lent)

    async def swap(self, companion: Companion | None) -> None:
        """Use this one from now on; running questions finish on the old one."""
        old, self._current = self._current, _Lent(companion) if companion else None
        if old is not None:
            old.is_retired = True
            await self._close_if_done(old)

    async def _close_if_done(self, lent: _Lent) -> None:
        if lent.is_retired and not lent.users:
            with anyio.CancelScope(shield=True):
                await lent.companion.model.aclose()


_TIMEOUT_S = 30.0
_TOOL = ToolSpec(
    "report_ready",
    "Call this once to show that you can call tools.",
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """What was found; `problem` says what to change where the model cannot be used.

    `mode` is how it will answer: `companion` with tools, `single-shot` without.
    """

    model: str | None
    is_reachable: bool
    has_tools: bool = False
    context_tokens: int | None = None
    is_price_known: bool = False
    mode: str = "evidence"
    problem: str | None = None


async def probe(companion: Companion | None) -> ProbeVerdict:
    """Ask the model to call a tool, and without tools where it takes none."""
    if companion is None:
        return ProbeVerdict(None, is_reachable=False, problem="no model is configured")
    meter = Meter(companion.model, companion.purse)
    try:
        with anyio.fail_after(_TIMEOUT_S):
            reply, has_tools = await _asked(meter)
    except (ModelUnavailable, TimeoutError) as problem:
        why = str(problem) or f"no reply within {_TIMEOUT_S:.0f} seconds (timeout)"
        return ProbeVerdict(meter.abilities.model, is_reachable=False, problem=why)
    companion.rest.worked()
    return ProbeVerdict(
        meter.abilities.model,
        is_reachable=True,
        has_tools=has_tools,
        context_tokens=meter.abilities.context_tokens,
        is_price_known=reply.cost_usd is not None,
        mode="companion" if has_tools else "single-shot",
    )


async def _asked(meter: Meter) -> tuple[ModelReply, bool]:
    try:
        reply = await meter.complete(_request("Call the tool report_ready.", (_TOOL,)))
    except ModelLacksTools:
        return await meter.complete(_request("Answer with the word ready.", ())), False
    return reply, bool(reply.turn.tool_calls)


def _request(text: str, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    choice = ToolChoice.REQUIRED if tools else ToolChoice.AUTO
    return ModelRequest(
        system=(Block("You are being tested."),),
        messages=(UserTurn((Block(text),)),),
        tools=tools,
        max_output_tokens=256,
        tool_choice=choice,
    )
