"""`uninstall`: no process stays, and of the files those that it names; nobody else's is touched."""

import fcntl
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from live_memory.cli.environment import is_alive
from live_memory.cli.uninstall import KNOWN
from live_memory.web.identity import ensure_token, published
from tests.cli.shell import Done, Shell

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
# Without the host: what it lists depends on the machine.
_NO_HOST = {"PATH": os.defpath}


def _uninstall(shell: Shell, *words: str, **environ: str) -> Done:
    return shell.run("uninstall", *words, environ={**_NO_HOST, **environ})


def _tree(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path != folder / "home"}


def _still(folder: Path) -> set[Path]:
    """All but what a server that runs writes by itself, which is in a workspace's folder."""
    return {path for path in _tree(folder) if path.parent.parent.name != "workspaces"}


def _used(shell: Shell, project: Path) -> int:
    """A server that was asked, settings, and an environment of the plugin; the process."""
    (shell.folder / "config/live-memory").mkdir(mode=0o700)
    (shell.folder / "config/live-memory/config.toml").write_text('log_level = "info"\n')
    pid = shell.run("start", "--json").json["pid"]
    assert isinstance(pid, int)
    assert shell.run("ask", "What does retry_delay give?", "--cwd", str(project)).code == 0
    like = ("note", "Short functions.", "--scope", "user", "--cwd", str(project))
    assert shell.run(*like).code == 0
    (shell.data_dir / "told").touch(0o600)
    (shell.data_dir / "spool.jsonl").write_text('{"project": "/x", "dropped": 1}\n')
    made = shell.data_dir / "environment/0.1.0"
    (made / "bin").mkdir(parents=True)
    (made / "pyvenv.cfg").touch()
    (shell.folder / "kept_by_someone").mkdir()
    (made / "bin/python").symlink_to(shell.folder / "kept_by_someone")
    (made.parent / "status").write_text("Live Memory 0.1.0 is installed for the plugin\n")
    (made.parent / "log").touch()
    return pid


def test_it_leaves_no_process_and_only_what_it_says(shell: Shell, project: Path) -> None:
    before = _tree(shell.folder)
    pid = _used(shell, project)
    done = _uninstall(shell, "--json")
    left = _tree(shell.folder) - before

    assert (done.code, done.err) == (0, "")
    assert not is_alive(pid)
    assert (done.json["stopped"], done.json["failed"]) == (pid, {})
    kept = done.json["kept"]
    assert isinstance(kept, dict)
    named = {Path(path) for path in kept}
    spoken = {path for path in left if any(path.is_relative_to(one) for one in named)}
    theirs = {shell.folder / name for name in ("kept_by_someone", "data", "config/live-memory")}
    assert left == spoken | theirs
    assert {str(path.relative_to(shell.folder)): why for path, why in kept_by_path(kept)} == {
        "data/workspaces": "what is remembered of 1 codebase",
        "data/user": "what is remembered of you in all codebases",
        "data/spool.jsonl": "what is remembered",
        "config/live-memory/config.toml": "your settings",
    }
    assert shell.run("start").code == 0
    stats = shell.run("stats", "--json", "--cwd", str(project)).json
    assert stats["questions"] == 1


def kept_by_path(kept: dict[str, str]) -> list[tuple[Path, str]]:
    return [(Path(path), why) for path, why in kept.items()]


def test_with_purge_everything_is_as_it_was_before(shell: Shell, project: Path) -> None:
    before = _tree(shell.folder)
    _used(shell, project)
    done = _uninstall(shell, "--purge", "--yes")

    assert done.code == 0, done
    assert _tree(shell.folder) - before == {shell.folder / "kept_by_someone"}
    assert f"removed: {shell.data_dir}\n" in done.out
    assert "kept: " not in done.out


