"""Facts that are planted early, then enough material for ten compactions, then probes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from bench.economics.asking import Desk, asking
from bench.economics.measuring import Row, before_tail
from bench.economics.provider import ASK, COMPACTION
from bench.economics.requests import Protocol
from bench.scores import Place
from bench.setup import Setup
from bench.source.repositories import Tree, git
from bench.talk.payloads import file_read
from bench.talk.server import ServerFailed

__all__ = ["COMPACTIONS", "planted"]

COMPACTIONS = 10
# A small window, so that ten compactions take little; more waves than that would need.
_WINDOW_TOKENS, _FACTS, _WAVES, _FILES_A_WAVE = 8_192, 40, 40, 10
# A server that never compacts has had its chance by then.
_PATIENCE = 8
_CALLERS, _QUESTIONS = 4, 16


def planted(setup: Setup, protocol: Protocol) -> tuple[list[Row], dict[str, object]]:
    """A row for each probe, and what became of facts and answers."""
    facts, waves = (4, 2) if setup.is_dry else (_FACTS, _WAVES)
    tree = _made(setup.scratch / "trees" / f"planted-{protocol}".replace(" ", "-"), facts, waves)
    about = {"workload": "planted", "order": "read-only"}
    small = {"LIVE_MEMORY_MAX_CONTEXT_TOKENS": str(_WINDOW_TOKENS)}
    with asking(
        setup, protocol, tree, label=f"planted-{protocol}", about=about, more=small
    ) as desk:
        desk.learn([file_read(tree.path, _area(n)) for n in range(facts)])
        for wave in range(waves):
            _wave(desk, wave)
            made = _compactions(desk)
            if made >= COMPACTIONS or (wave >= _PATIENCE and not made):
                break
        done, stats = _compactions(desk), _stats(desk)
        desk.rows.clear()
        rows = [_probed(desk, n) for n in range(facts)]
        kept = _kept_in_parallel(desk)
    found = {"compactions": done, "planted": facts, "facts": stats.get("facts"), "kept": kept}
    return rows, found


def _wave(desk: Desk, wave: int) -> None:
    names = [_filler(wave, n) for n in range(_FILES_A_WAVE)]
    desk.learn([file_read(desk.tree.path, name) for name in names])
    desk.ask(f"What does `step_{wave}_0` in {names[0]} return?", [Place(names[0], 4, 6)])


def _probed(desk: Desk, n: int) -> Row:
    """Ask for a planted value; whether it came back, and whether memory held it, index apart."""
    already = len(desk.provider.made)
    place = Place(_area(n), 3, 3)
    row = desk.ask(f"What is the value of `{_name(n)}`?", [place])
    first = next((one for one in desk.provider.since(already) if one.kind == ASK), None)
    wanted = f"{_name(n)} = {_value(n)}"
    row["recalled"] = float(wanted in desk.answers[-1].text)
    row["held"] = float(first is not None and wanted in before_tail(first))
    return row


def _compactions(desk: Desk) -> int:
    return sum(one.kind == COMPACTION for one in desk.provider.since(0))


def _stats(desk: Desk) -> dict[str, object]:
    return desk.server.json("GET", f"/stats?cwd={quote(str(desk.tree.path))}") or {}


def _kept_in_parallel(desk: Desk) -> float | None:
    """The share of answers given to four callers at once that the server still lists."""
    questions = [f"Where is `step_0_{n % 10}` defined, case {n}?" for n in range(_QUESTIONS)]

    def one(question: str) -> str | None:
        try:
            desk.setup.ask(desk.server, question, desk.tree.path)
        except ServerFailed:
            return None
        return question

    with ThreadPoolExecutor(_CALLERS) as callers:
        accepted = {question for question in callers.map(one, questions) if question}
    listed = desk.server.json("GET", f"/v1/answers?cwd={quote(str(desk.tree.path))}")
    if listed is None or not accepted:
        return None
    answers = listed.get("answers")
    known = {str(one.get("question")) for one in answers} if isinstance(answers, list) else set()
    return len(accepted & known) / len(accepted)


def _made(folder: Path, facts: int, waves: int) -> Tree:
    for name, text in _files(facts, waves):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "planted")
    return Tree(folder)


def _files(facts: int, waves: int) -> Iterator[tuple[str, str]]:
    for n in range(facts):
        yield _area(n), f'"""The rules of area {n}."""\n\n{_name(n)} = {_value(n)}\n'
    for wave in range(waves):
        for n in range(_FILES_A_WAVE):
            steps = [_step(f"step_{wave}_{n}", wave * 10)]
            steps += [_step(f"step_{wave}_{n}_{part}", wave * 10 + part) for part in range(1, 6)]
            yield _filler(wave, n), f'"""Work of wave {wave}."""\n\n\n' + "\n\n".join(steps)


def _step(name: str, least: int) -> str:
    return (
        f"def {name}(value, factor={least + 2}):\n"
        f"    shifted = value * factor + {least % 7}\n"
        f"    return shifted if shifted > {least} else value\n"
    )


def _area(n: int) -> str:
    return f"areas/area_{n:02}.py"


def _filler(wave: int, n: int) -> str:
    return f"waves/wave_{wave:02}/part_{n}.py"


def _name(n: int) -> str:
    return f"QUOTA_OF_AREA_{n:02}"


def _value(n: int) -> int:
    return 7_013 + 97 * n
