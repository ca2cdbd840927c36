"""Somebody at the keyboard of the real client, in a terminal of its own (tmux)."""

import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

__all__ = ["Keyboard"]

_COLUMNS, _ROWS = 120, 78
_EACH_S, _LOOK_S = 40.0, 0.2
# Faster than this, keys are taken for pasted text.
_KEY_S = 0.02


class Keyboard:
    """A program on a screen of 120 columns and 78 rows, while the context lasts."""

    def __init__(
        self, words: Sequence[str], *, environ: Mapping[str, str], cwd: str, folder: Path
    ) -> None:
        """`folder` is where the terminal keeps its socket."""
        self._words, self._environ, self._cwd = words, environ, cwd
        # Its own: one that ends may still hold its socket when the next one begins.
        socket = Path(tempfile.mkdtemp(dir=folder, prefix="tmux-")) / "socket"
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            subprocess.CalledProcessError: there is no terminal to be had.
        """
        size = ["-x", str(_COLUMNS), "-y", str(_ROWS)]
        command = shlex.join(self._words)
        self._ask("new-session", "-d", *size, "-c", self._cwd, command)
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and the terminal."""
        subprocess.run([*self._tmux, "kill-server"], env=self._environ, check=False, timeout=20)

    def say(self, prompt: str) -> None:
        """Type a prompt, key by key, and send it once it stands there."""
        for key in prompt:
            self._ask("send-keys", "-l", key)
            time.sleep(_KEY_S)
        self.wait(prompt)
        self._ask("send-keys", "Enter")

    def wait(self, text: str) -> None:
        """Wait until a text is on the screen.

        Raises:
            TimeoutError: it does not come; with what is there.
        """
        until = time.monotonic() + _EACH_S
        while text not in self.screen():
            if time.monotonic() > until:
                raise TimeoutError(f"no {text!r} on this screen:\n{self.screen()}")
            time.sleep(_LOOK_S)

    def screen(self, *, is_coloured: bool = False) -> str:
        """What stands there now; with colours, as escapes say them."""
        return self._ask("capture-pane", "-p", *(["-e"] if is_coloured else []))

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words],
            env={**self._environ, "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout
