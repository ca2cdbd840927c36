"""Sets a scene for a real host: a home with its configuration, and a small project below it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.claude.stage import PROJECT, cut_off
from tests.hosts_real.hosts import OPENCODE, Host, Turn
from tests.support.server import a_free_port

__all__ = ["Outcome", "Run", "Stage", "set_stage"]

Json = dict[str, Any]

_REPOSITORY = Path(__file__).parents[3]
_SCENE_S = 115


@dataclass(frozen=True, slots=True)
class Run:
    """What one command did, and what the model was sent meanwhile."""

    returncode: int
    stdout: str
    stderr: str
    sent: tuple[Json, ...]

    def said(self) -> str:
        """All text that the model was sent in the end."""
        return "\n".join(_texts(self.sent[-1]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scene left behind: what its commands did, and what our server says of it."""

    runs: tuple[Run, ...]
    told: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the scenes of one test are played; they share the home and the project."""

    folder: Path
    host: Host
    port: int

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def data_dir(self) -> Path:
        return self.home / "data/live-memory"

    def session(self, prompt: str, *options: str) -> list[str]:
        """The command of one session of the host."""
        # In opencode, what has a space in it is put in quotes.
        words = prompt.split() if self.host is OPENCODE else [prompt]
        return [*self.host.session, *options, *words]

    def play(
        self,
        *commands: Sequence[str],
        turns: Sequence[Turn] = (),
        helpers: Mapping[str, Sequence[Turn]] | None = None,
        then: Sequence[str] = (),
    ) -> Outcome:
        """Run commands one after the other, `then` ask our server about the project.

        The model says `turns` meanwhile; `helpers` are those of helpers that the host starts, by
        the task they are given.
        """
        plan = {
            "turns": list(turns),
            "tool": self.host.tool,
            "wait": self.host.shell("sleep 0.5"),
            "helpers": dict(helpers or {}),
            "environ": self._environ(),
            "cwd": str(self.project),
            "data_dir": str(self.data_dir),
            "then": list(then),
            "commands": [list(command) for command in commands],
        }
        given, left = self.folder / "plan.json", self.folder / "outcome.json"
        given.write_text(json.dumps(plan))
        scene = [sys.executable, "-m", "tests.hosts_real.scene", str(given), str(left)]
        subprocess.run(
            [*cut_off(), *scene], cwd=_REPOSITORY / "server", timeout=_SCENE_S, check=True
        )
        outcome = json.loads(left.read_text())
        return Outcome(
            runs=tuple(Run(**run) for run in outcome["runs"]),
            told=tuple(outcome["told"]),
        )

    def write(self, files: Mapping[str, str]) -> None:
        """Put files below home."""
        for name, text in files.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def server_log(self) -> str:
        """What our server said, for a test that fails."""
        log = self.data_dir / "server.log"
        return log.read_text() if log.exists() else "the server was never started"

    def _environ(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(self.home),
            # Not every host hands this on to the servers that it starts.
            "XDG_DATA_HOME": str(self.home / "data"),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            **self.host.environ,
        }


def set_stage(folder: Path, host: Host) -> Stage:
    """Make a home with the host's configuration, and a project under git."""
    stage = Stage(folder, host, a_free_port())
    (folder / "tmp").mkdir()
    stage.write(host.files)
    stage.write({f"project/{name}": text for name, text in PROJECT.items()})
    stage.write({".config/live-memory/config.toml": f"port = {stage.port}\n"})
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=stage.project, check=True)
    return stage


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
