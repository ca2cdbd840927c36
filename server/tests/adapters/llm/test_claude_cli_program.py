"""Finding the installed client, and whether it is logged in, without running or asking it."""

from pathlib import Path

import pytest

from live_memory.adapters.llm.installed_client import find_claude, is_logged_in


def _install(folder: Path, *, mode: int = 0o755) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(mode)
    return str(program)


def test_the_first_on_the_search_path_is_taken(tmp_path: Path) -> None:
    first, second = _install(tmp_path / "a"), _install(tmp_path / "b")
    found = find_claude({"PATH": f"{tmp_path}/none:{Path(first).parent}:{Path(second).parent}"})
    assert found is not None
    assert found.path == first


def test_a_relative_entry_of_the_search_path_is_never_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace must not be able to bring its own `claude`."""
    _install(tmp_path)
    _install(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    assert find_claude({"PATH": ":.:bin", "HOME": ""}) is None


def test_the_client_s_own_place_is_looked_at_too(tmp_path: Path) -> None:
    program = _install(tmp_path / ".local/bin")
    found = find_claude({"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert found is not None
    assert found.path == program


def test_what_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    _install(tmp_path / "a", mode=0o644)
    (tmp_path / "b/claude").mkdir(parents=True)
    assert find_claude({"PATH": f"{tmp_path}/a:{tmp_path}/b", "HOME": str(tmp_path)}) is None


def test_only_what_it_needs_is_passed_on(tmp_path: Path) -> None:
    _install(tmp_path)
    needed = {"PATH": str(tmp_path), "HOME": "/home/x", "CLAUDE_CONFIG_DIR": "/home/x/c"}
    found = find_claude({**needed, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://x"})
    assert found is not None
    assert dict(found.env) == needed
    assert "/home/x" not in repr(found)


def test_a_login_is_a_file_with_something_in_it(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert not is_logged_in(environ)
    (tmp_path / ".claude").mkdir()
    credentials = tmp_path / ".claude/.credentials.json"
    credentials.touch(mode=0o000)
    assert not is_logged_in(environ)
    credentials.unlink()
    credentials.write_text("{}")
    credentials.chmod(0o000)
    assert is_logged_in(environ)


def test_the_configuration_may_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / ".credentials.json").write_text("{}")
    assert is_logged_in({"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert not is_logged_in({"HOME": str(tmp_path)})
    assert not is_logged_in({})
