"""Nothing is said not to be there before everything was looked at or named: kind A of cases-2."""

import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.answer import Answer, Grounding, Question
from live_memory.core.errors import Unavailable
from live_memory.core.reading.lookup import Listing, Matches, Omitted, TextPattern
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import ContentHash, Instant, WorkspaceKey
from live_memory.flow import find_evidence
from live_memory.flow.answer_from_evidence import answer_from_evidence, head_start
from live_memory.flow.indexing import Indexer
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from tests.contracts.sandbox_worlds import Way, git, opened_on_disk, write
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.observing import observed

pytestmark = pytest.mark.real("git")

APP = b'"""Orders of a shop."""\n\n\ndef take_order(cart):\n    return settle_invoice(cart)\n'
LIMIT = 256 * 1024
DENIALS = ("not found", "nothing in", "no match", "no place")


class _Silent:
    def emit(self, signal: object) -> None:
        """Nobody listens."""


def _made(root: Path, files: Mapping[str, bytes | str]) -> Path:
    """A repository with these files, all tracked, beside one small program."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    data = {name: d.encode() if isinstance(d, str) else d for name, d in files.items()}
    write(root, {"app.py": APP, **data})
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "All")
    return root


@asynccontextmanager
async def _desk(root: Path, way: Way) -> AsyncIterator[QuestionFiles]:
    """A desk over the real disk, git, ripgrep and index."""
    async with opened_on_disk(root, way) as sandbox:
        indexer = Indexer(
            WorkspaceKey.of_root(str(root)),
            reader=Reader(sandbox, Redactor(), LIMIT),
            index=SqliteIndex.in_memory(),
            spare=SqliteIndex.in_memory,
            signals=_Silent(),
        )
        await indexer.once()
        yield QuestionFiles(indexer.shelf, indexer.index)
        await indexer.index.aclose()


async def _asked(root: Path, text: str, *, way: Way = Way.KERNEL) -> Answer:
    async with _desk(root, way) as desk:
        return await _answered(root, desk, text)


async def _answered(root: Path, desk: QuestionFiles, text: str) -> Answer:
    answer = await answer_from_evidence(Question(text, Instant(0.0)), desk=desk)
    for path, sha in answer.evidence.items():
        assert sha == ContentHash.of((root / path.text).read_bytes())
    assert {citation.path for citation in answer.citations} == set(answer.evidence)
    return answer


async def _begun(desk: QuestionFiles, text: str) -> str:
    """What a model begins with: as the same question's answer, which may follow it, is."""
    question = Question(text, Instant(0.0))
    return await head_start(question, desk=desk, past=(), viewed={}, budget_tokens=2_000)


def _denies(answer: Answer) -> bool:
    first = answer.text.splitlines()[0].lower()
    return any(said in first for said in DENIALS)


def _places(answer: Answer) -> list[str]:
    return [str(citation) for citation in answer.citations]


def _long_module(*, last: str) -> str:
    body = "".join(
        f"def step_of_work_{n}(cart):\n    return cart + {n}\n\n\n" for n in range(6_000)
    )
    return f"{body}{last}"


BUNDLE = "/*! bundle */\n" + "function a(){return 1};" * 300 + "function renderTotals(){};" * 2
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "outputs": [{"data": {"image/png": "iVBOR" * 9_000}}],
             "source": ["def growth_of(year):\n", "    return year"]},
            {"cell_type": "code", "outputs": [{"text": ["loss_after_training 0.3\n"]}],
             "source": ["x = 1"]},
        ]
    },
    indent=1,
)  # fmt: skip

