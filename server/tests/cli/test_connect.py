"""`connect` and `disconnect`: what a host reads holds our entries, and then the bytes it held."""

import json
import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from live_memory.cli.host_commands import adding, listed
from live_memory.cli.host_files import HostScope, read_config, write_config
from live_memory.core.errors import InvalidRequest
from live_memory.core.hosts.registrations import REGISTERED, hook_entries
from tests.cli.shell import Done, Shell

_PROGRAM = str(Path(sys.prefix, "bin", "live-memory"))
_CLINE = "config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
# What people have there: comments, tabs, ends of lines, marks, and nothing at the end.
_FOUND = {
    "codex": {
        "home/.codex/config.toml": '# mine\nmodel = "x"  # keep\n\n[mcp_servers.a]\ncommand = "b"',
        "home/.codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}',
    },
    "cursor": {
        "home/.cursor/mcp.json": '{\r\n\t"mcpServers": {}\r\n}\r\n',
        "home/.cursor/hooks.json": '{\n  "hooks": {"sessionStart": [\n  ]},\n  "version": 1\n}',
    },
    "vscode": {"config/Code/User/mcp.json": '\ufeff{\n  "servers": { /* none */ },\n}\n'},
    "gemini": {"home/.gemini/settings.json": '{\n  // mine\n  "ui": {"theme": "x"} // dark\n}\n'},
    "opencode": {"config/opencode/opencode.jsonc": '{\n  "mcp": {"a": {}, },\n  // end\n}\n'},
    "cline": {_CLINE: '{\n  "mcpServers": {\n  }\n}\n'},
}
_SERVERS = {
    "codex": "home/.codex/config.toml",
    "cursor": "home/.cursor/mcp.json",
    "vscode": "config/Code/User/mcp.json",
    "gemini": "home/.gemini/settings.json",
    "opencode": "config/opencode/opencode.json",
    "cline": _CLINE,
}
_HOSTS = sorted(_FOUND)


def _run(shell: Shell, *arguments: str, cwd: Path | None = None) -> Done:
    """Run it where no host's program is, but what a test put into `bin`."""
    return shell.run(*arguments, cwd=cwd, environ={"PATH": f"{shell.folder / 'bin'}:/usr/bin:/bin"})


def _lay(shell: Shell, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = shell.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def _tree(shell: Shell) -> dict[str, tuple[int, bytes]]:
    """Every file and folder of the user, and what is in it."""
    found = (path for top in ("home", "config") for path in (shell.folder / top).rglob("*"))
    return {
        str(path.relative_to(shell.folder)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in found
    }


def _program(shell: Shell, name: str, script: str) -> Path:
    """A host's program that writes down what it is asked."""
    file = shell.folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'#!/bin/sh\necho "$*" >> "$0.asked"\n{script}\n')
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("host", _HOSTS)
def test_disconnect_leaves_every_byte_that_was_there_before_connect(
    shell: Shell, host: str
) -> None:
    _lay(shell, _FOUND[host])
    before = _tree(shell)
    written = _run(shell, "connect", host, "--yes", "--json")
    assert written.code == 0, written
    assert written.json["state"] == "written"
    between = _tree(shell)
    assert between != before
    again = _run(shell, "connect", host)
    assert (again.code, _tree(shell)) == (0, between), again
    assert "already connected" in again.out
    gone = _run(shell, "disconnect", host, "--yes", "--json")
    assert (gone.code, gone.json["state"]) == (0, "disconnected"), gone
    assert _tree(shell) == before
    assert list(shell.data_dir.iterdir()) == []
    assert "not connected" in _run(shell, "disconnect", host).out


@pytest.mark.parametrize("host", [host for host in _HOSTS if host != "cline"])
def test_where_nothing_was_disconnect_leaves_nothing(shell: Shell, host: str) -> None:
    before = _tree(shell)
    assert _run(shell, "connect", host, "--yes").code == 0
    assert (shell.folder / _SERVERS[host]).is_file()
    assert _run(shell, "disconnect", host, "--yes").code == 0
    assert _tree(shell) == before


def test_every_host_starts_the_command_of_this_installation(shell: Shell) -> None:
    _lay(shell, _FOUND["cline"])
    for host in _HOSTS:
        assert _run(shell, "connect", host, "--yes").code == 0
    texts = {host: (shell.folder / _SERVERS[host]).read_text() for host in _HOSTS}
    codex = tomllib.loads(texts.pop("codex"))["mcp_servers"]
    read = {host: json.loads(text) for host, text in texts.items()}
    plain = {"command": _PROGRAM, "args": ["mcp"]}
    # Its hooks have these, and a server only if they are named.
    folders = ["LIVE_MEMORY_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
    assert codex == {"live-memory": {**plain, "env_vars": folders}}
    assert read["gemini"]["mcpServers"] == {"live-memory": plain}
    assert read["cline"]["mcpServers"] == {"live-memory": {**plain, "timeout": 600}}
    assert read["cursor"]["mcpServers"] == {"live-memory": {"type": "stdio", **plain}}
    assert read["vscode"] == {"servers": {"live-memory": {"type": "stdio", **plain}}}
    assert read["opencode"]["mcp"] == {
        "live-memory": {"type": "local", "command": [_PROGRAM, "mcp"]}
    }


@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("codex", "home/.codex/hooks.json"),
        ("cursor", "home/.cursor/hooks.json"),
        ("gemini", "home/.gemini/settings.json"),
        ("vscode", "home/.copilot/hooks/live-memory.json"),
    ],
)
def test_hooks_stand_after_those_of_others_once(shell: Shell, host: str, file: str) -> None:
    assert host in REGISTERED
    ours = hook_entries(host, (_PROGRAM,))
    event = next(iter(ours))
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    _lay(shell, {file: json.dumps({"hooks": {event: [theirs]}})})
    for _ in range(2):
        assert _run(shell, "connect", host, "--yes").code == 0
    hooks = json.loads((shell.folder / file).read_text())["hooks"]
    assert hooks == {name: [entry] for name, entry in ours.items()} | {event: [theirs, ours[event]]}


