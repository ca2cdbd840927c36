"""What of its starter's environment a server is given that outlives it.

A session's environment is not its user's alone: a project's settings may set any of it. So where a
session starts the server of all projects, that gets what says where programs, folders and proxies
are, and nothing that says which model answers or who pays for it: `config.toml` does.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["absolute_path", "is_of_a_session", "lasting", "settings_in"]

# What a host sets for what it starts; a person's own shell has none of them.
_MARKS = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"),
    *("CLAUDE_PLUGIN_ROOT", "CLAUDE_CODE_MCP_SERVER_URL"),
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_KEPT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SYSTEMROOT"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
        "XDG_RUNTIME_DIR",
        "CLAUDE_CONFIG_DIR",  # where the user's own Claude Code has its login
        *_PROXIES,
        *map(str.lower, _PROXIES),
    }
)
_DATA_DIR = "LIVE_MEMORY_DATA_DIR"


def is_of_a_session(environ: Mapping[str, str]) -> bool:
    """Whether a host started this process, and not a person in a shell."""
    return any(name in environ for name in _MARKS)


def settings_in(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where settings may be read from; a session names the data folder and nothing else.

    A shell names that folder as it names any, seen from its working folder.
    """
    found = dict(environ)
    if is_of_a_session(environ):
        found = {name: text for name, text in environ.items() if name == _DATA_DIR}
    named = found.get(_DATA_DIR, "")
    if named and not named.startswith("~"):
        with suppress(FileNotFoundError):  # the working folder is gone: refused as it stands
            found[_DATA_DIR] = str(Path(named).absolute())
    return found


def lasting(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server that stays: of a person's shell all but what is of a session."""
    if is_of_a_session(environ):
        found = {k: v for k, v in environ.items() if k in _KEPT or k.startswith("LC_")}
    else:
        gone = ("CLAUDE", "PYTHON")
        found = {k: v for k, v in environ.items() if k in _KEPT or not k.startswith(gone)}
    return found | {"PATH": absolute_path(environ)}


def absolute_path(environ: Mapping[str, str]) -> str:
    """`PATH` without what the working folder decides: a repository may be that folder."""
    folders = [folder for folder in environ.get("PATH", "").split(":") if folder.startswith("/")]
    return ":".join(dict.fromkeys(folders)) or "/usr/bin:/bin"
