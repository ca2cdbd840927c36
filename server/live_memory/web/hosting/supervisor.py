"""Tells systemd how far we are, where it asked to be told: sd_notify(3) in a few lines."""

import os
import socket
from contextlib import suppress

__all__ = ["tell_supervisor"]

_NAME = "NOTIFY_SOCKET"


def tell_supervisor(state: str) -> None:
    """Send a state such as `READY=1`; without a supervisor that listens, do nothing."""
    address = os.environ.get(_NAME, "")
    if not address.startswith(("/", "@")):
        return
    # A name that begins with @ is in the kernel's own name space.
    name = f"\0{address[1:]}" if address.startswith("@") else address
    # A supervisor that went away is no reason to end.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.settimeout(1.0)
        there.connect(name)
        there.send(state.encode("ascii"))
