"""How the page gets its key: by a link that opens it once, and not for long."""

import hashlib
import secrets
from collections.abc import Callable

__all__ = ["LINK_S", "PAGE_FILES", "PAGE_KEY", "PAGE_PARTS", "PageLinks"]

LINK_S = 60.0
# Links that wait to be used; the oldest gives way.
_MOST = 8

_SCRIPTS = (
    *("answers", "charts", "drawing", "findings", "forms", "handoffs", "notes", "overview"),
    *("page", "server", "summary", "text", "timeline", "told", "words"),
)
# The files that the page loads, beside the one that it begins with.
PAGE_PARTS = ("page.css", *(f"{name}.js" for name in _SCRIPTS))
# Anybody may read these: they are the same for all and hold nothing of anyone's.
PAGE_FILES = frozenset(
    ("GET", path) for path in ("/", "/ui", *(f"/ui/{name}" for name in PAGE_PARTS))
)
# Where a link is given for a key.
PAGE_KEY = "/v1/page/key"


class PageLinks:
    """The secrets of links that were not used yet; of each only a hash is kept."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[bytes, float] = {}

    def made(self) -> str:
        """A new secret."""
        secret = secrets.token_urlsafe(32)
        self._until[_hash(secret)] = self._now() + LINK_S
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]
        return secret

    def is_live(self, secret: str) -> bool:
        """Whether it opens the page now."""
        return self._now() < self._until.get(_hash(secret), float("-inf"))

    def used(self, secret: str) -> bool:
        """Use it up; whether it was good."""
        is_good = self.is_live(secret)
        self._until.pop(_hash(secret), None)
        return is_good


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
