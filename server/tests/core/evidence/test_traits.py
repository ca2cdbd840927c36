"""What a place of a program looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.evidence.units import Traits, traits_of, unpacked
from live_memory.core.values import RelPath


def _looks(text: str, owner: str | None = None) -> Traits:
    lines = text.splitlines()
    place = Place(RelPath("a.py"), 1, len(lines))
    definition = Definition(owner, DefinitionKind.FUNCTION, place, "") if owner else None
    return unpacked(traits_of(lines, 1, len(lines), definition))


def test_what_decides_branches_and_what_only_does_does_not() -> None:
    straight = _looks("a()\nb()\nc()\nd()\n")
    one_in_six = _looks("if a:\n    b()\n" + "c()\n" * 4)
    deciding = _looks("if a:\n    b()\nelif c:\n    d()\nelse:\n    e()\n")
    assert straight.branching == 0 < one_in_six.branching < deciding.branching == 1


@pytest.mark.parametrize(
    "line", ["match x {", "switch (x) {", "} else {", "when x then 1", "unless x", "a ? b : c"]
)
def test_branches_are_known_in_many_languages(line: str) -> None:
    assert _looks(line).branching > 0


@pytest.mark.parametrize(
    "line", ['help("Stop if one fails")', "say('switch it off when idle')", 'x = "a ? b : c"']
)
def test_what_stands_in_strings_decides_nothing(line: str) -> None:
    assert _looks(f"{line}\n" * 4).branching == 0


def test_a_word_with_a_branch_in_it_is_none() -> None:
    assert _looks("notify(elsewhere, cases)\n").branching == 0


def test_one_line_that_decides_is_not_all_there_is() -> None:
    assert _looks("return a if b else c").branching < 1


def test_the_share_of_comment_is_told() -> None:
    assert _looks("# a\n# b\n# c\n").comment == 1
    assert _looks("x = 1\n").comment == 0
    assert 0.4 < _looks("# a\nx = 1\n").comment < 0.6


def test_a_list_of_imports_is_known() -> None:
    assert _looks("import a\nimport b\n\nfrom c import d\n").is_list
    assert not _looks("import a\n\nx = a.b()\ny = a.c()\n").is_list


WORDS = "able about above after again along apply area"


@pytest.mark.parametrize(
    "text",
    [
        "WORDS = [\n" + "".join(f'    "{word}",\n' for word in WORDS.split()) + "]\n",
        "var words = []string{\n" + "".join(f"\t`{word}`,\n" for word in WORDS.split()) + "}\n",
        "TABLE = (\n" + "    0x1f, 0x2a, 0.5, -3,\n" * 12 + ")\n",
        "NAMES = (\n" + "    'a', b'b', \"c\"\n" * 9 + ")\n",
    ],
)
def test_strings_and_numbers_one_after_the_other_are_a_list(text: str) -> None:
    assert _looks(text).is_list


@pytest.mark.parametrize(
    "text",
    [
        "KINDS = [\n    'a',\n    'b',\n]\n",
        "TYPES = {\n"
        + "".join(f"    '{word}': 'text/{word}',\n" for word in WORDS.split())
        + "}\n",
        "def go():\n" + "".join(f"    call('{word}')\n" for word in WORDS.split()),
        "CODES = [\n" + "".join(f"    Code({n}, 'x'),\n" for n in range(12)) + "]\n",
    ],
)
def test_a_few_values_pairs_and_calls_are_no_list(text: str) -> None:
    assert not _looks(text).is_list


@pytest.mark.parametrize("name", ["tests.adds", "test_adds", "Cart.test_adds", "mod::tests::adds"])
def test_a_test_beside_the_program_is_known_by_its_name(name: str) -> None:
    assert _looks("x()\n", owner=name).is_test


@pytest.mark.parametrize("name", ["attest", "contest.run", "latest", "testify_to"])
def test_a_name_with_test_in_it_is_no_test(name: str) -> None:
    assert not _looks("x()\n", owner=name).is_test
    assert not _looks("x()\n").is_test


rows = st.lists(st.sampled_from(["", "if a:", "# b", "import c", "x()", '"""', "/*"]), min_size=1)


@given(rows, st.data())
def test_any_lines_give_shares_that_a_small_number_holds(
    lines: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    packed = traits_of(lines, first, last, None)
    assert 0 <= packed < 1 << 10
    assert 0 <= unpacked(packed).branching <= 1
    assert 0 <= unpacked(packed).comment <= 1
