"""What a developer has without any server: keywords through ripgrep, and BM25 over whole files."""

import math
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.scores import Place
from bench.text import keywords, words

__all__ = ["Bm25", "Found", "files_of", "ripgrep"]

_LARGEST = 262_144
# Files an answer cites, and the lines shown around each find.
_FILES, _AROUND, _WINDOW = 12, 4, 25
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Found:
    """An answer of a baseline."""

    places: tuple[Place, ...]
    text: str
    elapsed_s: float


def files_of(tree: Path) -> dict[str, str]:
    """The text files below a folder, without git's own."""
    found = {}
    for file in sorted(tree.rglob("*")):
        name = file.relative_to(tree).as_posix()
        if name.startswith(".git/") or file.is_symlink() or not file.is_file():
            continue
        data = file.read_bytes()[:_LARGEST]
        if b"\0" not in data[:8_192]:
            found[name] = data.decode("utf-8", errors="replace")
    return found


class Bm25:
    """BM25 over whole files; the snippet of a file is its window with the most of the question."""

    def __init__(self, files: dict[str, str]) -> None:
        self._lines = {path: text.splitlines() for path, text in files.items()}
        self._counts = {path: Counter(words(text)) for path, text in files.items()}
        self._sizes = {path: sum(counts.values()) for path, counts in self._counts.items()}
        self._usual = sum(self._sizes.values()) / max(1, len(self._sizes))
        self._spread = Counter(word for counts in self._counts.values() for word in counts)

    def search(self, question: str) -> Found:
        """Rank the files, and show the best window of each."""
        began = time.perf_counter()
        asked = keywords(question)
        scores = {path: self._score(path, asked) for path in self._counts}
        best = sorted((p for p in scores if scores[p] > 0), key=lambda p: -scores[p] * _as_code(p))[
            :_FILES
        ]
        places = tuple(self._window(path, set(asked)) for path in best)
        shown = "\n".join(_shown(place, self._lines[place.path]) for place in places)
        return Found(places, shown, time.perf_counter() - began)

    def _score(self, path: str, asked: Sequence[str]) -> float:
        counts = self._counts[path]
        norm = _K1 * (1 - _B + _B * self._sizes[path] / self._usual)
        total = 0.0
        for word in asked:
            count = counts.get(word, 0)
            if count:
                rare = self._spread[word]
                idf = math.log(1 + (len(self._counts) - rare + 0.5) / (rare + 0.5))
                total += idf * count * (_K1 + 1) / (count + norm)
        return total

    def _window(self, path: str, asked: set[str]) -> Place:
        lines = self._lines[path]
        hits = [len(asked.intersection(words(line))) for line in lines]
        starts = range(0, max(1, len(lines)), _WINDOW // 2)
        start = max(starts, key=lambda n: sum(hits[n : n + _WINDOW]))
        return Place(path, start + 1, max(start + 1, min(len(lines), start + _WINDOW)))


def ripgrep(tree: Path, question: str) -> Found | None:
    """Rank files by how many keywords stand in them; nothing where ripgrep is not installed."""
    program = shutil.which("rg")
    if program is None:
        return None
    began = time.perf_counter()
    asked = keywords(question)
    command = [program, "-n", "-i", "--no-heading", "--color=never", "--max-columns=300"]
    command += [part for word in asked for part in ("-e", word)]
    output = subprocess.run(
        [*command, "--", "."], cwd=tree, capture_output=True, check=False
    ).stdout.decode("utf-8", errors="replace")
    lines: dict[str, list[tuple[int, str]]] = {}
    for row in output.splitlines():
        path, _, rest = row.removeprefix("./").partition(":")
        number, _, text = rest.partition(":")
        if number.isdigit():
            lines.setdefault(path, []).append((int(number), text.lower()))
    scores = _ranks(lines, asked)
    ranked = sorted(lines, key=lambda path: -scores[path] * _as_code(path))[:_FILES]
    places = tuple(_densest(path, lines[path], asked) for path in ranked)
    shown = "\n".join(_shown(place, _lines(tree / place.path)) for place in places)
    return Found(places, shown, time.perf_counter() - began)


def _ranks(
    lines: Mapping[str, Sequence[tuple[int, str]]], asked: Sequence[str]
) -> dict[str, float]:
    """Rare keywords count more, repetition a little, and a file full of hits for less."""
    counts = {
        path: Counter(word for _, text in hits for word in asked if word in text)
        for path, hits in lines.items()
    }
    spread = Counter(word for count in counts.values() for word in count)
    rare = {word: math.log(1 + len(lines) / spread[word]) for word in spread}
    return {
        path: sum(rare[word] * (1 + math.log(n)) for word, n in count.items())
        / (1 + math.log(1 + len(lines[path])))
        for path, count in counts.items()
    }


def _as_code(path: str) -> float:
    """Prose repeats every word of a question; who asks about code looks there later."""
    return 0.6 if path.rpartition(".")[2] in {"md", "rst", "txt"} else 1.0


def _densest(path: str, hits: Sequence[tuple[int, str]], asked: Sequence[str]) -> Place:
    number, _ = max(hits, key=lambda hit: sum(word in hit[1] for word in asked))
    return Place(path, max(1, number - _AROUND), number + _AROUND)


def _lines(file: Path) -> list[str]:
    return file.read_bytes()[:_LARGEST].decode("utf-8", errors="replace").splitlines()


def _shown(place: Place, lines: Sequence[str]) -> str:
    body = "\n".join(lines[place.start - 1 : place.end])
    return f"{place.path}:{place.start}-{place.end}\n{body}\n"