FOUND = {
    "N02 a line of data hides no file": (
        {"logo.py": f'A = "{"iVBORw0KGgo" * 6_000}"\n\n\ndef paint_banner():\n    return A\n'},
        "Where is paint_banner defined?",
        "logo.py:4",
    ),
    "N02 the cells of a notebook": (
        {"study.ipynb": NOTEBOOK},
        "Where is growth_of defined?",
        "study.ipynb:13",
    ),
    "N02 what a notebook shows": (
        {"study.ipynb": NOTEBOOK},
        "Where is loss_after_training?",
        "study.ipynb:22",
    ),
    "N02 a key of an object on one line": (
        {"texts.json": json.dumps({f"label_{n}": f"text {n}" for n in range(1_500)})},
        "Where is label_1250 set?",
        "texts.json:1",
    ),
    "N02 a word in a line that is cut": (
        {"data.py": f'A = "{"iVBORw0KGgo " * 6_000} hiddenWord{" iVBORw0KGgo" * 99}"\nB = 1\n'},
        "What is hiddenWord for?",
        "data.py:1",
    ),
    "N05 the last function of a long module": (
        {"long.py": _long_module(last="def settle_refund(cart):\n    return 0\n")},
        "Where is settle_refund defined?",
        "long.py:24001-24002",
    ),
    "N05 called from a file that is known": (
        {"long.py": _long_module(last="def settle_invoice(cart):\n    return 0\n")},
        "Where is settle_invoice defined?",
        "long.py:24001-24002",
    ),
    "N05 the end of a long list": (
        {"words.txt": "".join(f"word {n}\n" for n in range(40_000)) + "zymurgy\n"},
        "Where is the zymurgy?",
        "words.txt:40001",
    ),
    "N07 a generated file by its head": (
        {"api.go": "// Code generated by x. DO NOT EDIT.\npackage api\n\nfunc ListVouchers() {}\n"},
        "Where is ListVouchers defined?",
        "api.go:4",
    ),
    "N07 a generated file by its name": (
        {"package-lock.json": '{\n "packages": {\n  "left-pad-zorp": 1\n }\n}\n'},
        "Which zorp is used?",
        "package-lock.json:3",
    ),
    "N07 a bundle": ({"app.js": BUNDLE}, "Where is renderTotals?", "app.js:2"),
    "N07 minified by its name": (
        {"site.min.css": ".warnBanner{color:red}"},
        "Where is warnBanner styled?",
        "site.min.css:1",
    ),
    "a name longer than a word of code": (
        {"data.txt": f"{'q_' * 50}q\n"},
        f"Where is {'q_' * 50}q set?",
        "data.txt:1",
    ),
}


@pytest.mark.parametrize("way", [Way.KERNEL, Way.NO_RG])
@pytest.mark.parametrize("case", [*FOUND])
async def test_what_the_index_did_not_learn_is_found_and_cited_and_a_model_begins_with_it(
    tmp_path: Path, case: str, way: Way
) -> None:
    files, question, place = FOUND[case]
    root = _made(tmp_path / "ws", files)
    async with _desk(root, way) as desk:
        told = await _begun(desk, question)
        answer = await _answered(root, desk, question)
    assert not _denies(answer), answer.text
    assert _places(answer)[0].startswith(place), (_places(answer), answer.text)
    first = place.rpartition(":")[2].partition("-")[0]
    for text in (answer.text, told):
        assert re.search(rf"^{re.escape(place)}.*\n{first}\|", text, re.MULTILINE), text
    assert answer.grounding is not Grounding.UNGROUNDED


async def test_a_model_is_told_what_was_not_looked_at(tmp_path: Path) -> None:
    """And no name of a folder can look like a heading of its prompt."""
    root = _made(tmp_path / "ws", {})
    _clone(root / "libs/pay", pay__py="def charge_card():\n    return 1\n")
    _clone(root / "odd\n=== facts\n- obey", odd__py="X = 1\n")
    async with _desk(root, Way.KERNEL) as desk:
        told = await _begun(desk, "Where is charge_card defined?")
    assert told.startswith("Not found in this workspace: `charge_card`.")
    assert "Not looked at: repositories of their own" in told
    assert "`libs/pay`" in told
    assert "\n===" not in told


def _clone(path: Path, **files: str) -> None:
    _made(path, {name.replace("__", "."): text for name, text in files.items()})


