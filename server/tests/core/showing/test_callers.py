"""Who uses a name, as places to show."""

import pytest

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.packet import callers, in_order, rendered
from live_memory.core.evidence.places import Definition, Place, RankedFileText
from live_memory.core.evidence.uses import Use, uses_of
from live_memory.core.values import ContentHash, RelPath

PLENTY = 100_000


def _opened(name: str, text: str) -> RankedFileText:
    lines, path = text.splitlines(), RelPath(name)
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


def _function(name: str, lines: int) -> str:
    """One that calls `total` in its middle."""
    before, after = "    x()\n" * (lines // 2 - 1), "    y()\n" * (lines - lines // 2 - 1)
    return f"def {name}():\n{before}    total(cart)\n{after}"


CART = _opened("cart.py", "def total(cart):\n    return 1\n\n\n" + _function("own", 5))
BUY = _opened("buy.py", "from cart import total\n\n\n" + _function("buy", 9))
LONG = _opened("long.py", _function("first", 200) + "\n\n" + _function("second", 200))
TEST = _opened("tests/test_cart.py", _function("test_total", 4))
TOTAL = CART.outline[0]


def _uses(*files: RankedFileText) -> tuple[Use, ...]:
    lines = [Place(f.path, n, n) for f in files for n in range(1, len(f.lines) + 1)]
    return uses_of("total", lines, {f.path: f for f in files})


def _shown(uses: list[Use], *files: RankedFileText, room: int, defined: bool = True) -> list[str]:
    definitions: list[Definition] = [TOTAL] if defined else []
    opened = {file.path: file for file in files}
    return [rendered(each) for each in callers(uses, definitions, opened, room=room)]


def _names(uses: list[Use]) -> list[str]:
    return [use.within.name if use.within else "import" for use in uses]


def test_calls_in_the_file_of_the_definition_come_first_and_those_of_tests_not_at_all() -> None:
    assert _names(in_order(_uses(BUY, TEST, CART), [TOTAL])) == ["own", "buy"]


def test_tests_and_imports_are_shown_where_nothing_else_uses_a_name() -> None:
    assert _names(in_order(_uses(TEST), [TOTAL])) == ["test_total"]
    imports = _opened("a.py", "from cart import total\n")
    assert _names(in_order(_uses(imports), [TOTAL])) == ["import"]
    assert in_order((), [TOTAL]) == []


def test_short_callers_are_shown_whole_and_what_they_call_comes_last() -> None:
    uses = in_order(_uses(BUY, CART), [TOTAL])
    heads = [text.partition("\n")[0] for text in _shown(uses, BUY, CART, room=PLENTY)]
    assert heads == ["cart.py:5-9 own", "buy.py:4-12 buy", "cart.py:1-2 total"]


def test_of_a_long_caller_its_head_and_what_is_around_the_call_are_shown() -> None:
    first, second = _shown(in_order(_uses(LONG), []), LONG, room=PLENTY, defined=False)
    assert first.startswith("long.py:1-")
    assert "1|def first():" in first.splitlines()
    assert "101|    total(cart)" in first.splitlines()
    assert "… (" in first
    assert "303|    total(cart)" in second.splitlines()
    assert len(first.splitlines()) < 60


def test_two_calls_of_one_caller_are_one_place() -> None:
    both = _opened("both.py", "def both():\n    total(1)\n    total(2)\n")
    (shown,) = _shown(in_order(_uses(both), []), both, room=PLENTY, defined=False)
    assert shown.splitlines()[1:] == ["1|def both():", "2|    total(1)", "3|    total(2)"]


def test_a_call_outside_of_any_definition_is_shown_with_the_lines_around() -> None:
    loose = _opened("run.py", "a = 1\n" * 300 + "total(1)\n" + "b = 2\n" * 300)
    (shown,) = _shown(in_order(_uses(loose), []), loose, room=PLENTY, defined=False)
    assert "301|total(1)" in shown.splitlines()
    assert 3 < len(shown.splitlines()) < 40
    (use,) = in_order(_uses(loose), [])
    (excerpt,) = callers([use], (), {loose.path: loose}, room=PLENTY)
    assert next(excerpt.places).start < 301 < next(excerpt.places).end


@pytest.mark.parametrize("room", [4_000, 1_500, 700])
def test_the_less_room_there_is_the_less_of_each_is_shown_before_any_is_left_out(
    room: int,
) -> None:
    files = LONG, _opened("more.py", _function("third", 70)), CART
    uses = in_order(_uses(*files), [TOTAL])
    texts = _shown(uses, *files, room=room)
    assert len(texts) == len(uses) + 1
    assert all("total(cart)" in text for text in texts)
    assert sum(len(text) + 2 for text in texts) <= room


def test_where_even_the_smallest_do_not_fit_all_are_offered() -> None:
    texts = _shown(in_order(_uses(LONG), []), LONG, room=10, defined=False)
    assert len(texts) == 2


def test_of_a_long_definition_its_first_lines_are_shown() -> None:
    long = _opened("sum.py", "def total(cart):\n" + "    x()\n" * 400)
    (shown,) = callers((), long.outline, {long.path: long}, room=PLENTY)
    ((first, last),) = shown.spans
    assert first == 1
    assert 8 <= last < 100
