"""Killed at any moment: what was acknowledged is there, and the next start is like any (S45)."""

import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from live_memory.adapters.store.memory_folder import MemoryFolder
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.window import NoteWritten, Window, apply, current_hashes
from live_memory.core.saving.snapshot import Memory
from live_memory.core.values import Instant
from tests.support import keeping_alone
from tests.support.keeping_alone import BEGIN, keep
from tests.support.server import RunningServer, a_free_port, running_server

Form = dict[str, object]
_CALLS = (
    "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,ftruncate"
)
_LINE = re.compile(r"(?:\d+ +)?(\w+)\(")
_SCRIPT = str(Path(keeping_alone.__file__).resolve())


def _alone(what: str, folder: Path, *strace: str) -> list[int]:
    """Run the small process under strace; the revisions it acknowledged."""
    command = ["strace", "-f", "-qq", *strace, sys.executable, "-I", "-S", _SCRIPT, what]
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    words = done.stdout.decode().split()
    return [int(word) for word in words if word != BEGIN]


def _calls(log: Path) -> Iterator[tuple[str, int]]:
    """Each call of ours: its name, and which of its kind it is since the process started."""
    count: Counter[str] = Counter()
    has_begun = False
    for line in log.read_text(errors="replace").splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        count[found[1]] += 1
        if has_begun:
            yield found[1], count[found[1]]
        has_begun |= BEGIN in line and found[1] == "write"


def _expected(revision: int) -> Memory:
    window = Window()
    for n in range(revision):
        window = apply(window, NoteWritten(f"note {n}", Instant(float(n))))
    return Memory(window)


@pytest.mark.real("strace")
@pytest.mark.promise("nothing-lost", "no-overwrite-of-unreadable")
@pytest.mark.parametrize("what", ["append", "save"])
def test_a_kill_at_every_call_loses_nothing_that_was_acknowledged(
    tmp_path: Path, what: str
) -> None:
    """S45."""
    start, log = tmp_path / "start", tmp_path / "log"
    assert _alone(what, start, "-e", f"trace={_CALLS}", "-o", os.devnull) == [1, 2]
    recorded = tmp_path / "recorded"
    shutil.copytree(start, recorded)
    assert _alone(what, recorded, "-e", f"trace={_CALLS}", "-o", str(log)) == [3, 4]
    calls = list(_calls(log))
    assert len(calls) > 10
    kills = 0
    for call, number in calls:
        folder = tmp_path / f"{call}.{number}"
        shutil.copytree(start, folder)
        inject = f"inject={call}:signal=SIGKILL:when={number}"
        acknowledged = [
            2,
            *_alone(what, folder, "-e", f"trace={call}", "-e", inject, "-o", os.devnull),
        ]
        kills += acknowledged[-1] < 4
        began = time.monotonic()
        _, found = MemoryFolder.opened(folder)
        assert time.monotonic() - began < 3
        assert found.memory is not None
        revision = found.memory.window.revision
        # What was being written may be there too.
        assert acknowledged[-1] <= revision <= acknowledged[-1] + 1, (call, number)
        assert found.memory == _expected(revision)
        assert found.problems == ()
        assert not list(folder.glob("*.new")) + list(folder.glob("*.unreadable*"))
        # And it goes on from there.
        keep(what, folder, say=lambda _: None)
        assert MemoryFolder.opened(folder)[1].memory == _expected(revision + 2)
        shutil.rmtree(folder)
    assert kills > len(calls) * 0.8


# Each takes about a second. `LM_TEST_KILLS` asks for more, as docs/adr/0012-journal.md does, and
# `LM_TEST_KILLS_TO` for a file, in JSON, of what was seen: benchmark/results/kills.json is one.
_KILLS = int(os.environ.get("LM_TEST_KILLS", "10"))
_TO = os.environ.get("LM_TEST_KILLS_TO")
_START_S, _MANY_START_S = 3.0, 2.0
_SLOW = float(os.environ.get("LM_TEST_SLOW", "1"))


