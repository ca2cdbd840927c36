"""A line that is data hides a line and not its file; a notebook is what its cells say."""

import json

import pytest

from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import (
    FileRead,
    Observation,
    Skipped,
    SkipReason,
    cells_of,
)
from live_memory.core.values import ContentHash, RelPath, StatSignature

DATA = "iVBORw0KGgoAAAANSUhEUgAA" * 2_500


def _outcome(name: str, text: str) -> Observation | Skipped:
    data = text.encode()
    signature = StatSignature(len(data), 1, 1, 1, 1)
    return observe(FileRead(RelPath(name), signature, ContentHash.of(data), data))


def _seen(name: str, text: str) -> Observation:
    seen = _outcome(name, text)
    assert isinstance(seen, Observation)
    return seen


@pytest.mark.parametrize(
    ("name", "text", "last"),
    [
        ("logo.py", f'LOGO = "{DATA}"\n\n\ndef show_logo():\n    """Show."""\n    return 1\n', 6),
        ("page.html", f"<p>\n{DATA}\n</p>\n<h1>\nTitle\n</h1>\n", 6),
        ("map.ts", f"const a = 1;\r\nconst b = 2;\r\nlet c = `{DATA}`;\r\nexport {{ a }};", 4),
        ("notes.md", f"# Notes\nOne.\nTwo.\nThree.\n![x](data:{DATA}{DATA})\nFour.\n", 6),
    ],
)
def test_a_line_of_data_is_cut_and_the_rest_of_the_file_is_kept(
    name: str, text: str, last: int
) -> None:
    seen = _seen(name, text)
    before = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    assert len(seen.lines) == last == len(before)
    kept = [at for at, line in enumerate(before) if len(line) < 2_000]
    assert [seen.lines[at] for at in kept] == [before[at] for at in kept]
    (cut,) = [seen.lines[at] for at in range(last) if at not in kept]
    assert len(cut) < 200
    assert "more)" in cut


def test_a_line_that_is_cut_still_closes_its_quotes_and_holds_no_half_of_a_secret() -> None:
    secret = "AKIA" + "Q7RZ2M5N8P1XW4VB"
    line = f'KEY = "{"x" * 105} {secret} {DATA}"'
    seen = _seen("keys.py", f"{line}\na = 1\nb = 2\nc = 3\n")
    assert seen.lines[0].endswith('"')
    assert "AKIA" not in seen.text.text


@pytest.mark.parametrize(
    "text",
    [
        "/*! jQuery v3 | (c) | license */\n" + "function a(){return 1};" * 2_000,
        json.dumps({f"key_{n}": f"a text of number {n}" for n in range(1_500)}),
        "\n".join("a=1;" * 300 for _ in range(40)),
    ],
)
def test_what_no_person_wrote_is_still_left_out(text: str) -> None:
    assert _outcome("app.js", text) == Skipped("app.js", SkipReason.GENERATED)


def _notebook(*, indent: int | None = 1) -> str:
    plot = {"data": {"image/png": DATA, "text/plain": ["<Figure with hidden_words>"]}}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Growth\n", "\n", "By year."]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"source": ["noted_by_a_tool"]},
            "outputs": [plot | {"metadata": {}, "source": ["shown_only"]}],
            "source": ["def growth_of(year):\n", '    return "a\\tb", year\n'],
        },
        {"cell_type": "code", "metadata": {}, "outputs": [plot], "source": "x = 1\ny = 2"},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": []},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent) + "\n"


def test_a_notebook_is_the_sources_of_its_cells_on_their_own_lines() -> None:
    text = _notebook()
    seen = _seen("study.ipynb", text)
    raw = text.splitlines()
    assert len(seen.lines) == len(raw)
    said = {at: line for at, line in enumerate(seen.lines) if line}
    assert [*said.values()] == [
        "# Growth",
        "By year.",
        "def growth_of(year):",
        '    return "a\\tb", year',
        "x = 1 y = 2",
    ]
    assert all(json.dumps(line.split(" = ")[0])[1:-1] in raw[at] for at, line in said.items())


def test_a_notebook_on_one_line_or_without_cells_is_read_as_it_stands() -> None:
    assert cells_of(_notebook(indent=None).splitlines()) is None
    assert cells_of(['{"cells": []}']) is None
    assert cells_of([' "source": [', '  "torn', "  5", " ]"]) == ["", "", "", ""]
    assert cells_of([' "source": "bad \\x"']) == [""]
