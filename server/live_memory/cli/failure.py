"""How a command ends when it does not succeed, and why no server runs, for who asks later.

A session that gets no memory goes on without a word, so what stood in the way is written down.
"""

import os
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

import click

__all__ = ["ExitCode", "Failure", "forget_trouble", "note_trouble", "trouble_of"]

_NAME = "not-started"
_LONGEST = 2_000
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ExitCode(IntEnum):
    """What the shell sees; 2 is also what click itself uses for a misspelt option."""

    FINE = 0
    FAILED = 1
    REFUSED = 2
    LOCKED = 3
    STRANGER = 4
    UNREACHABLE = 5


class Failure(click.ClickException):
    """One sentence that says what to do, a class for programs, and the exit code."""

    def __init__(self, message: str, *, code: ExitCode, kind: str, fix: str | None = None) -> None:
        """`fix` is told after the message, and by itself where there is a place for it."""
        super().__init__(f"{message}: {fix}" if fix else message)
        self.code = code
        self.kind = kind
        self.what = message
        self.fix = fix

    def __str__(self) -> str:
        return self.message


def note_trouble(data_dir: Path, text: str) -> None:
    """Write down the first line of what went wrong, where that can be."""
    with suppress(OSError):
        descriptor = os.open(data_dir / _NAME, _WRITE, 0o600)
        try:
            os.write(descriptor, text.partition("\n")[0].encode()[:_LONGEST])
        finally:
            os.close(descriptor)


def forget_trouble(data_dir: Path) -> None:
    """Nothing is wrong any more."""
    with suppress(OSError):
        (data_dir / _NAME).unlink(missing_ok=True)


def trouble_of(data_dir: Path) -> str | None:
    """What is in the way of a server, or was when one was to be started last."""
    if data_dir.is_dir() and not os.access(data_dir, os.W_OK | os.X_OK):
        return (
            f"data folder '{data_dir}' cannot be written to: make it writable, or set another "
            "with `data_dir`"
        )
    try:
        descriptor = os.open(data_dir / _NAME, _READ)
    except OSError:
        return None
    try:
        return os.read(descriptor, _LONGEST).decode("utf-8", "replace").strip() or None
    finally:
        os.close(descriptor)
