"""`ui`: open the page in a browser, by a link that works once and for a minute."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from urllib.parse import urlencode

import click

from live_memory.cli.connection import ProvenServer, post
from live_memory.cli.environment import is_of_a_session
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.cli.saying import say, say_json
from live_memory.settings import Configuration

# A cold start on a loaded machine.
_START_S = 30.0
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@click.command()
@click.option("--print", "is_printed", is_flag=True, help="Print the link and open nothing.")
@cwd_option
@json_option
@configured
def ui(configuration: Configuration, *, is_printed: bool, cwd: str, as_json: bool) -> None:
    """Open the page that shows what is remembered, what it cost, and what is wrong.

    The link works once, within a minute, and on this machine. From another machine, forward the
    port first: `ssh -L PORT:127.0.0.1:PORT HOST`.
    """
    server = ensure_running(configuration, within_s=_START_S)
    link = _link(server, os.path.realpath(absolute(cwd)))
    if as_json:
        say_json({"url": link})
        return
    say(f"{link}\n(opens the page once, within a minute)")
    if not is_printed and _has_screen(os.environ) and not webbrowser.open(link):
        say("no browser could be opened: open the link yourself", err=True)


def _link(server: ProvenServer, folder: str) -> str:
    """A link with its secret behind the `#`, which no browser sends to anybody."""
    secret = post(server, "/v1/page/link", {})["secret"]
    return f"{server.url}/ui#{urlencode({'open': secret, 'in': folder}, errors='replace')}"


def _has_screen(environ: Mapping[str, str]) -> bool:
    """Whether a person would see a browser; what a host starts opens none."""
    if is_of_a_session(environ):
        return False
    return sys.platform == "darwin" or any(environ.get(name) for name in _SCREENS)
