"""Which Claude Code is installed, how it is started, and all that it may know."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from live_memory.adapters.llm import quirks
from live_memory.core.errors import LoginRefused

__all__ = [
    "INSTEAD",
    "SERVER",
    "ClaudeProgram",
    "Login",
    "LoginUnreadable",
    "as_token",
    "find_claude",
    "is_logged_in",
    "login_file",
    "read_login",
]

# What our tools' names begin with, as the client's model sees them: `mcp__<server>__<tool>`.
SERVER = "live-memory"
# The client's own installer puts it here, which is not on every service's search path.
_USUAL = (".local/bin", ".claude/local")
# No credential is among these: the client finds the user's login in HOME. Where a network can only
# be left through a proxy, the client needs it as much as in the user's terminal.
_PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "CLAUDE_CONFIG_DIR"),
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
# Each of these was seen to work in 2.1.332; a client that does not know one does without.
_SETTINGS = {
    "CLAUDE_CODE_SAFE_MODE": "1",  # no hooks, plugins, skills, memory files
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # whether and when to try again is for `retry` to say
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "ENABLE_TOOL_SEARCH": "false",  # our few tools are offered at once
    "CLAUDE_CODE_DISABLE_THINKING": "1",  # the evidence was found already; thoughts take its time
    "CLAUDE_CODE_EFFORT_LEVEL": "low",
    "MCP_TOOL_TIMEOUT": "3600000",  # a tool's time is bounded by the question's deadline
}


@dataclass(frozen=True, slots=True)
class ClaudeProgram:
    """The client's absolute path, and the environment that it is started with."""

    path: str
    env: Mapping[str, str] = field(repr=False)

    def command(self, model: str) -> tuple[str, ...]:
        """The words that start it: no built-in tools, no settings, no servers but ours."""
        servers = {"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}}
        return (
            *(self.path, "--print", "--verbose", "--include-partial-messages"),
            *("--input-format", "stream-json", "--output-format", "stream-json"),
            *("--setting-sources", "", "--tools", "", "--disable-slash-commands"),
            *("--strict-mcp-config", "--mcp-config", json.dumps(servers)),
            *("--allowedTools", f"mcp__{SERVER}", "--permission-mode", "dontAsk"),
            *("--no-session-persistence", "--model", model),
        )

    def environment(self, *, scratch: Path, max_output_tokens: int) -> dict[str, str]:
        """What it is told: nothing inherited but what it needs to run and to find the login."""
        return {
            **_SETTINGS,
            **self.env,
            "TMPDIR": str(scratch),
            "XDG_CACHE_HOME": str(scratch),
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(max_output_tokens),
        }


def find_claude(environ: Mapping[str, str]) -> ClaudeProgram | None:
    """Resolve the installed client once; relative entries of the search path are not looked at."""
    home = environ.get("HOME", "")
    search_path = environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in (*search_path, *(f"{home}/{usual}" for usual in _USUAL)):
        path = Path(folder, "claude")
        if path.is_absolute() and _is_program(path):
            env = {name: environ[name] for name in _PASSED_ON if name in environ}
            return ClaudeProgram(str(path), env)
    return None


def is_logged_in(environ: Mapping[str, str]) -> bool:
    """Whether the client keeps credentials in a file; they are not read.

    Where it keeps them in a keychain (macOS) this cannot be known without asking for them: no.
    """
    folder = environ.get("CLAUDE_CONFIG_DIR") or f"{environ.get('HOME', '')}/.claude"
    try:
        found = Path(folder, ".credentials.json").stat()
    except OSError:
        return False
    return Path(folder).is_absolute() and stat.S_ISREG(found.st_mode) and found.st_size > 0


def _is_program(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except OSError:
        return False


INSTEAD = "run `claude` and log in, or set 'use_oauth' to false"
_NAME = ".credentials.json"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# It also holds the logins of MCP servers and secrets of plugins; a login alone is half a kilobyte.
_LONGEST = 1024 * 1024
_LONGEST_TOKEN = 4096
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Login:
    """The tokens of a login; their text is never shown.

    The file also says when the access token ends. That is not looked at: it is a hint that a wrong
    clock makes wrong, and to renew a good token can cost the client its own login.
    """

    access: str = field(repr=False)
    refresh: str | None = field(repr=False)


class LoginUnreadable(LoginRefused):
    """The file is no JSON, as while somebody writes it."""


def login_file(environ: Mapping[str, str]) -> Path:
    """Where the client keeps its login, which nothing here can write."""
    home = environ.get("HOME", "")
    return Path(environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude", _NAME)


def read_login(file: Path) -> Login:
    """The login that the client has now.

    Raises:
        LoginUnreadable: the file is no JSON; it may be in a moment.
        LoginRefused: there is no login, or the file is not one that only its owner can write.
    """
    value = quirks.parse(_text_of(file))
    if value is None:
        raise LoginUnreadable(f"Claude Code's login in '{file}' cannot be read: {INSTEAD}")
    login = quirks.mapping_in(value, "claudeAiOauth")
    access = as_token(login.get("accessToken"))
    if access is None:
        raise LoginRefused(f"Claude Code is logged out, says '{file}': {INSTEAD}")
    return Login(access, as_token(login.get("refreshToken")))


def as_token(value: object) -> str | None:
    """This token, if it can be one; a client that logged out may leave a blank one."""
    text = quirks.string(value).strip()
    fits = 0 < len(text) <= _LONGEST_TOKEN and text.isascii() and text.isprintable()
    return text if fits and " " not in text else None


def _text_of(file: Path) -> str:
    if not file.is_absolute():
        raise LoginRefused("CLAUDE_CONFIG_DIR or HOME is no absolute path: no login is looked for")
    try:
        descriptor = os.open(file, _FLAGS)
    except FileNotFoundError:
        raise LoginRefused(
            f"Claude Code has no login in '{file}' (on macOS it is in the keychain, where "
            f"'provider' claude-cli can use it): {INSTEAD}"
        ) from None
    except OSError as problem:
        raise LoginRefused(f"'{file}' cannot be opened ({problem.strerror}): {INSTEAD}") from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise LoginRefused(f"'{file}' is not a regular file: {INSTEAD}")
        if state.st_uid != os.geteuid() or state.st_mode & _WRITABLE_BY_OTHERS:
            raise LoginRefused(f"'{file}' is not yours, or others can write it: `chmod 600` it")
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            data = opened.read(_LONGEST + 1)
    except OSError as problem:
        raise LoginRefused(f"'{file}' cannot be read ({problem.strerror}): {INSTEAD}") from None
    finally:
        os.close(descriptor)
    if len(data) > _LONGEST:
        raise LoginRefused(f"'{file}' is larger than any login: {INSTEAD}")
    return data.decode("utf-8", "replace")