@pytest.mark.parametrize("host", _HOSTS)
@pytest.mark.parametrize("text", ["{", "\xff\xfe{}"])
def test_a_file_that_cannot_be_read_stays_as_it_is(shell: Shell, host: str, text: str) -> None:
    file = shell.folder / _SERVERS[host]
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("latin-1"))
    before = _tree(shell)
    done = _run(shell, "connect", host, "--yes")
    assert (done.code, done.out) == (2, "")
    assert str(file) in done.err
    assert done.err.count("\n") == 1
    assert _tree(shell) == before


def test_no_second_settings_file_is_made_beside_one_with_comments(shell: Shell) -> None:
    _lay(shell, {"config/opencode/opencode.jsonc": "{} // mine"})
    assert _run(shell, "connect", "opencode", "--yes").code == 0
    assert not (shell.folder / "config/opencode/opencode.json").exists()


def test_of_two_files_that_which_has_the_entry_is_meant(shell: Shell) -> None:
    assert _run(shell, "connect", "opencode", "--yes").code == 0
    first = shell.folder / "config/opencode/opencode.json"
    second = first.rename(first.with_suffix(".jsonc"))
    first.write_text("{}")
    assert "already connected" in _run(shell, "connect", "opencode").out
    assert _run(shell, "disconnect", "opencode", "--yes").code == 0
    assert "live-memory" not in second.read_text()
    assert first.read_text() == "{}"


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(shell: Shell) -> None:
    kept = shell.folder / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(kept, 1234, 1234)
    owner = kept.stat().st_uid, kept.stat().st_gid
    link = shell.folder / "home/.cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to("../../dotfiles.json")
    assert _run(shell, "connect", "cursor", "--yes").code == 0
    assert link.readlink() == Path("../../dotfiles.json")
    assert "live-memory" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert (kept.stat().st_uid, kept.stat().st_gid) == owner
    assert _run(shell, "disconnect", "cursor", "--yes").code == 0
    assert kept.read_text() == "{}"


def test_nothing_is_written_unless_somebody_agreed(shell: Shell) -> None:
    before = _tree(shell)
    looked = _run(shell, "connect", "gemini", "--dry-run")
    asked = _run(shell, "connect", "gemini")
    told = _run(shell, "connect", "gemini", "--json")
    assert (looked.code, asked.code, told.error[0]) == (0, 2, "invalid")
    for done in (looked, asked):
        assert f'+      "command": "{_PROGRAM}"' in done.out
    assert "add --yes" in asked.err
    assert _tree(shell) == before
    assert _run(shell, "connect", "gemini", "--yes").code == 0
    between = _tree(shell)
    removed = _run(shell, "disconnect", "gemini", "--dry-run")
    assert f'-      "command": "{_PROGRAM}"' in removed.out
    assert _tree(shell) == between


