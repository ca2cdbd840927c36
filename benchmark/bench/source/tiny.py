"""A tiny repository with a history, and questions about it: for runs that prove nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

from bench.source.repositories import git

__all__ = ["made"]

_MODULES = ("billing", "session", "cache", "mailer")


def made(folder: Path) -> tuple[Path, Path]:
    """Make repositories under the names that the suites ask for, and data; their folders."""
    repositories, data = folder / "repositories", folder / "data"
    for name in ("flask", "requests", "shofer"):
        commits = _repository(repositories / name)
        if name == "shofer":
            continue
        _write(data / "swe-qa" / f"{name}.jsonl", _questions(name, commits[-1]))
        if name == "flask":
            _write(data / "checking" / "flask.jsonl", [_answer(commits[-1])])
            _write(data / "asked" / "flask.jsonl", _asked(commits[-1]))
            _write(data / "conclusions" / "flask.jsonl", _concluded(commits[-1]))
    _write(data / "replay" / "sequence.jsonl", _sessions())
    _write(data / "replay" / "parallel.jsonl", _sessions())
    _write(data / "replay" / "understanding.jsonl", _sessions())
    issue = {
        "repo": "pallets/flask",
        "commit": commits[-1],
        "problem": "The limit of the cache is ignored\nWhen `CACHE_LIMIT` is reached nothing goes.",
        "files": ["app/cache.py"],
    }
    _write(data / "localisation" / "swe-bench-lite.jsonl", [issue])
    return repositories, data


def _repository(folder: Path) -> list[str]:
    """Three commits in which constants, defaults and places change."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commits = []
    for version in (1, 2, 3):
        for name in _MODULES:
            file = folder / "app" / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(_module(name, version), encoding="utf-8")
        (folder / "README.md").write_text("# Tiny\n\nBilling, sessions, a cache and mail.\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"version {version}")
        commits.append(git(folder, "rev-parse", "HEAD").decode().strip())
    # Recorded sessions name their commit by its abbreviation; here it is a tag.
    git(folder, "tag", "32cdefc")
    return commits


def _module(name: str, version: int) -> str:
    moved = _MODULES[version % len(_MODULES)]
    wandering = f"\n\ndef wandering_rule():\n    return {version}\n" if name == moved else ""
    return (
        f'"""The {name} of the tiny application."""\n\n'
        f"{name.upper()}_LIMIT = {version * 1000 + len(name)}\n\n\n"
        f"def open_{name}(owner, timeout={version}0):\n"
        f'    """Open the {name} of an owner."""\n'
        f"    return owner, timeout, {name.upper()}_LIMIT\n{wandering}"
    )


def _questions(name: str, commit: str) -> list[dict[str, object]]:
    repository = {"flask": "pallets/flask", "requests": "psf/requests"}[name]
    return [
        {
            "repo": repository,
            "commit": commit,
            "question": f"Where is the limit of the {module} defined and who opens it?",
            "files": [f"app/{module}.py"],
            "lines": {f"app/{module}.py": [[3, 3]]},
            "tokens": [f"{module.upper()}_LIMIT", f"open_{module}"],
        }
        for module in _MODULES
    ]


def _answer(commit: str) -> dict[str, object]:
    """What a model could have said, with two right places."""
    return {
        "repo": "pallets/flask",
        "commit": commit,
        "question": "What opens the mailer, and where is its limit defined?",
        "answer": (
            "The limit is `MAILER_LIMIT = 3006` (`app/mailer.py:3`). `open_mailer` is what opens "
            "the `mailer`, and it waits `30` at most (`app/mailer.py:6-7`)."
        ),
        "wrong": [],
    }


def _asked(commit: str) -> list[dict[str, object]]:
    """A thing that is there, and one that is not."""
    here: dict[str, object] = {"repo": "pallets/flask", "commit": commit, "also": []}
    there: dict[str, object] = {
        "kind": "where",
        "question": "Where is the cache opened?",
        "must": [["app/cache.py", 6, 8]],
        "facts": ["open_cache", "CACHE_LIMIT"],
    }
    nowhere = {"kind": "absent", "question": "Where are passwords hashed?", "must": [], "facts": []}
    return [here | there, here | nowhere]


def _concluded(commit: str) -> list[dict[str, object]]:
    """What an agent could have said of two modules, and questions in other words."""
    return [
        {
            "repo": "pallets/flask",
            "commit": commit,
            "question": f"What bounds the {name}?",
            "conclusion": (
                f"The {name} is bounded by `{name.upper()}_LIMIT`, a constant of the module "
                f"(app/{name}.py:3).\n\n`open_{name}(owner, timeout)` returns it together with "
                f"the owner and the timeout (app/{name}.py:6-8)."
            ),
            "later": {
                "question": f"How large may the {name} get?",
                "facts": [f"{name.upper()}_LIMIT", f"open_{name}"],
            },
        }
        for name in ("cache", "mailer")
    ]


def _sessions() -> list[dict[str, object]]:
    read = {"tool": "Read", "path": "app/cache.py", "chars": 200, "error": False}
    shell = {"tool": "Bash", "command": "cat app/mailer.py", "chars": 200, "error": False}
    asked = {
        "tool": "ask",
        "question": "What is the value of `CACHE_LIMIT`?",
        "cited": [["app/cache.py", 3, 3]],
        "chars": 100,
        "error": False,
    }
    return [{"session": "tiny/1", "arm": "with", "events": [read, shell, asked, read]}]


def _write(file: Path, rows: Sequence[object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
