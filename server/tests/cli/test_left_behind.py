"""A server that a plugin started ends soon after its last client once that plugin is gone.

What the host does to a plugin's files was seen in its version 2.1.332.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_memory.cli.environment import plugin_watch
from live_memory.web.identity import published
from tests.cli.shell import Shell, open_shell

# As it is, but for how long it waits.
_AT_ONCE = (
    "import live_memory.web.serving as serving; "
    "serving._LOOK_EVERY_S, serving._LEFT_ALONE_S = 0.02, {}; "
    "from live_memory.cli.main import main; main()"
)


def _installed(home: Path, root: Path) -> None:
    """A plugin that the host lists."""
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin/plugin.json").write_text('{"name": "live-memory"}')
    _list(home, '{"live-memory@live-memory": [], "other@x": []}')


def _list(home: Path, plugins: str) -> None:
    file = home / ".claude/plugins/installed_plugins.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{{"version": 2, "plugins": {plugins}}}')


def _removed(home: Path, root: Path) -> None:
    root.joinpath(".claude-plugin/plugin.json").unlink()


def _marked(home: Path, root: Path) -> None:
    """Uninstalled, or replaced by another version, where the host has a copy."""
    root.joinpath(".orphaned_at").write_text("1796121775742")


def _unlisted(home: Path, root: Path) -> None:
    """Uninstalled where the host read it in place: its folder stays as it is."""
    _list(home, '{"other@x": []}')


_WAYS: dict[str, Callable[[Path, Path], None]] = {
    "its folder is gone": _removed,
    "the host marked its copy": _marked,
    "the host lists it no more": _unlisted,
}


@contextmanager
def _server(
    shell: Shell, root: Path, *, mode: str = "background", left_alone_s: float = 0.05
) -> Iterator["subprocess.Popen[str]"]:
    """A server that the plugin in `root` started, and that looks more often than it would."""
    with subprocess.Popen(
        [sys.executable, "-c", _AT_ONCE.format(left_alone_s), "serve", f"--mode={mode}"],
        env={**shell.environ, "LIVE_MEMORY_PLUGIN_ROOT": str(root)},
        cwd=shell.folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while shell.run("status").code:
                assert process.poll() is None, process.communicate()
            yield process
        finally:
            process.terminate()


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.promise("nothing-lost")
def test_once_its_plugin_is_gone_it_saves_and_ends(
    shell: Shell, tmp_path: Path, project: Path, way: str
) -> None:
    root, home = tmp_path / "plugin", tmp_path / "home"
    _installed(home, root)
    with _server(shell, root) as process:
        assert shell.run("ask", "What does retry_delay give?", "--cwd", str(project)).code == 0
        _WAYS[way](home, root)
        _, said = process.communicate(timeout=60)
    before = published(shell.data_dir)
    assert shell.run("start").code == 0
    stats = shell.run("stats", "--json", "--cwd", str(project)).json

    assert process.returncode == 0
    assert said.endswith("live-memory: what started it is gone, and nobody speaks to it: ends\n")
    assert before is None
    assert stats["questions"] == 1


def test_who_still_speaks_to_it_is_served(shell: Shell, tmp_path: Path) -> None:
    root, home = tmp_path / "plugin", tmp_path / "home"
    _installed(home, root)
    with _server(shell, root, left_alone_s=3_600) as process:
        _removed(home, root)
        assert shell.run("status").code == 0
        assert process.poll() is None


@pytest.mark.parametrize("mode", ["foreground", "service"])
def test_one_that_somebody_looks_after_stays(shell: Shell, tmp_path: Path, mode: str) -> None:
    root, home = tmp_path / "plugin", tmp_path / "home"
    _installed(home, root)
    with open_shell(tmp_path / "other") as other:
        _installed(other.folder / "home", other.folder / "plugin")
        with (
            _server(shell, root, mode=mode) as process,
            _server(other, other.folder / "plugin") as ends,
        ):
            _removed(home, root)
            _removed(home, other.folder / "plugin")
            assert ends.wait(60) == 0
            assert shell.run("status").code == 0
            assert process.poll() is None


def test_a_start_tells_the_server_which_plugin_it_is_for(shell: Shell, tmp_path: Path) -> None:
    root = tmp_path / "plugin"
    for environ in ({}, {"CLAUDE_PLUGIN_ROOT": str(root)}):
        _ = shell.run("start", environ={**environ, "LIVE_MEMORY_PLUGIN_ROOT": str(root)})
        there = published(shell.data_dir)
        assert there is not None
        given = Path(f"/proc/{there.pid}/environ").read_text().split("\0")
        assert f"LIVE_MEMORY_PLUGIN_ROOT={root}" in given
        shell.run("stop")


@pytest.mark.parametrize("way", _WAYS)
def test_each_sign_counts_alone_and_only_while_it_is_there(tmp_path: Path, way: str) -> None:
    """Installed again, it is not gone."""
    root = tmp_path / "plugin"
    _installed(tmp_path, root)
    is_gone = plugin_watch({"LIVE_MEMORY_PLUGIN_ROOT": str(root), **_config(tmp_path)})
    assert is_gone is not None
    before = is_gone()
    _WAYS[way](tmp_path, root)
    after = is_gone()
    for file in root.glob(".orphaned_at"):
        file.unlink()
    root.joinpath(".claude-plugin/plugin.json").touch()
    _list(tmp_path, '{"live-memory@another": []}')

    assert (before, after, is_gone()) == (False, True, False)


def test_what_did_not_hold_at_the_start_says_nothing(tmp_path: Path) -> None:
    """A session of one project, a copy that was replaced before, a folder that is no plugin."""
    root = tmp_path / "plugin"
    _installed(tmp_path, root)
    _marked(tmp_path, root)
    _unlisted(tmp_path, root)
    is_gone = plugin_watch({"LIVE_MEMORY_PLUGIN_ROOT": str(root), **_config(tmp_path)})
    nowhere = plugin_watch({"LIVE_MEMORY_PLUGIN_ROOT": "/nowhere/at/all", **_config(tmp_path)})

    assert is_gone is not None
    assert nowhere is not None
    assert not is_gone()
    assert not nowhere()
    assert plugin_watch({}) is None
    assert plugin_watch({"LIVE_MEMORY_PLUGIN_ROOT": "plugin"}) is None


def test_what_cannot_be_looked_at_is_there_as_before(tmp_path: Path) -> None:
    root = tmp_path / "plugin"
    _installed(tmp_path, root)
    is_gone = plugin_watch({"LIVE_MEMORY_PLUGIN_ROOT": str(root), **_config(tmp_path)})
    assert is_gone is not None
    file = tmp_path / ".claude/plugins/installed_plugins.json"
    file.unlink()
    file.mkdir()
    assert not is_gone()


def _config(home: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(home / ".claude")}
