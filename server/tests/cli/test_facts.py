"""`facts list|why|pin|forget` against a real server that was told them, without a model."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Done
from tests.support.learning import notify, wait_for
from tests.support.server import RunningServer, running_server

_FILES = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("facts")
    with running_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def project(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of which an agent found out something of each file."""
    root = tmp_path_factory.mktemp("learned")
    for n in range(_FILES):
        text = f"LIMIT_{n} = {n}\n\n\ndef check_{n}(users):\n    return users < LIMIT_{n}\n"
        (root / f"part{n:03}.py").write_text(text)
    said = "\n".join(f"- `LIMIT_{n}` is `{n}` (part{n:03}.py:1)." for n in range(_FILES))
    stop = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(root)}
    notify(server, root, {**stop, "last_assistant_message": said})
    wait_for(server, root, "facts", _FILES)
    return root


def _run(server: RunningServer, project: Path, *arguments: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "live_memory", "facts", *arguments, "--cwd", str(project)],
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _facts(server: RunningServer, project: Path, *more: str) -> list[dict[str, object]]:
    found = _run(server, project, "list", "--json", *more).json["facts"]
    assert isinstance(found, list)
    return found


@pytest.mark.promise("ingest-is-free")
def test_what_was_found_out_is_listed_with_the_places_it_stands_on(
    server: RunningServer, project: Path
) -> None:
    listed = _run(server, project, "list")
    assert listed.code == 0
    assert "`LIMIT_5` is `5`" in listed.out
    assert "(part005.py:1)" in listed.out
    assert "the agent" in listed.out
    figures = server.request("GET", f"/stats?cwd={project}").json
    assert figures["model_calls"] == 0


def test_why_names_sources_and_dates(server: RunningServer, project: Path) -> None:
    fact = _facts(server, project)[-1]
    why = _run(server, project, "why", str(fact["id"])[:8])
    assert why.code == 0
    assert "said by    the agent" in why.out
    assert "unchanged" in why.out


def test_a_changed_source_makes_its_facts_stale_and_restored_bytes_fresh(
    server: RunningServer, project: Path
) -> None:
    file = project / "part005.py"
    before = file.read_bytes()
    file.write_bytes(b"# empty\n")
    stale = _facts(server, project, "--stale")
    assert {source["path"] for fact in stale for source in fact["sources"]} == {"part005.py"}  # type: ignore[attr-defined]  # JSON
    file.write_bytes(before)
    assert _facts(server, project, "--stale") == []


@pytest.mark.promise("nothing-lost")
def test_a_pinned_fact_says_so_and_a_forgotten_one_stays_away(
    server: RunningServer, project: Path
) -> None:
    first, second = (str(fact["id"]) for fact in _facts(server, project)[-2:])
    assert _run(server, project, "pin", first).code == 0
    assert _run(server, project, "forget", second[:10]).code == 0
    left = {fact["id"]: fact["pinned"] for fact in _facts(server, project)}
    assert left[first] is True
    assert second not in left


@pytest.mark.parametrize("verb", ["why", "pin", "forget"])
def test_an_id_that_names_no_fact_is_refused(
    server: RunningServer, project: Path, verb: str
) -> None:
    done = _run(server, project, verb, "nothing", "--json")
    assert done.code == 2
    assert "facts list" in done.error[1]


def test_a_request_without_an_id_is_refused(server: RunningServer, project: Path) -> None:
    for body in ({"cwd": str(project)}, {"cwd": str(project), "id": 7}):
        reply = server.request("POST", "/v1/facts/pin", body)
        assert reply.status == 400
        assert b"id is missing" in reply.body
