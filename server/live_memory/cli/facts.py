"""`facts`: what was understood of the codebase, why it is believed, and how to drop it."""

import datetime
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from live_memory.cli.connection import ProvenServer, find, get, post
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.cli.quoted import BY, when
from live_memory.cli.saying import is_watched, say, say_json
from live_memory.settings import Configuration

Form = Mapping[str, object]

# A commit is named by so many digits, as git does it.
_COMMIT_DIGITS = 10
_MARKS = {"pinned": "pinned", "stale": "its file changed"}


@click.group()
def facts() -> None:
    """List what was understood of a workspace, say why it is believed, pin or forget it."""


@facts.command("list")
@click.option("--stale", is_flag=True, help="Only facts whose source has changed.")
@cwd_option
@json_option
@configured
def list_(configuration: Configuration, *, stale: bool, cwd: str, as_json: bool) -> None:
    """List the newest facts first.

    \b
    Examples:
      live-memory facts list
      live-memory facts list --stale --cwd ~/src/flask
    """
    wanted = {"stale": "1"} if stale else {}
    reply = get(find(configuration.settings), "/v1/facts", cwd=absolute(cwd), **wanted)
    found = _forms(reply, "facts")
    if as_json:
        say_json(reply)
        return
    for fact in found:
        say(_line(fact))
    if not found:
        say("no facts yet: they come from what agents conclude, and from summaries")


@facts.command()
@click.argument("fact_id", metavar="ID")
@cwd_option
@json_option
@configured
def why(configuration: Configuration, *, fact_id: str, cwd: str, as_json: bool) -> None:
    """Say what a fact rests on: sources, dates, the questions it came from.

    \b
    Examples:
      live-memory facts why 3f2a
    """
    fact = _named(find(configuration.settings), fact_id, absolute(cwd))
    if as_json:
        say_json(fact)
    else:
        say(_reasons(fact))


@facts.command()
@click.argument("fact_id", metavar="ID")
@cwd_option
@json_option
@configured
def pin(configuration: Configuration, *, fact_id: str, cwd: str, as_json: bool) -> None:
    """Keep a fact in view.

    \b
    Examples:
      live-memory facts pin 3f2a
    """
    _change(configuration, "pin", fact_id, cwd=absolute(cwd), as_json=as_json)


@facts.command()
@click.argument("fact_id", metavar="ID")
@cwd_option
@json_option
@configured
def forget(configuration: Configuration, *, fact_id: str, cwd: str, as_json: bool) -> None:
    """Drop a fact for good: it is not learned again by itself.

    \b
    Examples:
      live-memory facts forget 3f2a
    """
    _change(configuration, "forget", fact_id, cwd=absolute(cwd), as_json=as_json)


def _change(
    configuration: Configuration, verb: str, fact_id: str, *, cwd: str, as_json: bool
) -> None:
    server = find(configuration.settings)
    full = str(_named(server, fact_id, cwd)["id"])
    fact = post(server, f"/v1/facts/{verb}", {"cwd": cwd, "id": full})
    past = {"pin": "pinned", "forget": "forgot"}[verb]
    if as_json:
        say_json(fact)
    else:
        say(f"{past} {_line(fact)}")


def _named(server: ProvenServer, fact_id: str, cwd: str) -> Form:
    """The one fact whose id begins so."""
    found = _forms(get(server, "/v1/facts", cwd=cwd, id=fact_id), "facts")
    if len(found) == 1:
        return found[0]
    how_many = f"{len(found)} facts begin" if found else "no fact begins"
    raise Failure(
        f"{how_many} with {fact_id!r}: `live-memory facts list` names them",
        code=ExitCode.REFUSED,
        kind="invalid",
    )