def test_a_dry_run_says_what_the_real_one_does_and_changes_nothing(
    shell: Shell, project: Path
) -> None:
    pid = _used(shell, project)
    before = _still(shell.folder)
    dry, said = _uninstall(shell, "--dry-run", "--json"), _uninstall(shell, "--dry-run")
    after, was_alive = _still(shell.folder), is_alive(pid)
    real = _uninstall(shell, "--json")

    assert (after, was_alive) == (before, True)
    assert f"would be stopped: the server (process {pid})" in said.out
    gone_with_it = {str(shell.data_dir / "server.json")}  # the server takes that back itself
    assert set(_names(dry, "removed")) - gone_with_it == set(_names(real, "removed"))
    assert (dry.json["kept"], dry.json["stopped"]) == (real.json["kept"], real.json["stopped"])


def test_it_can_be_done_again(shell: Shell, project: Path) -> None:
    _used(shell, project)
    first, second, purged, nothing = (
        _uninstall(shell, *words) for words in ((), (), ("--purge", "--yes"), ("--purge", "--yes"))
    )

    assert [done.code for done in (first, second, purged, nothing)] == [0, 0, 0, 0]
    assert "stopped: the server" in first.out
    assert "there is nothing of ours to remove" in second.out
    assert "live-memory uninstall --purge" in second.out
    assert not shell.data_dir.exists()
    assert nothing.out.splitlines()[0] == "there is nothing of ours to remove"


def test_a_home_that_is_the_data_folder_keeps_what_is_its_users(
    shell: Shell, project: Path, tmp_path: Path
) -> None:
    """Folders that are called as ours are, links, and files that are nothing of ours."""
    home = tmp_path / "all"
    theirs = {
        "notes.txt": "mine",
        "workspaces/novel/chapter.md": "mine",
        "environment/3.11/pyvenv.cfg": "mine",
        "companion/letter.md": "mine",
        ".ssh/id": "mine",
    }
    for name, text in theirs.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    home.chmod(0o700)
    (home / "told").symlink_to(home / "notes.txt")
    (home / "spend.jsonl").symlink_to(home / ".ssh/id")
    (home / "workspaces" / ("a" * 32)).symlink_to(home / ".ssh")
    before = _tree(home)
    here = {"LIVE_MEMORY_DATA_DIR": str(home)}
    assert shell.run("start", environ=here).code == 0
    shell.run("ask", "What does retry_delay give?", "--cwd", str(project), environ=here)
    done = _uninstall(shell, "--purge", "--yes", **here)

    assert done.code == 0, done
    assert _tree(home) == before
    assert {name: (home / name).read_text() for name in theirs} == theirs
    assert f"kept: {home / 'told'} (a link, or other files are in it)" in done.out
    assert f"kept: {home} (2 in it that are not ours)" in done.out


def test_a_folder_that_never_was_ours_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    for name in ("token", "lock", "server.log", "spool.jsonl"):
        (other / name).write_text("of another program\n")
    before = _tree(other)
    done = _uninstall(shell, "--purge", "--yes", LIVE_MEMORY_DATA_DIR=str(other))

    assert (done.code, _tree(other)) == (0, before)
    assert "there is nothing of ours to remove" in done.out


def test_nothing_is_forgotten_where_nobody_can_be_asked(shell: Shell, project: Path) -> None:
    _used(shell, project)
    before = _still(shell.folder)
    for words in (("--purge",), ("--purge", "--json")):
        assert _uninstall(shell, *words).code == 2
    assert _still(shell.folder) == before


