"""A real server at an endpoint that fails: it is left alone, and asked again a while later."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.scripted_endpoint import Channel, Play, Received, Status, Text, serving
from tests.support.server import RunningServer, running_server

QUESTION = "How many retries are allowed?"
GOOD = Text("`MAX_RETRIES` is 7 (`limits.py:1`).")


def _settings(channel: Channel) -> dict[str, str]:
    return {
        "LIVE_MEMORY_PROVIDER": "openai",
        "LIVE_MEMORY_BASE_URL": f"{channel.base_url}/v1",
        "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
        "LIVE_MEMORY_MODEL": "gpt-5-mini",
    }


def _ask(server: RunningServer, project: Path, number: int, **more: object) -> dict[str, object]:
    answer = server.ask(f"{QUESTION} Number {number}.", project, **more)["answer"]
    assert isinstance(answer, dict)
    return answer


def _until(is_so: Callable[[], bool], *, within_s: float) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)  # there is nothing to wait on in another process


@pytest.mark.promise("always-something-true")
@pytest.mark.parametrize(
    "failure",
    [
        Status(500, "broken"),
        Status(401, {"error": {"message": "no such key"}}),
        Status(200, "this is no gzip", {"content-encoding": "gzip"}),
    ],
    ids=["broken", "refused", "undecodable"],
)
def test_a_failed_endpoint_rests_answers_come_at_once_and_it_is_found_again(
    tmp_path: Path, failure: Status
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    is_well = False

    def rule(_: Received) -> Play:
        return GOOD if is_well else failure

    with serving() as endpoint:
        channel = endpoint.open(rules=[rule])
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            _ask(server, project, 0, timeout=5)
            asked = len(channel.requests)
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda n: _ask(server, project, n), range(1, 9)))
            assert len(channel.requests) == asked
            assert all("not asked again before" in str(a["notice"]) for a in answers)
            assert all("limits.py" in str(a["citations"]) for a in answers)
            assert "not asked again before" in str(server.request("GET", "/health").json["notes"])
            # Whoever tries the model by hand asks it, and what works then is used at once.
            is_well = True
            assert server.request("POST", "/v1/models/test", {}).json["is_reachable"]
            assert _ask(server, project, 9)["mode"] == "companion"


def test_one_call_finds_out_and_a_changed_configuration_forgets(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    with serving() as endpoint:
        channel = endpoint.open(Status(502, "down"))
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            _ask(server, project, 0)
            _until(lambda: not server.request("GET", "/health").json["notes"], within_s=60)
            asked = len(channel.requests)
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda n: _ask(server, project, n), range(1, 5)))
            assert len(channel.requests) == asked + 1
            assert server.request("GET", "/health").json["notes"]
            assert server.request("POST", "/reload", {}).status == 200
            assert server.request("GET", "/health").json["notes"] == []
            _ask(server, project, 5)
            assert len(channel.requests) > asked + 1


def test_a_request_that_is_refused_for_itself_keeps_no_other_from_the_model(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")

    def rule(received: Received) -> Play:
        is_odd = "Number 1." in json.dumps(received.body["messages"])
        return Status(400, {"error": {"message": "flagged by our filter"}}) if is_odd else GOOD

    with serving() as endpoint:
        channel = endpoint.open(rules=[rule])
        with running_server(tmp_path / "server", **_settings(channel)) as server:
            assert _ask(server, project, 1)["mode"] == "evidence"
            assert server.request("GET", "/health").json["notes"] == []
