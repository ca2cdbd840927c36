"""Homes in which hosts left sessions: the made-up records of `tests/hosts/sessions`, and more."""

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

__all__ = [
    "CLAUDE",
    "CODEX",
    "CURSOR",
    "GEMINI",
    "OPENCODE",
    "claude_turn",
    "lay_made_up_records",
    "lay_opencode",
    "write_lines",
]

_RECORDS = Path(__file__).parents[1] / "hosts/sessions"
# Where each host keeps them, below a home.
CLAUDE, CODEX = ".claude/projects/shop", ".codex/sessions/2026/11/30"
GEMINI, CURSOR, OPENCODE = ".gemini/tmp/shop", ".cursor/projects", ".local/share/opencode"


def lay_made_up_records(home: Path, project: Path) -> None:
    """The records of every host, of sessions in `project`."""

    def lay(record: str, name: str) -> None:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (_RECORDS / record).read_text(encoding="utf-8")
        file.write_text(text.replace("/home/ann/shop", str(project)), encoding="utf-8")

    lay("claude-code.jsonl", f"{CLAUDE}/s1.jsonl")
    lay("claude-code-subagent.jsonl", f"{CLAUDE}/s1/subagents/agent-ag1.jsonl")
    lay("codex-rollout-legacy.jsonl", f"{CODEX}/rollout-2026-05-01T10-00-00-0190.jsonl")
    lay("codex-rollout-paginated.jsonl", f"{CODEX}/rollout-2026-11-30T10-00-00-01aa-root.jsonl")
    lay("codex-subagent-meta.jsonl", f"{CODEX}/rollout-2026-11-30T10-00-02-01aa-child.jsonl")
    lay("gemini-session.jsonl", f"{GEMINI}/chats/session-2026-11-30T10-00-aaaa1111.jsonl")
    (home / GEMINI / ".project_root").write_text(str(project))
    spelt = re.sub(r"[^A-Za-z0-9]+", "-", str(project)).strip("-")
    lay("cursor-agent-transcript.jsonl", f"{CURSOR}/{spelt}/agent-transcripts/k1/k1.jsonl")
    rows = json.loads((_RECORDS / "opencode-rows.json").read_text(encoding="utf-8"))
    rows = json.loads(json.dumps(rows).replace("/home/ann/shop", str(project)))
    asked, *did = rows["part.data"]
    messages = rows["message.data"]
    lay_opencode(home, rows["session"], [(messages[0], [asked]), (messages[1], did)])


def lay_opencode(
    home: Path, session: Mapping[str, object], messages: Iterable[tuple[object, Iterable[object]]]
) -> Path:
    """A session in opencode's database, as version 1.18 makes it, each message with its parts."""
    file = home / OPENCODE / "opencode.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    name, at = session["id"], 1_796_032_800_000
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(
            "create table if not exists session (id text primary key, project_id text,"
            " parent_id text, directory text, time_created integer, time_updated integer);"
            "create table if not exists message (id text primary key, session_id text,"
            " time_created integer, time_updated integer, data text);"
            "create table if not exists part (id text primary key, message_id text,"
            " session_id text, time_created integer, time_updated integer, data text);"
        )
        (before,) = database.execute("select count(*) from part").fetchone()
        whole = (name, "p", session.get("parent_id"), session["directory"], at, at)
        database.execute("insert or ignore into session values (?, ?, ?, ?, ?, ?)", whole)
        for m, (message, parts) in enumerate(messages):
            n = f"{before:04}-{m:03}"
            row = (f"msg_{n}", name, at + before, at + before, _text(message))
            database.execute("insert into message values (?, ?, ?, ?, ?)", row)
            for p, part in enumerate(parts):
                when = at + before * 1000 + m * 10 + p
                values = (f"prt_{n}-{p}", f"msg_{n}", name, when, when, _text(part))
                database.execute("insert into part values (?, ?, ?, ?, ?, ?)", values)
    return file


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def claude_turn(
    project: Path, asked: str, said: str, *, session: str = "s", at: str = "2026-11-30T10:00:00Z"
) -> list[object]:
    """A question and what came of it, as Claude Code keeps them."""
    usual = {"cwd": str(project), "sessionId": session, "timestamp": at}
    return [
        {**usual, "type": "user", "message": {"role": "user", "content": asked}},
        {
            **usual,
            "type": "assistant",
            "message": {"id": f"m {asked}", "content": [{"type": "text", "text": said}]},
        },
    ]


def write_lines(file: Path, lines: Iterable[object]) -> Path:
    """Add lines to a log; text and bytes stay as they are."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        for line in lines:
            out.write(line if isinstance(line, bytes) else _text(line).encode() + b"\n")
    return file
