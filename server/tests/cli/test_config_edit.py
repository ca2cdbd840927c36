"""An entry goes into a configuration text and out again, and every other byte stays."""

import json
import tomllib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.cli.config_edit import (
    Edit,
    JsonElement,
    JsonForm,
    JsonMember,
    MarkedBlock,
    OwnText,
    Standing,
    TomlTable,
    Unclear,
)

_JSONC = JsonForm(comments=True, trailing_commas=True)
_SERVER: dict[str, object] = {"command": "/bin/live-memory", "args": ["mcp"]}
_HOOK: dict[str, object] = {"matcher": "^Bash$", "hooks": [{"command": "live-memory hook x"}]}


def _is_server(value: object) -> bool:
    return isinstance(value, dict) and str(value.get("command")).endswith("live-memory")


def _is_hook(value: object) -> bool:
    return isinstance(value, dict) and value.get("hooks") == _HOOK["hooks"]


def _member(form: JsonForm = _JSONC) -> JsonMember:
    return JsonMember(("servers", "live-memory"), _SERVER, _is_server, form)


def _element(form: JsonForm = _JSONC) -> JsonElement:
    return JsonElement(("hooks", "Stop"), _HOOK, _is_hook, form)


# Names that the edits meet on their way are as likely as others.
_KEYS = st.sampled_from(["servers", "hooks", "Stop", "a", 'ä "/*', "//"])
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "// no", "/* no */", "é"])
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_SERVERS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_LISTS = st.dictionaries(st.sampled_from(["Stop", "Start"]), st.lists(_VALUES, max_size=3))
_ROOTS = st.fixed_dictionaries({}, optional={"z": _VALUES, "servers": _SERVERS, "hooks": _LISTS})
_SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", "\n\n    "])
_GAPS = _SPACE | st.sampled_from([" // c, {\n", "/* c */", " /* } */ ", '\n  // "c\n  ', "//\r\n"])


@st.composite
def _texts(draw: st.DrawFn, gaps: st.SearchStrategy[str], *, commas: bool) -> tuple[str, object]:
    """An object, written as nobody would have thought of."""
    value = draw(_ROOTS)

    def gap() -> str:
        return draw(gaps)

    def written(value: object) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            items = [written(item) for item in value]
        else:
            items = [f"{json.dumps(k)}{gap()}:{gap()}{written(v)}" for k, v in value.items()]
        last = "," + gap() if commas and items and draw(st.booleans()) else ""
        inside = ",".join(gap() + item + gap() for item in items) + last or gap()
        return ("{%s}" if isinstance(value, dict) else "[%s]") % inside

    bom = draw(st.sampled_from(["", "\ufeff"]))
    return f"{bom}{gap()}{written(value)}{gap()}", value


def _with_ours(value: object, edit: Edit) -> object:
    expected = json.loads(json.dumps(value))
    if isinstance(edit, JsonMember):
        expected.setdefault("servers", {})["live-memory"] = _SERVER
    else:
        expected.setdefault("hooks", {}).setdefault("Stop", []).append(_HOOK)
    return expected


@pytest.mark.parametrize("make", [_member, _element])
@given(written=_texts(_GAPS, commas=True))
@example(written=('{"a": 1 // x\n}', {"a": 1}))
@example(written=('{\n  "a": 1 /* http://x */ }', {"a": 1}))
def test_what_was_put_into_any_json_with_comments_comes_out_again(
    make: Callable[[], JsonMember | JsonElement], written: tuple[str, object]
) -> None:
    text, _ = written
    edit = make()
    after, made = edit.put(text)
    assert edit.standing(after) is Standing.THERE
    assert edit.take(after, made) == text
    assert edit.standing(text) is Standing.ABSENT


@pytest.mark.parametrize("make", [_member, _element])
@given(written=_texts(_SPACE, commas=False))
def test_another_parser_reads_our_entry_and_all_that_was_there(
    make: Callable[[JsonForm], JsonMember | JsonElement], written: tuple[str, object]
) -> None:
    text, value = written
    edit = make(JsonForm())
    after, _ = edit.put(text)
    assert json.loads(after.removeprefix("\ufeff")) == _with_ours(value, edit)


@given(written=_texts(_GAPS, commas=True))
def test_what_somebody_added_since_stays_when_ours_goes(written: tuple[str, object]) -> None:
    text, _ = written
    theirs = JsonMember(("servers", "theirs"), {"b": 1}, _is_server, _JSONC)
    ours = _member()
    after, made = ours.put(text)
    both, _ = theirs.put(after)
    left = ours.take(both, made)
    assert (ours.standing(left), theirs.standing(left)) == (Standing.ABSENT, Standing.THERE)


def test_an_entry_stands_where_a_person_would_have_written_it() -> None:
    text = '{\n\t"servers": {\n\t\t"a": {"command": "b"} // mine\n\t},\n\t"z": 1,\n}\n'
    after, made = _member().put(text)
    assert made == frozenset()
    assert after == (
        '{\n\t"servers": {\n\t\t"a": {"command": "b"}, // mine\n'
        '\t\t"live-memory": {\n\t\t\t"command": "/bin/live-memory",\n'
        '\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t}\n\t},\n\t"z": 1,\n}\n'
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: expected a value"),
        ("{", "line 1: expected a name in quotes"),
        ('{"a": 1', "line 1: expected ',' or '}'"),
        ('{"a" 1}', "line 1: expected ':' after a name"),
        ('{\n"a": 1,\n}', "line 3: expected no ',' before the end"),
        ('{\n// c\n"a": 1}', "line 2: expected a name in quotes"),
        ("{} {}", "line 1: expected one value"),
        ("[]", "its outermost value is no object"),
        ('{"servers": []}', "'servers' is no object"),
        ('{"servers": NaN}', "line 1: expected a value"),
        ('{"servers": {"a": "\x01"}}', "line 1: expected a value"),
        ('{"a":' * 2000, "nested deeper than 100"),
        ('{"a": ' + "1" * 5000 + "}", "line 1: expected a value"),
    ],
)
def test_json_that_the_host_cannot_read_is_left_alone(text: str, says: str) -> None:
    edit = _member(JsonForm())
    for step in (edit.standing, edit.put):
        with pytest.raises(Unclear, match=f"^{says.replace('(', '[(]')}$"):
            step(text)


