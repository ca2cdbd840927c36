"""What the product does with a text in plain Python, by the kind of text, for tests of its time."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count

from live_memory.adapters.llm.endpoint import EndpointQuirks
from live_memory.adapters.llm.quirks import ProviderError, error_of, learn
from live_memory.adapters.llm.reply_check import calls_in
from live_memory.core.checking.citations import check, named_paths
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.compaction.fact_check import proposals
from live_memory.core.compaction.fact_wording import statement
from live_memory.core.evidence.absence import sought_in
from live_memory.core.evidence.docs import first_sentence, silent_lines
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import RankedFileText
from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    asked_of_impact,
    asks_nothing,
    terms_of,
)
from live_memory.core.evidence.units import cut, traits_of, weigh
from live_memory.core.evidence.uses import called_on, names_used
from live_memory.core.evidence.words import asks_of
from live_memory.core.findings.conclusions import findings_of
from live_memory.core.hosts.notices import Conclusion, read_command
from live_memory.core.memory.ledger import Ledger
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, lines_of
from live_memory.core.values import Author, ContentHash, Instant, RelPath, StatSignature

__all__ = ["READERS", "UNITS"]

_FRESH = count()  # what is remembered of a text would hide how long it takes
_PY = RelPath("a.py")

# What the audit saw, and more of its kinds.
UNITS = (
    *("_", "A", "0", "a-", "$a", ")", "+", "-", "[", " ", "\n", "\t", "(", "]", "`", ".", ":", "#"),
    *("a ", "a.", "a(", "(a", "(a)", "[a]", "A0", "a/", "+/+a", "a.b ", "`a` ", "a.py:1 ", "a:1,"),
    *(
        "a. A ",
        "\n\n",
        "- ",
        "x.py:12-13 `a = 1`. ",
        '"',
        "'",
        "\\",
        "{",
        "}",
        "{@",
        "<",
        "@a",
        "==",
    ),
    *(
        "? ",
        "a=",
        "f(1)\n",
        "def a():\n",
        "#a\n",
        "if a:\n",
        "import a\n",
        '"""\n',
        "/*\n",
        "é",
        "中",
    ),
    *(
        "who calls a ",
        "is there ",
        "export ",
        "static ",
        "class a ",
        " of a.py",
        "```\n",
        "--a ",
        "\r",
    ),
    *("not ", "exceed ", "tools ", "system ", "```json\n{}\n```", '{"a":', "x_y ", "AbCd ", "1.1"),
)


def _question(text: str) -> None:
    terms_of(f"{next(_FRESH)} {text}")
    asks_of(text)
    asks_nothing(f"{next(_FRESH)} {text}")
    asked_for_uses(text)
    asked_of_impact(text)
    asked_for_a_way(text)
    [each.at(text) for each in sought_in([text[:80]])]


def _answer(text: str) -> None:
    lines = ("a = 1", "def f():", "    return a")
    files = {_PY: SourceFile(_PY, lines), RelPath("x.py"): SourceFile(RelPath("x.py"), lines)}
    named_paths(text, opened=files.keys(), listed=files.keys())
    check(text, files)


def _conclusion(text: str) -> None:
    files = {_PY: RankedFileText(_PY, ContentHash.of(b"a"), ("a = 1", "def f():"), ())}
    said = Conclusion(f"`a` is 1 (a.py:1). {text}", Author.AGENT, "", "")
    findings_of(said, files, Ledger(), answers=[text], now=Instant(1.0))


def _reply(text: str) -> None:
    calls_in(text, ["grep"])
    proposals(text)
    statement(text)


def _complaint(text: str) -> None:
    complaint = ProviderError(400, text, {})
    error_of(complaint)
    learn(complaint, {"tools": [], "max_tokens": 1}, EndpointQuirks())


def _file(text: str) -> None:
    data = text.encode()
    read = FileRead(
        _PY, StatSignature(len(data), 1, 1, 1, next(_FRESH)), ContentHash.of(data), data
    )
    observe(read)
    lines = lines_of(text)
    _drain(names_used(lines))
    for line in lines:
        _drain(called_on(line))
    first_sentence(text)
    silent_lines(lines, 1, len(lines))
    found = outline(_PY, lines)
    traits_of(lines, 1, len(lines), None)
    for unit in cut(_PY, lines, found):
        weigh(_PY, lines, unit)


def _command(text: str) -> None:
    read_command(f"cat {text}", cwd="/a")
    read_command(f"awk '{text}' a", cwd="/a")


def _drain(items: Iterable[object]) -> None:
    for _ in items:
        pass


READERS: Mapping[str, Callable[[str], None]] = {
    "question": _question,
    "answer": _answer,
    "conclusion": _conclusion,
    "reply": _reply,
    "complaint": _complaint,
    "file": _file,
    "command": _command,
}
