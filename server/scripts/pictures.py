"""Makes the pictures of the README from a real run: `.venv/bin/python server/scripts/pictures.py`.

It copies this repository, starts a server of its own, asks as a person and as an agent would, and
photographs the terminal and the page. It needs Chromium (`make browser`).
"""

import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

_ROOT = Path(__file__).parents[2]
_PICTURES = _ROOT / "docs/pictures"
_COLUMNS = 96
_LEARNED_WITHIN_S = 20.0
_QUESTION = "How is the journal replayed after a crash?"
_CONCLUSION = (
    "`replayed` passes over what the memory has already, and raises `Broken` where a record of the "
    "journal is damaged (server/live_memory/core/saving/journal.py:{first}-{last})."
)


def _run(words: list[str], environ: dict[str, str], cwd: Path) -> str:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "live_memory", *words],
        env=environ,
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def _terminal(environ: dict[str, str], project: Path) -> None:
    console = Console(record=True, width=_COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    for command in (["ask", *_QUESTION.rstrip("?").split()], ["stats"]):
        console.print(Text("$ ", "green") + Text(f"live-memory {' '.join(command)}", "bold"))
        console.print(Text.from_ansi(_run(command, environ, project)))
    svg = console.export_svg(title="live-memory")
    # It names fonts at an address elsewhere; the reader's own will do.
    svg = re.sub(r"@font-face \{[^}]*\}\s*", "", svg)
    (_PICTURES / "terminal.svg").write_text(svg, "utf-8")


def _agent(environ: dict[str, str], project: Path) -> None:
    """A session that read two files and concluded something of them."""
    journal = project / "server/live_memory/core/saving/journal.py"
    lines = journal.read_text("utf-8").splitlines()
    first = next(n for n, text in enumerate(lines, 1) if text.startswith("def replayed"))
    said = _CONCLUSION.format(first=first, last=first + 14)
    base = {"session_id": "s", "cwd": str(project)}
    for payload in (
        {
            "hook_event_name": "UserPromptSubmit",
            "prompt": "How is a damaged journal replayed after a crash?",
        },
        *(
            {"hook_event_name": "PostToolUse", "tool_name": "Read"}
            | {"tool_input": {"file_path": str(file)}}
            for file in (journal, project / "README.md")
        ),
        {"hook_event_name": "Stop", "last_assistant_message": said},
    ):
        subprocess.run(
            [sys.executable, "-m", "live_memory", "hook", "claude_code"],
            input=json.dumps(base | payload).encode(),
            env=environ | {"CLAUDE_PROJECT_DIR": str(project)},
            check=True,
        )
    until = time.monotonic() + _LEARNED_WITHIN_S
    while '"findings": 0' in _run(["stats", "--json"], environ, project):
        if time.monotonic() > until:
            raise SystemExit("what the agent concluded was not learned: is it still true?")
        time.sleep(0.5)


def _page(environ: dict[str, str], project: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in ("light", "dark"):
            link = _run(["ui", "--print"], environ, project).splitlines()[0]
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": 1100, "height": 900}
            )
            page = context.new_page()
            page.goto(link)
            page.get_by_label("Ask about this codebase").fill(_QUESTION)
            page.get_by_role("button", name="Ask", exact=True).click()
            page.get_by_text("The places, as they are now").wait_for()
            page.screenshot(path=_PICTURES / f"page-{scheme}.png")
            context.close()
        browser.close()


def main() -> None:
    """Make them all."""
    _PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "live-memory")
        subprocess.run(["git", "clone", "-q", str(_ROOT), str(project)], check=True)  # noqa: S603, S607
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "TERM": "xterm-256color",
            "LIVE_MEMORY_DATA_DIR": f"{folder}/data",
            "LIVE_MEMORY_PROVIDER": "none",
        }
        try:
            _run(["learn"], environ, project)
            _agent(environ, project)
            _terminal(environ, project)
            _page(environ, project)
        finally:
            _run(["stop"], environ, project)


if __name__ == "__main__":
    main()
