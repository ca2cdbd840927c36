"""What `doctor` says of watching, without any server."""

import os

from tests.cli.shell import Shell


def _watching(shell: Shell, **environ: str) -> dict[str, str]:
    done = shell.run("doctor", "--json", environ={"PATH": os.defpath, **environ})
    checks = done.json["checks"]
    assert isinstance(checks, list)
    (check,) = [check for check in checks if check["name"] == "watching"]
    assert isinstance(check, dict)
    return check


def test_the_system_s_limits_are_shown_and_low_ones_with_the_command_to_raise_them(
    shell: Shell,
) -> None:
    check = _watching(shell)
    if check["verdict"] == "ok":
        assert "max_user_watches" in check["found"] or "own means" in check["found"]
    else:
        assert (check["fix"] or "").startswith("sudo sysctl fs.inotify.max_user_")


def test_that_watching_is_off_by_a_person_s_setting_is_no_fault(shell: Shell) -> None:
    check = _watching(shell, LIVE_MEMORY_WATCH="no")
    assert (check["verdict"], check["found"]) == ("ok", "setting 'watch' is off")
