"""Puts the server together: the only place that knows which adapters there are.

Importing this is quick: what takes long is imported by `build` in its thread.
"""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from live_memory.settings import Configuration, Settings
from live_memory.web.app import App
from live_memory.web.guard import Drain
from live_memory.web.identity import Identity
from live_memory.web.page_links import PageLinks

if TYPE_CHECKING:
    from live_memory.adapters.telemetry import LogStream
    from live_memory.web.application import Application

__all__ = ["build_app", "never_wait_for_output", "open_log"]


def never_wait_for_output() -> None:
    """Have standard error drop and count what nobody takes, whoever writes to it."""
    from live_memory.adapters.telemetry import StandardError  # noqa: PLC0415  (servers only)

    if not isinstance(sys.stderr, StandardError):
        sys.stderr = StandardError.instead_of(sys.stderr)


def open_log(settings: Settings) -> "LogStream":
    """Where lines are logged: a file that is set, else standard error.

    Raises:
        InvalidRequest: the file cannot be written.
    """
    if settings.log_file is None:
        return sys.stderr
    from live_memory.adapters.telemetry import LogFile  # noqa: PLC0415  (only where it is set)

    return LogFile(settings.data_dir / settings.log_file)


def build_app(
    configuration: Configuration,
    *,
    identity: Identity,
    log: "LogStream",
    reread: Callable[[], Configuration],
) -> App:
    """What the server serves; `reread` reads the configuration again for `/reload`.

    Raises:
        InvalidRequest: the settings for the model cannot be meant.
    """
    if configuration.settings.provider != "none":
        from live_memory.wiring.choose_model import checked  # noqa: PLC0415  (a part of what takes long)

        # Found out before the port answers: whoever starts us takes that for a start that worked.
        checked(configuration.settings, os.environ)

    def build(drain: Drain, links: PageLinks) -> "Application":
        from live_memory.wiring import building  # noqa: PLC0415  (what takes long)

        return building.build(
            configuration, drain, links, identity=identity, log=log, reread=reread
        )

    return App(identity, build=build)
