"""What the authors say of a definition, and which lines only speak."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.evidence.docs import doc_of, first_sentence, silent_lines, spoken_lines
from live_memory.core.evidence.outline import outline
from live_memory.core.values import RelPath

PYTHON = '''
    @cached
    def first(
        a: int,
    ) -> None:
        """Do it. With :meth:`~x.care`.

        Not this.
        """
        return 1  # not a comment line

    # Says what it is for.
    # In two lines.
    def second():
        return 1

    def third():
        r"""
        Begin on the next line.
        :param a: not this
        """
        # inside
        return 2

    def fourth(): return 1

    def fifth(a):

        return 1

    def sixth(a):
        """"""
'''
JAVASCRIPT = """
    /**
     * Send a response.
     *
     * @public
     */

    res.send = function send(body) {
      // decide
      return body; /* open */
    };

    /* one */
    function f() {
      /*
      several
      */
      return 1;
    }
"""


def _said(name: str, text: str) -> dict[str, str | None]:
    lines = dedent(text).splitlines()
    return {d.name: doc_of(lines, d) for d in outline(RelPath(name), lines)}


def test_a_docstring_is_said_or_the_comment_above() -> None:
    assert _said("a.py", PYTHON) == {
        "first": "Do it. With :meth:`~x.care`.",
        "second": "Says what it is for. In two lines.",
        "third": "Begin on the next line.",
        "fourth": None,
        "fifth": None,
        "sixth": None,
    }


def test_a_comment_block_above_is_said_over_one_blank_line() -> None:
    assert _said("a.js", JAVASCRIPT) == {"res.send": "Send a response.", "f": "one"}


def test_the_first_line_of_a_file_has_nothing_above() -> None:
    assert _said("a.py", "def f():\n    return 1") == {"f": None}
    assert _said("a.py", "# Said.\ndef f():\n    return 1") == {"f": "Said."}


def test_a_docstring_that_is_cut_off_is_said_as_far_as_it_goes() -> None:
    assert _said("a.py", 'def f():\n    """One\n    two') == {"f": "One two"}


def test_a_long_paragraph_is_cut_and_decorators_are_looked_past() -> None:
    long = 'def f():\n    """One\n' + "    more\n" * 20 + '    """\n'
    assert _said("a.py", long) == {"f": "One" + " more" * 7}
    assert _said("a.py", "# Said.\n@cached\ndef f():\n    return 1") == {"f": "Said."}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Do it. Then that.", "Do it."),
        ("Do it, e.g. so. Then that.", "Do it, e.g. so."),
        ("The URL scheme (e.g. http) is wrong", "The URL scheme (e.g. http) is wrong"),
        ("Called by :meth:`.url_for` in ``two``\n  lines.", "Called by `.url_for` in `two` lines."),
        ("See :py:class:`the name <x.Y>`.", "See `the name`."),
        ("Version 1.2 of it. More.", "Version 1.2 of it."),
        ("a" * 300, "a" * 220 + "…"),
        ("Reads {@code src} as {@link Type#of a type}.", "Reads `src` as a type."),
        ("Sees {@link Type#of}.<p>Then more.", "Sees `Type#of`."),
        ('<summary>Maps <see cref="T:Row"/> rows.</summary>', "Maps `Row` rows."),
        ("Like [`Walk`](crate::Walk), a [walk](x).", "Like `Walk`, a walk."),
        (r"\brief Frees \c buffer &amp; all.", "Frees `buffer` & all."),
    ],
)
def test_the_first_sentence_is_plain(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_comments_and_docstrings_only_speak() -> None:
    python = dedent(PYTHON).splitlines()
    assert spoken_lines(python, 1, len(python)) == {6, 7, 8, 9, 12, 13, 18, 19, 20, 21, 22, 32}
    javascript = dedent(JAVASCRIPT).splitlines()
    assert spoken_lines(javascript, 1, len(javascript)) == {2, 3, 4, 5, 6, 9, 13, 15, 16, 17}
    assert spoken_lines(["#include <a.h>", "#define X 1", "# said"], 1, 9) == {3}


@given(st.lists(st.sampled_from(['"""', "# a", "/*", "*/", "x", '"""a"""', ""])), st.integers(1, 9))
def test_spoken_lines_are_within_what_was_asked_for(lines: list[str], first: int) -> None:
    assert spoken_lines(lines, first, 7) <= set(range(first, min(7, len(lines)) + 1))


TEXTS = """
    fn doc_long(&self) -> &'static str {
        r"
    When this is given, binary files are searched as if they were text.
    Nothing else is changed by it, and the search goes on to the end.
    .sp
    This is the default when the output goes to a terminal of any kind.
    "
    }
    let found = search(&path, &options)?;
    if found && is_binary(&path) || given {
        eprintln!("a file that is binary was found here and there");
    }
"""


def test_texts_in_strings_are_silent_and_code_with_messages_is_not() -> None:
    lines = dedent(TEXTS).splitlines()
    assert silent_lines(lines, 1, len(lines)) == {4, 5, 6, 7}
    assert silent_lines(lines[:5], 1, 5) == frozenset()
    apart = [*lines[3:7], *["x = f(1)"] * 9, *lines[3:7]]
    assert silent_lines(apart, 1, len(apart)) == {1, 2, 3, 4, 14, 15, 16, 17}


@pytest.mark.parametrize("text", ["A. ", "{@code ", "[a](", "<a ", "`` ", "a(b).", "\\c "])
def test_documentation_without_end_is_read_in_no_time(text: str) -> None:
    lines = ["// " + text * 80_000, "def f():", "    return 1"]
    (f,) = outline(RelPath("a.py"), lines)
    assert len(first_sentence(doc_of(lines, f) or "")) <= 221
    assert len(first_sentence(text * 80_000)) <= 221
