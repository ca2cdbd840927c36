"""What decides which server runs: the user's files and shell, no session and no folder (F3, F7)."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from live_memory.cli.environment import absolute_path, lasting, settings_in
from live_memory.web.identity import published
from tests.cli.shell import Shell

_COMMAND = Path(sys.executable).with_name("live-memory")
_KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN"), "sk-canary")
_OTHERS = {
    "OPENAI_BASE_URL": "http://canary.invalid/v1",
    "ANTHROPIC_BASE_URL": "http://canary.invalid",
    "SSL_CERT_FILE": "/canary.pem",
    "LD_PRELOAD_CANARY": "canary",
    "GIT_SSH_COMMAND": "canary",
    "PYTHONPATH": ":/canary",
    "CLAUDE_CODE_SESSION_ID": "canary",
}
_SET = {
    "LIVE_MEMORY_BASE_URL": "http://canary.invalid/v1",
    "LIVE_MEMORY_PROVIDER": "openai",
    "LIVE_MEMORY_MODEL": "canary",
    "LIVE_MEMORY_USE_OAUTH": "yes",
}
_KEPT = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "no_proxy": "localhost",
    "LC_ALL": "C.UTF-8",
    "CLAUDE_CONFIG_DIR": "/of/the/user",
}
_BEGUN = {"the bridge": "LIVE_MEMORY_PLUGIN_ROOT", "the agent's shell": "CLAUDECODE"}


def _environ_of(shell: Shell) -> dict[str, str]:
    server = published(shell.data_dir)
    assert server is not None
    assert Path(f"/proc/{server.pid}/cwd").readlink() == Path("/")
    assert b"\0-I\0" in Path(f"/proc/{server.pid}/cmdline").read_bytes()
    text = Path(f"/proc/{server.pid}/environ").read_text()
    return dict(line.partition("=")[::2] for line in text.split("\0") if line)


@pytest.mark.parametrize("by", _BEGUN)
@pytest.mark.promise("spend-capped")
def test_a_session_decides_nothing_for_the_server_of_all_projects(shell: Shell, by: str) -> None:
    """F7: its project's settings may set any variable, and its keys are the agent's own."""
    given = {**_KEYS, **_OTHERS, **_SET, **_KEPT, _BEGUN[by]: "/of/a/session"}
    done = shell.run("start", "--port", str(shell.port), environ=given)

    assert done.code == 0, done
    environ = _environ_of(shell)
    assert environ.items() >= _KEPT.items()
    assert "canary" not in str(environ)
    assert {name for name in environ if name.startswith("LIVE_MEMORY")} <= {_BEGUN[by]}
    tried = shell.run("config", "test", "--json", environ=given)
    assert "canary" not in tried.out


def test_nor_does_one_decide_for_a_server_that_its_agent_runs_by_hand(shell: Shell) -> None:
    """Its working folder is not the one that it was started in, and its data folder is."""
    url = {"LIVE_MEMORY_BASE_URL": "http://127.0.0.1:9/v1", "LIVE_MEMORY_USE_OAUTH": "no"}
    environ = {**_SET, **url, **_KEYS, "CLAUDECODE": "1", "LIVE_MEMORY_DATA_DIR": "data"}
    with shell.begin("serve", "--port", str(shell.port), environ=environ) as server:
        try:
            while shell.run("status").code:
                assert server.poll() is None
            tried = shell.run("config", "test", "--json")
            assert Path(f"/proc/{server.pid}/cwd").readlink() == Path("/")
        finally:
            server.terminate()
            server.communicate(timeout=30)
    assert tried.json["model"] is None, tried


def test_a_person_s_own_shell_decides(shell: Shell) -> None:
    """The README's way to give a key."""
    here = {"LIVE_MEMORY_BASE_URL": "http://127.0.0.1:9/v1", "LIVE_MEMORY_USE_OAUTH": "no"}
    shell.run("start", environ={**_SET, **here, **_KEYS, "PYTHONPATH": ":"})
    environ = _environ_of(shell)
    assert environ["OPENAI_API_KEY"] == "sk-canary"
    assert environ["LIVE_MEMORY_MODEL"] == "canary"
    assert not [name for name in environ if name.startswith("PYTHON")]


def test_what_a_session_says_of_settings_is_not_written_into_a_service(shell: Shell) -> None:
    done = shell.run("service", "install", "--print", environ={**_SET, "CLAUDECODE": "1"})
    assert "canary" not in done.out