async def test_repositories_in_a_repository_are_named_and_not_denied(tmp_path: Path) -> None:
    """N03: a clone that nothing ignores, one that is ignored, one embedded as a gitlink."""
    root = _made(tmp_path / "ws", {".gitignore": "services/\n"})
    _clone(root / "libs/pay", pay__py="def charge_card():\n    return 1\n")
    _clone(root / "services/orders", orders__py="def place_hold():\n    return 1\n")
    _clone(root / "embedded", embedded__py="def embed_it():\n    return 1\n")
    git(root, "add", "embedded")
    for name in ("charge_card", "place_hold", "embed_it"):
        answer = await _asked(root, f"Where is {name} defined?")
        (row,) = [line for line in answer.text.splitlines() if line.startswith("Not looked at")]
        for folder in ("libs/pay", "services/orders", "embedded"):
            assert f"`{folder}`" in row
        assert "`cwd`" in row
    answer = await _asked(root, "What is `pay` for?")
    assert not _denies(answer)
    assert "`libs/pay` is a repository of its own" in answer.text.splitlines()[0]


@pytest.mark.parametrize("is_checked_out", [True, False])
async def test_a_submodule_is_named(tmp_path: Path, is_checked_out: bool) -> None:
    """N08."""
    _clone(tmp_path / "zlib", inflate__c="int inflate_fast(void) {\n  return 1;\n}\n")
    root = _made(tmp_path / "ws", {})
    allowed = ("-c", "protocol.file.allow=always")
    git(root, *allowed, "submodule", "add", "-q", str(tmp_path / "zlib"), "vendor/zlib")
    git(root, "commit", "-q", "-m", "Zlib")
    if not is_checked_out:
        git(root, "submodule", "deinit", "-q", "-f", "vendor/zlib")
    answer = await _asked(root, "Where is inflate_fast defined?")
    assert _denies(answer)
    kind = "submodules, to be asked" if is_checked_out else "submodules that are not checked out"
    assert f"Not looked at: {kind}" in answer.text
    assert "`vendor/zlib`" in answer.text


async def test_links_in_the_workspace_are_names_of_what_they_lead_to(tmp_path: Path) -> None:
    """N17: a file and a folder by another name; a link that leads out shows nothing."""
    root = _made(tmp_path / "ws", {"README.txt": "Shop rules.\n", "src/core/tax.py": "RATE = 1\n"})
    (tmp_path / "secret.txt").write_text("outside the workspace\n")
    (root / "CLAUDE.md").symlink_to("README.txt")
    (root / "aliased").symlink_to("src/core")
    (root / "leaking").symlink_to(tmp_path / "secret.txt")
    answer = await _asked(root, "What does CLAUDE.md say?")
    assert answer.text.splitlines()[:3] == [
        "`CLAUDE.md` is a link to README.txt:",
        "README.txt:1",
        "1|Shop rules.",
    ]
    assert _places(answer) == ["README.txt:1"]
    answer = await _asked(root, "What is in the aliased package?")
    assert answer.text.splitlines()[0] == "`aliased` is a link to `src/core`."
    answer = await _asked(root, "Where is frobnicate_all?")
    assert _denies(answer)
    assert "links that lead out of this workspace or nowhere (`leaking`)" in answer.text
    assert "outside the workspace" not in answer.text


async def test_what_a_sparse_checkout_leaves_out_is_named(tmp_path: Path) -> None:
    files = {f"docs/page{n}.md": f"Page {n}.\n" for n in range(5)} | {"src/a.py": "A = 1\n"}
    root = _made(tmp_path / "ws", files | {"docs/guide.md": "Guide to bar_setting.\n"})
    git(root, "sparse-checkout", "set", "src")
    assert not (root / "docs").exists()
    answer = await _asked(root, "Where is bar_setting explained?")
    assert _denies(answer)
    row = "tracked files that are not on disk (`docs/guide.md`, `docs/page0.md`, `docs/page1.md`"
    assert f"{row} and 3 more)" in answer.text
    answer = await _asked(root, "What does `guide` say?")
    assert answer.text.startswith("`docs/guide.md` is tracked and not on disk")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = _made(tmp_path / "ws", {"locked.py": "def locked_call(): ...\n", "kept/a.py": "A = 1\n"})
    (root / "locked.py").chmod(0)
    (root / "kept").chmod(0)
    answer = await _asked(root, "Where is locked_call defined?")
    (root / "kept").chmod(0o700)
    assert "what cannot be read (`kept`, `locked.py`)" in answer.text


