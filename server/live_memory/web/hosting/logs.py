"""What libraries log, as lines like those of our own signals."""

import json
import logging
from typing import Protocol

__all__ = ["log_to"]


class _Lines(Protocol):
    def write(self, text: str, /) -> object:
        """Write a whole line."""
        ...


class _JsonLines(logging.Formatter):
    """One JSON line a record, like the signals; JSON escapes what a terminal could act on."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it out."""
        fields = {
            "at": record.created,
            "event": "log",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return json.dumps(fields).replace("\x7f", "\\u007f")


def log_to(lines: _Lines, level: str) -> None:
    """Libraries speak only when something is wrong: below that, some write what they send.

    That holds whatever their own settings are, such as `OPENAI_LOG=debug` in the environment.
    """
    handler = logging.StreamHandler(lines)
    handler.setFormatter(_JsonLines())
    handler.setLevel("ERROR" if level == "error" else "WARNING")
    logging.basicConfig(handlers=[handler], level=handler.level)
