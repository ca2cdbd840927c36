"""Starting, finding and stopping the server; what the shell sees when it is not there."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory import __version__
from live_memory.web.identity import ensure_token, published
from tests.cli.shell import Shell
from tests.support.server import a_free_port


def test_start_prints_where_it_is_and_the_two_lines_that_connect(shell: Shell) -> None:
    started = shell.run("start")

    address, connect, *lines = started.out.splitlines()
    assert address == f"Live Memory {__version__} runs at http://127.0.0.1:{shell.port}"
    assert connect == "Connect Claude Code, once:"
    assert lines[0].startswith("  claude plugin marketplace add /")
    assert lines[1] == "  claude plugin install live-memory@live-memory"
    assert (started.code, started.err) == (0, "")


def test_a_second_start_finds_the_first(running: Shell) -> None:
    """C02, S49."""
    again = running.run("start", "--json")
    status = running.run("status", "--json")

    assert (again.code, status.code) == (0, 0)
    assert again.json["pid"] == status.json["pid"]
    assert status.json["url"] == f"http://127.0.0.1:{running.port}"


def test_ten_starts_at_once_make_one_server(shell: Shell) -> None:
    """C02, S49."""
    starts = [shell.begin("start", "--json") for _ in range(10)]
    outs = [start.communicate(timeout=60)[0] for start in starts]

    assert [start.returncode for start in starts] == [0] * 10, outs
    assert len({json.loads(out)["pid"] for out in outs}) == 1
    assert (shell.data_dir / "server.log").read_text() == ""


def test_a_server_that_was_killed_is_started_again_without_cleaning(shell: Shell) -> None:
    """S49."""
    first = shell.run("start", "--json").json["pid"]
    assert isinstance(first, int)
    os.kill(first, signal.SIGKILL)

    second = shell.run("start", "--json")

    assert second.code == 0, second
    assert second.json["pid"] != first


def test_stop_ends_it_and_stopping_again_is_fine(shell: Shell) -> None:
    started = shell.run("start", "--json").json
    stopped = shell.run("stop", "--json")
    again = shell.run("stop")

    assert stopped.json == {"stopped": True, "pid": started["pid"]}
    assert published(shell.data_dir) is None
    assert (again.code, again.out) == (0, "no server runs\n")


@pytest.mark.parametrize("command", [["status"], ["ask", "Where is it?"], ["stats"], ["empty"]])
def test_where_no_server_answers_the_code_is_5_and_the_text_says_what_to_do(
    shell: Shell, command: list[str]
) -> None:
    told, as_json = shell.run(*command), shell.run(*command, "--json")

    assert (told.code, as_json.code) == (5, 5)
    assert told.out == ""
    assert told.err.endswith("run `live-memory start`\n")
    assert len(told.err.splitlines()) == 1
    assert as_json.error[0] == "unreachable"


@pytest.mark.parametrize(
    ("name", "value"),
    [("LIVE_MEMORY_PORT", "many"), ("LIVE_MEMORY_HOST", "0.0.0.0"), ("LIVE_MEMORY_PORT", "0")],
)
def test_a_refused_setting_is_named_and_the_code_is_2(shell: Shell, name: str, value: str) -> None:
    done = shell.run("start", environ={name: value})

    assert done.code == 2, done
    assert name.removeprefix("LIVE_MEMORY_").lower() in done.err
    assert "Traceback" not in done.err


def test_one_data_folder_has_one_server_whatever_port_the_second_start_names(
    running: Shell,
) -> None:
    done = running.run("start", "--port", str(a_free_port()))

    assert done.code == 0
    assert f"runs at http://127.0.0.1:{running.port}\n" in done.out
    assert f"the server runs on port {running.port}: to have it on" in done.err


def test_commands_find_the_server_where_it_said_that_it_is(running: Shell) -> None:
    status = running.run("status", "--json", environ={"LIVE_MEMORY_PORT": "7799"})

    assert status.json["url"] == f"http://127.0.0.1:{running.port}"


def test_a_token_that_others_can_read_is_not_used(shell: Shell) -> None:
    """S03."""
    ensure_token(shell.data_dir)
    (shell.data_dir / "token").chmod(0o644)

    done = shell.run("start")

    assert done.code == 2
    assert str(shell.data_dir / "token") in done.err


def test_what_start_leaves_is_for_its_owner_only(shell: Shell) -> None:
    """S27."""
    shell.run("start")

    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in shell.data_dir.iterdir()}
    assert set(modes.values()) <= {0o600, 0o700}, modes
    assert shell.data_dir.stat().st_mode & 0o777 == 0o700


def test_a_folder_named_like_the_package_is_not_run(shell: Shell, tmp_path: Path) -> None:
    """S17's class: a repository must not be able to run its own code through us."""
    planted = shell.data_dir / "live_memory"
    planted.mkdir(parents=True, mode=0o700)
    shell.data_dir.chmod(0o700)
    (planted / "__init__.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")

    started = shell.run("start")

    assert started.code == 0, started
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("command", ["status", "stats", "start"])
def test_what_a_session_waits_for_imports_no_server(running: Shell, command: str) -> None:
    """Importing the MCP library alone takes half a second."""
    script = (
        "import sys; from live_memory.cli.main import run; run([sys.argv[1]]); "
        "print(sorted({'anyio', 'httpx2', 'mcp', 'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, command],
        env=dict(running.environ),
        cwd=running.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [("mcp",), ("hook", "codex")])
def test_what_hosts_start_beside_the_agent_imports_no_library(
    shell: Shell, words: tuple[str, ...]
) -> None:
    """It answers in a tenth of a second, and a hook ends in two."""
    shell.data_dir.write_text("so that no server is started")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "live_memory", *words],
        env=dict(shell.environ),
        cwd=shell.folder,
        input="{}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    imported = set(re.findall(r"\| +([a-z_]+)(?:\.\S+)?$", done.stderr, re.MULTILINE))
    assert done.returncode == 0
    assert "live_memory" in imported
    assert not imported & {"click", "pydantic", "anyio", "mcp", "platformdirs"}
