"""`doctor` and `config show`."""

import os
import re
import signal
import sqlite3
from pathlib import Path

import pytest

from live_memory.cli.doctor import CheckVerdict, of_installation
from live_memory.settings import Settings
from tests.cli.shell import Shell

# Without the host: what it says depends on the machine.
_NO_HOST = {"PATH": os.defpath}


def _verdicts(shell: Shell, **environ: str) -> dict[str, str]:
    checks = shell.run("doctor", "--json", environ=_NO_HOST | environ).json["checks"]
    assert isinstance(checks, list)
    return {check["name"]: check["verdict"] for check in checks}


def test_all_is_well_where_the_server_runs(running: Shell) -> None:
    done = running.run("doctor", environ=_NO_HOST)

    assert done.code == 0, done
    assert "fail" not in {line.split()[0] for line in done.out.splitlines()}
    assert f"http://127.0.0.1:{running.port} (pid " in done.out


def test_a_database_without_full_text_search_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing uses it, so nothing asks for it: some systems build SQLite without."""

    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    found = {check.name: check.verdict for check in of_installation(Settings(data_dir=tmp_path))}
    assert CheckVerdict.FAIL not in {found[name] for name in found if name != "data folder"}
    assert "sqlite" not in found


def test_a_server_that_does_not_run_is_no_failure_and_has_its_fix(shell: Shell) -> None:
    done = shell.run("doctor", environ=_NO_HOST)

    assert done.code == 0
    assert "warn  server" in done.out
    assert "live-memory start" in done.out


def test_a_degraded_server_s_own_reasons_are_shown(shell: Shell, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("def a(): ...\n")
    shell.run("start")
    shell.run("ask", "Where is a?", "--cwd", str(project))
    shell.run("stop")
    (snapshot,) = shell.data_dir.glob("workspaces/*/snapshot.json")
    snapshot.write_text("{")
    shell.run("start")
    shell.run("stats", "--cwd", str(project))

    doctor, status = shell.run("doctor", environ=_NO_HOST), shell.run("status")

    assert "warn  health" in doctor.out
    assert "live-memory doctor" not in doctor.out
    assert "status degraded\n- " in status.out


def test_a_hook_is_tried_out_and_nothing_of_it_stays(running: Shell) -> None:
    """An event goes the whole way: the plugin's own script, the proof, the spool's door, memory."""
    done = running.run("doctor", environ=_NO_HOST)

    assert re.search(r"^ok +hook +an event came through in \d+ ms$", done.out, re.MULTILINE), done
    assert re.search(r"^ok +spool +empty$", done.out, re.MULTILINE)
    assert list((running.data_dir / "workspaces").glob("*/snapshot.json")) == []


def test_a_server_that_was_killed_leaves_a_file_that_is_named(shell: Shell) -> None:
    pid = shell.run("start", "--json").json["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)

    done = shell.run("doctor", environ=_NO_HOST)

    assert f"warn  server.json  names process {pid} on port {shell.port}" in done.out
    assert done.code == 0


def test_events_that_the_server_does_not_take_are_a_failure(shell: Shell) -> None:
    shell.run("start")
    waiting = shell.data_dir / "spool.jsonl"
    waiting.symlink_to(shell.folder / "elsewhere")
    (shell.folder / "elsewhere").write_text("{}\n{}\n")

    done = shell.run("doctor", "--json", environ=_NO_HOST)

    (spool,) = [check for check in _checks(done.json) if check["name"] == "spool"]
    assert (done.code, spool["verdict"]) == (1, "fail")
    assert spool["found"] == "2 events wait and the server does not take them"
    assert spool["fix"]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Live Memory 0.1.0 is being installed for the plugin (making it)", "warn"),
        ("Live Memory 0.1.0 could not be installed for the plugin: no network", "fail"),
        ("Live Memory 0.1.0 is installed for the plugin", "ok"),
    ],
)
def test_what_became_of_the_plugin_s_own_environment_is_told(
    shell: Shell, said: str, verdict: str
) -> None:
    (shell.data_dir / "environment").mkdir(parents=True)
    shell.data_dir.chmod(0o700)
    (shell.data_dir / "environment/status").write_text(f"{said}\n")

    assert _verdicts(shell)["environment"] == verdict


@pytest.mark.parametrize("name", ["data folder", "token"])
def test_what_others_can_read_is_a_failure_that_names_its_fix(shell: Shell, name: str) -> None:
    shell.run("start")
    shell.run("stop")
    (shell.data_dir if name == "data folder" else shell.data_dir / "token").chmod(0o755)

    done = shell.run("doctor", "--json", environ=_NO_HOST)

    assert done.code == 1
    assert done.json["ok"] is False
    failed = [check for check in _checks(done.json) if check["verdict"] == "fail"]
    assert [check["name"] for check in failed] == [name]
    assert failed[0]["fix"]


def test_a_host_without_the_plugin_is_told_how_to_install_it(shell: Shell, tmp_path: Path) -> None:
    host = tmp_path / "host/claude"
    host.parent.mkdir()
    for listed, verdict in (
        ("[]", "warn"),
        ('[{"id": "live-memory@live-memory", "enabled": true}]', "ok"),
        ('[{"id": "live-memory@live-memory", "enabled": false}]', "warn"),
        ("no list", "warn"),
        ("[7]", "warn"),
    ):
        host.write_text(f"#!/bin/sh\necho '{listed}'\n")
        host.chmod(0o755)

        assert _verdicts(shell, PATH=f"{host.parent}:{os.defpath}")["plugin"] == verdict, listed


def test_config_shows_each_value_with_where_it_was_set(shell: Shell) -> None:
    (shell.folder / "config/live-memory").mkdir(parents=True)
    (shell.folder / "config/live-memory/config.toml").write_text("max_file_bytes = 4096\nfoo = 1\n")

    done = shell.run("config", "show", "--json", "--host", "::1")
    as_text = shell.run("config")

    settings = done.json["settings"]
    assert isinstance(settings, dict)
    assert settings["port"] == {
        "value": shell.port,
        "source": "environment",
        "in_force": None,
    }
    assert settings["host"] == {"value": "::1", "source": "flag"}
    assert settings["max_file_bytes"]["value"] == 4096
    assert settings["log_level"] == {"value": "info", "source": "default"}
    assert done.err.startswith("warning: unknown setting 'foo'")
    assert re.search(rf"^port +{shell.port}  \(environment\)$", as_text.out, re.MULTILINE)


def _checks(report: dict[str, object]) -> list[dict[str, str]]:
    checks = report["checks"]
    assert isinstance(checks, list)
    return checks
