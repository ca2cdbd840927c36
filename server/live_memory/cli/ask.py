"""`ask`: one question over HTTP, its progress on a terminal, its answer on stdout."""

import json
import sys
from collections.abc import Mapping

import click

from live_memory.cli.connection import find, stream
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.core.answer import Budget, Question
from live_memory.core.values import Instant
from live_memory.settings import Configuration

# The reply comes at most 2 s after the deadline; the rest is for opening a workspace anew.
_GRACE_S = 30.0


@click.command()
@click.argument("question")
@cwd_option
@click.option("--timeout", "timeout_s", type=float, default=60.0, help="Seconds, 5 to 1800.")
@json_option
@configured
def ask(
    configuration: Configuration, *, question: str, cwd: str, timeout_s: float, as_json: bool
) -> None:
    """Ask QUESTION about a codebase; the answer names its sources."""
    # Refused here by the rules that the server has too, before anybody is asked.
    Question(question, Instant(0.0), Budget(timeout_s))
    server = find(configuration.settings)
    body: dict[str, object] = {"question": question, "cwd": absolute(cwd), "timeout": timeout_s}
    if as_json:
        body["why"] = True
    for reply in stream(server, "/v1/ask", body, timeout_s=timeout_s + _GRACE_S):
        if "answer" in reply:
            _show_progress("")
            _show_answer(reply, as_json=as_json)
            return
        _show_progress(f"{reply.get('progress')} …")
    raise Failure(
        "the server ended without an answer: run `live-memory doctor`",
        code=ExitCode.UNREACHABLE,
        kind="unreachable",
    )


def _show_answer(reply: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(reply["answer"]))
    else:
        click.echo(str(reply.get("text")), nl=False)


def _show_progress(message: str) -> None:
    """Replace the line that a person watches; nothing where nobody does."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{message}", err=True, nl=False)
