"""The server never learns from itself: its data folder, its log, its tool, its host's records."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.learning import entries, figure, make_project, notify, tool, wait_for
from tests.support.server import RunningServer, running_server

pytestmark = [pytest.mark.real("git")]
_OWN_TOOL = "mcp__plugin_live-memory_live-memory__ask_live_memory"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path.resolve() / "project", a__py="RETRY_LIMIT = 3\n")


@pytest.fixture
def server(project: Path) -> Iterator[RunningServer]:
    """A server whose data folder lies in the workspace."""
    with running_server(project / "var") as running:
        yield running


def touched(project: Path, file: Path) -> dict[str, object]:
    event = {"hook_event_name": "FileChanged", "event": "change"}
    return {**event, "cwd": str(project), "file_path": str(file)}


def of_our_own(server: RunningServer, project: Path) -> list[dict[str, object]]:
    """Everything a session may do with what is ours, by every spelling."""
    data, records = server.data_dir, project / "records"
    log = "workspaces"
    files = [file for file in data.rglob("*") if file.is_file()]
    said = {"tool_response": [{"type": "text", "text": "`a.py:1` sets RETRY_LIMIT = 3"}]}
    transcript = records / "s.jsonl"
    own: list[dict[str, object]] = [
        tool(project, _OWN_TOOL, question="Where is RETRY_LIMIT set?") | said,
        tool(project, "mcp__live_memory__ask_live_memory", question="?") | said,
        tool(project, "Bash", command=f"cat var/data/{log}/*/* ; grep -rn RETRY var/data link"),
        tool(project, "Bash", command="cd var/data && cat server.json token; cat ./../data/*"),
        tool(project, "Bash", command="live-memory ask 'Where is RETRY_LIMIT set?'"),
        *(tool(project, "Read", file_path=str(file)) for file in files),
        *(tool(project, "Edit", file_path=f"{project}/link/{f.relative_to(data)}") for f in files),
        *(tool(project, "Write", file_path=f"{project}/./x/../var/data/{f.name}") for f in files),
        *(touched(project, file) for file in files),
        tool(project, "Read", file_path=str(transcript)),
        tool(project, "Read", file_path=f"{records}/s/tool-results/1.txt"),
        tool(project, "Bash", command=f"tail -5 {transcript}; grep RETRY records/s.jsonl"),
    ]
    return [payload | {"transcript_path": str(transcript)} for payload in own]


def test_ten_rounds_of_our_own_output_leave_the_window_as_it_is(
    server: RunningServer, project: Path
) -> None:
    """C29."""
    (project / "link").symlink_to(server.data_dir)
    transcript = project / "records/s.jsonl"
    transcript.parent.joinpath("s/tool-results").mkdir(parents=True)
    (transcript.parent / "s/tool-results/1.txt").write_text("RETRY_LIMIT = 3\n")
    notify(server, project, tool(project, "Read", file_path=f"{project}/a.py"))
    wait_for(server, project, "known_files", 1)
    for number in range(10):
        answer = server.ask("Where is RETRY_LIMIT set?", project)
        transcript.write_text(json.dumps({"round": number, "said": answer["answer"]}) + "\n")
        notify(server, project, *of_our_own(server, project))
    # Files that are edited are looked at once they rest, so this one comes after all of the above.
    (project / "b.py").write_text("LAST = 1\n")
    notify(server, project, tool(project, "Write", file_path=f"{project}/b.py"))
    wait_for(server, project, "known_files", 2)
    learned = [entry["path"] for entry in entries(server, project) if "path" in entry]
    assert learned == ["b.py", "a.py"]
    assert figure(server, project, "entries") - figure(server, project, "questions") == 2
    assert figure(server, project, "dropped_events") == 0


@pytest.mark.promise("no-secrets")
def test_no_answer_and_no_index_knows_of_our_own_data(server: RunningServer, project: Path) -> None:
    (project / "link").symlink_to(server.data_dir)
    for question in (
        "What is in server.json?",
        "Where is `workspaces` kept?",
        "Which port is in var/data/server.json?",
        "What does token hold?",
    ):
        answer = server.ask(question, project)
        assert server.token not in json.dumps(answer)
        assert isinstance(answer["answer"], dict), answer
        cited = {citation["path"] for citation in answer["answer"]["citations"]}
        assert not any("data/" in path or path.startswith("link") for path in cited)
    # The log and what else lies beside the data folder is the person's own affair.
    for index in server.data_dir.rglob("index.sqlite"):
        assert b"server.json" not in index.read_bytes()
    refused = server.ask("What is here?", server.data_dir)
    assert "own data folder" in json.dumps(refused)