class _Load:
    """Hooks and a caller that go on until the server is gone, and what it acknowledged to them."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._count = 0
        self.names: list[str] = []
        self.questions: list[str] = []
        self.notes: list[str] = []
        self.claims: dict[str, str] = {}

    def on(self, server: RunningServer, *, for_s: float) -> None:
        """Load it for so long, then kill it."""
        threads = [
            threading.Thread(target=each, args=(server,))
            for each in (self._hook, self._ask, self._tell)
        ]
        for thread in threads:
            thread.start()
        threads[0].join(for_s)  # it ends with the server alone
        server.process.kill()
        for thread in threads:
            thread.join()
        server.process.wait()

    def _hook(self, server: RunningServer) -> None:
        while True:
            self._count += 1
            name = f"f{self._count}.py"
            (self._project / name).write_text("x = 1\n")
            event = {
                "hook_event_name": "PostToolUse",
                "cwd": str(self._project),
                "tool_name": "Read",
                "tool_input": {"file_path": str(self._project / name)},
            }
            try:
                status = server.request("POST", "/notify", event).status
            except (OSError, http.client.HTTPException):
                return
            assert status == 202
            self.names.append(name)
            if len(self.names) % 4 == 0:
                time.sleep(0.05)  # hooks come in bursts

    def _tell(self, server: RunningServer) -> None:
        """Tell notes; leave work now and then, and take it over."""
        try:
            # What a kill left open.
            listed = self._posted(server, "/v1/handoff", {"action": "list"})["handoffs"]
            for one in listed if isinstance(listed, list) else ():
                self._posted(server, "/v1/handoff", {"action": "cancel", "id": one["id"]})
        except (OSError, http.client.HTTPException, LookupError, ValueError):
            return
        while True:
            told = {"text": f"Note {len(self.notes)}.", "category": "insight"}
            try:
                note = self._posted(server, "/v1/remember", told)["note"]
                assert isinstance(note, dict)
                self.notes.append(note["id"])
                if len(self.notes) % 5 == 0:
                    left = {"action": "leave", "summary": f"Work {len(self.notes)}."}
                    handoff = self._posted(server, "/v1/handoff", left)["handoff"]
                    assert isinstance(handoff, dict)
                    claim = {"action": "claim", "id": handoff["id"]}
                    mine = self._posted(server, "/v1/handoff", claim)["handoff"]
                    assert isinstance(mine, dict)
                    self.claims[mine["id"]] = mine["state"]
            except (OSError, http.client.HTTPException, LookupError, ValueError):
                return
            time.sleep(0.01)

    def _posted(self, server: RunningServer, path: str, fields: Mapping[str, str]) -> Form:
        reply = server.request("POST", path, {"cwd": str(self._project), **fields})
        assert reply.status in (200, 503), reply
        return reply.json

    def _ask(self, server: RunningServer) -> None:
        while True:
            question = f"Which file sets x{len(self.questions)}?"
            try:
                reply = server.ask(question, self._project)
            except (OSError, http.client.HTTPException, LookupError, ValueError):
                return
            if "answer" not in reply:
                return
            self.questions.append(question)


@pytest.mark.timeout(120 + 20 * _KILLS)
@pytest.mark.promise("nothing-lost")
def test_a_server_that_is_killed_again_and_again_loses_nothing_it_acknowledged(
    tmp_path: Path,
) -> None:
    """S45: kill -9 at random moments under load; the seed is fixed."""
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    chance, load = random.Random(45), _Load(project)
    healthy_s, whole_s = list[float](), list[float]()
    port, data = a_free_port(), tmp_path / "server/data"
    for number in range(_KILLS + 1):
        began = time.monotonic()
        with running_server(tmp_path / "server", LIVE_MEMORY_PORT=str(port)) as server:
            healthy_s.append(time.monotonic() - began)
            _check(server, project, load)
            whole_s.append(time.monotonic() - began)
            if number < _KILLS:
                load.on(server, for_s=chance.uniform(0.05, 0.6))
                assert set(load.names) <= _kept_names(data / "workspaces", tmp_path / "copy")
            else:
                assert server.request("GET", "/health").json["status"] == "ok"
    rest = [file.name for file in data.rglob("*") if ".unreadable" in file.name]
    assert rest == []
    # The first start is none after a kill.
    _tell(load, healthy_s[1:], whole_s[1:])
    assert max(healthy_s[1:]) < (_MANY_START_S if _TO else _START_S) * _SLOW


def _tell(load: _Load, healthy_s: Sequence[float], whole_s: Sequence[float]) -> None:
    """Write what was seen, where that is asked for; whoever comes here has lost nothing."""
    if _TO is None:
        return
    figures = {
        "kills": _KILLS,
        "events_acknowledged": len(load.names),
        "answers_acknowledged": len(load.questions),
        "notes_acknowledged": len(load.notes),
        "claims_acknowledged": len(load.claims),
        "lost": 0,
        "start_to_health_s": _spread(healthy_s),
        "start_until_everything_is_known_again_s": _spread(whole_s),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    Path(_TO).write_text(json.dumps(figures, indent=2) + "\n")


def _kept_names(workspaces: Path, copy: Path) -> set[str]:
    """The files that are learned or heard of, by what is on the disk."""
    (folder,) = workspaces.iterdir()
    shutil.copytree(folder, copy)
    memory = MemoryFolder.opened(copy)[1].memory
    shutil.rmtree(copy)
    assert memory is not None
    learned = {path.text for path in current_hashes(memory.window)}
    return learned | {Path(one.path).name for one in memory.heard if isinstance(one, FileInterest)}


def _spread(times_s: Sequence[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(times_s), 3), "max": round(max(times_s), 3)}


def _check(server: RunningServer, project: Path, load: _Load) -> None:
    """Everything acknowledged is known."""
    until = time.monotonic() + 20
    while True:
        stats = server.request("GET", f"/stats?cwd={project}").json
        if int(str(stats["known_files"])) >= len(load.names):
            break
        assert time.monotonic() < until, f"{stats['known_files']} of {len(load.names)} known"
        time.sleep(0.02)  # what was heard is learned a moment after the start
    assert int(str(stats["questions"])) >= len(load.questions)
    answers = server.request("GET", f"/v1/answers?cwd={project}").json["answers"]
    assert isinstance(answers, list)
    assert {answer["question"] for answer in answers} >= set(load.questions[-100:])
    ids = [*load.notes[-50:], *[*load.claims][-50:]]
    recalled = server.request("POST", "/v1/recall", {"cwd": str(project), "ids": ids}).json["found"]
    assert isinstance(recalled, list)
    kept = {record["id"]: record.get("state", "") for record in recalled}
    assert kept.keys() >= set(ids)
    assert all(kept[named] == "claimed" for named in ids if named in load.claims)
    some = {"cwd": str(project), "kinds": ["note"]}
    total = server.request("POST", "/v1/recall", some).json["total"]
    assert int(str(total)) >= len(load.notes)
