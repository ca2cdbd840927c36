"""Past sessions in a real server: what they concluded leads, what they saw is in view."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.learning import entries, figure, make_project
from tests.support.past_sessions import (
    CLAUDE,
    CODEX,
    claude_turn,
    lay_made_up_records,
    write_lines,
)
from tests.support.server import RunningServer, running_server

GATE = (
    "import time\n\n\n"
    "def admit(visitor, waiting):\n"
    "    if len(waiting) >= MOST_WAITING:\n"
    "        time.sleep(PAUSE_S)\n"
    "        return None\n"
    "    waiting.append(visitor)\n"
    "    return visitor\n\n\n"
    "MOST_WAITING = 25\n"
    "PAUSE_S = 0.5\n"
)
BOUND = "The queue is full at `MOST_WAITING`, which is `25` (gate.py:12)."
TASK = "Find out why people are rejected at the entrance."
LATER = "Why are some people rejected at the entrance, when is the queue full?"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def home(server: RunningServer) -> Path:
    return Path(server.environment["HOME"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project", gate__py=GATE)


def run_import(server: RunningServer, *more: str) -> dict[str, object]:
    """What is told of the one workspace that there were sessions of."""
    done = subprocess.run(
        [sys.executable, "-m", "live_memory", "import", "--json", *more],
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done
    (found,) = json.loads(done.stdout)["workspaces"]
    assert isinstance(found, dict)
    return found


@pytest.mark.promise("never-falsely-fresh", "ingest-is-free")
def test_what_a_past_session_concluded_leads_a_later_answer(
    server: RunningServer, home: Path, project: Path
) -> None:
    write_lines(home / CLAUDE / "s.jsonl", claude_turn(project, TASK, BOUND))
    one = run_import(server)
    assert (one["findings"], one["events_dropped"]) == (1, 0)
    answer = server.ask(LATER, project)["answer"]
    assert isinstance(answer, dict)
    assert str(answer["answer"]).startswith("Established ")
    assert " ago by the agent, still true" in str(answer["answer"])
    assert TASK[:40] in str(answer["answer"])
    assert "12|MOST_WAITING = 25" in str(answer["answer"])
    found = server.request("GET", f"/v1/facts?cwd={project}").json["facts"]
    assert isinstance(found, list)
    # When it was said, and not when it was imported.
    assert [(fact["learned_at"], fact["session"]) for fact in found] == [(1796032800.0, "s")]
    assert figure(server, project, "model_calls") == 0


def test_what_codex_read_is_in_view(server: RunningServer, home: Path, tmp_path: Path) -> None:
    shop = make_project(tmp_path / "shop")
    (shop / "src").mkdir()
    (shop / "src/cart.py").write_text("".join(f"LINE_{n} = {n}\n" for n in range(1, 91)))
    lay_made_up_records(home, shop)
    for file in (home / CODEX).iterdir():
        if "01aa-root" not in file.name:
            file.unlink()
        else:
            text = file.read_text()
            file.write_text("".join(x for x in text.splitlines(True) if "FileChange" not in x))
    run_import(server, "--host", "codex")
    (seen,) = entries(server, shop)
    assert (seen["path"], seen["origin"]) == ("src/cart.py", "read")
    assert (seen["start"], seen["end"]) == (1, 40)


def test_a_session_in_a_work_tree_goes_where_live_events_would(
    server: RunningServer, home: Path, project: Path, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            ["git", "-C", str(project), *who, *arguments], check=True, capture_output=True
        )

    git("add", ".")
    git("commit", "-qm", "gate")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree/inner").mkdir()
    write_lines(home / CLAUDE / "s.jsonl", claude_turn(tmp_path / "tree/inner", TASK, BOUND))
    one = run_import(server)
    assert one["root"] == str(tmp_path / "tree")
    assert figure(server, tmp_path / "tree", "findings") == 1


@pytest.mark.promise("nothing-lost")
def test_more_than_may_wait_is_learned_without_a_loss(
    server: RunningServer, home: Path, project: Path
) -> None:
    """4,000 files and 64 conclusions may wait."""
    usual = {"cwd": str(project), "sessionId": "s", "timestamp": "2026-11-30T10:00:00Z"}
    lines: list[object] = []
    for n in range(5_000):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": f"{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "x"}
        lines.append({**usual, "type": "assistant", "message": {"content": [use]}})
        lines.append({**usual, "type": "user", "message": {"content": [result]}})
    limits = "".join(f"LIMIT_{n} = {n}\n" for n in range(1, 201))
    (project / "limits.py").write_text(limits)
    for n in range(1, 201):
        lines += claude_turn(project, f"what is {n}?", f"`LIMIT_{n}` is `{n}` (limits.py:{n}).")
    write_lines(home / CLAUDE / "s.jsonl", lines)
    one = run_import(server)
    assert (one["files_seen"], one["findings"], one["events_dropped"]) == (5_000, 200, 0)


@pytest.mark.promise("no-secrets")
def test_a_secret_in_a_past_session_is_kept_nowhere(
    server: RunningServer, home: Path, project: Path
) -> None:
    key = "sk-ant-api03-" + "Xy9" * 24
    turn = claude_turn(project, f"why does {key} fail?", f"{BOUND} The key is {key} (gate.py:12).")
    write_lines(home / CLAUDE / "s.jsonl", turn)
    run_import(server)
    server.ask(LATER, project)
    assert server.stop() == 0
    kept = [file.read_bytes() for file in server.data_dir.rglob("*") if file.is_file()]
    assert kept
    assert not any(key.encode() in data for data in kept)
    assert key.encode() not in server.log.read_bytes()


def test_where_conclusions_are_not_remembered_none_is_sent(tmp_path: Path, project: Path) -> None:
    with running_server(tmp_path / "off", LIVE_MEMORY_REMEMBER_CONCLUSIONS="no") as server:
        home = Path(server.environment["HOME"])
        write_lines(home / CLAUDE / "s.jsonl", claude_turn(project, TASK, BOUND))
        one = run_import(server)
        assert (one["conclusions"], one["findings"]) == (1, 0)
        assert figure(server, project, "hook_events") == 0