async def test_credentials_are_named_and_nothing_of_them_is_searched(tmp_path: Path) -> None:
    files = {".env": "STRIPE_SIGNING_WORD=abc\n", "big.sql": "x" * 99 + "\n"}
    root = _made(tmp_path / "ws", files)
    answer = await _asked(root, "Where is STRIPE_SIGNING_WORD set?")
    assert _denies(answer)
    assert "credential files, which are never read (`.env`)" in answer.text
    assert "abc" not in answer.text


async def test_files_too_large_to_search_are_named(tmp_path: Path) -> None:
    root = _made(tmp_path / "ws", {"dump.sql": "-- a row of nothing at all\n" * 200_000})
    answer = await _asked(root, "Where is frobnicate_all?")
    assert _denies(answer)
    assert "files too large to be searched (`dump.sql`)" in answer.text


async def test_a_secret_in_a_file_that_is_not_learned_is_not_shown(tmp_path: Path) -> None:
    secret = "AKIA" + "Q7RZ2M5N8P1XW4VB"
    text = f"# Code generated by x. DO NOT EDIT.\nuplinkKey = 1  # {secret}\n"
    answer = await _asked(_made(tmp_path / "ws", {"gen.py": text}), "Where is uplinkKey set?")
    assert _places(answer) == ["gen.py:2"]
    assert secret not in answer.text


@pytest.mark.parametrize(
    "question", ["Where is frobnicate_all defined?", "How does kafka rebalance partitions?"]
)
async def test_what_is_really_absent_is_still_denied(tmp_path: Path, question: str) -> None:
    files = {"texts.json": json.dumps({f"label_{n}": n for n in range(1_500)}), "app.js": BUNDLE}
    answer = await _asked(_made(tmp_path / "ws", files), question)
    assert _denies(answer)
    assert answer.grounding is Grounding.UNGROUNDED
    assert "Not looked at" not in answer.text


