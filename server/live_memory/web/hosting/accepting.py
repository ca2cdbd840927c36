"""Accepting pauses where no descriptor is left, and that is said once.

The event loop pauses by itself for a second, but tells each of up to 128 vain tries with a trace.
"""

import asyncio
import logging
from typing import Any

__all__ = ["say_pauses_once"]

# What the event loop says then (asyncio.selector_events, 3.11 to 3.14).
_NONE_LEFT = "socket.accept() out of system resource"
_AGAIN_S = 60.0


def say_pauses_once(loop: asyncio.AbstractEventLoop) -> None:
    """Have the loop say one line a minute where it cannot accept; anything else as ever."""
    quiet_until = float("-inf")

    # The library's context is an untyped dictionary.
    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        if context.get("message") != _NONE_LEFT:
            loop.default_exception_handler(context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + _AGAIN_S
            logging.getLogger(__name__).warning(
                "no descriptor is left: new connections wait until others are closed (%s)",
                context.get("exception"),
            )

    loop.set_exception_handler(handle)
