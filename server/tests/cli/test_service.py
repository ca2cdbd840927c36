"""`service`: what it writes is what systemd takes, and when it is gone nothing is left (X8)."""

import os
import plistlib
import shlex
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_memory.cli.environment import Failure
from live_memory.cli.service import (
    Launchd,
    Service,
    environment_file,
    launchd_agent,
    supervisor,
    systemd_unit,
)
from live_memory.settings import Settings, load
from live_memory.web.identity import published
from tests.cli.shell import Shell, open_shell

_DEPLOY = Path(__file__).parents[3] / "deploy"
_YOURS = Path("/home/you/.local/share/live-memory")
_SAMPLE = Service(
    command=(
        *("/home/you/.local/share/uv/tools/live-memory/bin/python", "-I", "-m", "live_memory"),
        *("serve", "--mode=service", f"--data-dir={_YOURS}"),
    ),
    data_dir=_YOURS,
    environment=_YOURS / "service.env",
    writable=(Path("/home/you/.claude"), Path("/home/you/.claude.json"), Path("/tmp")),
)
_OF_THE_MACHINE = Service(
    _SAMPLE.command, _SAMPLE.data_dir, _SAMPLE.environment, "you", _SAMPLE.writable
)
# Answers yes to everything, and remembers what it was asked.
_YES = '#!/bin/sh\necho "$*" >> "$0.asked"\n'
_NO = '#!/bin/sh\necho "Failed to connect to bus" >&2\nexit 1\n'


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell in a folder whose name has all that a unit file gives a meaning."""
    with open_shell(tmp_path / 'a "b" 50% $HOME') as opened:
        yield opened


def test_a_unit_that_is_installed_serves_and_says_when_it_is_ready(
    shell: Shell, tmp_path: Path
) -> None:
    done = _service(shell, "install")
    assert done.returncode == 0, done.stderr
    file, environment = _unit(shell), shell.data_dir / "service.env"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.settimeout(60)
        heard.bind(str(tmp_path / "notify"))
        started = _as_systemd(file, environment, notify=tmp_path / "notify")
        try:
            ready = heard.recv(64)
            there = published(shell.data_dir)
            status = _service(shell, "status")
        finally:
            started.send_signal(signal.SIGTERM)
        stopping = heard.recv(64)
        assert started.wait(30) == 0

    assert (ready, stopping) == (b"READY=1", b"STOPPING=1")
    assert there is not None
    assert (there.pid, there.port, there.mode) == (started.pid, shell.port, "service")
    assert f"http://127.0.0.1:{shell.port} (ok)" in status.stdout
    assert {stat.S_IMODE(each.stat().st_mode) for each in (file, environment)} == {0o600}
    assert _asked(shell)[-4:-1] == [
        "--user daemon-reload",
        "--user enable live-memory",
        "--user restart live-memory",
    ]


def test_uninstalling_leaves_the_data_folder_and_says_where_it_is(shell: Shell) -> None:
    """X8."""
    before = _files(shell)
    _service(shell, "install")
    assert _files(shell) > before

    done, again = _service(shell, "uninstall"), _service(shell, "uninstall")

    assert _files(shell) == before
    assert list(shell.data_dir.iterdir()) == []
    assert f"the data folder '{shell.data_dir}' is left" in done.stdout
    assert "--user disable --now live-memory" in _asked(shell)
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, "no service is installed")


def test_a_key_that_was_written_into_the_environment_stays_when_installing_again(
    shell: Shell,
) -> None:
    _service(shell, "install")
    environment = shell.data_dir / "service.env"
    environment.write_text("ANTHROPIC_API_KEY=mine\n")

    _service(shell, "install")

    assert environment.read_text() == "ANTHROPIC_API_KEY=mine\n"


def test_keys_of_this_shell_are_not_written_down(shell: Shell) -> None:
    _service(shell, "install", LIVE_MEMORY_API_KEY="sk-secret", LIVE_MEMORY_MODEL="small")

    text = (shell.data_dir / "service.env").read_text()
    assert "sk-secret" not in text
    assert 'LIVE_MEMORY_MODEL="small"' in text


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ignore", "*.csv secrets/**"),
        ("ignore", '["a b/*", "it\'s \\"mine\\".py"]'),
        ("ignore", "[ab]*.py"),
        ("ignore", " [ ]"),
        ("openai_extra_body", '{"a": {"b": [1, null, "50% $HOME"]}}'),
        ("log_file", "my server.log"),
        ("watch", "no"),
        ("price_input", "0.25"),
        ("provider", "none"),
    ],
)
def test_what_is_set_in_this_shell_is_set_the_same_in_the_service(
    shell: Shell, name: str, given: str
) -> None:
    nothing = shell.folder / "none.toml"
    variable = f"LIVE_MEMORY_{name.upper()}"
    _service(shell, "install", **{variable: given})

    # systemd's quoting is that of a POSIX shell here: double quotes, and a backslash before them.
    lines = (shell.data_dir / "service.env").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{variable}=")]
    (written,) = shlex.split(line.partition("=")[2])
    here, there = load({}, {variable: given}, nothing), load({}, {variable: written}, nothing)
    same, default = getattr(here.settings, name), Settings.model_fields[name].default
    assert getattr(there.settings, name) == same
    assert same != default or given.strip() == "[ ]"


def test_where_no_systemd_runs_it_says_so_and_changes_nothing(shell: Shell) -> None:
    before = _files(shell)

    done = _service(shell, "install", systemctl=_NO)

    assert done.returncode == 1
    assert "no systemd runs for you (Failed to connect to bus): nothing was changed" in done.stderr
    assert _files(shell) == before
    assert not shell.data_dir.exists()


@pytest.mark.real("systemd-analyze")
@pytest.mark.parametrize("system", [(), ("--system",)])
def test_systemd_finds_nothing_wrong_with_the_unit(
    shell: Shell, tmp_path: Path, system: tuple[str, ...]
) -> None:
    unit = tmp_path / "live-memory.service"
    unit.write_text(_service(shell, "install", "--print", *system).stdout)
    (tmp_path / "run").mkdir(mode=0o700)

    verified = subprocess.run(
        ["systemd-analyze", "verify", *(() if system else ("--user",)), unit],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (verified.returncode, verified.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("live-memory.service", systemd_unit(_SAMPLE).encode()),
        ("live-memory-of-the-machine.service", systemd_unit(_OF_THE_MACHINE).encode()),
        ("live-memory.plist", launchd_agent(_SAMPLE, {"PATH": "/usr/bin:/bin"})),
        ("service.env", environment_file({"PATH": "/usr/bin:/bin"}).encode()),
    ],
)
def test_the_files_in_deploy_are_what_would_be_written(name: str, text: bytes) -> None:
    assert (_DEPLOY / name).read_bytes() == text


def test_an_agent_of_macos_is_started_again_only_when_it_failed() -> None:
    agent = plistlib.loads(launchd_agent(_SAMPLE, {}))

    assert agent["ProgramArguments"] == list(_SAMPLE.command)
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert isinstance(supervisor(is_system=False, platform="darwin"), Launchd)
    for is_system, platform in ((True, "darwin"), (False, "win32")):
        with pytest.raises(Failure, match="serve --mode service"):
            supervisor(is_system=is_system, platform=platform)


def _service(
    shell: Shell, *words: str, systemctl: str = _YES, **environ: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command where `systemctl` is a program of ours."""
    programs = shell.folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "systemctl").write_text(systemctl)
    (programs / "systemctl").chmod(0o755)
    done = shell.run(
        "service", *words, environ={"PATH": f"{programs}:{os.environ['PATH']}", **environ}
    )
    return subprocess.CompletedProcess(words, done.code, done.out, done.err)


