"""Which server gives way to which: at most once each, because versions only go up.

A newer command replaces an older background server, an older command uses a newer one, and a
service takes the place of a background server of any version. Whatever somebody looks after, and
whatever has a version that we cannot read, is left alone and used.
"""

import re

import click

from live_memory import __version__
from live_memory.cli.failure import Failure
from live_memory.cli.reaching.finding import Server, find
from live_memory.cli.running.mode import Mode
from live_memory.cli.running.stopping import stop
from live_memory.settings import Settings
from live_memory.web.identity import RunningServer, published

__all__ = ["is_older", "is_outdated", "make_way", "take_over"]

_RELEASE = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}")
# A server without a question in flight saves for at most 5 s, and usually for none.
_TO_END_S = 10.0


def is_older(theirs: str, ours: str) -> bool:
    """Whether one release came before another; nothing is known of what is no plain release."""
    if not (_RELEASE.fullmatch(theirs) and _RELEASE.fullmatch(ours)):
        return False
    return _numbers(theirs) < _numbers(ours)


def is_outdated(server: Server, settings: Settings) -> bool:
    """Whether a server should give way to one of this command's version."""
    there = _in_background(server, settings)
    return there is not None and is_older(there.version, __version__)


def make_way(server: Server, settings: Settings, *, within_s: float) -> bool:
    """Make an older server end, unless a question is in flight; says so once.

    Raises:
        Failure: it said that it ends, and still has not.
    """
    there = _in_background(server, settings)
    try:
        if not stop(server, settings, within_s=within_s, if_idle=True):
            return False
    except Failure as problem:
        if problem.kind == "timeout":
            raise
        return False  # it knows no such request: it is used as it is
    theirs = there.version if there else "another"
    click.echo(f"live-memory: {__version__} takes over from {theirs}", err=True)
    return True


def take_over(settings: Settings) -> None:
    """Make a background server end, because a service is to run in its place.

    Raises:
        Failure: it said that it ends, and still has not.
        InvalidRequest: the token file is not to be trusted.
    """
    try:
        server = find(settings)
    except Failure:
        return  # nobody, or a stranger: the start itself says what there is to say
    if _in_background(server, settings) is not None:
        stop(server, settings, within_s=_TO_END_S)


def _in_background(server: Server, settings: Settings) -> RunningServer | None:
    """What a server says of itself in the data folder, where nobody but us looks after it."""
    said = published(settings.data_dir)
    is_it = said is not None and (said.pid, said.mode) == (server.pid, Mode.BACKGROUND)
    return said if is_it else None


def _numbers(release: str) -> tuple[int, ...]:
    numbers = tuple(map(int, release.split(".")))
    return numbers + (0,) * (4 - len(numbers))
