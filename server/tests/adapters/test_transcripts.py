"""What each host wrote of its sessions is told as its live hooks would have told it."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.adapters.transcripts.session_log import (
    LeftOut,
    PastEvent,
    PastKind,
    SessionLog,
    Unread,
)
from live_memory.core.hosts.events import (
    AgentConcluded,
    CommandRan,
    Ending,
    FileEdited,
    FileViewed,
    FileWritten,
    HostEvent,
    LineSlice,
    TaskGiven,
)
from live_memory.core.values import Author
from live_memory.wiring.past_sessions import HOSTS
from tests.support.past_sessions import (
    CLAUDE,
    CODEX,
    CURSOR,
    GEMINI,
    claude_turn,
    lay_made_up_records,
    lay_opencode,
    write_lines,
)

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work shop"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def logs(host: str, home: Path, **environ: str) -> list[SessionLog | LeftOut]:
    return sorted(HOSTS[host](home, environ, 0.0), key=lambda log: log.name)


def past(host: str, home: Path, unread: Unread | None = None) -> list[PastEvent]:
    unread = unread or Unread(0)
    return [
        event
        for log in logs(host, home)
        if isinstance(log, SessionLog)
        for event in log.open(unread)
    ]


def told(host: str, home: Path) -> list[HostEvent]:
    """What the server understands of it, without the times."""
    reports = [ClaudeCode().parse(event.payload) for event in past(host, home)]
    assert all(report.is_understood for report in reports)
    return [
        AgentConcluded(e.session, e.agent, e.text, e.author) if isinstance(e, AgentConcluded) else e
        for report in reports
        for e in report.events
    ]


ASKED = "why does checkout round twice?"


def test_claude_code_with_a_helper_and_a_compaction(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    cart = f"{project}/src/cart.py"
    summary = "This session is being continued from a previous conversation …"
    assert told("claude", home) == [
        TaskGiven("s1", "", ASKED),
        FileViewed(cart, (LineSlice(0, 40),)),
        FileEdited(cart, ((1, 1),)),
        TaskGiven("s1", "", ASKED),
        AgentConcluded("s1", "", "It rounded twice; fixed."),
        TaskGiven("s1", "", ASKED),
        AgentConcluded("s1", "", summary),
        TaskGiven("s1", "ag1", "find the rounding code"),
        AgentConcluded("s1", "ag1", "src/cart.py:12", Author.SUBAGENT),
    ]


def test_codex_in_both_forms(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    said = "It rounds in total() and in render()."
    assert told("codex", home) == [
        TaskGiven("0190", "", ASKED),
        CommandRan("cat src/cart.py", str(project)),
        TaskGiven("0190", "", ASKED),
        AgentConcluded("0190", "", "It rounds twice."),
        TaskGiven("01aa-root", "", ASKED),
        CommandRan("sed -n 1,40p src/cart.py", str(project)),
        FileEdited(f"{project}/src/cart.py", ((1, 1),)),
        TaskGiven("01aa-root", "", ASKED),
        AgentConcluded("01aa-root", "", said),
        TaskGiven("01aa-root", "", ASKED),
        AgentConcluded("01aa-root", "", "…summary text…"),
        TaskGiven("01aa-root", "", ASKED),
        AgentConcluded("01aa-root", "", said),
    ]


def test_gemini_where_all_was_taken_back(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    assert told("gemini", home) == []


def test_opencode_from_its_database(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    cart = f"{project}/src/cart.py"
    assert told("opencode", home) == [
        TaskGiven("ses_1", "", ASKED),
        FileViewed(cart, (LineSlice(0, 40),)),
        CommandRan("pytest -q", str(project)),
        FileEdited(cart),
    ]


def test_cursor_as_far_as_its_files_go(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    assert told("cursor", home) == [TaskGiven("k1", "", ASKED)]


def test_times_and_places_are_those_of_the_session(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    (said,) = [e for e in past("claude", home) if "src/cart.py:12" in e.about]
    (concluded,) = [
        e for e in ClaudeCode().parse(said.payload).events if isinstance(e, AgentConcluded)
    ]
    assert concluded.at == 1796032806.0  # 2026-11-30T10:00:06Z
    assert said.folder == str(project)
    assert said.cites
    (cart,) = [e for e in past("opencode", home) if e.kind is PastKind.COMMAND]
    assert str(cart.payload["timestamp"]).startswith("2026-11-30T")


# Claude Code.


def _use(name: str, number: int, **given: object) -> Mapping[str, object]:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}


def _claude(project: Path, kind: str, *parts: object, **more: object) -> Mapping[str, object]:
    message = {"role": kind, "content": list(parts)}
    usual = {"cwd": str(project), "sessionId": "s", "timestamp": "2026-11-30T10:00:00Z"}
    return {**usual, "type": kind, "message": message, **more}


def _result(number: int, content: str = "", *, is_error: bool = False) -> Mapping[str, object]:
    part = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
    return {**part, "is_error": True} if is_error else part


def test_only_the_last_that_is_said_in_a_turn_is_a_conclusion(home: Path, project: Path) -> None:
    say = {"type": "text", "text": "Let me look (a.py:1)."}
    end = [{"type": "text", "text": text} for text in ("It is in a.py:1.", "And in a.py:2.")]
    whole = {"role": "assistant", "id": "last"}
    lines = [
        *claude_turn(project, "first?", "Now:"),
        _claude(project, "assistant", say),
        _claude(project, "assistant", _use("Read", 1, file_path="a.py")),
        _claude(
            project, "user", _result(1), toolUseResult={"file": {"startLine": 5, "numLines": 2}}
        ),
        *({**_claude(project, "assistant"), "message": {**whole, "content": [e]}} for e in end),
        *claude_turn(project, "second?", "No."),
        *claude_turn(project, "third?", "Let me look (b.py:1)."),
        _claude(project, "assistant", _use("Read", 2, file_path="b.py")),
    ]
    write_lines(home / CLAUDE / "s.jsonl", lines)
    assert told("claude", home) == [
        TaskGiven("s", "", "first?"),
        FileViewed(f"{project}/a.py", (LineSlice(4, 6),)),
        TaskGiven("s", "", "first?"),
        AgentConcluded("s", "", "It is in a.py:1.\nAnd in a.py:2."),
        TaskGiven("s", "", "second?"),
        TaskGiven("s", "", "second?"),
        AgentConcluded("s", "", "No."),
        TaskGiven("s", "", "third?"),
    ]


def test_what_the_client_writes_as_a_user_is_no_question(home: Path, project: Path) -> None:
    notes = (
        "<task-notification>\n<task-id>1",
        "<command-name>/clear</command-name>",
        "<local-command-stdout>x",
        "[Request interrupted by user]",
    )
    lines = [_claude(project, "user", {"type": "text", "text": note}) for note in notes]
    lines.append(_claude(project, "user", {"type": "text", "text": "Caveat"}, isMeta=True))
    write_lines(home / CLAUDE / "s.jsonl", lines)
    assert told("claude", home) == []


def test_a_command_is_told_with_its_end_and_one_that_was_turned_down_is_not(
    home: Path, project: Path
) -> None:
    inner = project / "inner"
    lines = [
        _claude(project, "assistant", _use("Bash", n, command=f"cat {n}.py")) for n in range(4)
    ]
    lines += [
        _claude(inner, "user", _result(0), toolUseResult={"stdout": "", "interrupted": False}),
        _claude(
            inner,
            "user",
            _result(1, "Exit code 2", is_error=True),
            toolUseResult="Error: Exit code 2",
        ),
        _claude(
            inner,
            "user",
            _result(2, "User rejected tool use", is_error=True),
            toolUseResult="User rejected tool use",
        ),
        _claude(inner, "user", _result(3), toolUseResult={"stdout": "", "interrupted": True}),
    ]
    write_lines(home / CLAUDE / "s.jsonl", lines)
    assert told("claude", home) == [
        CommandRan("cat 0.py", str(project)),
        CommandRan("cat 1.py", str(project), Ending.FAILED),
        CommandRan("cat 3.py", str(project), Ending.INTERRUPTED),
    ]


def test_a_helper_of_an_older_version_is_told_by_its_result_alone(
    home: Path, project: Path
) -> None:
    given = {"prompt": "Find it.", "description": "x"}
    said = [{"type": "text", "text": "It is in a.py:1."}]
    lines = [
        *claude_turn(project, "why?", "I ask a helper."),
        _claude(project, "assistant", _use("Task", 1, **given)),
        _claude(project, "user", {"type": "text", "text": "Find it."}, isSidechain=True),
        _claude(project, "assistant", *said, isSidechain=True),
        _claude(project, "user", _result(1), toolUseResult={"agentId": "h", "content": said}),
    ]
    write_lines(home / CLAUDE / "s.jsonl", lines)
    assert told("claude", home) == [
        TaskGiven("s", "", "why?"),
        TaskGiven("s", "h", "Find it."),
        AgentConcluded("s", "h", "It is in a.py:1.", Author.SUBAGENT),
    ]


def test_the_folder_of_claude_and_codex_and_of_data_may_be_elsewhere(
    home: Path, project: Path, tmp_path: Path
) -> None:
    lay_made_up_records(home, project)
    moved = {
        "CLAUDE_CONFIG_DIR": shutil.move(home / ".claude", tmp_path / "c"),
        "CODEX_HOME": shutil.move(home / ".codex", tmp_path / "x"),
        "XDG_DATA_HOME": shutil.move(home / ".local/share", tmp_path / "d"),
    }
    for host, many in (("claude", 2), ("codex", 3), ("opencode", 1)):
        assert logs(host, home) == []
        assert len(logs(host, home, **{k: str(v) for k, v in moved.items()})) == many


# Codex.


def _codex(kind: str, **payload: object) -> Mapping[str, object]:
    return {"timestamp": "2026-11-30T10:00:00Z", "type": kind, "payload": payload}


def _began(project: Path, **more: object) -> Mapping[str, object]:
    return _codex("session_meta", id="c", cwd=str(project), **more)


def _item(kind: str, **fields: object) -> Mapping[str, object]:
    return _codex("event_msg", type="item_completed", item={"type": kind, **fields})


def test_codex_in_its_newer_form_is_read_by_its_items_alone(home: Path, project: Path) -> None:
    """In code mode other lines tell the same again, or what is hidden in JavaScript."""
    shell = ["/bin/bash", "-lc", "cat a.py"]
    lines = [
        _began(project, history_mode="paginated"),
        _codex("event_msg", type="user_message", message="twice"),
        _codex("response_item", type="function_call", call_id="1", arguments='{"cmd":"cat x"}'),
        _codex("response_item", type="function_call_output", call_id="1", output=""),
        _item("CommandExecution", command=shell, cwd=f"file://{project}/in%20side", exit_code=0),
        _item("CommandExecution", command=shell, cwd=str(project), status="failed", exit_code=1),
        _item("CommandExecution", command=shell, cwd=str(project), status="completed"),
        _item("CommandExecution", command=shell, cwd=str(project), status="declined"),
        _item("FileChange", status="failed", changes={"b.py": {"type": "update"}}),
        _item("FileChange", status="completed", changes={
            "new.py": {"type": "add", "content": "x"},
            "old.py": {"type": "update", "move_path": "moved.py",
                       "unified_diff": "@@ -1,2 +3,4 @@\n"},
        }),
    ]  # fmt: skip
    write_lines(home / CODEX / "rollout-c.jsonl", lines)
    assert told("codex", home) == [
        CommandRan("cat a.py", f"{project}/in side"),
        CommandRan("cat a.py", str(project), Ending.FAILED),
        CommandRan("cat a.py", str(project), Ending.INTERRUPTED),
        FileWritten(f"{project}/new.py"),
        FileEdited(f"{project}/moved.py", ((3, 6),)),
    ]


def test_codex_in_its_older_form_tells_how_calls_ended_in_their_output(
    home: Path, project: Path
) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n"
        "*** Add File: n.py\n+x\n*** End Patch\n"
    )
    calls: Sequence[tuple[object, str]] = (
        ({"command": ["bash", "-lc", "cat a.py"]}, '{"output":"","metadata":{"exit_code":0}}'),
        (
            {"cmd": "cat b.py", "workdir": str(project / "in")},
            "Process exited with code 3\nOutput:",
        ),
        ({"command": ["cat", "c d.py"]}, "Process running with session ID 7"),
        ({"command": "cat d.py"}, "exec command rejected by user"),
        ({"command": ["apply_patch", patch]}, "Exit code: 0"),
        ({"command": ["apply_patch", patch]}, "Exit code: 1"),
    )
    lines: list[object] = [_began(project)]
    for n, (given, output) in enumerate(calls):
        call = {"call_id": str(n), "name": "shell", "arguments": json.dumps(given)}
        lines.append(_codex("response_item", type="function_call", **call))
        lines.append(
            _codex("response_item", type="function_call_output", call_id=str(n), output=output)
        )
    lines.append(
        _codex(
            "response_item", type="custom_tool_call", call_id="p", name="apply_patch", input=patch
        )
    )
    lines.append(_codex("response_item", type="custom_tool_call_output", call_id="p", output=""))
    write_lines(home / CODEX / "rollout-c.jsonl", lines)
    changed = [FileEdited(f"{project}/a.py"), FileWritten(f"{project}/n.py")]
    assert told("codex", home) == [
        CommandRan("cat a.py", str(project)),
        CommandRan("cat b.py", f"{project}/in", Ending.FAILED),
        CommandRan("cat 'c d.py'", str(project), Ending.INTERRUPTED),
        *changed,
        *changed,
    ]


def test_a_helper_of_codex_is_of_the_session_that_began_it(home: Path, project: Path) -> None:
    about = {"session_id": "root", "parent_thread_id": "root", "history_mode": "paginated"}
    lines = [
        _began(project, **about),
        _item("UserMessage", content=[{"type": "text", "text": "Find it."}]),
        _item("AgentMessage", content=[{"type": "Text", "text": "It is in a.py:1."}]),
    ]
    write_lines(home / CODEX / "rollout-c.jsonl", lines)
    assert told("codex", home) == [
        TaskGiven("root", "c", "Find it."),
        AgentConcluded("root", "c", "It is in a.py:1.", Author.SUBAGENT),
    ]


def test_a_session_that_goes_on_from_another_begins_with_its_own_folder(
    home: Path, project: Path
) -> None:
    other = _codex("session_meta", id="before", cwd="/elsewhere")
    asked = _codex("event_msg", type="user_message", message="why?")
    write_lines(home / CODEX / "rollout-c.jsonl", [_began(project), other, asked])
    assert [(e.folder, e.payload["session_id"]) for e in past("codex", home)] == [
        (str(project), "c")
    ]


@pytest.mark.skipif(shutil.which("zstd") is None, reason="packs a rollout")
def test_a_compressed_rollout_is_read_where_zstd_is_and_else_said(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_made_up_records(home, project)
    for file in (home / CODEX).iterdir():
        subprocess.run(["zstd", "-q", "--rm", str(file)], check=True)
    assert TaskGiven("01aa-root", "", ASKED) in told("codex", home)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(OSError, match="`zstd` is not installed"):
        past("codex", home)


# Gemini.


def _gemini(name: str, kind: str, content: object, *calls: object) -> Mapping[str, object]:
    at = "2026-11-30T10:00:00Z"
    return {"id": name, "timestamp": at, "type": kind, "content": content, "toolCalls": [*calls]}


def _call(name: str, status: str = "success", **args: object) -> Mapping[str, object]:
    return {"name": name, "args": args, "status": status}


def test_a_message_that_is_written_again_counts_once_and_one_taken_back_not_at_all(
    home: Path, project: Path
) -> None:
    read = _call("read_file", file_path="a.py", start_line=5, end_line=7)
    write_lines(
        home / GEMINI / "chats/session-1.jsonl",
        [
            {"sessionId": "g", "projectHash": "x", "kind": "main"},
            _gemini("m1", "user", [{"text": "why?"}]),
            _gemini("m2", "gemini", "Reading."),
            _gemini("m2", "gemini", "Reading.", read),
            _gemini("m3", "user", [{"functionResponse": {"id": "t"}}]),
            _gemini("m4", "gemini", "It is in b.py:1."),
            {"$set": {"messages": [_gemini("m4", "gemini", "It is in a.py:5.")]}},
            _gemini("m5", "user", "and?"),
            _gemini("m6", "gemini", "No."),
            {"$rewindTo": "m5"},
            {"$set": {"lastUpdated": "x"}},
        ],
    )
    (home / GEMINI / ".project_root").write_text(f"{project}\n")
    assert told("gemini", home) == [
        TaskGiven("g", "", "why?"),
        FileViewed(f"{project}/a.py", (LineSlice(4, 7),)),
        TaskGiven("g", "", "why?"),
        AgentConcluded("g", "", "It is in a.py:5."),
    ]


def test_gemini_tells_edits_commands_and_helpers_and_names_its_project(
    home: Path, project: Path
) -> None:
    calls = [
        _call("write_file", file_path="n.py", content="x"),
        _call("replace", file_path="a.py"),
        _call("replace", "error", file_path="b.py"),
        _call("run_shell_command", command="cat a.py", dir_path="in"),
        _call("run_shell_command", "error", command="cat b.py"),
        _call("run_shell_command", "cancelled", command="cat c.py"),
    ]
    write_lines(
        home / GEMINI / "chats/parent/h.jsonl",
        [
            {"sessionId": "h", "projectHash": "x", "kind": "subagent"},
            _gemini("m1", "user", "Find it."),
            _gemini("m2", "gemini", "", *calls),
            _gemini("m3", "gemini", "It is in a.py:1."),
        ],
    )
    (home / ".gemini/projects.json").write_text(json.dumps({"projects": {str(project): "shop"}}))
    assert told("gemini", home) == [
        FileWritten(f"{project}/n.py"),
        FileEdited(f"{project}/a.py"),
        CommandRan("cat a.py", f"{project}/in"),
        CommandRan("cat b.py", str(project), Ending.FAILED),
        TaskGiven("parent", "h", "Find it."),
        AgentConcluded("parent", "h", "It is in a.py:1.", Author.SUBAGENT),
    ]


def test_messages_beyond_those_that_are_held_are_told_as_they_were(
    home: Path, project: Path
) -> None:
    lines = [_gemini(f"m{n}", "user", f"question {n}") for n in range(700)]
    write_lines(home / GEMINI / "chats/session-1.jsonl", [*lines, {"$rewindTo": "m600"}])
    (home / GEMINI / ".project_root").write_text(str(project))
    asked = [event.about for event in past("gemini", home)]
    assert asked == [f"question {n}" for n in range(600)]


# opencode and Cursor.


def test_opencode_tells_ranges_edits_ends_and_helpers(home: Path, project: Path) -> None:
    def tool(name: str, metadata: object, status: str = "completed", **given: object) -> object:
        state = {"status": status, "input": given, "metadata": metadata}
        return {"type": "tool", "tool": name, "state": state}

    a = str(project / "a.py")
    did = [
        {"type": "text", "text": "Looking."},
        tool("read", {"display": {"lineStart": 5, "lineEnd": 7}}, filePath=a),
        tool("edit", {"diff": "@@ -1,4 +1,5 @@\n"}, filePath=a),
        tool("edit", {}, "error", filePath=str(project / "b.py")),
        tool("bash", {"exit": 1}, command="cat a.py"),
        tool("bash", {}, "running", command="cat b.py"),
        {"type": "patch", "files": [a, str(project / "made.py"), 5]},
    ]
    asked = [
        {"type": "text", "text": "Hidden", "synthetic": True},
        {"type": "text", "text": "Find it."},
    ]
    session = {"id": "child", "parent_id": "main", "directory": str(project)}
    said = [{"type": "text", "text": "It is in a.py:5."}]
    helper, person = {"role": "assistant"}, {"role": "user"}
    lay_opencode(home, session, [(person, asked), (helper, did), (helper, said)])
    assert told("opencode", home) == [
        FileViewed(a, (LineSlice(4, 7),)),
        FileEdited(a, ((1, 5),)),
        CommandRan("cat a.py", str(project), Ending.FAILED),
        FileEdited(f"{project}/made.py"),
        TaskGiven("main", "child", "Find it."),
        AgentConcluded("main", "child", "It is in a.py:5.", Author.SUBAGENT),
    ]


def test_the_database_of_opencode_is_left_as_it_is(home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    file = home / ".local/share/opencode/opencode.db"
    before = file.read_bytes(), sorted(file.parent.iterdir())
    assert past("opencode", home)
    assert (file.read_bytes(), sorted(file.parent.iterdir())) == before


def test_what_opencode_has_not_folded_into_its_database_yet_is_read_too(
    home: Path, project: Path
) -> None:
    lay_made_up_records(home, project)
    file = home / ".local/share/opencode/opencode.db"
    waiting = file.with_name("opencode.db-wal")
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("pragma journal_mode = wal")
        with theirs:
            theirs.execute("update part set data = replace(data, 'why does', 'where does')")
        before = file.read_bytes(), waiting.read_bytes()
        assert past("opencode", home)[0].about == "where does checkout round twice?"
        assert (file.read_bytes(), waiting.read_bytes()) == before


@pytest.mark.parametrize("data", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 2000])
def test_what_is_no_database_of_opencode_is_left_out(home: Path, data: bytes) -> None:
    file = home / ".local/share/opencode/opencode.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    (found,) = logs("opencode", home)
    assert isinstance(found, LeftOut)


def test_cursor_tells_calls_without_their_results(home: Path, project: Path) -> None:
    calls = [
        {"type": "tool_use", "name": "Read", "input": {"path": "a.py", "offset": 5, "limit": 2}},
        {"type": "tool_use", "name": "StrReplace", "input": {"path": str(project / "a.py")}},
        {"type": "tool_use", "name": "Write", "input": {"path": "n.py"}},
        {"type": "tool_use", "name": "Shell", "input": {"command": "cat a.py && false"}},
    ]
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "why?"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "So."}, *calls]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "In a.py:1."}]}},
    ]
    lay_made_up_records(home, project)
    (file,) = (home / CURSOR).rglob("*.jsonl")
    file.unlink()
    write_lines(file, lines)
    assert told("cursor", home) == [
        TaskGiven("k1", "", "why?"),
        FileViewed(f"{project}/a.py", (LineSlice(4, 6),)),
        FileEdited(f"{project}/a.py"),
        FileWritten(f"{project}/n.py"),
        CommandRan("cat a.py && false", str(project), Ending.FAILED),
        TaskGiven("k1", "", "why?"),
        AgentConcluded("k1", "", "In a.py:1."),
    ]


def test_a_workspace_of_cursor_that_could_be_two_folders_is_none(home: Path, project: Path) -> None:
    project.with_name("work-shop").mkdir()
    lay_made_up_records(home, project)
    with pytest.raises(OSError, match="no one folder is there"):
        past("cursor", home)


def test_a_chat_of_gemini_whose_project_is_not_told_is_left_out(home: Path) -> None:
    write_lines(home / GEMINI / "chats/session-1.jsonl", [_gemini("m1", "user", "why?")])
    (home / ".gemini/projects.json").write_text('{"projects": []}')
    with pytest.raises(OSError, match="is not told"):
        past("gemini", home)


# Whatever the host.


@pytest.mark.parametrize("host", HOSTS)
def test_no_host_is_no_error(host: str, home: Path) -> None:
    assert logs(host, home) == []


ODD = (
    b"\n",
    b"\0\0\0\0\n",
    b"null\n",
    b"[]\n",
    b'"text"\n',
    b"{\n",
    b'{"type":"user"\n',
    b"\xff\xfe\n",
    b"[" * 100_000 + b"\n",
    b'{"a":' * 100_000 + b"\n",
    b'{"n":' + b"9" * 10_000 + b"}\n",
)


@pytest.mark.parametrize("host", ["claude", "codex", "cursor", "gemini"])
def test_a_bad_line_costs_that_line_and_is_counted(host: str, home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    before = past(host, home)
    for log in logs(host, home):
        file = Path(log.name)
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(line + b"".join(ODD) for line in lines))
    unread = Unread(0)
    after = past(host, home, unread)
    assert [(e.kind, e.about) for e in after] == [(e.kind, e.about) for e in before]
    assert unread.lines > 0
    assert unread.lines % (len(ODD) - 1) == 0  # an empty line is none


def _with_odd_values(value: object, odd: object) -> list[object]:
    """The record with each of its values replaced, one at a time."""
    found: list[object] = [odd]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += [{**value, key: one} for one in _with_odd_values(inner, odd)]
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            found += [[*value[:n], one, *value[n + 1 :]] for one in _with_odd_values(inner, odd)]
    return found


@pytest.mark.parametrize(
    "odd", [None, 5, -1.5, True, "x", "a\0b\x1b[2J\ud800", [], [[]], {}, {"a": {}}], ids=repr
)
@pytest.mark.parametrize("host", ["claude", "codex", "cursor", "gemini"])
def test_a_value_of_another_type_never_raises(
    host: str, odd: object, home: Path, project: Path
) -> None:
    lay_made_up_records(home, project)
    for log in logs(host, home):
        file = Path(log.name)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for n, line in enumerate(lines):
            for m, changed in enumerate(_with_odd_values(line, odd)):
                changed_lines = [*lines[:n], changed, *lines[n + 1 :]]
                text = "".join(f"{json.dumps(one)}\n" for one in changed_lines)
                file.with_name(f"{file.stem}-{n}-{m}.jsonl").write_text(text)
    events = past(host, home)
    assert len(events) > 100 or host in ("cursor", "gemini")
    for event in events:
        ClaudeCode().parse(event.payload)
        json.dumps(event.payload)


@pytest.mark.parametrize(
    "odd", ["", "null", "5", "[]", "{}", "{", '{"type": "tool", "tool": 5, "state": []}']
)
def test_an_odd_row_of_opencode_never_raises(odd: str, home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    session = {"id": "ses_1", "directory": str(project)}
    lay_opencode(home, session, [(odd, [odd]), ({"role": "assistant"}, [odd]), (odd, ["{}"])])
    assert [e.kind for e in past("opencode", home)][:4] == [
        PastKind.QUESTION,
        PastKind.LOOK,
        PastKind.COMMAND,
        PastKind.EDIT,
    ]


def test_a_line_without_end_is_bounded_and_one_that_is_being_written_is_left(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("live_memory.adapters.transcripts.session_log.LONGEST_LINE", 1_000)
    turn = claude_turn(project, "why?", "So.")
    long = [b'{"a":"' + b"x" * 5_000_000 + b'"}\n', b"x" * 1_000 + b"\n"]
    file = write_lines(home / CLAUDE / "s.jsonl", [*long, *turn, b'{"type":"user","mess'])
    unread = Unread(0)
    first = past("claude", home, unread)
    assert [event.about for event in first] == ["why?", "So."]
    assert unread.lines == 2
    write_lines(file, [b'age":{"content":"and?"}}\n'])
    assert [event.about for event in past("claude", home)] == ["why?", "So.", "and?"]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "folder link"])
def test_what_is_no_file_of_its_own_is_not_followed(
    kind: str, home: Path, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    write_lines(outside / "s.jsonl", claude_turn(project, "why?", "So."))
    place = home / CLAUDE / "s.jsonl"
    place.parent.mkdir(parents=True)
    match kind:
        case "link":
            place.symlink_to(outside / "s.jsonl")
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case _:
            (place.parent / "more").symlink_to(outside)
    assert past("claude", home) == []
    left_out = [one for one in logs("claude", home) if isinstance(one, LeftOut)]
    assert len(left_out) == (kind in ("link", "pipe"))


@AS_ROOT
@pytest.mark.parametrize("host", HOSTS)
def test_a_file_of_another_user_is_left_out(host: str, home: Path, project: Path) -> None:
    lay_made_up_records(home, project)
    for file in home.rglob("*"):
        if file.suffix in (".jsonl", ".db"):
            os.chown(file, 12345, 12345)
    assert past(host, home) == []
    assert all(isinstance(one, LeftOut) for one in logs(host, home))
    assert logs(host, home)


def test_what_is_sent_is_bounded_as_the_hooks_bound_it(home: Path, project: Path) -> None:
    long = "word " * 100_000
    lines = [
        *claude_turn(project, long, long),
        _claude(project, "assistant", _use("Bash", 1, command=long)),
        _claude(project, "user", _result(1), toolUseResult={}),
    ]
    write_lines(home / CLAUDE / "s.jsonl", [*lines, *claude_turn(project, "x", long)])
    assert max(len(json.dumps(event.payload)) for event in past("claude", home)) < 17_500


def test_no_text_of_a_file_and_no_output_is_told(home: Path, project: Path) -> None:
    """As by the hooks: names, ranges, commands, and what was asked and said."""
    lay_made_up_records(home, project)
    payloads = json.dumps([event.payload for host in HOSTS for event in past(host, home)])
    for hidden in ("def total", "originalFile", "old_string", "aggregated", "…skip…"):
        assert hidden not in payloads