def test_a_secret_beside_our_entry_is_not_shown(shell: Shell) -> None:
    secret = "ghp_" + "Ab1" * 12
    _lay(shell, {"home/.cursor/mcp.json": json.dumps({"mcpServers": {"g": {"T": secret}}})})
    for arguments in (("--dry-run",), ("--yes", "--json")):
        done = _run(shell, "connect", "cursor", *arguments)
        assert "live-memory" in done.out
        assert secret not in done.out + done.err
    assert secret in (shell.folder / "home/.cursor/mcp.json").read_text()


def test_another_program_under_our_name_is_not_replaced(shell: Shell) -> None:
    _lay(shell, {_SERVERS["gemini"]: '{"mcpServers": {"live-memory": {"command": "npx"}}}'})
    before = _tree(shell)
    done = _run(shell, "connect", "gemini", "--yes")
    assert done.code == 2
    assert "another 'live-memory' is there" in done.err
    assert _run(shell, "disconnect", "gemini", "--yes").code == 0
    assert _tree(shell) == before


def test_an_installation_that_moved_takes_the_place_of_its_older_entries(shell: Shell) -> None:
    assert _run(shell, "connect", "gemini", "--yes").code == 0
    file = shell.folder / _SERVERS["gemini"]
    new = file.read_text()
    file.write_text(new.replace(_PROGRAM, "/old/bin/live-memory"))
    assert _run(shell, "connect", "gemini", "--yes").code == 0
    assert json.loads(file.read_text()) == json.loads(new)


def test_what_somebody_wrote_since_stays_when_ours_goes(shell: Shell) -> None:
    assert _run(shell, "connect", "gemini", "--yes").code == 0
    file = shell.folder / _SERVERS["gemini"]
    text = file.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "b": {}, // mine')
    file.write_text(text)
    assert _run(shell, "disconnect", "gemini", "--yes").code == 0
    assert file.read_text() == '{\n  "mcpServers": {\n    "b": {} // mine\n  }\n}\n'


def test_a_lost_record_costs_only_what_was_made_to_hold_our_entries(shell: Shell) -> None:
    _lay(shell, {_SERVERS["cursor"]: "{}", "home/.cursor/hooks.json": "{}"})
    assert _run(shell, "connect", "cursor", "--yes").code == 0
    record = shell.data_dir / "connections.json"
    record.write_text("[")
    done = _run(shell, "disconnect", "cursor", "--yes")
    assert (done.code, done.err.count("\n")) == (2, 1)
    record.unlink()
    assert _run(shell, "disconnect", "cursor", "--yes").code == 0
    assert json.loads((shell.folder / _SERVERS["cursor"]).read_text()) == {"mcpServers": {}}


def test_without_the_record_a_file_of_our_own_goes_all_the_same(shell: Shell) -> None:
    assert _run(shell, "connect", "opencode", "--yes").code == 0
    plugin = shell.folder / "config/opencode/plugins/live-memory.js"
    assert f'const PROGRAM = ["{_PROGRAM}"]' in plugin.read_text()
    (shell.data_dir / "connections.json").unlink()
    assert _run(shell, "disconnect", "opencode", "--yes").code == 0
    assert not plugin.exists()


def test_what_was_taken_out_by_hand_is_not_remembered_for_ever(shell: Shell) -> None:
    assert _run(shell, "connect", "gemini", "--yes").code == 0
    (shell.folder / _SERVERS["gemini"]).write_text("{}")
    assert _run(shell, "disconnect", "gemini", "--dry-run").code == 0
    assert (shell.data_dir / "connections.json").exists()
    assert "not connected" in _run(shell, "disconnect", "gemini").out
    assert list(shell.data_dir.iterdir()) == []
    assert (shell.folder / _SERVERS["gemini"]).read_text() == "{}"


def test_what_somebody_made_of_our_entry_is_named_and_left(shell: Shell) -> None:
    assert _run(shell, "connect", "cursor", "--yes").code == 0
    file = shell.folder / "home/.cursor/hooks.json"
    file.write_text(file.read_text().replace("hook cursor", "hook cursor | tee log", 1))
    done = _run(shell, "disconnect", "cursor", "--yes")
    assert f"next: '{file}' still names live-memory: look there" in done.out.splitlines()
    assert list(json.loads(file.read_text())["hooks"]) == ["sessionStart"]


