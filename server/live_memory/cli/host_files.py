"""Where each host keeps its MCP servers, hooks and instructions, and how our entries look there."""

import json
import os
import shlex
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from live_memory.cli.config_edit import (
    Edit,
    JsonElement,
    JsonForm,
    JsonMember,
    MarkedBlock,
    OwnText,
    TomlTable,
    read_toml,
)
from live_memory.core.errors import InvalidRequest
from live_memory.core.hosts.registrations import REGISTERED, hook_entries

__all__ = [
    "HOOKS_STAY_INLINE",
    "HOSTS",
    "NAME",
    "Host",
    "HostChange",
    "HostScope",
    "entries",
    "has_inline_hooks",
    "instructions",
    "read_config",
    "snippets",
    "write_config",
]

NAME = "live-memory"
# A configuration is a few pages; what is larger is something else.
_LARGEST = 1024 * 1024
# What decides where our data and settings are.
_FOLDERS = ("LIVE_MEMORY_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
_INSTRUCTIONS = """\
Before you search or read files to find out how this codebase works, ask one plain question with the
tool `ask_live_memory` of the MCP server `live-memory`. Its answer cites lines that were checked a
moment ago.
"""


@dataclass(frozen=True, slots=True)
class HostScope:
    """Whose files are meant: the user's, or with a project that project's."""

    home: Path
    environ: Mapping[str, str]
    project: Path | None = None
    platform: str = sys.platform

    def named(self, template: str) -> Path:
        """A file of the table below."""
        config = self._folder("XDG_CONFIG_HOME", ".config")
        support = "Library/Application Support"
        folders = {
            "home": self.home,
            "claude": self._folder("CLAUDE_CONFIG_DIR", ".claude"),
            "codex": self._folder("CODEX_HOME", ".codex"),
            "gemini": self._folder("GEMINI_CLI_HOME", ".") / ".gemini",
            "opencode": config / "opencode",
            "code": (self.home / support if self.platform == "darwin" else config) / "Code/User",
        }
        return Path(self.project or "", template.format_map(folders))

    def _folder(self, variable: str, default: str) -> Path:
        """A folder that a variable may move."""
        named = self.environ.get(variable, "")
        return Path(named) if named.startswith("/") else self.home / default


@dataclass(frozen=True, slots=True)
class HostChange:
    """One entry in one file of a host: of several names that which has it, is there, or is first.

    `new_file` is what the file begins as where there is none.
    """

    files: tuple[Path, ...]
    edit: Edit
    new_file: str = ""


@dataclass(frozen=True, slots=True)
class _Files:
    """Names of one file: of the user, below a folder of `HostScope`, and in a project."""

    user: tuple[str, ...] = ()
    project: tuple[str, ...] = ()

    def at(self, scope: HostScope) -> tuple[Path, ...]:
        return tuple(map(scope.named, self.project if scope.project else self.user))


def _plain(command: str) -> Mapping[str, object]:
    return {"command": command, "args": ["mcp"]}


def _typed(command: str) -> Mapping[str, object]:
    return {"type": "stdio", **_plain(command)}


def _of_codex(command: str) -> Mapping[str, object]:
    # It hands on few variables by itself, and its hooks have all: both must find one data folder.
    return {**_plain(command), "env_vars": list(_FOLDERS)}


def _of_opencode(command: str) -> Mapping[str, object]:
    return {"type": "local", "command": [command, "mcp"]}


def _of_cline(command: str) -> Mapping[str, object]:
    # Its own limit is a minute, and a question that a model looks into may take longer.
    return {**_plain(command), "timeout": 600}


@dataclass(frozen=True, slots=True)
class Host:
    """What one host reads, and what a person has to do there."""

    title: str
    servers: _Files
    key: str
    entry: Callable[[str], Mapping[str, object]] = _plain
    form: JsonForm | None = None
    """Nothing is TOML."""
    new_file: str = "{}\n"
    hooks: _Files = _Files()
    new_hooks: str = "{}\n"
    instructions: _Files = _Files(project=("AGENTS.md",))
    listing: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


_COMMENTS = JsonForm(comments=True)
_JSONC = JsonForm(comments=True, trailing_commas=True)

HOSTS = {
    "claude": Host(
        "Claude Code",
        _Files(),
        "",
        instructions=_Files(("{claude}/CLAUDE.md",), ("CLAUDE.md",)),
        listing=("claude", "plugin", "list"),
        next_steps=("sessions that are open have it when they are started again",),
    ),
    "codex": Host(
        "Codex",
        _Files(("{codex}/config.toml",), (".codex/config.toml",)),
        "mcp_servers",
        _of_codex,
        hooks=_Files(("{codex}/hooks.json",), (".codex/hooks.json",)),
        instructions=_Files(("{codex}/AGENTS.md",), ("AGENTS.md",)),
        listing=("codex", "mcp", "list"),
        next_steps=("its hooks await your review: start codex, enter /hooks, and trust them",),
    ),
    "gemini": Host(
        "Gemini CLI",
        _Files(("{gemini}/settings.json",), (".gemini/settings.json",)),
        "mcpServers",
        form=_COMMENTS,
        hooks=_Files(("{gemini}/settings.json",), (".gemini/settings.json",)),
        instructions=_Files(("{gemini}/GEMINI.md",), ("GEMINI.md",)),
        listing=("gemini", "mcp", "list"),
        next_steps=("Gemini CLI starts servers and runs hooks in folders that you trust",),
    ),
    "opencode": Host(
        "opencode",
        _Files(
            ("{opencode}/opencode.json", "{opencode}/opencode.jsonc"),
            ("opencode.json", "opencode.jsonc"),
        ),
        "mcp",
        _of_opencode,
        _JSONC,
        # It writes this itself into a file that has none.
        '{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
        hooks=_Files(("{opencode}/plugins/live-memory.js",), (".opencode/plugins/live-memory.js",)),
        instructions=_Files(("{opencode}/AGENTS.md",), ("AGENTS.md",)),
        listing=("opencode", "mcp", "list"),
    ),
    "vscode": Host(
        "VS Code",
        _Files(("{code}/mcp.json",), (".vscode/mcp.json",)),
        "servers",
        _typed,
        _JSONC,
        hooks=_Files(
            ("{home}/.copilot/hooks/live-memory.json",), (".github/hooks/live-memory.json",)
        ),
        next_steps=("VS Code asks whether you trust the server when it starts it first",),
    ),
    "cursor": Host(
        "Cursor",
        _Files(("{home}/.cursor/mcp.json",), (".cursor/mcp.json",)),
        "mcpServers",
        _typed,
        _JSONC,
        hooks=_Files(("{home}/.cursor/hooks.json",), (".cursor/hooks.json",)),
        new_hooks='{\n  "version": 1\n}\n',
        next_steps=("where Cursor asks to enable the new server or to run its tool, allow it",),
    ),
    "cline": Host(
        "Cline",
        _Files(
            (
                "{code}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                "{home}/.cline/data/settings/cline_mcp_settings.json",
                "{home}/.cline/mcp.json",
            )
        ),
        "mcpServers",
        _of_cline,
        JsonForm(),
        instructions=_Files(("{home}/.agents/AGENTS.md",), ("AGENTS.md",)),
        next_steps=("where Cline asks to run the tool, allow it",),
    ),
}


def entries(name: str, scope: HostScope, *, program: str) -> Sequence[HostChange]:
    """What makes a host start the bridge and run our hooks.

    Raises:
        InvalidRequest: it has no such files.
    """
    return [*_servers(HOSTS[name], scope, program), *_hooks(name, scope, program)]


def instructions(name: str, scope: HostScope) -> Sequence[HostChange]:
    """What tells its agent when to ask; nothing where it reads no such file."""
    files = HOSTS[name].instructions.at(scope)
    return [HostChange(files, MarkedBlock(_INSTRUCTIONS))] if files else []


def _servers(host: Host, scope: HostScope, program: str) -> Iterator[HostChange]:
    files, value = host.servers.at(scope), host.entry(program)
    if not files:
        raise InvalidRequest(f"{host.title} is connected for all projects: leave out --project")
    if host.form is None:
        yield HostChange(files, TomlTable(host.key, NAME, value, _is_server))
        return
    edit = JsonMember((host.key, NAME), value, _is_server, host.form)
    if host is not HOSTS["cline"]:
        yield HostChange(files, edit, host.new_file)
        return
    there = [file for file in files if file.exists()]
    if not there:
        raise InvalidRequest(
            "Cline has no settings of MCP servers yet: open `Configure MCP Servers` in it once"
        )
    yield from (HostChange((file,), edit) for file in there)


HOOKS_STAY_INLINE = (
    "hooks of yours are in config.toml, and Codex wants all in one file: move them to hooks.json "
    "and connect again, or it is not told what was read and changed"
)


def has_inline_hooks(name: str, scope: HostScope) -> bool:
    """Whether a person keeps Codex's hooks in its settings, beside which no hooks.json may be."""
    if name != "codex" or any(file.exists() for file in HOSTS[name].hooks.at(scope)):
        return False
    text = read_config(HOSTS[name].servers.at(scope)[0], project=scope.project) or b""
    with suppress(ValueError):  # what cannot be read is refused where it would be changed
        hooks = read_toml(text.decode()).get("hooks", {})
        return bool(hooks.keys() - {"state"}) if isinstance(hooks, dict) else False
    return False


def _hooks(name: str, scope: HostScope, program: str) -> Iterator[HostChange]:
    host = HOSTS[name]
    if name in REGISTERED and not has_inline_hooks(name, scope):
        form = host.form or JsonForm()
        for event, value in hook_entries(name, (program,)).items():
            edit = JsonElement(("hooks", event), value, _hook_of(name), form)
            yield HostChange(host.hooks.at(scope), edit, host.new_hooks)
    if name == "opencode":
        plugin = (resources.files("live_memory.client") / "opencode_plugin.js").read_text(
            encoding="utf-8"
        )
        named = plugin.replace('["live-memory"]', json.dumps([program], ensure_ascii=False), 1)
        yield HostChange(host.hooks.at(scope), OwnText(named))


def snippets(program: str) -> Mapping[str, str]:
    """What any other client is given, in the two forms that most of them read."""
    value = _plain(program)
    return {
        "json": json.dumps({"mcpServers": {NAME: value}}, indent=2, ensure_ascii=False) + "\n",
        "toml": TomlTable("mcp_servers", NAME, value, _is_server).put("")[0],
    }


def _is_server(value: object) -> bool:
    """Whether an entry of a host's servers starts us."""
    command = value.get("command") if isinstance(value, dict) else None
    words = command if isinstance(command, list) else [command, *_listed(value, "args")]
    return _are_words(words, "mcp")


def _hook_of(host: str) -> Callable[[object], bool]:
    """Whether an entry of a host's hooks runs ours and nothing else."""

    def is_ours(value: object) -> bool:
        hooks = _listed(value, "hooks") or [value]
        commands = [hook.get("command") if isinstance(hook, dict) else None for hook in hooks]
        return all(_are_words(_split(command), "hook", host) for command in commands)

    return is_ours


def _listed(value: object, key: str) -> Sequence[object]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _split(command: object) -> Sequence[object]:
    with suppress(ValueError):
        return shlex.split(command) if isinstance(command, str) else []
    return []


def _are_words(words: Sequence[object], *rest: str) -> bool:
    first = words[0] if words else None
    return isinstance(first, str) and Path(first).name == NAME and list(words[1:]) == [*rest]


def read_config(file: Path, *, project: Path | None) -> bytes | None:
    """What the file holds, or that it is not there; links are followed, out of no project.

    Raises:
        InvalidRequest: it is not to be read, or not to be written later.
    """
    target = _target(file, project)
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InvalidRequest(f"'{file}' cannot be read: {problem.strerror}") from problem
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise InvalidRequest(f"'{file}' is no configuration: it is too large, or no file")
        if status.st_uid != os.geteuid() and os.geteuid() != 0:
            raise InvalidRequest(f"'{file}' is another user's: connect as that user")
        return os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)


