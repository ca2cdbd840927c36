"""A snapshot as the bytes of its file: a JSON object that begins with the checksum of the rest."""

import hashlib
import json
import re
from collections.abc import Mapping

from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.saving.forms import Form, form_of
from live_memory.core.saving.migrations import VERSION, version_of

__all__ = ["sealed", "unsealed"]

# Version 1 had no checksum.
_FIRST_SEALED = 2
_SEAL = re.compile(rb'\{"checksum":"([0-9a-f]{64})",')
_VERSION = re.compile(rb'"version":[0-9]+,')
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode


def sealed(form: Mapping[str, object]) -> bytes:
    """The form as bytes that tell when one of them is lost."""
    # ASCII only: a name on disk may hold what UTF-8 cannot say.
    body = _encoded(form).encode("ascii")[1:]
    return b'{"checksum":"%b",%b' % (_checksum(body), body)


def unsealed(data: bytes) -> Form:
    """The form that these bytes hold, of this version or an earlier one.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it is torn, damaged, or something else.
    """
    seal = _SEAL.match(data)
    body = data[seal.end() :] if seal else b""
    is_whole = seal is not None and seal[1] == _checksum(body)
    try:
        form = form_of(json.loads(data))
        version = version_of(form)
    except (ValueError, RecursionError) as problem:
        raise SnapshotUnreadable("it is torn or no JSON") from problem
    except SnapshotTooNew:
        # One flipped bit makes our own version another: then all but the version is as sealed.
        ours = _VERSION.sub(b'"version":%d,' % VERSION, body, count=1)
        if seal is not None and not is_whole and seal[1] == _checksum(ours):
            raise SnapshotUnreadable("its version is damaged") from None
        raise
    if version >= _FIRST_SEALED and not is_whole:
        raise SnapshotUnreadable("it has a wrong checksum")
    return form


def _encoded(value: object) -> str:
    """JSON in short calls: one for all of a large memory would hold every other thread up."""
    match value:
        case dict():
            fields = (f"{_COMPACT(name)}:{_encoded(one)}" for name, one in value.items())
            return f"{{{','.join(fields)}}}"
        case list():
            return f"[{','.join(map(_COMPACT, value))}]"
        case _:
            return _COMPACT(value)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode("ascii")