def test_instructions_come_only_when_asked_for_and_go_with_the_rest(shell: Shell) -> None:
    _lay(shell, {"home/.codex/AGENTS.md": "# Mine", "home/.codex/config.toml": ""})
    before = _tree(shell)
    assert _run(shell, "connect", "codex", "--yes").code == 0
    assert (shell.folder / "home/.codex/AGENTS.md").read_text() == "# Mine"
    assert _run(shell, "connect", "codex", "--instructions", "--yes").code == 0
    told = (shell.folder / "home/.codex/AGENTS.md").read_text()
    assert told.startswith("# Mine\n<!-- live-memory: begin -->\n")
    assert "`ask_live_memory`" in told
    assert _run(shell, "disconnect", "codex", "--yes").code == 0
    assert _tree(shell) == before
    refused = _run(shell, "connect", "cursor", "--instructions", "--yes")
    assert (refused.code, "--project" in refused.err) == (2, True)


def test_a_project_has_files_of_its_own(shell: Shell, project: Path) -> None:
    before = _tree(shell)
    for host in ("codex", "cursor", "vscode", "gemini", "opencode"):
        done = _run(shell, "connect", host, "--project", "--instructions", "--yes", cwd=project)
        assert done.code == 0, done
        assert "commit none of it" in done.out
    made = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert made - {"net/retry.py"} == {
        *(".codex/config.toml", ".codex/hooks.json", ".cursor/mcp.json", ".cursor/hooks.json"),
        *(".vscode/mcp.json", ".github/hooks/live-memory.json", ".gemini/settings.json"),
        *("opencode.json", ".opencode/plugins/live-memory.js", "AGENTS.md", "GEMINI.md"),
    }
    assert _tree(shell) == before
    for host in ("opencode", "gemini", "vscode", "cursor", "codex"):
        assert _run(shell, "disconnect", host, "--project", "--yes", cwd=project).code == 0
    assert [str(path.relative_to(project)) for path in project.rglob("*")] == [
        "net",
        "net/retry.py",
    ]
    for host in ("claude", "cline"):
        refused = _run(shell, "connect", host, "--project", "--yes", cwd=project)
        assert (refused.code, "leave out --project" in refused.err) == (2, True)


def test_a_project_leads_nobody_out_of_it(shell: Shell, project: Path) -> None:
    mine = shell.folder / "home/mine.json"
    mine.write_text("{}")
    (project / ".cursor").mkdir()
    (project / ".cursor/mcp.json").symlink_to(mine)
    done = _run(shell, "connect", "cursor", "--project", "--yes", cwd=project)
    assert (done.code, "out of the project" in done.err) == (2, True)
    assert mine.read_text() == "{}"


def test_what_is_no_ordinary_file_is_refused_at_once(shell: Shell) -> None:
    file = shell.folder / _SERVERS["cursor"]
    file.parent.mkdir()
    os.mkfifo(file)
    assert "no configuration" in _run(shell, "connect", "cursor", "--yes").err
    file.unlink()
    file.symlink_to(file.name)
    assert _run(shell, "connect", "cursor", "--yes").code == 2
    file.unlink()
    file.mkdir()
    assert "no configuration" in _run(shell, "connect", "cursor", "--yes").err


def test_a_file_that_changed_since_it_was_read_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(b"new")
    with pytest.raises(InvalidRequest, match="changed meanwhile"):
        write_config(file, b"ours", before=b"old", project=None)
    assert list(tmp_path.iterdir()) == [file]
    assert read_config(file, project=None) == b"new"


def test_hooks_of_codex_are_never_in_two_files(shell: Shell) -> None:
    inline = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "theirs"\n'
    _lay(shell, {"home/.codex/config.toml": inline})
    done = _run(shell, "connect", "codex", "--yes")
    assert (done.code, "hooks of yours are in config.toml" in done.out) == (0, True)
    assert not (shell.folder / "home/.codex/hooks.json").exists()
    assert _run(shell, "disconnect", "codex", "--yes").code == 0
    assert (shell.folder / "home/.codex/config.toml").read_text() == inline


def test_the_host_itself_is_asked_whether_it_lists_us(shell: Shell) -> None:
    _program(shell, "gemini", r'printf "\033[32m✓\033[0m live-memory: Connected\n"')
    done = _run(shell, "connect", "gemini", "--yes")
    assert "gemini mcp list: ✓ live-memory: Connected" in done.out.splitlines()
    assert _run(shell, "disconnect", "gemini", "--yes").code == 0
    _program(shell, "gemini", "echo none; exit 3")
    done = _run(shell, "connect", "gemini", "--yes")
    assert done.code == 1
    assert "`gemini mcp list` does not name live-memory (exit code 3)" in done.err


