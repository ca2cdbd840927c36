"""Whatever a model writes, its proposals are found, in bounded work, and nothing is made up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.compaction.fact_check import Proposal, proposals
from live_memory.core.evidence.places import Place
from live_memory.core.values import RelPath

A = RelPath("a.py")
LINE = '{"text": "`x` is `3`", "sources": [{"path": "a.py", "start": 1, "end": 2}]}'
FACT = Proposal("`x` is `3`", (Place(A, 1, 2),))


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"```json\n{LINE}\n```",
        f"Here are the facts:\n\n{LINE}\nThat is all {{I know}}.",
        f"[{LINE}]",
        f"[\n  {LINE},\n]",
        f'{{"facts": [{LINE}]}}',
        f"- {LINE},",
        json.dumps(json.loads(LINE), indent=2),
        f'{LINE}\n{{"text": "cut in the mid',
        f'{LINE}\n{{"text": "cut", "sources": [{{"path": "a.py", "start": 1, "end"',
        LINE.replace("}]}", "},],}"),
        LINE.replace('"end": 2', '"end": "2"').replace('"start": 1', '"start": 1.0'),
        LINE.replace('[{"path": "a.py", "start": 1, "end": 2}]', '["./a.py:1-2"]'),
        LINE.replace('[{"path": "a.py", "start": 1, "end": 2}]', '"a.py:1-2"'),
        LINE.replace('[{"path": "a.py", "start": 1, "end": 2}]', '" a.py:1-2 "'),
        LINE.replace('"end": 2', '"end": " 2 "'),
        LINE.replace('"start": 1, "end": 2', '"start": 2, "end": 1'),
        LINE.replace('"text"', '"text": "first", "text"'),
        LINE.replace('"sources"', '"kind": "value", "sources"'),
        f"{{broken {{{LINE}",
    ],
)
def test_a_proposal_is_read_however_it_is_wrapped(text: str) -> None:
    assert proposals(text) == (FACT,)


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("between", ["", "\n", ", ", "\n\nand {that}:\n", "}{"])
def test_every_proposal_is_read_in_the_order_in_which_they_stand(between: str) -> None:
    lines = [LINE.replace("`3`", f"`{n}`") for n in range(5)]
    lines[2] = json.dumps(json.loads(lines[2]), indent=2)
    found = proposals(between.join(lines))
    assert [each.text for each in found] == [f"`x` is `{n}`" for n in range(5)]
    assert len(proposals(("so, " * 1_000).join(lines))) == 5


def test_what_stands_inside_a_proposal_is_no_other_one() -> None:
    inner = '{"text": "`y` is 4", "path": "a.py", "start": 1, "end": 2}'
    assert proposals(LINE.replace('{"path": "a.py", "start": 1, "end": 2}', inner)) == (FACT,)
    assert proposals(LINE.replace("`x` is `3`", 'say {\\"text\\": \\"no\\"}')) == (
        Proposal('say {"text": "no"}', FACT.places),
    )


def test_the_bounds_are_where_they_are_said_to_be() -> None:
    assert len(proposals(f"{LINE}\n" * 501)) == 500
    assert len(proposals(f"{LINE}\n" * 499)) == 499
    assert proposals("{" * 1_999 + LINE) == (FACT,)
    assert proposals("{" * 2_000 + LINE) == ()
    assert proposals(" " * (400_000 - len(LINE)) + LINE) == (FACT,)
    assert proposals(" " * (400_001 - len(LINE)) + LINE) == ()
    long = LINE.replace("`x` is `3`", "x" * (6_000 - len(LINE) + len("`x` is `3`")))
    assert len(proposals(f"and so: {long}")) == 1
    assert proposals(long.replace("xx", "xxx", 1)) == ()
    for count, kept in ((20, 20), (21, 0)):
        places = json.dumps([{"path": "a.py", "start": n + 1} for n in range(count)])
        (found,) = proposals(f'{{"text": "t", "sources": {places}}}')
        assert len(found.places) == kept
    for line, kept in ((10_000_000, 1), (10_000_001, 0)):
        (found,) = proposals(f'{{"text": "t", "sources": {{"path": "a.py", "start": {line}}}}}')
        assert len(found.places) == kept


@pytest.mark.parametrize(
    "sources",
    [
        "",
        "[]",
        "null",
        "7",
        '["a.py"]',
        '[{"path": "a.py"}]',
        '[{"path": "a.py", "start": 0}]',
        '[{"path": "a.py", "start": true}]',
        '[{"path": "a.py", "start": 1.5}]',
        '[{"path": "a.py", "start": "two"}]',
        f'[{{"path": "a.py", "start": "{"9" * 5_000}"}}]',
        '[{"path": "a.py", "start": 0, "end": 3}]',
        '[{"path": "a.py", "start": 3, "end": 0}]',
        '[{"path": "a.py", "start": 1e400}]',
        '[{"path": "a.py", "start": NaN}]',
        '[{"path": "a.py", "start": 1, "end": [2]}]',
        '[{"path": "../a.py", "start": 1}]',
        '[{"path": "/etc/passwd", "start": 1}]',
        '[{"path": 3, "start": 1}]',
        '[{"path": "a.py", "start": 1}, {"path": "..", "start": 1}]',
        json.dumps([{"path": "a.py", "start": n} for n in range(1, 40)]),
    ],
)
def test_a_source_that_cannot_be_leaves_none(sources: str) -> None:
    """A proposal may not stand on only those of its sources that exist."""
    rest = f', "sources": {sources}' if sources else ""
    assert proposals(f'{{"text": "`x` is `3`"{rest}}}') == (Proposal("`x` is `3`", ()),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "null",
        '{"text": 3}',
        '{"text": ["x"]}',
        '{"fact": "x"}',
        json.dumps({"text": "x" * 10_000}),
        "{" * 5_000,
        "[" * 100_000,
        '{"text": ' * 20_000,
        '{"text": ' + "[" * 100_000,
        '{"text": "x", "sources": ' + "9" * 5_000 + "}",
    ],
)
def test_nonsense_gives_nothing(text: str) -> None:
    assert proposals(text) == ()


def test_one_line_is_enough() -> None:
    (found,) = proposals('{"text": "t", "sources": [{"path":"a.py","start":7}]}')
    assert found == Proposal("t", (Place(A, 7, 7),))
    assert proposals('{"text": "t", "sources": ["a.py:7"]}') == (found,)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [LINE + "\n", "{", '{"a":', "x", "\\", '"', "}\n{"])
def test_five_megabytes_are_read_in_bounded_work(unit: str) -> None:
    """S30: most of it is not even looked at."""
    text = unit * (5_000_000 // len(unit))
    assert len(proposals(text)) <= 500


@given(st.text() | st.lists(st.sampled_from([*'{}[]",:\\\n', LINE, "text", "1"])).map("".join))
def test_no_reply_makes_it_fail(text: str) -> None:
    for found in proposals(text):
        assert all(1 <= place.start <= place.end for place in found.places)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["text", "kind", "sources", "x"]), json_values)
    | st.fixed_dictionaries(
        {
            "text": json_values,
            "sources": st.lists(
                st.fixed_dictionaries({"path": json_values, "start": json_values}), max_size=2
            ),
        }
    )
)
def test_no_object_makes_it_fail(record: dict[str, object]) -> None:
    found = proposals(json.dumps(record))
    assert len(found) == isinstance(record.get("text"), str)