def _asked(shell: Shell) -> list[str]:
    return (shell.folder / "programs/systemctl.asked").read_text().splitlines()


def _unit(shell: Shell) -> Path:
    return shell.folder / "config/systemd/user/live-memory.service"


def _files(shell: Shell) -> set[Path]:
    """Every file outside the data folder and the program of ours."""
    return {
        each
        for each in shell.folder.rglob("*")
        if each.is_file() and not each.is_relative_to(shell.folder / "programs")
    } - set(shell.data_dir.rglob("*"))


def _as_systemd(unit: Path, environment: Path, *, notify: Path) -> "subprocess.Popen[bytes]":
    """Run the unit's own line in the unit's own environment, and in no other."""
    lines = unit.read_text().splitlines()
    (command,) = [line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart")]
    (folder,) = [line.partition("=")[2] for line in lines if line.startswith("WorkingDirectory")]
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(command)]
    environ = dict(
        line.split("=", 1) for line in environment.read_text().splitlines() if line[:1] != "#"
    )
    return subprocess.Popen(
        words,
        cwd=folder.replace("%%", "%"),
        env={name: shlex.split(value)[0] for name, value in environ.items()}
        | {"NOTIFY_SOCKET": str(notify), "HOME": str(unit.parents[3] / "home")},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
