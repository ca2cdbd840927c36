"""`config set` and `config test`: refused by name, written in one step, taken over at once."""

import json
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.web.identity import published
from tests.cli.shell import Shell
from tests.support.scripted_endpoint import Text, Tools, serving


def _file(shell: Shell) -> Path:
    return shell.folder / "config/live-memory/config.toml"


def test_settings_are_written_privately_and_comments_stay(shell: Shell) -> None:
    file = _file(shell)
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nprovider = 'none'  # for now\n\nfuture = 1\n")
    done = shell.run("config", "set", "max_queue=7", "provider=auto")
    assert done.code == 0, done
    assert "no server runs" in done.out
    assert file.read_text() == '# mine\nprovider = "auto"  # for now\n\nfuture = 1\nmax_queue = 7\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [f.name for f in file.parent.iterdir()] == ["config.toml"]
    assert shell.run("config", "set", "max_queue=").code == 0
    assert "max_queue" not in file.read_text()


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("colour=red", "the settings are data_dir, host, port"),
        ("port=http", "'port'"),
        ("provider=acme", "'anthropic', 'openai'"),
        ("port", "port=VALUE"),
        ("api_key=sk-secret-000001", "pipe it"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(
    shell: Shell, assignment: str, said: str
) -> None:
    done = shell.run("config", "set", assignment)
    assert done.code == 2
    assert said in done.err
    assert "sk-secret-000001" not in done.err
    assert not _file(shell).exists()


@pytest.mark.promise("no-secrets")
def test_a_key_comes_from_standard_input_and_is_never_shown(shell: Shell) -> None:
    command = [sys.executable, "-m", "live_memory", "config", "set", "api_key=-"]
    done = subprocess.run(
        command,
        input="sk-secret-000001\n",
        env=dict(shell.environ),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shown = shell.run("config", "show"), shell.run("config", "show", "--json")
    assert "sk-secret-000001" in _file(shell).read_text()
    assert "sk-secret" not in done.stdout + done.stderr + "".join(s.out + s.err for s in shown)


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(
    "address",
    [
        "https://bob:CANARY1x@models.example.org/v1",
        "https://CANARY1x@models.example.org/v1",
        "https://models.example.org/v1?key=CANARY1x",
        "https://bob:CANA/RY1@x@models.example.org/v1",
    ],
)
def test_show_prints_no_user_of_an_address_and_no_added_field(shell: Shell, address: str) -> None:
    """F10, S28."""
    _file(shell).parent.mkdir(parents=True)
    extra = '{ api_token = "CANARY2x", user = "CANARY3x", n = { k = "CANARY4x" }, seed = 7 }'
    _file(shell).write_text(f'base_url = "{address}"\nopenai_extra_body = {extra}\n')
    for shown in (shell.run("config", "show"), shell.run("config", "show", "--json")):
        assert "CANA" not in shown.out + shown.err
        assert "models.example.org" in shown.out
        assert "seed" in shown.out


def test_a_file_that_is_no_toml_is_left_alone(shell: Shell) -> None:
    _file(shell).parent.mkdir(parents=True)
    _file(shell).write_text("port = [")
    assert shell.run("config", "set", "port=8000").code == 2
    assert _file(shell).read_text() == "port = ["


def test_show_tells_what_the_running_server_has(shell: Shell) -> None:
    """Whoever starts it decides; a session's own environment is not what it has."""
    file = _file(shell)
    file.parent.mkdir(parents=True)
    file.write_text("max_queue = 7\n")
    shell.run("start", environ={"LIVE_MEMORY_MAX_FILE_BYTES": "4096", "LIVE_MEMORY_MODEL": "m-1"})
    file.write_text("max_queue = 8\nspend_cap_usd_day = 0.5\n")
    before = shell.run("config", "show").out.splitlines()
    shell.run("config", "set", "spend_cap_tokens_hour=9")
    after, told = shell.run("config", "show").out, shell.run("config", "show", "--json").json
    shell.run("stop")
    stopped = shell.run("config", "show")

    def row(shown: list[str], name: str) -> str:
        (found,) = (line for line in shown if line.startswith(f"{name} "))
        return " ".join(found.split()[1:])

    assert (
        row(before, "max_queue") == "7 (config.toml; one that is started here has 8: config.toml)"
    )
    other = "one that is started here has 262144: default"
    assert row(before, "max_file_bytes") == f"4096 (environment; {other})"
    assert row(before, "spend_cap_usd_day") == (
        "5.0 (default; one that is started here has 0.5: config.toml)"
    )
    assert row(before, "port") == f"{shell.port} (environment)"
    assert row(before, "data_dir") == f"{shell.data_dir} (environment)"
    assert row(before, "watch") == "yes (default)"
    assert row(before, "log_file") == "- (default)"
    assert row(after.splitlines(), "spend_cap_usd_day") == "0.5 (config.toml)"
    assert row(after.splitlines(), "spend_cap_tokens_hour") == "9 (config.toml)"
    server = told["server"]
    assert isinstance(server, dict)
    assert server["settings"]["max_queue"] == {"value": 7, "source": str(file)}
    assert server["url"] == f"http://127.0.0.1:{shell.port}"
    assert f"The file is {file}." in after
    assert f"The server at {server['url']} has these; no model answers." in after
    assert row(stopped.out.splitlines(), "max_queue") == "8 (config.toml)"
    assert "No server runs; one that is started here has these." in stopped.out


def test_a_port_that_the_server_took_in_place_of_another_is_shown(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", shell.port)):
        shell.run("start")
        shown, there = shell.run("config", "show").out, published(shell.data_dir)

    assert there is not None
    said = f"the server took it in place of {shell.port}: environment"
    assert re.search(rf"^port +{there.port}  \({said}\)$", shown, re.MULTILINE)


def test_a_running_server_takes_a_model_over_and_tries_it(shell: Shell) -> None:
    with serving() as endpoint:
        channel = endpoint.open(Tools([("report_ready", "{}")]), Text("ready"))
        assert shell.run("start").code == 0
        untried = shell.run("config", "test", "--json")
        url = f"{channel.base_url}/v1"
        done = shell.run(
            "config", "set", "provider=openai", f"base_url={url}", "model=m-1", "max_queue=9"
        )
        tried = shell.run("config", "test")
    assert untried.code == 1
    assert json.loads(untried.out)["problem"] == "no model is configured"
    assert "the running server answers with m-1" in done.out
    assert "max_queue: restart the server" in done.out
    assert tried.code == 0
    assert "m-1: reachable, calls tools, window of 8192 tokens, price unknown" in tried.out
    assert "answers as companion" in tried.out
