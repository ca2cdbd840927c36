"""Runs a suite against a server and writes what it found: `run.py SUITE --json FILE`."""

import argparse
import dataclasses
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.report import Outcome, circumstances, show, write
from bench.setup import MissingData, Setup
from bench.source import tiny
from bench.source.repositories import Repositories
from bench.suites import (
    asked,
    checking,
    conclusions,
    economics,
    freshness,
    notes,
    overhead,
    replay,
    retrieval,
    soak,
    told,
)
from bench.talk.server import existing

_HERE = Path(__file__).resolve().parent
SUITES: Mapping[str, Callable[[Setup], Outcome]] = {
    "retrieval": retrieval.run,
    "asked": asked.run,
    "freshness": freshness.run,
    "checking": checking.run,
    "conclusions": conclusions.run,
    "notes": notes.run,
    "replay": replay.run,
    "economics": economics.run,
    "overhead": overhead.run,
    "soak": soak.run,
    "told": told.run,
}


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; 0 where it ran, also when bars are missed or data is absent."""
    given = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=_made(given.scratch)) as scratch:
        setup = _setup(given, Path(scratch))
        suites = list(SUITES) if given.suite == "all" else [given.suite]
        for number, suite in enumerate(suites, 1):
            print(f"{number} of {len(suites)}: {suite}", file=sys.stderr, flush=True)
            _one(suite, setup, given)
    return 0


def _one(suite: str, setup: Setup, given: argparse.Namespace) -> None:
    run = circumstances(command=_shown(suite, given), seed=given.seed, server=_server(setup))
    try:
        outcome = SUITES[suite](setup)
    except MissingData as problem:
        outcome = Outcome(suite, skipped=(str(problem),))
    if given.dry_run:
        why = "a dry run over a tiny repository: these figures are not results"
        outcome = dataclasses.replace(outcome, notes=(why, *outcome.notes))
    print(f"# {suite}\n\n{show(outcome)}", flush=True)
    file = given.json
    if file is not None and given.suite == "all":
        file = file.with_name(f"{file.stem}-{suite}.json")
    write(outcome, run, json_file=file or given.out / f"{outcome.suite}.json", folder=given.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "all"])
    parser.add_argument("--repos", type=Path, help="folder of repositories, bare or checked out")
    parser.add_argument("--data", type=Path, default=_HERE.parent.parent / "shared" / "data")
    parser.add_argument("--json", type=Path, help="where the result goes")
    parser.add_argument("--out", type=Path, default=_HERE / "results", help="tables and figures")
    parser.add_argument("--scratch", type=Path, help="where work trees and servers live meanwhile")
    parser.add_argument(
        "--limit", type=int, help="questions a set, items a repository, sessions, rounds"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mcp", action="store_true", help="ask by MCP, as any such server can be")
    parser.add_argument("--server", help="URL of a server that runs already")
    parser.add_argument("--token-file", type=Path, help="the token that opens it")
    parser.add_argument("--command", default="", help="how to start a server, without `serve`")
    parser.add_argument("--beside", default="", help="another such command, for turns of overhead")
    parser.add_argument("--client", type=Path, help="the real `claude`, if it is not on PATH")
    parser.add_argument("--plugin", type=Path, default=_HERE.parent, help="whose hooks are timed")
    parser.add_argument("--slow", action="store_true", help="trees of up to 100,000 files too")
    parser.add_argument("--minutes", type=float, help="how long the soak takes; 20 if not given")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="a workload of economics, a file of asked, a file or a way of conclusions",
    )
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE for our servers")
    parser.add_argument("--dry-run", action="store_true", help="a tiny repository, in a minute")
    return parser


def _setup(given: argparse.Namespace, scratch: Path) -> Setup:
    repos, data = given.repos, given.data
    if given.dry_run:
        repos, data = tiny.made(scratch / "tiny")
    command = shlex.split(given.command) or [sys.executable, "-m", "live_memory"]
    server = None
    if given.server:
        if given.token_file is None:
            sys.exit("--server needs --token-file")
        server = existing(given.server, given.token_file)
    return Setup(
        repositories=Repositories(repos, scratch=scratch),
        data=data,
        scratch=scratch,
        seed=given.seed,
        limit=given.limit,
        command=tuple(command),
        existing=server,
        uses_mcp=given.mcp,
        is_dry=given.dry_run,
        is_slow=given.slow,
        client=_program(given.client),
        plugin=given.plugin.resolve(),
        settings=_settings(given.set),
        only=tuple(given.only),
        minutes=given.minutes,
        beside=tuple(shlex.split(given.beside)),
    )


def _settings(given: Sequence[str]) -> dict[str, str]:
    """The environment that sets what was named."""
    pairs = (one.partition("=") for one in given)
    return {f"LIVE_MEMORY_{name.upper()}": value for name, _, value in pairs}


def _server(setup: Setup) -> Mapping[str, object]:
    """What the server says of itself."""
    with setup.server("asked-for-its-version") as server:
        found = server.json("GET", "/health") or {}
    return {"version": found.get("version"), "is_own": setup.existing is None}


def _shown(suite: str, given: argparse.Namespace) -> str:
    """The command with its folders as anybody would give them."""
    parts = ["benchmark/run.py", suite, "--seed", str(given.seed)]
    parts += ["--dry-run"] if given.dry_run else ["--repos", "REPOSITORIES"]
    parts += ["--limit", str(given.limit)] if given.limit else []
    parts += ["--minutes", f"{given.minutes:g}"] if given.minutes else []
    parts += ["--mcp"] if given.mcp else []
    parts += ["--slow"] if given.slow else []
    parts += [part for one in given.only for part in ("--only", shlex.quote(one))]
    parts += [part for one in given.set for part in ("--set", one)]
    parts += ["--command", "COMMAND"] if given.command else []
    parts += ["--beside", "COMMAND"] if given.beside else []
    parts += ["--server", "URL", "--token-file", "FILE"] if given.server else []
    return " ".join([*parts, "--json", f"benchmark/results/{suite}.json"])


def _program(given: Path | None) -> Path | None:
    found = shutil.which("claude" if given is None else str(given))
    return None if found is None else Path(found).absolute()


def _made(folder: Path | None) -> Path | None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve()
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
