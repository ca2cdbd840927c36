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
        return json.dumps(fields)


def log_to(lines: _Lines, level: str) -> None:
    """Libraries speak only when something is wrong, unless everything is wanted."""
    handler = logging.StreamHandler(lines)
    handler.setFormatter(_JsonLines())
    quiet = "error" if level == "error" else "warning"
    logging.basicConfig(handlers=[handler], level=("debug" if level == "debug" else quiet).upper())
