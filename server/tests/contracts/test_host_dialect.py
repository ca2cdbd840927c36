"""What every host dialect keeps, shown on recorded payloads: one file an event and version."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.hosts.events import (
    AgentConcluded,
    CommandRan,
    Ending,
    FileEdited,
    FileTouched,
    FileViewed,
    FileWritten,
    HostEvent,
    LineSlice,
    SessionBegan,
    SessionEnded,
    TaskGiven,
)
from live_memory.core.hosts.notices import notices_of
from live_memory.core.values import Author, Instant
from live_memory.ports import HostDialect

_PAYLOADS = Path(__file__).parents[1] / "hosts/payloads"
_APP = "/home/dev/app"
_SESSION = "00000000-0000-4000-8000-000000000001"
# What each recorded payload says, by host.
_HELPER = "a3c022cc750c1b596"
_HELPER_ASKED = TaskGiven(_SESSION, _HELPER, "Find where RETRY_LIMIT is set.")
_HELPER_SAID = AgentConcluded(
    _SESSION, _HELPER, "RETRY_LIMIT is set in settings.py:4.", Author.SUBAGENT
)
SAYS: Mapping[str, Mapping[str, tuple[HostEvent, ...]]] = {
    "claude-code": {
        "PostToolUse-Read": (FileViewed(f"{_APP}/a.py", (LineSlice(0, 31),)),),
        "PostToolUse-Read-part": (FileViewed(f"{_APP}/a.py", (LineSlice(4, 7),)),),
        "PostToolUse-Read-notebook": (FileViewed(f"{_APP}/nb.ipynb"),),
        "PostToolUse-Read-image": (FileViewed(f"{_APP}/logo.png"),),
        "PostToolUse-Read-subagent": (FileViewed(f"{_APP}/a.py", (LineSlice(0, 2),)),),
        "PostToolUse-Edit": (FileEdited(f"{_APP}/a.py", ((4, 11),)),),
        "PostToolUse-Write": (FileWritten(f"{_APP}/b.py"),),
        "PostToolUse-NotebookEdit": (FileEdited(f"{_APP}/nb.ipynb"),),
        "PostToolUse-Bash": (CommandRan("sed -n '2,4p' a.py", _APP),),
        "PostToolUseFailure-Bash": (CommandRan("cat missing.py", _APP, ending=Ending.FAILED),),
        "FileChanged-add": (FileTouched(f"{_APP}/b.py"),),
        "FileChanged-change": (FileTouched(f"{_APP}/a.py"),),
        "FileChanged-unlink": (FileTouched(f"{_APP}/c.py"),),
        "SessionStart": (SessionBegan(_SESSION),),
        "SessionEnd": (SessionEnded(_SESSION),),
        # Said twice, or by tools that show no file: nothing is taken from these.
        "PostToolUse-mcp": (),
        "PostToolUse-Grep": (),
        "PostToolBatch": (),
        "UserPromptSubmit": (TaskGiven(_SESSION, "", "Where is RETRY_LIMIT set?"),),
        # The client says so itself, and its result came with SubagentStop.
        "UserPromptSubmit-helper-ended": (),
        "Stop": (
            AgentConcluded(
                _SESSION, "", "RETRY_LIMIT = 7 stands at settings.py:4, used in client.py:4."
            ),
        ),
        "SubagentStop": (_HELPER_SAID,),
        "SubagentStop-internal": (),
        "PostToolUse-Agent": (_HELPER_ASKED, _HELPER_SAID),
        "PostToolUse-Agent-background": (_HELPER_ASKED,),
    }
}
DIALECTS: Mapping[str, HostDialect] = {"claude-code": ClaudeCode()}
FILES = sorted(_PAYLOADS.glob("*/*.json"))
each_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
each_payload = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)


def _payload(file: Path) -> dict[str, object]:
    value = json.loads(file.read_text())
    assert isinstance(value, dict)
    return value


@each_payload
def test_a_recorded_payload_says_what_happened(file: Path) -> None:
    event = file.stem.rpartition("-")[0]
    report = DIALECTS[file.parent.name].parse(_payload(file))
    assert report.events == SAYS[file.parent.name][event]
    assert report.cwd == _APP


def test_every_event_that_is_known_was_recorded() -> None:
    for host, says in SAYS.items():
        recorded = {f.stem.rpartition("-")[0] for f in FILES if f.parent.name == host}
        assert recorded == set(says)


@each_payload
@given(key=st.text(min_size=1, max_size=8), value=json_values)
def test_a_field_that_is_new_changes_nothing(file: Path, key: str, value: object) -> None:
    """C07: a newer client may send more."""
    dialect, payload = DIALECTS[file.parent.name], _payload(file)
    more = {f"x_{key}": value, "schema": 99, **payload}
    assert dialect.parse(more) == dialect.parse(payload)


@each_payload
@given(data=st.data())
def test_a_field_of_another_type_or_none_at_all_never_raises(
    file: Path, data: st.DataObject
) -> None:
    """S32."""
    payload = _payload(file)
    for _ in range(data.draw(st.integers(1, 3))):
        inner = [value for value in payload.values() if isinstance(value, dict)]
        holder: dict[str, object] = data.draw(st.sampled_from([payload, *inner]))
        if not holder:
            continue
        name = data.draw(st.sampled_from(sorted(holder)))
        if data.draw(st.integers(0, 1)):
            del holder[name]
        else:
            holder[name] = data.draw(json_values)
    DIALECTS[file.parent.name].parse(payload)


@each_dialect
@given(payload=st.dictionaries(st.text(max_size=12), json_values, max_size=6))
def test_junk_says_nothing(dialect: HostDialect, payload: dict[str, object]) -> None:
    assert dialect.parse(payload).events == ()


def test_the_path_that_counts_is_the_absolute_one_of_the_input() -> None:
    payload = _payload(_PAYLOADS / "claude-code/PostToolUse-Read-subagent-2.1.332.json")
    response = payload["tool_response"]
    assert isinstance(response, dict)
    assert response["file"]["filePath"] == "a.py"
    (event,) = ClaudeCode().parse(payload).events
    assert isinstance(event, FileViewed)
    assert event.path == f"{_APP}/a.py"


def test_windows_paths_are_understood() -> None:
    payload = _payload(_PAYLOADS / "claude-code/PostToolUse-Write-2.1.332.json")
    payload["tool_input"] = {"file_path": "c:\\Users\\dev\\app\\src\\b.py"}
    assert ClaudeCode().parse(payload).events == (FileWritten("C:/Users/dev/app/src/b.py"),)


@each_payload
def test_a_payload_says_where_the_host_keeps_its_records(file: Path) -> None:
    """C29: they quote what we answered."""
    payload = _payload(file)
    records = DIALECTS[file.parent.name].parse(payload).records
    assert records == str(payload["transcript_path"]).rpartition("/")[0]


def test_a_command_that_was_interrupted_showed_nothing_for_sure() -> None:
    payload = _payload(_PAYLOADS / "claude-code/PostToolUse-Bash-2.1.332.json")
    payload["tool_response"] = {"stdout": "", "interrupted": True}
    (event,) = ClaudeCode().parse(payload).events
    assert event == CommandRan("sed -n '2,4p' a.py", _APP, ending=Ending.INTERRUPTED)


def _tool(name: str, **given: object) -> dict[str, object]:
    return {"hook_event_name": "PostToolUse", "cwd": _APP, "tool_name": name, "tool_input": given}


def test_several_edits_at_once_are_an_edit() -> None:
    """N36."""
    report = ClaudeCode().parse(_tool("MultiEdit", file_path=f"{_APP}/a.py", edits=[]))
    assert report.events == (FileEdited(f"{_APP}/a.py"),)
    assert report.is_understood


@pytest.mark.parametrize(
    "payload",
    [
        _tool("PowerShell", command="Set-Content a.py 'x'"),
        _tool("PowerShell", command="cat a.py"),
        _tool("PowerShell"),
        _tool("ApplyPatch", file_path=f"{_APP}/a.py"),
        _tool("mcp__files__write", path=f"{_APP}/a.py"),
        _tool("Rename"),
        _tool("Read"),
        {"hook_event_name": "ToolDone", "cwd": _APP},
    ],
)
def test_what_is_not_understood_shows_nothing_and_is_told(payload: dict[str, object]) -> None:
    """N36: and what it names, or anything, may have changed."""
    report = ClaudeCode().parse(payload)
    assert not report.is_understood
    looked = [subject for event in report.events for subject in notices_of(event)]
    assert all(not getattr(one, "views", ()) for one in looked)
    given = payload.get("tool_input") or {}
    assert isinstance(given, dict)
    assert bool(looked) == bool(given)


@each_payload
def test_every_event_that_the_host_is_known_to_send_is_understood(file: Path) -> None:
    report = DIALECTS[file.parent.name].parse(_payload(file))
    assert report.is_understood or not report.events


@pytest.mark.parametrize(
    ("timestamp", "at"),
    [
        ("2026-11-30T10:00:00Z", 1796032800.0),
        ("2026-11-30T10:00:00.5+02:00", 1796025600.5),
        ("2026-11-30T10:00:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        (1796032800, None),
        (None, None),
    ],
)
def test_a_past_session_tells_when_and_for_what_it_was_said(
    timestamp: object, at: float | None
) -> None:
    said = {"last_assistant_message": "a.py:1", "timestamp": timestamp, "session_id": "s"}
    stop = {"hook_event_name": "Stop", "prompt": "Why?", **said}
    helper = {"hook_event_name": "SubagentStop", "agent_id": "h", "agent_type": "x", **said}
    parsed = [event for p in (stop, helper) for event in ClaudeCode().parse(p).events]
    when = None if at is None else Instant(at)
    assert parsed == [
        TaskGiven("s", "", "Why?"),
        AgentConcluded("s", "", "a.py:1", at=when),
        AgentConcluded("s", "h", "a.py:1", Author.SUBAGENT, when),
    ]
