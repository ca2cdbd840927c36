"""`live-memory ui` opens the page where a person sees it, and says its link everywhere."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.server import RunningServer, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("ui"), LIVE_MEMORY_PROVIDER="none") as running:
        yield running


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """A program that writes down what it is told to open."""
    program = tmp_path / "browser"
    program.write_text('#!/bin/sh\nprintf %s "$1" > "$(dirname "$0")/opened"\n')
    program.chmod(0o700)
    return program


def _run(server: RunningServer, cwd: Path, *arguments: str, **more: str) -> str:
    command = [sys.executable, "-m", "live_memory", "ui", *arguments]
    environment = {**server.environment, **more}
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_it_opens_the_link_that_it_prints(
    server: RunningServer, browser: Path, tmp_path: Path
) -> None:
    link = _run(server, tmp_path, BROWSER=str(browser)).splitlines()[0]
    assert (tmp_path / "opened").read_text() == link
    address = urlsplit(link)
    assert (address.netloc, address.path, address.query) == (f"127.0.0.1:{server.port}", "/ui", "")
    told = parse_qs(address.fragment)
    assert told["in"] == [str(tmp_path)]
    headers = {"Authorization": f"Bearer {told['open'][0]}"}
    assert server.request("POST", "/v1/page/key", {}, headers=headers).status == 200


@pytest.mark.parametrize(
    ("arguments", "more"), [(["--print"], {}), ([], {"CLAUDECODE": "1"}), (["--json"], {})]
)
def test_it_opens_nothing_where_nobody_sees_it(
    server: RunningServer,
    browser: Path,
    tmp_path: Path,
    arguments: list[str],
    more: dict[str, str],
) -> None:
    said = _run(server, tmp_path, *arguments, BROWSER=str(browser), **more)
    assert "/ui#open=" in (json.loads(said)["url"] if "--json" in arguments else said)
    assert not (tmp_path / "opened").exists()
