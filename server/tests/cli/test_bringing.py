"""A user who installed only the plugin: it brings its own environment, once, in the background."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path

import pytest

from live_memory import __version__
from live_memory.web.identity import published
from tests.support.server import a_free_port

_REPOSITORY = Path(__file__).parents[3]
_PLUGIN = (".claude-plugin", ".mcp.json", "bin", "commands", "hooks", "skills", "server")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "tests", ".*_cache", ".hypothesis")
# Makes an environment whose Python says what it was to run; each install is counted.
_UV = """#!/bin/sh
folder=$(dirname "$0")
env >> "$folder/environ"
pwd >> "$folder/places"
case "$1 $2" in
"venv --python")
    mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
    printf '#!/bin/sh\\necho "$0 $*" >> "%s/ran"\\necho "live-memory, version 1"\\n' "$folder" \\
        > "$4/bin/python"
    chmod 755 "$4/bin/python" ;;
"pip install")
    echo "$*" >> "$folder/installs"
    while [ -e "$folder/wait" ]; do sleep 0.05; done
    [ -e "$folder/broken" ] && { cat "$folder/broken" >&2; exit 1; }
    case $* in *extras*) [ -e "$folder/no-extras" ] && exit 1 ;; esac ;;
esac
exit 0
"""
_WITHIN_S = 60


@dataclass(frozen=True, slots=True)
class _User:
    """Someone with a home, the plugin, and the programs that a machine comes with."""

    folder: Path
    port: int

    @property
    def environment(self) -> Path:
        return self.folder / "home/.local/share/live-memory/environment"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        if (self.programs / "broken").exists():
            kept = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        return kept | {
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
        }

    def begin(self, command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["/bin/sh", self.folder / "plugin/bin/live-memory", command],
            env=self.environ(),
            cwd=self.folder / "project",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        with self.begin(command) as process:
            out, err = process.communicate(timeout=_WITHIN_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def noted(self, name: str) -> list[str]:
        """What a program of this machine wrote down."""
        file = self.programs / name
        return file.read_text().splitlines() if file.exists() else []

    def status(self) -> str:
        file = self.environment / "status"
        return file.read_text() if file.exists() else ""

    def is_ready(self, version: str = __version__) -> bool:
        return (self.environment / version / "ready").exists()


@pytest.fixture
def user(tmp_path: Path) -> Iterator[_User]:
    """A user of a machine with a `uv` of ours."""
    user = _User(tmp_path, a_free_port())
    for name in ("home", "project", "programs", "plugin"):
        (tmp_path / name).mkdir()
    config = tmp_path / "home/.config/live-memory/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"port = {user.port}\n")
    config.chmod(0o600)
    (user.programs / "uv").write_text(_UV)
    (user.programs / "uv").chmod(0o755)
    for name in _PLUGIN:
        source, target = _REPOSITORY / name, tmp_path / "plugin" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, target)
    yield user
    (user.programs / "wait").unlink(missing_ok=True)
    server = published(user.environment.parent)
    if server is not None:
        os.kill(server.pid, signal.SIGTERM)


def test_sessions_that_start_at_once_bring_it_once_and_do_not_wait(user: _User) -> None:
    (user.programs / "wait").touch()
    sessions = [user.begin("start") for _ in range(5)]
    outs = [session.communicate(timeout=_WITHIN_S) for session in sessions]
    _wait_for(lambda: bool(user.noted("installs")))
    began = user.run("stats").stderr
    _wait_for(lambda: user.run("stats").stderr != began)
    meanwhile = user.run("stats")
    (user.programs / "wait").unlink()
    _wait_for(lambda: "is installed" in user.status())

    assert [
        (session.returncode, out) for session, (out, _) in zip(sessions, outs, strict=True)
    ] == [(127, "")] * 5
    assert all("being installed" in err for _, err in outs)
    assert (meanwhile.returncode, meanwhile.stdout) == (127, "")
    form = (
        r"Live Memory \S+ is being installed for the plugin "
        r"\(step 2 of 3, getting (\d+) packages with uv\): (\d+) s so far, "
        r"usually within a minute\n"
    )
    first, later = re.fullmatch(form, began), re.fullmatch(form, meanwhile.stderr)
    assert first is not None, began
    assert later is not None, meanwhile
    needed = (_REPOSITORY / "server/locked/server.txt").read_text().splitlines()
    assert int(later[1]) == sum(not line.startswith((" ", "#")) for line in needed)
    assert int(first[2]) < int(later[2])
    python = user.environment / __version__ / "bin/python"
    only = "--require-hashes --only-binary :all: --no-deps"
    assert user.noted("installs") == [
        f"pip install --python {python} {only} -r {user.folder}/plugin/server/locked/{name}.txt"
        for name in ("server", "extras")
    ]
    # It was tried, and the server brought up for the session that still goes on.
    assert user.noted("ran")[:2] == [
        f"{python} -I -m live_memory {w}" for w in ("--version", "start")
    ]
    assert sum(line.endswith(" start") for line in user.noted("ran")) == 1
    assert user.run("stats").returncode == 0
    assert user.noted("ran")[-1] == f"{python} -I -m live_memory stats"


def test_where_it_cannot_be_installed_the_reason_is_told_and_it_is_not_tried_at_once_again(
    user: _User,
) -> None:
    (user.programs / "broken").write_text("no route to the index\n")
    user.run("start")
    _wait_for(lambda: "could not be installed" in user.status())
    tried = len(user.noted("installs"))
    told, again = user.run("doctor"), user.run("start")

    assert told.returncode == 127
    assert "could not be installed for the plugin: " in told.stderr
    assert str(user.environment / "log") in told.stderr
    assert (again.returncode, again.stdout) == (127, "")
    assert len(user.noted("installs")) == tried
    assert not (user.environment / __version__).exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("error: dns error: failed to lookup address information", "cannot be reached"),
        ("[Errno -3] Temporary failure in name resolution'))", "cannot be reached"),
        ("ProxyError('Cannot connect to proxy.', NewConnectionError(", "the proxy refuses"),
        ("error: tunnel error: unsuccessful, 403 Forbidden\nhelp: ...", "the proxy refuses"),
        ("OSError: [Errno 28] No space left on device\nsee the log", "no room is left on the disk"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\nhash mismatch\n", "something else than"),
        ("something new", "something new"),
    ],
)
def test_the_reason_is_a_line_that_a_person_understands(
    tmp_path: Path, said: str, why: str
) -> None:
    (tmp_path / "log").write_text(f"$ uv pip install\n{said}\n$ python -m pip\n")
    found = run_path(str(_REPOSITORY / "bin/install_env.py"))["reason"](str(tmp_path / "log"))
    assert why in found
    assert "\n" not in found


@pytest.mark.parametrize("command", ["start", "stats"])
def test_a_folder_that_takes_nothing_is_named(user: _User, command: str) -> None:
    """A home that is read-only, a disk that is full: nothing could be written down."""
    user.environment.parent.mkdir(parents=True)
    user.environment.write_text("in the way")
    told = user.run(command)
    assert "cannot be installed for the plugin: " in told.stderr
    assert f"'{user.environment}' takes nothing: make room there" in told.stderr
    assert told.stderr.count("\n") == 1
    assert user.noted("installs") == []


def test_a_user_without_a_home_is_asked_for_one(user: _User) -> None:
    (user.programs / "id").write_text("#!/bin/sh\necho nobody-known\n")
    (user.programs / "id").chmod(0o755)
    environ = {name: text for name, text in user.environ().items() if name != "HOME"}
    done = subprocess.run(
        ["/bin/sh", user.folder / "plugin/bin/live-memory", "start"],
        env=environ,
        cwd=user.folder / "project",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "Live Memory does not know your home folder: set HOME, then start a new session\n"
    )
    assert list((user.folder / "project").iterdir()) == []


def test_one_that_was_killed_on_the_way_is_begun_again(user: _User) -> None:
    (user.programs / "wait").touch()
    user.run("start")
    _wait_for(lambda: bool(user.noted("installs")))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"install_env.py\0" in words and str(user.folder).encode() in words:
            os.kill(int(process.name), signal.SIGKILL)
    (user.programs / "wait").unlink()

    user.run("start")

    _wait_for(lambda: "is installed" in user.status())
    assert user.is_ready()


def test_the_one_of_the_plugin_before_serves_until_the_new_one_is_there(user: _User) -> None:
    user.run("start")
    _wait_for(lambda: "is installed" in user.status())
    manifest = user.folder / "plugin/.claude-plugin/plugin.json"
    described = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(described | {"version": "9.9.9"}))
    (user.programs / "wait").touch()

    meanwhile = user.run("start")
    (user.programs / "wait").unlink()
    _wait_for(lambda: user.is_ready("9.9.9"))
    user.run("stats")

    assert meanwhile.returncode == 0
    assert f"/{__version__}/bin/python -I -m live_memory start" in "\n".join(user.noted("ran"))
    assert "/9.9.9/bin/python -I -m live_memory stats" in user.noted("ran")[-1]


def test_where_an_optional_part_cannot_be_had_the_rest_is_installed(user: _User) -> None:
    (user.programs / "no-extras").touch()
    user.run("start")
    _wait_for(lambda: "is installed" in user.status())
    assert user.is_ready()


@pytest.mark.parametrize("gone", ["interpreter", "packages", "all but its mark"])
def test_one_that_does_not_run_any_more_is_made_anew(user: _User, gone: str) -> None:
    """N04: the Python that it was made with was upgraded away."""
    user.run("start")
    _wait_for(lambda: "is installed" in user.status())
    made = user.environment / __version__
    python = made / "bin/python"
    if gone == "interpreter":
        python.unlink()
        python.symlink_to("/nowhere/python3")
    elif gone == "packages":
        python.write_text("#!/bin/sh\nexit 1\n")
    else:
        (made / "bin/live-memory").unlink()
        python.unlink()

    told, again = user.run("stats"), user.run("start")
    _wait_for(lambda: len(user.noted("installs")) == 4 and "is installed" in user.status())

    assert told.returncode == 127
    assert told.stderr == (
        f"'{made}' does not run any more: it is made anew when the next session begins\n"
    )
    assert "being installed" in again.stderr
    assert user.run("stats").returncode == 0


def test_nothing_that_a_project_may_set_decides_what_is_installed_or_run(user: _User) -> None:
    """F8, F3, B1: a session's environment, and programs in its folder."""
    project = user.folder / "project"
    for name in ("uv", "python3", "sed", "env", "dirname", "find", "live-memory"):
        (project / name).write_text(f"#!/bin/sh\ntouch '{user.folder}/planted'\n")
        (project / name).chmod(0o755)
    (project / "uv.toml").write_text("no-index = true\n")
    hostile = {
        "PATH": f".::../project:{user.environ()['PATH']}:",
        "PYTHONPATH": ":/x",
        "PYTHONHOME": "/x",
        "PIP_TARGET": "/x",
        "PIP_NO_BINARY": ":all:",
        "PIP_REQUIRE_HASHES": "0",
        "UV_ENV_FILE": "x",
        "UV_NO_VERIFY_HASHES": "1",
        "UV_PROJECT": "/x",
        "LD_PRELOAD": "",
        "LIVE_MEMORY_BASE_URL": "http://127.0.0.1:9/v1",
        "SOME_API_KEY": "canary",
        "UV_INDEX_URL": "https://mirror.invalid/simple",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    subprocess.run(
        ["/bin/sh", user.folder / "plugin/bin/live-memory", "start"],
        env={**user.environ(), **hostile},
        cwd=project,
        capture_output=True,
        check=False,
    )
    _wait_for(lambda: "is installed" in user.status())

    assert not (user.folder / "planted").exists()
    given = dict(line.partition("=")[::2] for line in user.noted("environ"))
    assert set(user.noted("places")) == {"/"}
    assert given["PATH"] == user.environ()["PATH"]
    assert given["UV_INDEX_URL"] == hostile["UV_INDEX_URL"]
    assert given["HTTPS_PROXY"] == hostile["HTTPS_PROXY"]
    kept = {"PATH", "UV_INDEX_URL", "HTTPS_PROXY"}
    assert not (hostile.keys() - kept) & given.keys()


@pytest.mark.parametrize("of", ["nobody", "root", "another user", "a group", "everyone"])
def test_a_configuration_that_others_can_write_leads_to_no_program(user: _User, of: str) -> None:
    """F10: it names the data folder, and what is installed there is run."""
    if of in ("root", "another user") and os.geteuid() != 0:
        pytest.skip("gives files to another user")
    made = user.folder / "theirs/environment" / __version__ / "bin"
    made.mkdir(parents=True)
    (made / "live-memory").write_text(f"#!/bin/sh\ntouch '{user.folder}/planted'\n")
    (made / "live-memory").chmod(0o755)
    (made.parent / "ready").touch()
    config = user.folder / "home/.config/live-memory/config.toml"
    config.write_text(f'data_dir = "{user.folder}/theirs"\n')
    config.chmod(
        {
            "nobody": 0o600,
            "root": 0o644,
            "another user": 0o644,
            "a group": 0o664,
            "everyone": 0o646,
        }[of]
    )
    if of == "another user":
        os.chown(config, 65_534, 65_534)

    user.run("stats")

    assert (user.folder / "planted").exists() is (of in ("nobody", "root"))


def test_everything_is_for_its_owner_only(user: _User) -> None:
    user.run("start")
    _wait_for(lambda: "is installed" in user.status())

    for entry in [user.environment, *user.environment.glob("*")]:
        assert entry.stat().st_mode & 0o077 == 0, entry


@pytest.mark.timeout(300)
def test_with_nothing_but_python_it_installs_the_server_itself_and_the_session_gets_it(
    user: _User, request: pytest.FixtureRequest
) -> None:
    """The real thing, from the real index, in an empty home."""
    (user.programs / "uv").unlink()

    first = user.run("start")
    _wait_for(lambda: user.status() != "" and "being installed" not in user.status(), within_s=240)
    if "is installed" not in user.status():
        log = (user.environment / "log").read_text()
        if request.config.getoption("--no-missing"):
            pytest.fail(log)
        pytest.skip(f"needs a package index: {user.status()}")
    second = user.run("start")

    assert "being installed" in first.stderr
    assert second.returncode == 0
    server = published(user.environment.parent)
    assert server is not None
    assert (server.port, server.version) == (user.port, __version__)
    assert user.run("stats").returncode == 0


def _wait_for(condition: Callable[[], bool], *, within_s: float = _WITHIN_S) -> None:
    """Until it holds; what another process does gives us nothing to wait on."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
