"""How a command ends when it does not succeed."""

from enum import IntEnum

import click

__all__ = ["ExitCode", "Failure"]


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

    def __init__(self, message: str, *, code: ExitCode, kind: str) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind

    def __str__(self) -> str:
        return self.message
