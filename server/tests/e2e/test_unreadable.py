"""A memory that the system does not give: the server goes on without, says so, and spares it."""

from pathlib import Path

import pytest

from tests.support.learning import make_project
from tests.support.server import running_server


@pytest.mark.real("strace")
@pytest.mark.promise("no-overwrite-of-unreadable", "always-something-true")
def test_a_failing_disk_stops_no_answer_and_nothing_is_written_over(tmp_path: Path) -> None:
    project = make_project(tmp_path.resolve() / "project", a__py="RETRY_LIMIT = 3\n")
    with running_server(tmp_path / "server") as server:
        server.ask("Where is RETRY_LIMIT set?", project)
        server.stop()
        (memory,) = (server.data_dir / "workspaces").iterdir()
    kept = [file for file in memory.iterdir() if file.name.startswith(("snapshot", "journal"))]
    before = {file: file.read_bytes() for file in kept}
    assert memory / "snapshot.json" in before
    failing = ("-e", "inject=openat:error=EIO", "-P", str(memory / "snapshot.json"))
    within = ("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat", *failing)
    with running_server(tmp_path / "server", within=within) as server:
        answer = server.ask("Where is RETRY_LIMIT set?", project)["answer"]
        assert isinstance(answer, dict)
        assert "RETRY_LIMIT = 3" in str(answer["answer"])
        health = server.request("GET", "/health").json
        assert health["status"] == "degraded"
        assert "Input/output error" in str(health["reasons"])
        server.stop()
    files = {file: file.read_bytes() for file in memory.iterdir() if "index" not in file.name}
    assert files == before