def write_config(
    file: Path, text: bytes | None, *, before: bytes | None, project: Path | None
) -> None:
    """Write the whole file in one step, or remove it; its mode, owner and links stay.

    Raises:
        InvalidRequest: it cannot be written, or changed since it was read.
    """
    target = _target(file, project)
    new = None
    try:
        if text is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, new = tempfile.mkstemp(dir=target.parent, prefix=f".{NAME}.")
            with os.fdopen(descriptor, "wb") as out:
                if before is not None:
                    status = target.stat()
                    os.fchown(descriptor, status.st_uid, status.st_gid)
                    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
                out.write(text)
                out.flush()
                os.fsync(descriptor)
        if read_config(file, project=project) != before:
            raise InvalidRequest(f"'{file}' was changed meanwhile: run this again")
        if new is None:
            target.unlink()
        else:
            Path(new).replace(target)
            new = None
    except OSError as problem:
        raise InvalidRequest(f"'{file}' cannot be written: {problem.strerror}") from problem
    finally:
        if new is not None:
            Path(new).unlink(missing_ok=True)


def _target(file: Path, project: Path | None) -> Path:
    try:
        target = file.resolve()
    except (OSError, RuntimeError) as problem:
        raise InvalidRequest(f"'{file}' is a link that leads nowhere") from problem
    if project is not None and not target.is_relative_to(project.resolve()):
        raise InvalidRequest(f"'{file}' leads out of the project: nothing is written there")
    return target
