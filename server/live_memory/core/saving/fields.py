"""Reading JSON values strictly: a value of another type than the one that is written is refused."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.values import ContentHash, RelPath

__all__ = [
    "Form",
    "every",
    "form_of",
    "get",
    "hashes",
    "hashes_form",
    "number",
    "numbers",
    "text_or_none",
    "texts",
]

Form = Mapping[str, object]
T = TypeVar("T")


def form_of(value: object) -> Form:
    """A JSON object.

    Raises:
        SnapshotUnreadable: it is something else.
    """
    if not isinstance(value, dict):
        raise SnapshotUnreadable("there is something else where a record belongs")
    return value


def get(form: Form, key: str, kind: type[T]) -> T:
    """The value of exactly this type.

    Raises:
        SnapshotUnreadable: it is missing, or of another type.
    """
    value = form.get(key)
    if type(value) is not kind:
        raise SnapshotUnreadable(f"there is no proper {key!r}")
    return value


def number(form: Form, key: str) -> float:
    """A number; whole ones are as good.

    Raises:
        SnapshotUnreadable: it is none.
    """
    value = form.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SnapshotUnreadable(f"there is no proper {key!r}")
    try:
        return float(value)
    except OverflowError:
        raise SnapshotUnreadable(f"{key!r} is larger than any number of ours") from None


def numbers(form: Form, key: str, count: int) -> list[int]:
    """So many whole numbers.

    Raises:
        SnapshotUnreadable: they are not.
    """
    values: list[object] = get(form, key, list)
    found = [value for value in values if type(value) is int]
    if len(values) != count or len(found) != count:
        raise SnapshotUnreadable(f"there is no proper {key!r}")
    return found


def hashes(form: Form, key: str) -> Mapping[RelPath, ContentHash]:
    """The hash of each of some files.

    Raises:
        LiveMemoryError: a name or a hash is none.
    """
    found = form_of(form.get(key))
    named = {RelPath(path): ContentHash(get(found, path, str)) for path in found}
    return MappingProxyType(named)


def hashes_form(found: Mapping[RelPath, ContentHash]) -> dict[str, str]:
    """Hashes as JSON values."""
    return {path.text: sha.hex for path, sha in found.items()}


def text_or_none(form: Form, key: str) -> str | None:
    """A text, or nothing.

    Raises:
        SnapshotUnreadable: it is something else.
    """
    return None if form.get(key) is None else get(form, key, str)


def texts(form: Form, key: str) -> tuple[str, ...]:
    """Texts in order.

    Raises:
        SnapshotUnreadable: one is none.
    """
    values: list[object] = get(form, key, list)
    found = tuple(value for value in values if isinstance(value, str))
    if len(found) != len(values):
        raise SnapshotUnreadable(f"there is no proper {key!r}")
    return found


def every(form: Form, key: str, read: Callable[[Form], T]) -> tuple[T, ...]:
    """Each record of a list, read.

    Raises:
        SnapshotUnreadable: there is no list, or it holds something else.
    """
    values: list[object] = get(form, key, list)
    return tuple(read(form_of(value)) for value in values)
