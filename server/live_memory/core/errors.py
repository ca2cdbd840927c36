"""Everything that can go wrong and is not a bug.

LiveMemoryError
├─ Rejected          the caller can fix it
│  ├─ InvalidRequest     a bad argument
│  ├─ OutsideWorkspace   a name that does not lead into the workspace
│  └─ Busy               full; try again after `retry_after_s`
├─ Unavailable       the world failed; try again, or a person must act
│  ├─ Exhausted          no descriptors, memory or processes left: nothing was looked at
│  ├─ StoreUnavailable   the data folder cannot be read or written
│  └─ ModelUnavailable   no usable reply from a model
│     ├─ ModelOverloaded     busy or rate limited; again after `retry_after_s`
│     ├─ ModelUnreachable    no connection, a cut stream, a server error
│     │  ├─ ModelSilent         a reply in which nothing is said
│     │  └─ ModelTimedOut       no usable reply before the deadline
│     ├─ ModelResting        it failed a moment ago, and is not asked now
│     ├─ SpendCapped         what may be spent is spent
│     ├─ ModelRefused        key, quota or name: a person must act
│     │  ├─ LoginRefused        the login of the moment; another is used at once
│     │  └─ RequestRefused      this request alone
│     ├─ ModelLacksTools     this model takes no tools at this endpoint
│     └─ PromptTooLong       the prompt does not fit; `limit_tokens` where it was told
└─ Corrupt           our own data cannot be read: set aside, never overwritten
   ├─ SnapshotUnreadable
   └─ SnapshotTooNew

Bugs are outside the tree, are never caught, and reach the top.
"""

import errno

__all__ = [
    "Busy",
    "Corrupt",
    "Exhausted",
    "InvalidRequest",
    "LiveMemoryError",
    "LoginRefused",
    "ModelLacksTools",
    "ModelOverloaded",
    "ModelRefused",
    "ModelResting",
    "ModelSilent",
    "ModelTimedOut",
    "ModelUnavailable",
    "ModelUnreachable",
    "OutsideWorkspace",
    "PromptTooLong",
    "Rejected",
    "RequestRefused",
    "SnapshotTooNew",
    "SnapshotUnreadable",
    "SpendCapped",
    "StoreUnavailable",
    "Unavailable",
    "refuse_exhausted",
]

# What the system says where it has none left of something: it says nothing about what was asked.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN})


class LiveMemoryError(Exception):
    """The root: its text is safe to show and says what to do."""


class Rejected(LiveMemoryError):
    """The caller can fix it."""


class InvalidRequest(Rejected):
    """An argument is missing, of the wrong type, or out of range."""


class OutsideWorkspace(Rejected):
    """A name does not lead into the workspace; the text never says whether it exists."""


class Busy(Rejected):
    """Full for the moment."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(LiveMemoryError):
    """The world failed."""


class Exhausted(Unavailable):
    """The system has no descriptors, memory or processes left, so nothing was looked at."""


class StoreUnavailable(Unavailable):
    """The data folder cannot be read or written."""


class ModelUnavailable(Unavailable):
    """No usable reply from a model; `error_class` is the published class of its text."""

    error_class: str = "provider"


class ModelOverloaded(ModelUnavailable):
    """The endpoint is busy or limits our rate; `retry_after_s` is what it asked for, if it did."""

    error_class = "limit"

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnreachable(ModelUnavailable):
    """No connection, a cut stream, or an error of the endpoint's own."""


class ModelSilent(ModelUnreachable):
    """The reply says nothing."""


class ModelTimedOut(ModelUnreachable):
    """There was no usable reply before the deadline."""

    error_class = "timeout"


class ModelRefused(ModelUnavailable):
    """The endpoint will not serve us until a person acts; the text names the setting."""

    error_class = "auth"


class LoginRefused(ModelRefused):
    """There is no login that may be used now; it is looked for anew at each call."""


class RequestRefused(ModelRefused):
    """The endpoint will not have this request; another may be served."""


class ModelResting(ModelUnavailable):
    """The model failed a moment ago and is left alone; of the class of that failure."""

    def __init__(self, message: str, *, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class SpendCapped(ModelUnavailable):
    """What may be spent is spent."""

    error_class = "limit"


class ModelLacksTools(ModelUnavailable):
    """This model takes no tools at this endpoint."""


class PromptTooLong(ModelUnavailable):
    """The prompt does not fit into the model's window."""

    error_class = "limit"

    def __init__(self, message: str, *, limit_tokens: int | None = None) -> None:
        super().__init__(message)
        self.limit_tokens = limit_tokens


class Corrupt(LiveMemoryError):
    """Our own data cannot be read."""


class SnapshotUnreadable(Corrupt):
    """A snapshot is torn, truncated or of the wrong shape."""


class SnapshotTooNew(Corrupt):
    """A snapshot was written by a newer version."""


def refuse_exhausted(problem: BaseException) -> None:
    """Go on only where a failure says something about the name that was looked for.

    Raises:
        Exhausted: it does not.
    """
    if isinstance(problem, OSError) and problem.errno in _EXHAUSTED:
        raise Exhausted(
            f"This machine could not look ({problem.strerror}): close programs, or try again"
        ) from problem
