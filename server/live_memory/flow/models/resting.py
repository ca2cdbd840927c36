"""A model that failed is left alone for a while that grows, so that nobody waits for it in vain.

Where the while is over, one call finds out for all; a success ends it, and so does a change of the
configuration, which makes another of these.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import anyio

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
)
from live_memory.ports import Clock

__all__ = ["Rest"]

_FIRST_S, _LONGEST_S = 5.0, 300.0
# A model that takes longer than this is not there for anybody; whoever gave it less is alone.
_PATIENCE_S = 30.0


class Rest:
    """Owner of what is known of a model's failures; one a configuration, for all workspaces."""

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
