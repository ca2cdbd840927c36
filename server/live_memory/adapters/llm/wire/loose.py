"""Fields of JSON that may hold anything: what is not of the wanted type counts as absent."""

import json
from collections.abc import Mapping, Sequence

__all__ = ["count", "items", "mapping", "mapping_in", "parse", "string"]

# A count beyond this is no count; it also keeps sums of hostile numbers small.
_LARGEST_COUNT = 10**12


def parse(text: str) -> object | None:
    """The JSON value in this text, or nothing where there is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def mapping(value: object) -> Mapping[str, object]:
    """This object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mapping_in(value: object, *keys: str) -> Mapping[str, object]:
    """The object that these keys lead to, or an empty one."""
    for key in keys:
        value = mapping(value).get(key)
    return mapping(value)


def items(value: object) -> Sequence[object]:
    """This array, or an empty one."""
    return value if isinstance(value, list) else ()


def string(value: object) -> str:
    """This string, or an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """This number of things, or none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _LARGEST_COUNT else 0