def _line(fact: Form) -> str:
    said = f"{BY[str(fact['author'])]}, {when(fact['learned_at'])}"
    marks = [said, *(word for name, word in _MARKS.items() if fact[name])]
    text = str(fact["text"])
    missing = [p for p in map(_place, _forms(fact, "sources")) if p not in text]
    places = f" ({', '.join(missing)})" if missing else ""
    return f"{str(fact['id'])[:8]} [{'; '.join(marks)}] {text}{places}"


def _reasons(fact: Form) -> str:
    session = f" in session {fact['session']}" if fact["session"] else ""
    lines = [
        _line(fact),
        f"said by    {BY[str(fact['author'])]}{session}, checked against its sources",
        f"learned    {when(fact['learned_at'])}",
        f"led        {fact['uses']} answer{'' if fact['uses'] == 1 else 's'}",
    ]
    if fact["since"]:
        lines.append(f"true since {str(fact['since'])[:_COMMIT_DIGITS]}")
    for source in _forms(fact, "sources"):
        state = "a file changed since" if fact["stale"] else "unchanged"
        lines.append(f"source     {_place(source)} ({state})")
    questions = fact["questions"] if isinstance(fact["questions"], list) else []
    lines += [f"asked in   {question}" for question in questions]
    return "\n".join(lines)


def _place(source: Form) -> str:
    start, end = source["start"], source["end"]
    return f"{source['path']}:{start}" if start == end else f"{source['path']}:{start}-{end}"


def _forms(reply: Form, name: str) -> Sequence[Form]:
    found = reply.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


