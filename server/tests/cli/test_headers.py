"""The plugin's header helper: it starts the server, proves it, and never breaks the session."""

import http.client
import socket
from collections.abc import Mapping

import pytest

from live_memory.web.identity import ensure_token
from tests.cli.shell import Done, Shell


def _headers(shell: Shell, url: str) -> Done:
    return shell.run("headers", environ={"CLAUDE_CODE_MCP_SERVER_URL": url})


def test_it_starts_the_server_where_the_host_will_connect(shell: Shell) -> None:
    """C06."""
    done = _headers(shell, f"http://127.0.0.1:{shell.port}/mcp")

    token = (shell.data_dir / "token").read_text()
    assert list(done.json) == ["Authorization"]
    assert token not in done.out
    assert (done.code, done.err) == (0, "")
    assert shell.run("status").code == 0


def test_what_it_gives_opens_this_start_of_the_server_and_no_other(shell: Shell) -> None:
    """S06: a squatter that was sent it has nothing once the server is back."""
    headers = _headers(shell, f"http://127.0.0.1:{shell.port}/mcp").json
    first = _status_of(shell, headers)
    again = _headers(shell, f"http://127.0.0.1:{shell.port}/mcp").json
    assert shell.run("stop").code == 0
    anew = _headers(shell, f"http://127.0.0.1:{shell.port}/mcp").json

    assert (first, again) == (200, headers)
    assert _status_of(shell, headers) == 401
    assert _status_of(shell, anew) == 200


@pytest.mark.parametrize(
    "url", ["", "http://127.0.0.1/mcp", "http://127.0.0.1:x/mcp", "nonsense", "http://[::1/mcp"]
)
def test_an_address_that_is_none_gives_no_headers(shell: Shell, url: str) -> None:
    done = _headers(shell, url)

    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1


def test_a_server_of_ours_on_another_address_proves_nothing(running: Shell) -> None:
    """Security.md D3: the host would show the token to whoever listens where it connects."""
    for url in (f"http://127.0.0.1:{running.port + 1}/mcp", f"http://[::1]:{running.port}/mcp"):
        done = _headers(running, url)

        assert (done.code, done.out) == (3, ""), done
        assert str(running.port) in done.err


def test_a_program_that_accepts_and_never_speaks_costs_less_than_the_host_waits(
    shell: Shell,
) -> None:
    """C03 (a): the host waits 10 s for its helper."""
    token = ensure_token(shell.data_dir)
    with (
        socket.create_server(("127.0.0.1", shell.port)),
        shell.begin(
            "headers",
            environ={"CLAUDE_CODE_MCP_SERVER_URL": f"http://127.0.0.1:{shell.port}/mcp"},
        ) as helper,
    ):
        out, err = helper.communicate(timeout=8)

    assert (helper.returncode, out) == (3, "")
    assert "the plugin is set to" in err
    assert token not in err


def _status_of(shell: Shell, headers: Mapping[str, object]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", shell.port, timeout=30)
    connection.request(
        "GET", f"/stats?cwd={shell.folder}", headers={k: str(v) for k, v in headers.items()}
    )
    status = connection.getresponse().status
    connection.close()
    return status