def _planted(folder: Path, *names: str) -> None:
    """Modules that leave a mark beside them when they are imported."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        mark = folder.parent / f"ran-{name}"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')\n")


def _marks(folder: Path) -> list[str]:
    return sorted(mark.name for mark in folder.parent.glob("ran-*"))


@pytest.mark.parametrize(
    "given",
    [
        # Each leads to the workspace, so that any one that is followed leaves a mark.
        {
            "PYTHONPATH": ":/x:.:../project",
            "PYTHONUSERBASE": ".",
            "PYTHONSTARTUP": "click.py",
            "PYTHONINSPECT": "1",
        },
        {"PYTHONWARNINGS": "error::click.Warning", "PYTHONPATH": ""},
    ],
    ids=["paths", "warnings"],
)
def test_modules_of_the_workspace_are_never_imported(
    shell: Shell, given: Mapping[str, str]
) -> None:
    """F3: by the command, the plugin's wrapper, its hooks, the server or its parser."""
    project = shell.folder / "project"
    _planted(project, "click", "sitecustomize", "usercustomize", "json", "live_memory", "socket")
    (project / "code.py").write_text("def planted_here() -> int:\n    return 1\n")
    plugin = Path(__file__).parents[3]
    environ = {**shell.environ, "PYTHONWARNINGS": "", **given}

    def run(*words: object, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*map(str, words)],
            cwd=project,
            env={**environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(_COMMAND, "start").returncode == 0
    told = run(_COMMAND, "ask", "Where is planted_here defined?")
    run(_COMMAND, "stats")
    run("/bin/sh", plugin / "bin/live-memory", "stats")
    for hook in ("hook.py", "session_start.py"):
        run("/bin/sh", plugin / "hooks/run", hook)
    run("/bin/sh", plugin / "bin/live-memory", "mcp")

    assert "code.py:1" in told.stdout, told
    assert _marks(project) == []


def test_the_command_is_found_through_links_and_says_when_its_python_is_gone(
    tmp_path: Path,
) -> None:
    """N04: as `uv tool` and `pipx` link it; the shell's own words would name no way out."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/live-memory").symlink_to("../second")
    (tmp_path / "second").symlink_to(_COMMAND)
    path = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    works = subprocess.run(["live-memory", "--version"], env=path, capture_output=True, check=False)
    (tmp_path / "second").unlink()
    (tmp_path / "second").write_bytes(_COMMAND.read_bytes())
    (tmp_path / "second").chmod(0o755)
    (tmp_path / "python").symlink_to("/nowhere/python3")
    gone = subprocess.run(
        [tmp_path / "bin/live-memory", "stats"],
        env=path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert works.stdout.startswith(b"live-memory, version ")
    assert gone.returncode == 127
    assert "is gone: install live-memory again (uv tool install --reinstall" in gone.stderr
    assert gone.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".:/usr/bin", "/usr/bin"),
        (":/usr/bin:", "/usr/bin"),
        ("bin:/a:../b:/a:~/c", "/a"),
        ("", "/usr/bin:/bin"),
        (".::..", "/usr/bin:/bin"),
    ],
)
def test_a_path_keeps_what_no_working_folder_decides(path: str, found: str) -> None:
    assert absolute_path({"PATH": path}) == found
    assert lasting({"PATH": path})["PATH"] == found


def test_a_session_names_the_data_folder_and_no_other_setting() -> None:
    given = {"LIVE_MEMORY_DATA_DIR": "/d", "LIVE_MEMORY_PORT": "1"}
    assert settings_in(given) == given
    assert settings_in({**given, "CLAUDECODE": "1"}) == {"LIVE_MEMORY_DATA_DIR": "/d"}


@pytest.mark.parametrize("mode", [0o666, 0o622, 0o646, 0o664])
def test_a_configuration_that_others_can_write_is_not_obeyed(shell: Shell, mode: int) -> None:
    """F10: it decides where questions go."""
    file = shell.folder / "config/live-memory/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('model = "theirs"\n')
    file.chmod(mode)
    refused = shell.run("start")
    file.chmod(0o644)
    shown = shell.run("config", "show", "--json")

    assert refused.code == 2
    assert f"can be written by others ({mode:o})" in refused.err
    assert refused.err.endswith(f"then chmod 600 '{file}'\n")
    assert "theirs" in shown.out


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_configuration_of_another_user_is_not_obeyed(shell: Shell) -> None:
    file = shell.folder / "config/live-memory/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('model = "theirs"\n')
    os.chown(file, 65_534, 65_534)
    refused = shell.run("start")

    assert refused.code == 2
    assert "belongs to another user" in refused.err


@pytest.mark.parametrize("mask", [0o000, 0o002])
def test_folders_above_ours_are_for_their_owner_only(shell: Shell, mask: int) -> None:
    """F10: whatever the shell's umask is."""
    home = shell.folder / "new/home"
    environ = {
        **shell.environ,
        "HOME": str(home),
        "LIVE_MEMORY_DATA_DIR": str(home / "a/b/data"),
        "XDG_CONFIG_HOME": str(home / "c/d"),
    }
    for words in (("config", "set", "port=7712"), ("start",), ("stop",)):
        done = subprocess.run(
            [_COMMAND, *words], env=environ, umask=mask, capture_output=True, check=False
        )
        assert done.returncode == 0, done
    made = [shell.folder / "new", *(shell.folder / "new").rglob("*")]
    assert len(made) > 8
    assert [entry for entry in made if entry.lstat().st_mode & 0o077] == []