@click.command()
@cwd_option
@json_option
@configured
def stats(configuration: Configuration, *, cwd: str, as_json: bool) -> None:
    """Show what is remembered about a workspace.

    \b
    Examples:
      live-memory stats
      live-memory stats --cwd ~/src/flask --json
    """
    figures = get(find(configuration.settings), "/stats", cwd=absolute(cwd))
    if as_json:
        say_json(figures)
        return
    now = datetime.datetime.now(datetime.UTC).timestamp()  # noqa: TID251  (no port here)
    rows = told(figures, now=now)
    if is_watched(sys.stdout):
        from live_memory.cli.terminal import show_rows  # noqa: PLC0415  (takes long)

        show_rows(rows, more="more: `live-memory stats --json` has all")
    else:
        width = max(len(name) for name, _ in rows)
        say("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


@click.command()
@click.argument("scope", type=click.Choice(["all"]), required=False)
@click.option("--all", "everything", is_flag=True, help="Every workspace, the same as `empty all`.")
@cwd_option
@json_option
@configured
def empty(
    configuration: Configuration, *, scope: str | None, everything: bool, cwd: str, as_json: bool
) -> None:
    """Forget a workspace, or all of them; files in the workspace are not touched.

    \b
    Examples:
      live-memory empty
      live-memory empty all
    """
    body: dict[str, object] = {"all": True} if scope or everything else {"cwd": absolute(cwd)}
    outcome = post(find(configuration.settings), "/clear", body)
    if as_json:
        say_json(outcome)
    else:
        say("forgot every workspace" if "all" in body else f"forgot {body['cwd']}")


def told(figures: Form, *, now: float) -> Sequence[tuple[str, str]]:
    """What a person asks of a memory: what it knows, what it did, what that cost, what is amiss.

    Each is a word and a sentence; what is amiss comes last, under the word `problem`.
    """
    seen = f"{_many(figures, 'known_files')} of them"
    found, facts = _number(figures, "findings"), _number(figures, "facts")
    waiting = _number(figures, "files_waiting")
    stale, led = _number(figures, "stale_facts"), _number(figures, "questions_answered_by_findings")
    return [
        ("codebase", str(_inner(figures, "workspace").get("root", ""))),
        (
            "knows",
            f"{_counted(figures, 'indexed_files', 'file')}, {seen} from your agent's work"
            + (f"; {waiting:,} more are not indexed yet" if waiting else ""),
        ),
        (
            "learned",
            f"{_counted(figures, 'findings', 'finding')} of agents, {facts - found:,} other facts"
            + (f"; the files of {stale:,} changed since" if stale else ""),
        ),
        (
            "told",
            f"{_counted(figures, 'notes', 'note')}, "
            + _counted(figures, "open_handoffs", "open handoff"),
        ),
        (
            "answered",
            f"{_counted(figures, 'questions', 'question')}"
            + (f", {led:,} of them by what agents had found out" if led else ""),
        ),
        (
            "cost",
            f"${_number(figures, 'cost_usd'):.4f} in {_counted(figures, 'model_calls', 'call')}"
            if figures.get("model_calls")
            else "nothing: no model was called",
        ),
        *(("caps", said) for said in _caps(figures)),
        ("saved", _saved(figures)),
        ("agent", _last(figures, now)),
        *([("paused", "nothing is learned: `resume` lifts that")] * bool(figures.get("is_paused"))),
        *(("problem", problem) for problem in _problems(figures)),
    ]


def _caps(figures: Form) -> Iterator[str]:
    """What models took of what they may, over all codebases; nothing where there is no model."""
    caps, spent = _inner(figures, "caps"), _inner(figures, "spent_lately")
    if not caps:
        return
    tokens, most_tokens = _many(spent, "tokens_an_hour"), _number(caps, "tokens_an_hour")
    dollars, most_dollars = _number(spent, "usd_a_day"), _number(caps, "usd_a_day")
    hour = f"of {most_tokens:,} tokens" if most_tokens else "tokens (no cap)"
    day = f"of ${most_dollars:.2f}" if most_dollars else "(no cap)"
    is_reached = any(0 < _number(caps, name) <= _number(spent, name) for name in caps)
    yield (
        f"{tokens} {hour} in the last hour, ${dollars:.4f} {day} in the last day, in all codebases"
        + (": reached, so no model is asked now" if is_reached else "")
    )


def _saved(figures: Form) -> str:
    """What answers spared, by the one formula; where they took more than they spared, that."""
    tokens = int(_number(figures, "tokens_saved"))
    if not figures.get("questions"):
        return "nothing yet: nobody asked"
    if tokens < 0:
        return f"nothing: answers and models took {-tokens:,} tokens more than reading"
    return f"about {tokens:,} tokens: what reading would take, less answers and models"


def _problems(figures: Form) -> Iterator[str]:
    for name, says in (
        ("dropped_events", "events were dropped"),
        ("hook_events_not_understood", "events were not understood"),
    ):
        if figures.get(name):
            yield f"{_many(figures, name)} {says}"
    listing, watch = _inner(figures, "listing"), _inner(figures, "watch")
    if listing.get("problem"):
        yield f"files are listed by {listing.get('way')}: {listing['problem']}"
    if watch.get("problem"):
        yield f"watching is {watch.get('state')}: {watch['problem']}"
    found = figures.get("problems")
    yield from map(str, found if isinstance(found, list) else ())


def _inner(figures: Form, name: str) -> Form:
    found = figures.get(name)
    return found if isinstance(found, dict) else {}


def _number(figures: Form, name: str) -> float:
    found = figures.get(name)
    return found if isinstance(found, int | float) else 0


def _many(figures: Form, name: str) -> str:
    return f"{int(_number(figures, name)):,}"


def _counted(figures: Form, name: str, thing: str) -> str:
    return f"{_many(figures, name)} {thing}{'' if _number(figures, name) == 1 else 's'}"


def _last(figures: Form, now: float) -> str:
    """When its work was heard of last, as people say it, and how often."""
    at = figures.get("last_hook_at")
    if not isinstance(at, int | float):
        return "nothing heard of its work since the server started"
    heard = _counted(figures, "hook_events", "event")
    passed_s = int(now - at)
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        many = passed_s // seconds
        if many > 0:
            return f"last activity {many} {unit}{'' if many == 1 else 's'} ago, {heard}"
    return f"last activity just now, {heard}"