def test_while_something_is_being_started_nothing_goes(shell: Shell) -> None:
    ensure_token(shell.data_dir)
    with (shell.data_dir / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = _uninstall(shell)

    assert done.code == 3
    assert "try again in a minute" in done.err
    assert (shell.data_dir / "token").exists()


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_service_goes_where_it_is_about_this_data_folder(shell: Shell, is_its_own: bool) -> None:
    programs = shell.folder / "programs"
    programs.mkdir()
    (programs / "systemctl").write_text('#!/bin/sh\necho "$*" >> "$0.asked"\n')
    (programs / "systemctl").chmod(0o755)
    environ = {"PATH": f"{programs}:{os.defpath}"}
    other = {} if is_its_own else {"LIVE_MEMORY_DATA_DIR": str(shell.folder / "other")}
    assert shell.run("service", "install", environ={**environ, **other}).code == 0
    unit = shell.folder / "config/systemd/user/live-memory.service"
    done = shell.run("uninstall", environ=environ)

    asked = (programs / "systemctl.asked").read_text()
    assert unit.exists() is not is_its_own
    assert (f"removed: {unit}" in done.out) is is_its_own
    assert ("disable --now live-memory" in asked) is is_its_own


def test_hosts_that_still_start_it_are_named_and_what_disconnects_them_stays(shell: Shell) -> None:
    ensure_token(shell.data_dir)
    file = shell.data_dir / "connections.json"
    made = {"a": {"host": "codex"}, "b": {"host": "cursor", "project": "/src/my project"}}
    file.write_text(json.dumps(made))
    (shell.folder / "home/.claude.json").write_text('{"mcpServers": {"live-memory": {}}}')
    done = _uninstall(shell, "--purge", "--yes")
    file_there = file.exists()
    file.write_text("{}")
    again = _uninstall(shell, "--purge", "--yes")

    assert done.out.splitlines()[:3] == [
        f"a host still starts Live Memory; to end that: live-memory disconnect {how}"
        for how in ("codex", "cursor --project --cwd '/src/my project'", "claude")
    ]
    assert (file_there, again.code, shell.data_dir.exists()) == (True, 0, False)


def test_the_command_that_runs_may_be_among_what_goes(shell: Shell) -> None:
    """The plugin's own environment holds the only command of somebody who installed no other."""
    ensure_token(shell.data_dir)
    made = shell.data_dir / "environment/0.1.0"
    venv.create(made, with_pip=False, symlinks=True)
    (packages,) = made.glob("lib/python3*/site-packages")
    here = [path for path in sys.path if "site-packages" in path]
    (packages / "all.pth").write_text("\n".join([*here, str(Path(__file__).parents[2])]))
    (made.parent / "status").write_text("Live Memory 0.1.0 is installed for the plugin\n")
    connections = shell.data_dir / "connections.json"
    connections.write_text('{"a": {"host": "codex"}}')
    refused = _run(shell, made / "bin/python")
    was_there = made.exists()
    connections.unlink()
    done = _run(shell, made / "bin/python")

    assert (refused.returncode, was_there) == (2, True)
    assert refused.stderr.endswith("run `live-memory disconnect codex` first, or add --yes\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"removed: {shell.data_dir}\n"
    assert not shell.data_dir.exists()


def _run(shell: Shell, python: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, "-I", "-m", "live_memory", "uninstall"],
        env={**shell.environ, **_NO_HOST},
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@AS_ROOT
def test_another_users_data_folder_is_left_to_him(shell: Shell) -> None:
    ensure_token(shell.data_dir)
    os.chown(shell.data_dir, 65_534, 65_534)
    done = _uninstall(shell)
    os.chown(shell.data_dir, 0, 0)

    assert done.code == 2
    assert "belongs to another user" in done.err
    assert (shell.data_dir / "token").exists()


def test_every_name_in_a_data_folder_is_known(shell: Shell, project: Path) -> None:
    """What is added there has to be told apart from what is not ours."""
    _used(shell, project)
    assert {path.name for path in shell.data_dir.iterdir()} <= KNOWN
    assert published(shell.data_dir) is not None


def _names(done: Done, name: str) -> list[str]:
    found = done.json[name]
    assert isinstance(found, list)
    return found


def test_a_log_elsewhere_and_settings_by_a_link_are_left(shell: Shell, tmp_path: Path) -> None:
    """Both are where somebody put them."""
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "config.toml").write_text("log_file = '../beside.log'\n")
    (shell.folder / "config/live-memory").symlink_to(elsewhere)
    assert shell.run("start").code == 0
    assert (shell.folder / "beside.log").exists()
    done = _uninstall(shell, "--purge", "--yes")

    assert done.code == 0, done
    assert (elsewhere / "config.toml").exists()
    assert (shell.folder / "beside.log").exists()
    assert "beside.log (the log, where you set it)" in done.out
    assert "config.toml (your settings)" in done.out
