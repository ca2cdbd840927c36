"""The plugin's header helper: it starts the server, proves it, and never breaks the session."""

import socket
from pathlib import Path

import pytest

from live_memory.web.token import ensure_token
from tests.cli.shell import Done, Shell


def _headers(shell: Shell, url: str) -> Done:
    return shell.run("headers", environ={"CLAUDE_CODE_MCP_SERVER_URL": url})


def test_it_starts_the_server_where_the_host_will_connect(shell: Shell) -> None:
    """C06."""
    done = _headers(shell, f"http://127.0.0.1:{shell.port}/mcp")

    token = (shell.data_dir / "token").read_text()
    assert done.json == {"Authorization": f"Bearer {token}"}
    assert (done.code, done.err) == (0, "")
    assert shell.run("status").code == 0


@pytest.mark.parametrize(
    "url", ["", "http://127.0.0.1/mcp", "http://127.0.0.1:x/mcp", "nonsense", "http://[::1/mcp"]
)
def test_an_address_that_is_none_gives_no_headers(shell: Shell, url: str) -> None:
    done = _headers(shell, url)

    assert (done.code, done.json) == (0, {})
    assert len(done.err.splitlines()) == 1


def test_a_server_of_ours_on_another_address_proves_nothing(running: Shell) -> None:
    """Security.md D3: the host would show the token to whoever listens where it connects."""
    for url in (f"http://127.0.0.1:{running.port + 1}/mcp", f"http://[::1]:{running.port}/mcp"):
        done = _headers(running, url)

        assert (done.code, done.json) == (0, {}), done
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

    assert (helper.returncode, out) == (0, "{}\n")
    assert "is held by a program" in err
    assert token not in err


def test_a_session_s_own_variables_do_not_reach_the_server_that_outlives_it(shell: Shell) -> None:
    session = {
        "CLAUDE_CODE_MCP_SERVER_URL": f"http://127.0.0.1:{shell.port}/mcp",
        "CLAUDE_CODE_SESSION_ID": "of-this-session",
        "CLAUDE_CONFIG_DIR": "/of/the/user",
    }
    shell.run("headers", environ=session)

    pid = shell.run("status", "--json").json["pid"]
    environ = Path(f"/proc/{pid}/environ").read_text()
    assert "of-this-session" not in environ
    assert "CLAUDE_CONFIG_DIR=/of/the/user" in environ