def test_a_container_that_somebody_filled_stays_and_one_that_was_there_empty_does_too() -> None:
    after, made = _member().put('{"servers": {}}')
    assert _member().take(after, made) == '{"servers": {}}'
    after, made = _member().put("{}")
    with_comment = after.replace('"live-memory"', '// mine\n"live-memory"')
    assert "// mine" in _member().take(with_comment, made)


def test_of_two_members_with_one_name_that_which_a_parser_takes_is_meant() -> None:
    text = '{"servers": {"a": 1}, "servers": {"b": 2}}'
    after, made = _member().put(text)
    assert json.loads(after) == {"servers": {"b": 2, "live-memory": _SERVER}}
    assert _member().take(after, made) == text


def test_only_groups_that_are_ours_leave_a_list() -> None:
    """A group in which somebody put a hook of his own is his."""
    mixed = json.loads(json.dumps(_HOOK))
    mixed["hooks"].append({"command": "theirs"})
    text = json.dumps({"hooks": {"Stop": [1, _HOOK, mixed, _HOOK]}})
    assert json.loads(_element().take(text, frozenset())) == {"hooks": {"Stop": [1, mixed]}}
    assert _element().standing(text) is Standing.OLD


@pytest.mark.parametrize(
    ("there", "standing"),
    [
        (_SERVER | {"trust": True}, Standing.THERE),
        ({"command": "/old/live-memory", "args": ["mcp"]}, Standing.OLD),
        ({"command": "npx", "args": ["live-memory"]}, Standing.FOREIGN),
        (None, Standing.FOREIGN),
    ],
)
def test_an_entry_under_our_name_is_ours_by_what_it_starts(
    there: object, standing: Standing
) -> None:
    assert _member().standing(json.dumps({"servers": {"live-memory": there}})) is standing


_TABLE = TomlTable("mcp_servers", "live-memory", _SERVER, _is_server)
_TOML = [
    "",
    "\n",
    "a = 1",
    "a = 1\n",
    "a = 1\r\n",
    "a = 1\n\n\n",
    "# only a comment",
    '[mcp_servers.b]\ncommand = "c" # mine\n\n[z]\nkey = 1 # [mcp_servers.live-memory]\n',
    "[[hooks.Stop]]\nmatcher = ''\n  [mcp_servers]\n",
]


@pytest.mark.parametrize("text", _TOML)
def test_a_table_goes_to_the_end_and_comes_out_again(text: str) -> None:
    after, made = _TABLE.put(text)
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["live-memory"] == _SERVER
    assert _TABLE.standing(after) is Standing.THERE
    assert _TABLE.take(after, made) == text


def test_a_table_goes_with_its_tables_and_leaves_what_came_after_it() -> None:
    text = "a = 1\n"
    after, made = _TABLE.put(text)
    host = '\n[mcp_servers.live-memory.tools.ask]\napproval_mode = "approve"\n'
    theirs = '\n# theirs\n["other"]\nb = 2\n'
    assert _TABLE.take(after + host + theirs, made) == text + theirs


@pytest.mark.parametrize(
    "text", ["mcp_servers = {}\n", "a = \n", "mcp_servers = 1\n", "[[mcp_servers]]\n"]
)
def test_toml_that_takes_no_table_of_ours_is_left_alone(text: str) -> None:
    with pytest.raises(Unclear):
        _TABLE.put(text)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.live-memory.command = "/bin/live-memory"\n',
        "[mcp_servers.live-memory]\n[z]\na = '''\n[mcp_servers.live-memory]\n'''\n",
    ],
)
def test_a_table_that_is_not_cut_out_with_certainty_is_left_to_a_person(text: str) -> None:
    with pytest.raises(Unclear, match="by hand"):
        _TABLE.take(text, frozenset())


@pytest.mark.parametrize("text", ["", "# Mine", "# Mine\n", "# Mine\r\n", "# Mine\n\n"])
def test_a_block_for_the_agent_comes_out_as_it_went_in(text: str) -> None:
    block = MarkedBlock("Ask first.\n")
    after, made = block.put(text)
    assert after.startswith(text)
    assert block.standing(after) is Standing.THERE
    assert block.take(after, made) == text
    assert (
        block.take(after + "More.\n", made)
        == text.rstrip("\r\n") * bool(text)
        + ("\n" if text and not text.endswith("\n") else text[len(text.rstrip("\r\n")) :])
        + "More.\n"
    )


def test_marks_that_are_no_pair_are_left_alone() -> None:
    block = MarkedBlock("Ask first.\n")
    after, _ = block.put("")
    for text in (after + after, after.replace("end", "x"), after.splitlines()[0]):
        with pytest.raises(Unclear, match="no pair"):
            block.take(text, frozenset())


def test_a_file_of_our_own_is_known_by_its_first_line() -> None:
    own = OwnText("// live-memory\nnew\n")
    texts = ("", own.text, "// live-memory\nold\n", "// theirs\n")
    assert [own.standing(text) for text in texts] == list(Standing)
