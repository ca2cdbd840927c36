"""What models cost: one purse a server, and a meter around the model for each piece of work."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import anyio

from live_memory.core.companion.chat import Abilities, ModelReply, ModelRequest, ModelUsage
from live_memory.core.companion.prompt import prompt_tokens
from live_memory.core.companion.spend import DAY_S, Caps, Payment, Spend, both
from live_memory.core.errors import SpendCapped, StoreUnavailable
from live_memory.core.tokens import Calibration
from live_memory.core.values import Instant, TokenCount
from live_memory.flow.models.resting import Rest
from live_memory.ports import Clock, LanguageModel, PaymentBook

__all__ = ["Meter", "Purse"]

_KEEP_S = 0.8


class Purse:
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

    def is_first_of_subscription(self) -> bool:
        """Whether nobody has been told yet that a subscription is used."""
        first, self._is_told = not self._is_told, True
        return first

    async def check(self) -> None:
        """Let a call through, or not.

        Raises:
            SpendCapped: a cap is reached.
        """
        async with self._opening:
            if self._book is not None and not self._is_open:
                await self._open(self._book)
        why = self.spend.refusal(self.caps, now=self._clock.now())
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

    def __init__(self, model: LanguageModel, purse: Purse, rest: Rest | None = None) -> None:
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
        """Ask once, if the caps allow.

        Raises:
            ModelUnavailable: there is no usable reply, or a cap is reached.
        """
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
