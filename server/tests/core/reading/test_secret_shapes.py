"""Shapes of secrets that issuers document are replaced, wherever they stand."""

import random
import re
import string
import uuid
from base64 import b64encode
from pathlib import Path

import pytest

from live_memory.core.reading.redaction import redact

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + "234567",
    "h": "0123456789abcdef",
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
}
_FIELD = re.compile(r"\{(?P<open>-?)(?P<kind>[alAhwbdupc])(?P<count>\d*)\}")
_LINES = Path(__file__).with_name("secret_shapes.txt").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split("\t", 1) for line in _LINES if line and not line.startswith("#")]
# Two thirds of a shape's rows hold for every made-up value; chance makes some look like words.
_DRAWS = 5


def _drawn(kind: str, count: int, dice: random.Random) -> str:
    match kind:
        case "u":
            return str(uuid.UUID(int=dice.getrandbits(128), version=4))
        case "p":
            return "".join(dice.choice(_ALPHABETS["a"]) for _ in range(7)) + "!4z"
        case "c":
            return b64encode(f"bob:{_drawn('p', 0, dice)}".encode()).decode()
    if kind in "wb":  # a letter or digit at both ends
        inner = "".join(dice.choice(_ALPHABETS[kind]) for _ in range(count - 2))
        return dice.choice(_ALPHABETS["a"]) + inner + dice.choice(_ALPHABETS["a"])
    return "".join(dice.choice(_ALPHABETS[kind]) for _ in range(count))


def _filled(template: str, dice: random.Random) -> tuple[str, list[str]]:
    """The text and the secrets in it."""
    secrets: list[str] = []

    def fill(field: re.Match[str]) -> str:
        value = _drawn(field["kind"], int(field["count"] or 0), dice)
        if not field["open"]:
            secrets.append(value)
        return value

    text = _FIELD.sub(fill, template.replace("\\\\n", "\0").replace("\\n", "\n"))
    return text.replace("\0", "\\n"), secrets


def _is_replaced(template: str, dice: random.Random) -> bool:
    text, secrets = _filled(template, dice)
    shown = redact(f"before\n{text}\nafter\n").text.text
    return not [secret for secret in secrets if len(secret) > 3 and secret in shown]


def test_the_list_is_long_enough() -> None:
    assert len(_ROWS) >= 120


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0])
def test_a_documented_shape_is_replaced(row: list[str]) -> None:
    dice = random.Random(row[0])
    outcomes = [_is_replaced(row[1], dice) for _ in range(_DRAWS)]
    assert outcomes.count(True) == _DRAWS, _filled(row[1], random.Random(row[0]))
