"""What of its starter's environment a program is given that serves all projects of a user.

A session's environment is not its user's alone: a project's settings may set any of it. So what a
session starts gets what says where programs, folders and proxies are, and nothing that says which
model answers, who pays for it, or which code runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INDEXES", "KEPT", "absolute_path", "kept"]

KEPT = frozenset(
    "PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR SYSTEMROOT "
    "XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy "
    # Where the user's own Claude Code has its login, and the plugin without which a server ends.
    "CLAUDE_CONFIG_DIR LIVE_MEMORY_PLUGIN_ROOT".split()
)
# Which package index this machine uses: of pip's and uv's options none that says how or where to
# install. What is installed is known by its hash.
INDEXES = frozenset(
    "SSL_CERT_FILE SSL_CERT_DIR "
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_NO_INDEX PIP_FIND_LINKS PIP_TRUSTED_HOST PIP_CERT "
    "PIP_CLIENT_CERT PIP_PROXY PIP_DEFAULT_TIMEOUT "
    "UV_DEFAULT_INDEX UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_NO_INDEX UV_FIND_LINKS "
    "UV_INSECURE_HOST UV_NATIVE_TLS UV_SYSTEM_CERTS UV_OFFLINE UV_HTTP_TIMEOUT "
    "UV_PYTHON_INSTALL_MIRROR".split()
)


def kept(environ: Mapping[str, str], more: frozenset[str] = frozenset()) -> dict[str, str]:
    """What is passed on: these, `more`, and the locale."""
    begins = ("LC_", "UV_INDEX_") if more >= INDEXES else "LC_"
    names = KEPT | more
    found = {k: v for k, v in environ.items() if k in names or k.startswith(begins)}
    return {**found, "PATH": absolute_path(environ)}


def absolute_path(environ: Mapping[str, str]) -> str:
    """`PATH` without what the working folder decides: a repository may be that folder."""
    folders = [folder for folder in environ.get("PATH", "").split(":") if folder.startswith("/")]
    return ":".join(dict.fromkeys(folders)) or "/usr/bin:/bin"
