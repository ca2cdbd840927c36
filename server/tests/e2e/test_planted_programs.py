"""Programs that a repository holds are never run, however the server was started (B1)."""

from pathlib import Path

import pytest

from tests.support.scripted_endpoint import Text, serving
from tests.support.server import running_server

_NAMES = (
    *("uname", "git", "rg", "claude", "sh", "python", "python3", "ldconfig", "gcc", "cc", "env"),
    *("lsb_release", "sw_vers", "arch", "file", "objdump", "security", "ip", "ifconfig", "stty"),
)


def _plant(folder: Path) -> None:
    for name in _NAMES:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> '{folder}/planted'\n")
        (folder / name).chmod(0o755)


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_a_server_that_was_started_in_a_repository_runs_nothing_of_it(
    tmp_path: Path, protocol: str
) -> None:
    """Whichever way it is written: each entry of this PATH but two leads into the repository."""
    project = tmp_path / "server"
    project.mkdir()
    _plant(project)
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    with serving() as endpoint:
        channel = endpoint.open(Text("`MAX_RETRIES` is 7 (limits.py:1)."))
        base_url = channel.base_url + ("/v1" if protocol == "openai" else "")
        with running_server(
            project,
            PATH=":.:../server:.//:/usr/bin:/bin:.:",
            LIVE_MEMORY_PROVIDER=protocol,
            LIVE_MEMORY_BASE_URL=base_url,
            LIVE_MEMORY_API_KEY="sk-test-not-a-real-key-0001",
        ) as server:
            server.ask("How many retries are allowed?", project)
            assert Path(f"/proc/{server.pid}/cwd").readlink() == Path("/")
    assert channel.requests
    assert not (project / "planted").exists()


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_a_question_to_a_model_runs_no_program_to_say_what_machine_this_is(
    tmp_path: Path, protocol: str
) -> None:
    """An SDK's `platform.platform()` runs `uname`, from wherever PATH says."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uname").write_text(f"#!/bin/sh\necho >> '{programs}/planted'\n")
    (programs / "uname").chmod(0o755)
    (tmp_path / "limits.py").write_text("MAX_RETRIES = 7\n")
    with serving() as endpoint:
        channel = endpoint.open(Text("`MAX_RETRIES` is 7 (limits.py:1)."))
        base_url = channel.base_url + ("/v1" if protocol == "openai" else "")
        with running_server(
            tmp_path / "server",
            PATH=f"{programs}:/usr/bin:/bin",
            LIVE_MEMORY_PROVIDER=protocol,
            LIVE_MEMORY_BASE_URL=base_url,
            LIVE_MEMORY_API_KEY="sk-test-not-a-real-key-0001",
        ) as server:
            server.ask("How many retries are allowed?", tmp_path)
    assert channel.requests
    assert not (programs / "planted").exists()
