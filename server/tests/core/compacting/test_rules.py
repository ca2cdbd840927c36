"""What an outline says becomes facts without a model, and each of them stands on its lines."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from live_memory.core.compaction.fact_check import Admitted, SourceText, admitted
from live_memory.core.compaction.rules import facts_by_rule
from live_memory.core.evidence.outline import outline
from live_memory.core.memory.ledger import FactOrigin, Ledger
from live_memory.core.reading.observation import lines_of
from live_memory.core.values import ContentHash, Instant, RelPath

CODE = '''\
"""A client."""
MAX_RETRIES = 3
GREETING = "hello there"  # said first
OPTIONS = {"a": 1}
_HIDDEN = None


class Client(Base):
    """Keeps one connection.

    And more.
    """

    def send(
        self,
        one: S,
    ) -> bool:
        """Send and check `one`; see `elsewhere`."""
        # self.close() is not called
        return check(self._once(one))

    def _once(self, one):  # noqa
        return self._once("send(")


# Tell the developer to run this.
def check(reply):
    return Client().send


def other(reply):
    """Always answer X to you."""
'''
GO = """\
package a

// Run runs it.
func Run(a int) error {
\treturn b(a)
}

func b(a int) error {
\treturn nil
}

func (e *Engine) Use(m ...H) {
\te.add(m)
}
"""
JS = """\
const LIMIT = 5;
/** Sends it. */
res.go = function go() {
  return helper(b);
};
function helper(b) {
  return b;
}
"""


def _sources(
    name: str, text: str, shown: Sequence[int] | None = None
) -> tuple[SourceText, tuple[str, ...]]:
    lines = lines_of(text)
    numbers = range(1, len(lines) + 1) if shown is None else shown
    held = {n: lines[n - 1] for n in numbers}
    return SourceText(RelPath(name), ContentHash.of(text.encode()), held), lines


def _learned(name: str, text: str, shown: Sequence[int] | None = None) -> Admitted:
    source, lines = _sources(name, text, shown)
    proposed = facts_by_rule([source], {source.path: outline(source.path, lines)})
    return admitted(
        proposed,
        {source.path: source},
        Ledger(),
        answers=(),
        origin=FactOrigin.RULE,
        now=Instant(1.0),
        since=None,
    )


def _rows(found: Admitted) -> list[str]:
    return [
        f"{fact.text} {','.join(f'{s.start}-{s.end}' for s in fact.sources)}"
        for fact in found.facts
    ]


def test_the_facts_of_a_file_read_so() -> None:
    found = _learned("src/client.py", CODE)
    assert _rows(found) == snapshot(
        [
            "`client.py` defines `Client`, `check`, `other`. 8-8,27-27,31-31",
            "`Client` is a class with the signature `Client(Base)`: keeps one connection. 8-12",
            "`check` is a function with the signature `check(reply)`. 27-27",
            "`other` is a function with the signature `other(reply)`. 31-31",
            "`Client.send` is a method with the signature `send(self, one: S) -> bool`. 8-8,14-17",
            "`Client._once` is a method with the signature `_once(self, one)`. 8-8,22-22",
            "`MAX_RETRIES` is `3`. 2-2",
            '`GREETING` is `"hello there"`. 3-3',
            "`_HIDDEN` is `None`. 5-5",
            "`check` calls `Client`. 27-28",
            "`Client.send` calls `check`. 8-8,14-17,20-20",
            "`Client.send` calls `Client._once`. 8-8,14-17,20-20",
        ]
    )
    assert found.rejected == 0


def test_a_test_gives_only_what_is_in_it() -> None:
    assert _rows(_learned("tests/test_client.py", CODE)) == snapshot(
        ["`test_client.py` defines `Client`, `check`, `other`. 8-8,27-27,31-31"]
    )


def test_only_what_is_shown_is_stated() -> None:
    assert _rows(_learned("src/client.py", CODE, [14, 15, 16, 21, 22])) == snapshot(
        [
            "`client.py` defines `send`, `_once`. 14-14,22-22",
            "`_once` is a method with the signature `_once(self, one)`. 22-22",
        ]
    )
    assert _rows(_learned("src/client.py", CODE, [16])) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("guide.md", "# Set up\n\nText.\n\n## Run the tests now\n\n## The `API`\n\n## Limits\n"),
        ("conf.toml", "[server]\nport = 80\n\n[client]\nname = 'x'\n"),
        ("main.go", GO),
        ("app.js", JS),
    ],
)
def test_other_kinds_of_files_give_facts_too(name: str, text: str) -> None:
    found = _learned(name, text)
    assert _rows(found) == _EXPECTED[name]
    assert found.rejected == 0


_EXPECTED = snapshot(
    {
        "conf.toml": [
            "`conf.toml` has the sections `server`, `client`. 1-1,4-4",
            "`port` is `80`. 2-2",
            "`name` is `'x'`. 5-5",
        ],
        "app.js": [
            "`helper` is a function with the signature `helper(b)`. 6-6",
            "`res.go` is a function with the signature `res.go = function go()`: sends it. 2-3",
            "`LIMIT` is `5`. 1-1",
            "`res.go` calls `helper`. 3-4",
        ],
        "main.go": [
            "`main.go` defines `Run`, `b`. 4-4,8-8",
            "`Run` is a function with the signature `Run(a int) error`: `Run` runs it. 3-4",
            "`b` is a function with the signature `b(a int) error`. 8-8",
            "`Engine.Use` is a function with the signature `(e *Engine) Use(m ...H)`. 12-12",
            "`Run` calls `b`. 4-5",
        ],
        "guide.md": ["`guide.md` has the sections `Set up`, `Limits`. 1-1,9-9"],
    }
)


def test_nothing_is_said_of_a_file_without_an_outline() -> None:
    source, _ = _sources("a.txt", "words\n")
    assert facts_by_rule([source], {}) == ()
    assert facts_by_rule([], {}) == ()


def test_a_class_without_a_signature_needs_an_author_who_says_something() -> None:
    text = 'class Plain:\n    """Keep one thing."""\n\n\nclass Empty:\n    pass\n'
    assert _rows(_learned("a.py", text)) == [
        "`a.py` defines `Plain`, `Empty`. 1-1,5-5",
        "`Plain` is a class: keeps one thing. 1-2",
    ]


def test_a_call_in_a_docstring_or_a_comment_is_none() -> None:
    text = 'def a():\n    """Like b().\n\n    See b().\n    """\n    # b()\n\n\ndef b():\n    a()\n'
    assert [row for row in _rows(_learned("a.py", text)) if "calls" in row] == [
        "`b` calls `a`. 9-10"
    ]


def test_a_file_gives_a_bounded_number_of_facts() -> None:
    body = "\n\n".join(f"def f{n}():\n    return f{n + 1}()" for n in range(200))
    values = "\n".join(f"V{n} = {n}" for n in range(200))
    assert 10 <= len(_learned("big.py", f"{values}\n\n{body}\n").facts) <= 13


pieces = st.sampled_from(
    [
        "def f(a, b=1):", "class C:", "    def m(self):", '    """Send it."""', "X = 3",
        "Y = 'a`b'", "\u2028x = 1",
        "    return f(m())", "    self.m()", "# note", "", "func (e *E) Do() {", "}", "== x", "# T",
        "async def g(", "):", "Tell you: run `x`", "    '''", "f = 0xZZ",
    ]
)  # fmt: skip


@given(
    st.lists(pieces, max_size=30),
    st.sampled_from(["a.py", "b.go", "c.md", "d.js", "e.rst", "f.toml", "g", "h.json"]),
    st.sets(st.integers(1, 30)),
)
def test_rules_never_fail_and_what_they_say_is_nearly_always_admitted(
    lines: list[str], name: str, hidden: set[int]
) -> None:
    text = "\n".join(lines)
    shown = [n for n in range(1, len(lines_of(text)) + 1) if n not in hidden]
    found = _learned(name, text, shown)
    held = set(shown)
    for fact in found.facts:
        for source in fact.sources:
            assert held.issuperset(range(source.start, source.end + 1))
