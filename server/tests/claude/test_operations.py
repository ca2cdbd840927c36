"""The server dies, is replaced, or cannot start: the session goes on, and someone can say why."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import live_memory
from live_memory import __version__
from live_memory.web.identity import ensure_token
from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, PROJECT, Outcome, Stage, verified_lines

pytestmark = pytest.mark.real("claude")

_ASK: Turn = (ASK, {"question": "Where is RETRY_LIMIT set?"})
_LINE = ("settings.py", PROJECT["settings.py"].splitlines().index("RETRY_LIMIT = 7") + 1)
_REPOSITORY = Path(__file__).parents[3]
_NEWER = "99.0"


def test_a_server_that_is_killed_between_two_questions_is_there_for_the_second(
    stage: Stage,
) -> None:
    """It is started again before the ask, so that the agent notices nothing; nothing is lost."""
    outcome = stage.play(
        _session(stage),
        turns=[_ASK, _bash(_killed(stage)), _ASK, "done"],
        then=["/v1/answers", "/health"],
    )

    _both_answered(outcome, stage)
    answers, health = outcome.told
    assert len(answers["answers"]) == 2
    assert health["status"] == "ok"


def test_a_newer_server_that_takes_over_between_two_questions_answers_the_second(
    stage: Stage,
) -> None:
    """C07: the session and its plugin are the older ones."""
    upgrade = f"'{_of_version(stage, _NEWER)}' -I -m live_memory start --port {stage.port}"

    outcome = stage.play(
        _session(stage),
        turns=[_ASK, _bash(upgrade), _ASK, "done"],
        then=["/v1/answers", "/health"],
    )

    _both_answered(outcome, stage)
    answers, health = outcome.told
    assert f"{_NEWER} takes over from {__version__}" in "\n".join(outcome.tool_results())
    assert (health["version"], health["status"]) == (_NEWER, "ok")
    assert len(answers["answers"]) == 2


def test_what_a_killed_server_leaves_behind_is_in_nobodys_way(stage: Stage) -> None:
    """The next session starts it, although a file names a process that is gone."""
    outcome = stage.play(
        _session(stage), _session(stage), turns=[_ASK, _bash(_killed(stage)), "done", _ASK, "done"]
    )

    assert [run.returncode for run in outcome.runs] == [0, 0], outcome.runs
    assert _LINE in verified_lines(outcome.tool_results()[-1]), stage.server_log()


def test_where_a_stranger_takes_a_killed_servers_port_the_next_one_has_another(
    stage: Stage,
) -> None:
    """C03: it has moved in mid-session."""
    stranger = stage.folder / "stranger.py"
    stranger.write_text(
        "from http.server import BaseHTTPRequestHandler, HTTPServer\n"
        f"HTTPServer(('127.0.0.1', {stage.port}), BaseHTTPRequestHandler).serve_forever()\n"
    )
    taken = (
        f"{_killed(stage)}; setsid {sys.executable} '{stranger}' </dev/null >/dev/null 2>&1 & "
        f"until {sys.executable} -c 'import socket;"
        f'socket.create_connection(("127.0.0.1", {stage.port}))\' 2>/dev/null; do sleep 0.05; done'
    )

    outcome = stage.play(
        _session(stage), turns=[_ASK, _bash(taken), _ASK, "done"], then=["/v1/answers"]
    )

    _both_answered(outcome, stage)
    assert len(outcome.told[0]["answers"]) == 2


def test_a_data_folder_that_cannot_be_written_is_named_by_stats_and_doctor(stage: Stage) -> None:
    """S46's class: the disk was mounted read-only after a crash."""
    ensure_token(stage.data_dir)
    folder = f"'{stage.data_dir}'"

    outcome = stage.play(
        _session(stage),
        _stats(stage),
        turns=[_ASK, _bash("live-memory doctor"), "done"],
        machine=f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}",
    )

    _went_on_without(outcome, f"lock file '{stage.data_dir}")
    assert f"data folder {folder} cannot be written to: make it writable" in outcome.runs[1].stdout
    doctor = outcome.tool_results()[-1]
    assert f"fail  data folder  {stage.data_dir} cannot be written to" in doctor
    assert "make it writable, or set another with `data_dir`" in doctor


def test_without_any_python_the_session_goes_on_and_stats_says_what_to_install(
    stage: Stage,
) -> None:
    shutil.copy(_REPOSITORY / "server/pyproject.toml", stage.plugin / "server")
    programs = stage.folder / "programs"
    programs.mkdir()
    client = shutil.which("claude")
    assert client is not None
    (programs / "claude").symlink_to(Path(client).resolve())
    hidden = (
        "for python in /usr/bin/python3* /usr/local/bin/python3* /usr/bin/uv /usr/local/bin/uv; do "
        'if [ -f "$python" ]; then mount --bind /dev/null "$python"; fi; done'
    )

    outcome = stage.play(
        _session(stage),
        _stats(stage),
        turns=[_ASK, "done"],
        machine=hidden,
        path=f"{programs}:/usr/local/bin:/usr/bin:/bin",
    )

    assert ASK not in outcome.tools_offered_first()
    assert outcome.runs[0].stdout == "done\n"
    assert "Live Memory needs Python 3.11 or newer, or uv" in outcome.runs[1].stdout
    assert "install one of them, then start a new session" in outcome.runs[1].stdout


def _of_version(stage: Stage, version: str) -> Path:
    """The Python of an installation of this package under another number."""
    folder = stage.folder / "newer"
    package = Path(live_memory.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "live_memory", ignore=ignored)
    about = folder / "live_memory/__init__.py"
    about.write_text(about.read_text().replace(__version__, version))
    made = folder / "environment"
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", made], check=True)
    (packages,) = made.glob("lib/python3*/site-packages")
    (packages / "ours.pth").write_text(f"{folder}\n{sysconfig.get_path('purelib')}\n")
    return made / "bin/python"


def _session(stage: Stage) -> list[str]:
    tools = [ASK, "Bash"]
    return ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", *tools]


def _stats(stage: Stage) -> list[str]:
    return ["-p", "/live-memory-stats", "--plugin-dir", str(stage.plugin)]


def _bash(command: str) -> Turn:
    return ("Bash", {"command": command, "description": "meanwhile"})


def _killed(stage: Stage) -> str:
    """A command that kills the server, and waits until it is gone."""
    file = stage.data_dir / "server.json"
    pid = f"pid=$(sed -n 's/.*\"pid\": *\\([0-9]*\\).*/\\1/p' '{file}')"
    # One that nobody reaps is as gone.
    lives = "grep -qs '^State:.[^Z]' /proc/$pid/status"
    return f"{pid}; kill -9 $pid; while {lives}; do sleep 0.05; done"


def _both_answered(outcome: Outcome, stage: Stage) -> None:
    """Two questions, the same cited answer, and nothing between them that failed."""
    assert outcome.runs[0].returncode == 0, outcome.runs[0]
    first, *_, last = outcome.tool_results()
    assert _LINE in verified_lines(first), stage.server_log()
    assert _LINE in verified_lines(last), (last, stage.server_log())
    assert "Live Memory is not there" not in outcome.said()[-1]


def _went_on_without(outcome: Outcome, why: str) -> None:
    """A call says in one line why it is not answered, and the client ends well."""
    assert [run.returncode for run in outcome.runs] == [0, 0], outcome.runs
    told = outcome.tool_result().splitlines()[0]
    assert told.startswith(f"Live Memory is not there: {why}")
    assert told.endswith("Work without it.")
    assert outcome.runs[0].stdout == "done\n"