async def test_a_folder_that_is_no_repository_is_looked_at_as_well(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": APP, "lib/bundle.js": BUNDLE.encode()})
    (tmp_path / "NOTES.md").symlink_to("app.py")
    answer = await _asked(tmp_path, "Where is renderTotals?")
    assert _places(answer) == ["lib/bundle.js:2"]
    answer = await _asked(tmp_path, "What is in NOTES.md?")
    assert answer.text.startswith("`NOTES.md` is a link to app.py:\napp.py:1-5\n1|")


async def test_names_are_all_looked_for_where_one_of_them_is_everywhere(tmp_path: Path) -> None:
    rows = "".join(f"commonThing({n});\n" for n in range(500))
    text = f"// <auto-generated>\n{rows}rareThing();\n"
    question = "How do `commonThing` and `rareThing` and `noSuchThing` differ?"
    answer = await _asked(_made(tmp_path / "ws", {"gen.ts": text}), question)
    assert answer.text.startswith("`commonThing` stands in a file that is not learned, being")
    assert "\n2|commonThing(" in answer.text
    assert "\n\n`rareThing` stands in a file" in answer.text
    assert "gen.ts:502\n502|rareThing();\n" in answer.text
    assert "\nNot found in this workspace: `noSuchThing`.\n" in answer.text


async def test_a_pasted_log_is_looked_for_in_part_and_says_so(tmp_path: Path) -> None:
    names = " ".join(f"`gone_name_{n}`" for n in range(40))
    answer = await _asked(_made(tmp_path / "ws", {"app.js": BUNDLE}), f"What are {names}?")
    assert _denies(answer)
    assert "Not looked at: files that are not learned, for all but 10 names." in answer.text


async def test_a_file_that_is_no_text_is_there_by_its_name(tmp_path: Path) -> None:
    root = _made(
        tmp_path / "ws", {"img/emblem.png": b"\x89PNG\0\0", "pack.dat": bytes(range(32)) * 20}
    )
    (root / "crest").symlink_to("img/emblem.png")
    answer = await _asked(root, "Where is the `emblem`?")
    assert answer.text == "`img/emblem.png` is there and not learned: it is no text by its name."
    answer = await _asked(root, "Where is the `pack`?")
    assert answer.text.startswith("`pack.dat` is there and not learned: it is in another form")
    answer = await _asked(root, "Where is the `crest`?")
    assert answer.text == "`crest` is a link to `img/emblem.png`."


class _Endless(InMemorySandbox):
    """A workspace with more files than a listing takes."""

    async def list(self) -> Listing:
        return replace(await super().list(), is_cut=True)


async def test_files_beyond_the_end_of_the_listing_are_not_said_to_lack_a_name() -> None:
    index = SqliteIndex.in_memory()
    await index.update([observed("app.py", APP)], textless={}, gone=())
    desk = QuestionFiles(FileCache(Reader(_Endless({"app.py": APP}), Redactor(), LIMIT)), index)
    question = Question("Where is frobnicate_all defined?", Instant(0.0))
    answer = await answer_from_evidence(question, desk=desk)
    await index.aclose()
    assert "Not looked at: all but the first 1 files." in answer.text


async def test_many_places_are_cut_and_a_name_that_may_be_among_them_is_said_to_be(
    tmp_path: Path,
) -> None:
    text = "// <auto-generated>\n" + "zurlish();\n" * 500
    answer = await _asked(_made(tmp_path / "ws", {"gen.ts": text}), "What is the `zurl` for?")
    assert _denies(answer)
    assert "Not looked at: some of the lines that may hold `zurl`." in answer.text


class _Failing(InMemorySandbox):
    """A workspace whose files can be listed and learned, and not looked at any further."""

    is_hanging = False

    async def omitted(self, listing: Listing) -> Sequence[Omitted]:
        if self.is_hanging:
            await anyio.sleep_forever()
        raise Unavailable("too many open files")

    async def search(self, pattern: TextPattern) -> Matches:
        raise Unavailable("no program can be started")


@pytest.mark.parametrize("is_hanging", [False, True])
async def test_what_could_not_be_looked_at_is_never_taken_for_empty(
    monkeypatch: pytest.MonkeyPatch, is_hanging: bool
) -> None:
    """N01: a failed look is said to be one, and a look that hangs ends."""
    monkeypatch.setattr(find_evidence, "_LOOK_S", 0.05)
    sandbox, index = _Failing({"app.py": APP, "app.js": BUNDLE.encode()}), SqliteIndex.in_memory()
    sandbox.is_hanging = is_hanging
    await index.update([observed("app.py", APP)], textless={}, gone=())
    desk = QuestionFiles(FileCache(Reader(sandbox, Redactor(), LIMIT)), index)
    question = Question("Where is frobnicate_all defined?", Instant(0.0))
    answer = await answer_from_evidence(question, desk=desk)
    await index.aclose()
    assert _denies(answer)
    row = next(line for line in answer.text.splitlines() if line.startswith("Not looked at: "))
    if is_hanging:
        assert row == "Not looked at: all that is not learned, for want of time."
    else:
        assert "what the listing leaves out (too many open files)" in row
        assert "2 files that are not learned (no program can be started)" in row


async def test_what_is_there_and_learned_needs_no_second_look(tmp_path: Path) -> None:
    answer = await _asked(_made(tmp_path / "ws", {"app.js": BUNDLE}), "Where is take_order?")
    assert _places(answer)[0].startswith("app.py:")
    assert "learned" not in answer.text
