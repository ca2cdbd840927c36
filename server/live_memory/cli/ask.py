"""`ask`: one question over HTTP, its progress on a terminal, its answer on stdout."""

import sys
from collections.abc import Mapping, Sequence

import click

from live_memory.cli.connection import ProvenServer, find, stream
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.cli.saying import is_watched, progress, say, say_json
from live_memory.core.answer import Budget, Question
from live_memory.core.values import Instant
from live_memory.settings import Configuration

Form = Mapping[str, object]

# The reply comes at most 2 s after the deadline; the rest is for opening a workspace anew.
_GRACE_S = 30.0


@click.command()
@click.argument("question", nargs=-1, required=True)
@cwd_option
@click.option("--timeout", "timeout_s", type=float, default=60.0, help="Seconds, 5 to 1800.")
@click.option("--long", "is_long", is_flag=True, help="All of it, also on a terminal.")
@json_option
@configured
def ask(
    configuration: Configuration,
    *,
    question: Sequence[str],
    cwd: str,
    timeout_s: float,
    is_long: bool,
    as_json: bool,
) -> None:
    """Ask QUESTION about a codebase; the answer names its sources.

    On a terminal the finding comes in a few lines, --long shows all of it; a pipe gets all of it
    as plain text.

    \b
    Examples:
      live-memory ask where is the session cookie set
      live-memory ask "who calls full_dispatch_request?" --cwd ~/src/flask --long
    """
    asked = " ".join(question)
    # Refused here by the rules that the server has too, before anybody is asked.
    Question(asked, Instant(0.0), Budget(timeout_s))
    server = find(configuration.settings)
    body: dict[str, object] = {"question": asked, "cwd": absolute(cwd), "timeout": timeout_s}
    if as_json:
        body["why"] = True
    reply = _answered(server, body, within_s=timeout_s + _GRACE_S)
    _show_answer(reply, is_long=is_long, as_json=as_json)


def _answered(server: ProvenServer, body: Mapping[str, object], *, within_s: float) -> Form:
    """The reply with the answer; what goes on until then is shown to who watches.

    Raises:
        Failure: there is none.
    """
    with progress() as tell:
        for reply in stream(server, "/v1/ask", body, timeout_s=within_s):
            if "answer" in reply:
                return reply
            done, total = (int(str(reply.get(name, 0))) for name in ("done", "total"))
            tell(str(reply.get("progress")), done=done, total=total)
    raise Failure(
        "the server ended without an answer: run `live-memory doctor`",
        code=ExitCode.UNREACHABLE,
        kind="unreachable",
    )


def _show_answer(reply: Form, *, is_long: bool, as_json: bool) -> None:
    answer = reply["answer"]
    assert isinstance(answer, dict)
    if as_json:
        say_json(answer)
    elif is_watched(sys.stdout):
        from live_memory.cli.terminal import show_answer  # noqa: PLC0415  (takes long)

        show_answer(answer, text=str(reply.get("text")), is_long=is_long)
    else:
        say(str(reply.get("text")), nl=False)
