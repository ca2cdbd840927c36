"""`headers`: what the plugin's header helper prints, after the server runs and is proved."""

import json
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import click

from live_memory.cli.failure import ExitCode, Failure, note_trouble
from live_memory.cli.options import load_configuration
from live_memory.cli.running.launcher import ensure_running
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration

__all__ = ["headers"]

_URL_NAME = "CLAUDE_CODE_MCP_SERVER_URL"


@click.command(hidden=True)
def headers() -> None:
    """Print the request headers as JSON: what they show opens this server until it ends."""
    click.echo(json.dumps(_headers(os.environ)))


def _headers(environ: Mapping[str, str]) -> dict[str, str]:
    host, port = _target(environ)
    configuration = load_configuration({"host": host, "port": port})
    try:
        key = _key(configuration, host, port)
    except (Failure, InvalidRequest) as problem:
        note_trouble(configuration.settings.data_dir, str(problem))
        raise
    return {"Authorization": f"Bearer {key}"}


def _key(configuration: Configuration, host: str, port: int) -> str:
    """The key of the server, once it is sure who listens there."""
    server = ensure_running(configuration)
    # A server of ours elsewhere proves nothing about who listens where the host will connect.
    if (server.host, server.port) != (host, port):
        raise Failure(
            f"the server runs at {server.url}, the plugin is set to {host}:{port}: "
            "set the same port in both",
            code=ExitCode.LOCKED,
            kind="locked",
        )
    return server.key


def _target(environ: Mapping[str, str]) -> tuple[str, int]:
    """Where the host is about to connect."""
    try:
        url = urlsplit(environ.get(_URL_NAME, ""))
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise Failure(
            f"{_URL_NAME} names no address: this command is for the plugin's header helper",
            code=ExitCode.REFUSED,
            kind="invalid",
        )
    return host, port
