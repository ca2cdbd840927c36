"""What commands print that depends on nothing but themselves, whole: every change of it shows.

`LIVE_MEMORY_WRITE_GOLDEN=1` writes the files anew.
"""

import os
import re
from pathlib import Path

from tests.cli.shell import Shell

_GOLDEN = Path(__file__).parent / "golden"
_LISTED = re.compile(r"^  ([a-z][a-z-]*)  +\S", re.MULTILINE)


def _same(name: str, text: str) -> bool:
    file = _GOLDEN / name
    if os.environ.get("LIVE_MEMORY_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    return file.read_text(encoding="utf-8") == text


def _helps(shell: Shell, *command: str) -> dict[str, str]:
    """The help of a command and of all below it, by its words."""
    done = shell.run(*command, "--help")
    assert done.code == 0, done
    found = {" ".join(command): done.out}
    _, _, below = done.out.partition("\nCommands:\n")
    for name in _LISTED.findall(below):
        found |= _helps(shell, *command, name)
    return found


def test_the_help_of_every_command_reads_so(shell: Shell) -> None:
    found = _helps(shell)
    text = "\n".join(f"$ live-memory {name}\n{said}" for name, said in sorted(found.items()))
    assert len(found) > 15
    assert _same("help.txt", text)


def test_the_published_limits_are_these(shell: Shell) -> None:
    assert _same("limits.json", shell.run("serve", "--print-limits").out)