_CLAUDE = """\
state=$0.state
case "$*" in
    "plugin install "*) echo '[{"id": "live-memory@live-memory"}]' >"$state" ;;
    "plugin uninstall "*) rm "$state" ;;
    "plugin list"*) cat "$state" ;;
    "mcp get "*) exit 1 ;;
esac"""


def test_claude_code_is_given_the_plugin_by_its_own_command(shell: Shell) -> None:
    assert "claude is not on PATH" in _run(shell, "connect", "claude", "--yes").err
    program = _program(shell, "claude", _CLAUDE)
    before = _tree(shell)
    folder = Path(__file__).parents[3]
    done = _run(shell, "connect", "claude", "--yes")
    assert done.code == 0, done
    assert f"$ claude plugin marketplace add {folder}" in done.out
    assert "already connected" in _run(shell, "connect", "claude").out
    assert _run(shell, "disconnect", "claude", "--yes").code == 0
    assert _tree(shell) == before
    asked = program.with_name("claude.asked").read_text().splitlines()
    assert [line for line in asked if "list" not in line and "get" not in line] == [
        f"plugin marketplace add {folder}",
        "plugin install live-memory@live-memory",
        "plugin uninstall live-memory@live-memory",
        "plugin marketplace remove live-memory",
    ]


def test_an_installation_without_a_plugin_gives_claude_code_the_server_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _program(
        shell, "claude", 'case "$*" in "mcp get "*) echo "Scope: User config" ;; esac'
    )
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr("live_memory.cli.host_commands.plugin_folder", lambda: None)
    assert "without hooks" in str(listed("claude", home=shell.folder))
    assert adding("claude", "/bin/live-memory", home=shell.folder) == ()
    _program(shell, "claude", 'echo "Scope: User"; exit 1')
    left = adding("claude", "/bin/live-memory", home=shell.folder) or ()
    assert [" ".join(words) for words in left] == [
        "claude mcp add --scope user live-memory -- /bin/live-memory mcp"
    ]


def test_codex_that_has_the_plugin_gets_nothing_twice(shell: Shell) -> None:
    _program(shell, "codex", 'echo \'{"pluginId": "live-memory@live-memory"}\'')
    before = _tree(shell)
    assert "already connected" in _run(shell, "connect", "codex", "--yes").out
    _program(shell, "codex", 'test "$*" = "mcp list" && echo live-memory')
    assert _run(shell, "connect", "codex", "--dry-run").out.startswith("--- /dev/null\n")
    _program(shell, "codex", 'echo \'{"pluginId": "live-memory@live-memory"}\'')
    assert _run(shell, "disconnect", "codex", "--dry-run").out.splitlines() == [
        "$ codex plugin remove live-memory@live-memory",
        "$ codex plugin marketplace remove live-memory",
        "Codex: nothing was written",
    ]
    assert _tree(shell) == before


def test_a_host_command_that_fails_is_one_line(shell: Shell) -> None:
    _program(shell, "claude", "echo why >&2; exit 1")
    done = _run(shell, "connect", "claude", "--yes")
    assert done.code == 1
    assert "marketplace add" in done.err
    assert "failed (why)" in done.err


def test_any_other_client_is_shown_what_it_needs(shell: Shell) -> None:
    shown = _run(shell, "connect", "--print", "--json").json
    entry = {"live-memory": {"command": _PROGRAM, "args": ["mcp"]}}
    assert json.loads(str(shown["json"])) == {"mcpServers": entry}
    assert tomllib.loads(str(shown["toml"])) == {"mcp_servers": entry}
    printed = _run(shell, "connect", "--print").out
    assert str(shown["json"]) in printed
    assert str(shown["toml"]) in printed
    assert "name a host" in _run(shell, "connect").err


def test_the_link_of_an_installer_is_preferred_since_it_stays(shell: Shell) -> None:
    link = shell.folder / "home/.local/bin/live-memory"
    link.parent.mkdir(parents=True)
    link.symlink_to(_PROGRAM)
    shown = _run(shell, "connect", "--print", "--json").json
    assert str(link) in str(shown["json"])
    assert "virtual environment" not in _run(shell, "connect", "codex", "--yes").out


def test_files_of_users_lie_elsewhere_on_macos() -> None:
    scope = HostScope(Path("/Users/u"), {"CODEX_HOME": "/c"}, platform="darwin")
    assert scope.named("{code}/mcp.json") == Path(
        "/Users/u/Library/Application Support/Code/User/mcp.json"
    )
    assert scope.named("{codex}/config.toml") == Path("/c/config.toml")
    assert scope.named("{opencode}/opencode.json") == Path(
        "/Users/u/.config/opencode/opencode.json"
    )
