"""Reads the file in which Claude Code keeps its login; nothing here can write it."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from live_memory.adapters.llm.wire import loose
from live_memory.core.errors import LoginRefused

__all__ = ["INSTEAD", "Login", "LoginUnreadable", "as_token", "login_file", "read_login"]

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
    """Where the client keeps its login."""
    home = environ.get("HOME", "")
    return Path(environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude", _NAME)


def read_login(file: Path) -> Login:
    """The login that the client has now.

    Raises:
        LoginUnreadable: the file is no JSON; it may be in a moment.
        LoginRefused: there is no login, or the file is not one that only its owner can write.
    """
    value = loose.parse(_text_of(file))
    if value is None:
        raise LoginUnreadable(f"Claude Code's login in '{file}' cannot be read: {INSTEAD}")
    login = loose.mapping_in(value, "claudeAiOauth")
    access = as_token(login.get("accessToken"))
    if access is None:
        raise LoginRefused(f"Claude Code is logged out, says '{file}': {INSTEAD}")
    return Login(access, as_token(login.get("refreshToken")))


def as_token(value: object) -> str | None:
    """This token, if it can be one; a client that logged out may leave a blank one."""
    text = loose.string(value).strip()
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
