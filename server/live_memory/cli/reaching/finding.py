"""Finds the running server: one that proves itself, or the reason why there is none.

Nobody sees the token before.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from live_memory.cli.failure import ExitCode, Failure, trouble_of
from live_memory.cli.reaching.lock import holder
from live_memory.settings import Settings
from live_memory.web.identity import LOOPBACK, new_nonce, probe, proved, published
from live_memory.web.token import read_token

__all__ = ["Server", "find"]

# A server that is busy with a first look answers within this; a program that accepts and never
# speaks costs no more than this.
_PROBE_S = 2.0
# Of one that cannot prove itself, as there is no token, it is only asked what it is.
_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has shown that it knows our token, and the key of this start of it."""

    host: str
    port: int
    pid: int
    token: str = field(repr=False)
    key: str = field(repr=False)

    @property
    def url(self) -> str:
        """Its address, as a person would type it."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"


def find(settings: Settings) -> Server:
    """The running server of this data folder, wherever it said that it listens.

    Raises:
        Failure: nobody answers, or a stranger does.
        InvalidRequest: the token file is not to be trusted.
    """
    here = (LOOPBACK.get(settings.host, settings.host), settings.port)
    token, heard = _token(settings), _Heard()
    if token is not None:
        said = published(settings.data_dir)
        addresses = [(said.host, said.port), here] if said else [here]
        for host, port in dict.fromkeys(addresses):
            nonce = new_nonce()
            reply = heard[host, port] = probe(
                host, port, f"/health?nonce={nonce}", within_s=_PROBE_S
            )
            found = proved(token, nonce=nonce, host=host, port=port, reply=reply)
            if found is not None:
                return Server(host, port, found.pid, token, found.key)
    raise _unproved(settings, heard) or _stranger(here, settings, heard) or _absent(settings)


def _token(settings: Settings) -> str | None:
    """The installation's token; nothing where no server was ever started."""
    is_there = os.path.lexists(settings.data_dir / "token")
    return read_token(settings.data_dir) if is_there else None


class _Heard(dict[tuple[str, int], Mapping[str, object] | None]):
    """What each address said of its health; one without a token's nonce is asked when needed."""

    def __missing__(self, address: tuple[str, int]) -> Mapping[str, object] | None:
        return probe(*address, "/health", within_s=_AGAIN_S)


def _unproved(settings: Settings, heard: _Heard) -> Failure | None:
    """Why our own server, which the kernel says is alive, did not prove itself."""
    ours = holder(settings.data_dir / "lock")
    if ours is None:
        return None
    said = published(settings.data_dir)
    there = (said.host if said else settings.host, ours.port)
    if not _is_held(*there):
        return None  # it has no port yet, or no more
    if heard[there] is None:
        what, kind = f"listens on port {ours.port} and does not answer", "timeout"
    else:
        what, kind = f"runs with another token than '{settings.data_dir / 'token'}'", "auth"
    return Failure(
        f"the server of '{settings.data_dir}' (process {ours.pid}) {what}",
        code=ExitCode.LOCKED,
        kind=kind,
        fix="run `live-memory stop`, which ends it all the same, then `live-memory start`",
    )


def _stranger(there: tuple[str, int], settings: Settings, heard: _Heard) -> Failure | None:
    if not _is_held(*there):
        return None
    is_like_us = {"status", "reasons"} <= (heard[there] or {}).keys()
    who = "is of another user or data folder" if is_like_us else "is not Live Memory"
    return Failure(
        f"port {there[1]} is held by a program that is not the Live Memory server of "
        f"'{settings.data_dir}' (it {who})",
        code=ExitCode.STRANGER,
        kind="stranger",
        fix="stop it, or set another port, of the plugin with `/plugin`, else with "
        "LIVE_MEMORY_PORT",
    )


def _absent(settings: Settings) -> Failure:
    known, code = trouble_of(settings.data_dir), ExitCode.UNREACHABLE
    if known is not None:
        return Failure(f"no Live Memory server runs: {known}", code=code, kind="unreachable")
    return Failure(
        f"no Live Memory server answers on port {settings.port}",
        code=code,
        kind="unreachable",
        fix="run `live-memory start`",
    )


def _is_held(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_PROBE_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True
