"""A process that does nothing but append or save, and says what is acknowledged (S45).

    python -I -S keeping_alone.py append|save FOLDER

It starts in a moment, because it imports neither site-packages nor an event loop.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from live_memory.adapters.store.memory_folder import MemoryFolder
from live_memory.core.memory.window import NoteWritten, Window, apply
from live_memory.core.saving.journal import EventApplied
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import Instant

__all__ = ["BEGIN", "keep"]

BEGIN = "begin"
_ROUNDS = 2


def keep(what: str, folder: Path, *, say: Callable[[str], None]) -> None:
    """Acknowledge each revision once it is kept."""
    say(BEGIN)
    kept, found = MemoryFolder.opened(folder)
    window = found.memory.window if found.memory else Window()
    for _ in range(_ROUNDS):
        note = NoteWritten(f"note {window.revision}", Instant(float(window.revision)))
        window = apply(window, note)
        if what == "append":
            kept.append("/w", [EventApplied(window.revision, note)])
        else:
            generation = kept.turn_page("/w")
            kept.save("/w", Memory(window), generation=generation)
        say(str(window.revision))
    kept.close()


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]), say=_say)
