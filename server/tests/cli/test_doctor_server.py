"""What `doctor` says of a server that cannot be used, and `stop` that ends it all the same."""

import os
import signal
import socket
from pathlib import Path

import pytest

from live_memory.cli.environment import holder
from tests.cli.shell import Done, Shell
from tests.support.scripted_endpoint import Status, serving

# Without the host: what it says depends on the machine.
_NO_HOST = {"PATH": os.defpath}


def _said(shell: Shell, name: str, **environ: str) -> dict[str, str]:
    checks = shell.run("doctor", "--json", environ=_NO_HOST | environ).json["checks"]
    assert isinstance(checks, list)
    (check,) = [check for check in checks if check["name"] == name]
    assert isinstance(check, dict)
    return check


def _pid(started: Done) -> int:
    pid = started.json["pid"]
    assert isinstance(pid, int)
    return pid


def _is_over(pid: int) -> bool:
    """Whether it ended; what waits to be reaped has."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def test_a_server_that_hangs_is_named_and_ended_and_nothing_of_it_is_lost(
    shell: Shell, project: Path
) -> None:
    pid = _pid(shell.run("start", "--json"))
    assert shell.run("ask", "What does retry_delay give?", "--cwd", str(project)).code == 0
    os.kill(pid, signal.SIGSTOP)

    server = _said(shell, "server")
    status, start = shell.run("status"), shell.run("start")
    stopped = shell.run("stop", "--json")
    again = shell.run("start")
    stats = shell.run("stats", "--json", "--cwd", str(project)).json

    assert server["verdict"] == "fail"
    assert f"(process {pid}) listens on port {shell.port} and does not answer" in server["found"]
    assert server["fix"].startswith("run `live-memory stop`")
    assert (status.code, start.code) == (3, 3)
    assert f"process {pid}" in status.err
    assert (stopped.code, stopped.json) == (0, {"stopped": True, "pid": pid})
    assert _is_over(pid)
    assert again.code == 0
    assert stats["questions"] == 1


@pytest.mark.parametrize("text", ["x" * 43, None])
def test_a_server_whose_token_was_taken_away_is_told_from_a_stranger(
    shell: Shell, text: str | None
) -> None:
    """S03: it goes on for who has its token; who has not ends it by its lock."""
    pid = _pid(shell.run("start", "--json"))
    token = shell.data_dir / "token"
    token.unlink()
    if text is not None:
        token.touch(0o600)
        token.write_text(text)

    server, stopped = _said(shell, "server"), shell.run("stop", "--json")

    assert server["verdict"] == "fail"
    assert f"(process {pid}) runs with another token than '{token}'" in server["found"]
    assert stopped.json == {"stopped": True, "pid": pid}
    assert shell.run("start").code == 0


def test_nothing_is_ended_that_the_lock_and_the_note_of_who_serves_do_not_both_name(
    shell: Shell,
) -> None:
    pid = _pid(shell.run("start", "--json"))
    (shell.data_dir / "token").unlink()
    note = shell.data_dir / "server.json"
    note.write_text(note.read_text().replace(f'"pid": {pid}', f'"pid": {os.getpid()}'))

    stopped = shell.run("stop")

    assert stopped.code == 3
    assert not _is_over(pid)
    note.write_text(note.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {pid}'))


def test_who_holds_the_port_that_is_set_is_named(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", shell.port)):
        shell.run("start")
        server = _said(shell, "server")

    assert server["verdict"] == "ok"
    assert (
        f"; port {shell.port}, which is set, is held by process {os.getpid()} (" in server["found"]
    )


def test_a_key_that_is_refused_is_named_with_its_setting(shell: Shell) -> None:
    """C11."""
    with serving() as endpoint:
        channel = endpoint.open(*[Status(401)] * 4)
        model = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{channel.base_url}/v1",
            "LIVE_MEMORY_API_KEY": "a-key-that-nobody-may-see",
            "LIVE_MEMORY_MODEL": "scripted",
        }
        assert shell.run("start", environ=model).code == 0
        done = shell.run("doctor", environ=_NO_HOST | model)

    assert done.code == 1
    assert "fail  model        scripted: " in done.out
    assert "'api_key'" in done.out
    assert "a-key-that-nobody-may-see" not in done.out + done.err


def test_a_data_folder_that_is_a_file_is_named(shell: Shell) -> None:
    shell.data_dir.write_text("a file")

    folder = _said(shell, "data folder")

    assert (folder["verdict"], folder["found"]) == ("fail", f"{shell.data_dir} is no folder")
    assert folder["fix"].startswith("move the file away")


@pytest.mark.parametrize(("version", "verdict"), [("2.1.90", "fail"), ("2.1.332", "ok")])
def test_a_host_that_is_too_old_for_the_plugin_is_named(
    shell: Shell, version: str, verdict: str
) -> None:
    host = shell.folder / "host/claude"
    host.parent.mkdir()
    host.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo '{version} (Claude Code)' || echo '[]'\n"
    )
    host.chmod(0o755)

    assert _said(shell, "claude", PATH=f"{host.parent}:{os.defpath}")["verdict"] == verdict


def test_a_server_that_cannot_say_where_it_is_serves_all_the_same(
    shell: Shell, project: Path
) -> None:
    """C10: a full or read-only data folder; its own log says so."""
    shell.data_dir.mkdir(mode=0o700)
    (shell.data_dir / "server.json.new").mkdir()

    assert shell.run("start").code == 0
    answer = shell.run("ask", "What does retry_delay give?", "--json", "--cwd", str(project)).json
    assert answer["citations"]
    assert "takes nothing" in (shell.data_dir / "server.log").read_text()
    assert shell.run("stop").out == "stopped\n"


def test_only_a_lock_that_is_held_has_a_holder(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    assert holder(file) is None
    file.write_text("1 7711\n")
    assert holder(file) is None
