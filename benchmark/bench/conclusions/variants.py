"""Ways to ask later questions: as told, after changes, among others, beside the point."""

from collections.abc import Callable, Iterator, Mapping

from bench.conclusions.changing import CHANGES
from bench.conclusions.crowd import crowd
from bench.conclusions.judging import is_flagged, is_led, lines_are_right, stale
from bench.conclusions.telling import Row, Site
from bench.economics.asking import asking
from bench.economics.requests import Protocol
from bench.talk.settling import WARMING
from bench.views import Lines

__all__ = ["COMPANION", "CROWD", "MOVED", "STALE", "TOLD", "UNRELATED", "VARIANTS", "Variant"]

Variant = Callable[[Site], Iterator[Row]]

TOLD, CROWD, MOVED, UNRELATED, COMPANION = "told", "crowd", "moved", "unrelated", "companion"
# After these what was told is no longer so.
STALE = ("edited", "deleted")
_OTHERS, _DRY_OTHERS = 2_000, 8


def untold(site: Site) -> Iterator[Row]:
    """A memory that was told nothing: what the index alone does."""
    with site.memory("untold") as server:
        for row in site.rows:
            yield site.ask(server, row)[0]


def as_told(site: Site) -> Iterator[Row]:
    """All rows told, then each later question."""
    with site.memory(TOLD) as server:
        site.tell(server, [(row.question, row.conclusion) for row in site.rows], of=TOLD)
        for row in site.rows:
            yield site.ask(server, row)[0]


def among_others(site: Site) -> Iterator[Row]:
    """The rows stand evenly among other findings of the repository, and some of strangers."""
    most = _DRY_OTHERS if site.setup.is_dry else _OTHERS
    taken = [place for row in site.rows for place in row.places]
    made = crowd(site.path, site.names, taken=taken, most=most, seed=site.setup.seed)
    others = [*made, *site.strangers]
    turns = list(others)
    step = len(others) / max(1, len(site.rows))
    for n, row in reversed(list(enumerate(site.rows))):
        turns.insert(round(n * step), (row.question, row.conclusion))
    with site.memory(CROWD) as server:
        site.tell(server, turns, of=CROWD)
        for row in site.rows:
            yield site.ask(server, row, [text for _, text in others])[0]


def beside_the_point(site: Site) -> Iterator[Row]:
    """Questions that no conclusion answers: others of the same repository, or a row left out."""
    files = sorted(file.name for file in site.setup.data.glob("asked/*.jsonl"))
    asked = [row for name in files for row in site.setup.read("asked", name)]
    questions = [str(row["question"]) for row in asked if row["repo"] == site.repository]
    turns = [(row.question, row.conclusion) for row in site.rows]
    if questions:
        with site.memory(UNRELATED) as server:
            site.tell(server, turns, of=UNRELATED)
            for question in questions:
                answer = site.setup.ask(server, question, site.path)
                yield {"question": question, "led": is_led(answer.text)}
        return
    for n, row in enumerate(site.rows):
        with site.memory(UNRELATED) as server:
            site.tell(server, turns[:n] + turns[n + 1 :], of=UNRELATED)
            yield site.ask(server, row)[0]


def with_companion(site: Site) -> Iterator[Row]:
    """As told, with an honest reader for a model; it is asked where findings do not answer."""
    label = site.label
    site.begin(f"economics-{label}")
    with asking(site.setup, Protocol.CHAT, site.tree, label=label, about={}) as desk:
        # Its calls are on its own bill.
        desk.ask(WARMING, ())
        turns = [(row.question, row.conclusion) for row in site.rows]
        site.tell(desk.server, turns, of=COMPANION)
        for row in site.rows:
            bill = desk.ask(row.later, row.places)
            counted = {name: bill[name] for name in ("model_calls", "prompt_tokens", "usd_haiku")}
            yield site.scored(row, desk.answers[-1]) | counted


def changed(site: Site, way: str) -> Iterator[Row]:
    """All rows told and asked; then their places change, and they are asked again."""
    with site.memory(way) as server:
        site.tell(server, [(row.question, row.conclusion) for row in site.rows], of=way)
        for row in site.rows:
            site.ask(server, row)
        CHANGES[way](site.path, site.rows)
        lines = Lines(site.path)
        claims = [claim for row in site.rows for claim in row.claims]
        for n, row in enumerate(site.rows):
            scores, answer = site.ask(server, row)
            if way == MOVED:
                scores["right"] = lines_are_right(answer.text, row, site.names, lines)
            else:
                why = stale(answer.text, claims, lines)
                scores |= {"stale": bool(why), "flagged": is_flagged(answer.text)}
                scores |= {"words": "all" if n % 2 == 0 else "one"}
                scores |= {"why": why, "answer": answer.text} if why else {}
            yield scores


def _by(way: str) -> Variant:
    return lambda site: changed(site, way)


VARIANTS: Mapping[str, Variant] = {
    "untold": untold,
    TOLD: as_told,
    **{way: _by(way) for way in CHANGES},
    CROWD: among_others,
    UNRELATED: beside_the_point,
    COMPANION: with_companion,
}
