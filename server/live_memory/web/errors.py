"""The one map from what went wrong to what the caller is told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from live_memory.core.errors import (
    Busy,
    Corrupt,
    LiveMemoryError,
    Rejected,
    StoreUnavailable,
    Unavailable,
)
from live_memory.core.reading.inert import visible

__all__ = ["ErrorClass", "Problem", "problem_of"]


class ErrorClass(StrEnum):
    """What kind of failure a caller has to deal with; every error text names its class."""

    AUTH = "auth"
    LIMIT = "limit"
    PROVIDER = "provider"
    TIMEOUT = "timeout"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure as it goes over the wire."""

    status: int
    kind: ErrorClass
    message: str
    retry_after_s: float | None = None

    def form(self) -> dict[str, object]:
        """The object that an error reply holds."""
        return {"error": {"class": self.kind.value, "message": self.message}}

    def body(self) -> bytes:
        """The error reply's body."""
        return json.dumps(self.form()).encode()

    def headers(self) -> Mapping[str, str]:
        """What the reply's headers add."""
        if self.retry_after_s is None:
            return {}
        return {"retry-after": str(max(1, round(self.retry_after_s)))}

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"


def problem_of(error: LiveMemoryError) -> Problem:
    """What a caller is told about an error of ours."""
    said = visible(str(error))
    match error:
        case Busy():
            return Problem(429, ErrorClass.LIMIT, said, error.retry_after_s)
        case Rejected():
            return Problem(400, ErrorClass.INVALID, said)
        case StoreUnavailable() | Corrupt() | Unavailable():
            return Problem(503, ErrorClass.PROVIDER, said)
        case _:
            # The root itself is never raised; a new branch of the tree must be added above.
            raise error
