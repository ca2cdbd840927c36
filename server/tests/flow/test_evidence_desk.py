"""Opening files for a question, the way through them, and what a model is given to begin with."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding, Mode, Question
from live_memory.core.memory.learning import AgentView
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.reading.redaction import DEFAULT, Redacted, Redactor
from live_memory.core.values import ContentHash, Instant, RelPath
from live_memory.flow import reader
from live_memory.flow.answer_from_evidence import answer_from_evidence, head_start
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from live_memory.ports import EvidenceIndex
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.observing import observed

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
APP = """import helpers


class App:
    def __call__(self, request):
        return self.full_dispatch(request)

    def full_dispatch(self, request):
        result = self.run_view(request)
        return self.finish(result)

    def run_view(self, request):
        return helpers.render_page(request)

    def finish(self, result):
        # run_view was here
        return MODE and result
"""
HELPERS = """def render_page(request):
    return TEMPLATES[request]


def quiet():
    render_page(1)
    render_page(2)


FIRST = render_page("first")
"""
OTHERS = "class Other:\n    def create(self):\n        pass\n\n\ndef far():\n    App.create(1)\n"
WORLD = {
    "src/app.py": APP,
    "src/helpers.py": HELPERS,
    "src/others.py": OTHERS,
    "tests/test_app.py": "def test_it():\n    render_page(1)\n\n\ndef render_page(a):\n    pass\n",
}


class CountingRedactor(Redactor):
    """Counts the texts that were redacted."""

    texts: list[str]

    def redact(self, text: str) -> Redacted:
        self.texts.append(text)
        return Redactor.redact(self, text)


def _counting() -> CountingRedactor:
    redactor = CountingRedactor()
    object.__setattr__(redactor, "texts", [])
    return redactor


def _sandbox(files: dict[str, str]) -> InMemorySandbox:
    return InMemorySandbox({name: text.encode() for name, text in files.items()})


async def _index(files: dict[str, str]) -> EvidenceIndex:
    index = SqliteIndex.in_memory()
    await index.update([observed(*item) for item in files.items()], textless={}, gone=())
    return index


def _shelf(files: dict[str, str]) -> FileCache:
    return FileCache(Reader(_sandbox(files), DEFAULT, 256 * 1024))


PATH = RelPath("a.py")


async def test_the_same_bytes_are_redacted_once_and_other_bytes_again() -> None:
    sandbox, redactor = _sandbox({"a.py": "one\n", "b.py": "two\n"}), _counting()
    shelf = FileCache(Reader(sandbox, redactor, 1_000))
    for _ in range(3):
        assert [seen.text.text for seen in await shelf.read([PATH])] == ["one\n"]
    assert redactor.texts == ["one\n"]
    assert len(await shelf.read([RelPath("b.py"), RelPath("b.py")])) == 2
    redactor.texts.clear()
    sandbox.put("a.py", b"new\n")
    assert [seen.text.text for seen in await shelf.read([PATH])] == ["new\n"]
    assert redactor.texts == ["new\n"]


async def test_a_file_that_was_only_touched_has_its_new_signature() -> None:
    sandbox = _sandbox({"a.py": "one\n"})
    shelf = FileCache(Reader(sandbox, DEFAULT, 1_000))
    before = (await shelf.read([PATH]))[0]
    sandbox.put("a.py", b"one\n")
    after = (await shelf.read([PATH]))[0]
    assert after.signature != before.signature
    assert after.signature == (await sandbox.list()).files[0].signature


@pytest.mark.promise("no-secrets")
async def test_what_is_kept_is_as_redacted_as_what_was_read() -> None:
    shelf = _shelf({"a.py": f"KEY = '{TOKEN}'\n"})
    for _ in range(2):
        assert TOKEN not in (await shelf.read([PATH]))[0].text.text


async def test_what_was_used_longest_ago_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_KEPT_CHARACTERS", 9)
    redactor = _counting()
    files = {"a.py": "aaa\n", "b.py": "bbb\n", "c.py": "ccc\n"}
    shelf = FileCache(Reader(_sandbox(files), redactor, 1_000))
    for name in ("a.py", "b.py", "a.py", "c.py", "a.py", "b.py"):
        await shelf.read([RelPath(name)])
    assert redactor.texts == ["aaa\n", "bbb\n", "ccc\n", "bbb\n"]
    assert len(await shelf.read([RelPath(name) for name in files])) == 3


async def test_missing_and_binary_files_give_nothing() -> None:
    sandbox = InMemorySandbox({"a.py": b"\0\0\0\1"})
    shelf = FileCache(Reader(sandbox, DEFAULT, 1_000))
    assert await shelf.read([PATH, RelPath("b.py")]) == []
    assert await shelf.read([]) == []


async def _answer(text: str, files: dict[str, str] = WORLD) -> Answer:
    question = Question(text, Instant(0.0))
    desk = QuestionFiles(_shelf(files), await _index(files))
    return await answer_from_evidence(question, desk=desk)


async def test_a_question_for_a_way_is_answered_step_by_step() -> None:
    answer = await _answer("How does a request get from App to render_page?")
    assert answer.text.split("\n\n")[0].splitlines() == [
        "From `App.run_view` to `render_page` in 1 call:",
        "1. `App.run_view` (src/app.py:13) calls `render_page`",
    ]
    longer = await _answer("How does __call__ reach render_page?")
    lead, *shown = longer.text.split("\n\n")
    assert lead.splitlines() == [
        "From `App.__call__` to `render_page` in 3 calls:",
        "1. `App.__call__` (src/app.py:6) calls `App.full_dispatch`",
        "2. `App.full_dispatch` (src/app.py:9) calls `App.run_view`",
        "3. `App.run_view` (src/app.py:13) calls `render_page`",
    ]
    rows = "\n".join(shown).splitlines()
    for row in ("6|", "9|", "13|", "1|def render_page(request):"):
        assert any(each.startswith(row) for each in rows)
    assert {citation.path.text for citation in longer.citations[:2]} == {
        "src/app.py",
        "src/helpers.py",
    }
    assert longer.grounding is Grounding.VERIFIED


@pytest.mark.parametrize(
    "question",
    [
        "How does finish reach render_page?",  # there is no way
        "How does far reach create?",  # another object's method of that name
        "How does nothing_here reach render_page?",
        "How does quiet reach nothing_here?",
    ],
)
async def test_where_no_calls_lead_no_way_is_claimed(question: str) -> None:
    assert not (await _answer(question)).text.startswith("From ")


async def test_a_name_that_many_define_is_a_step_within_its_class_only() -> None:
    crowd = {f"src/c{n}.py": "def run_view(a):\n    pass\n" for n in range(6)}
    inside = await _answer("How does __call__ reach render_page?", WORLD | crowd)
    assert inside.text.startswith("From `App.__call__` to `render_page` in 3 calls:")
    outside = {"src/d.py": "def outside():\n    other.run_view(1)\n"}
    answer = await _answer("How does outside reach render_page?", WORLD | crowd | outside)
    assert not answer.text.startswith("From ")


@pytest.mark.promise("never-falsely-fresh")
async def test_a_way_over_bytes_that_are_gone_is_not_claimed() -> None:
    """Only the file that defines the end is opened for the words of the question."""
    index, sandbox = await _index(WORLD), _sandbox(WORLD)
    sandbox.put("src/app.py", APP.replace("helpers.render_page(request)", "None").encode())
    shelf = FileCache(Reader(sandbox, DEFAULT, 1_000))
    question = Question("How does __call__ reach render_page?", Instant(0.0))
    answer = await answer_from_evidence(question, desk=QuestionFiles(shelf, index))
    assert not answer.text.startswith("From ")
    sandbox.remove("src/helpers.py")
    answer = await answer_from_evidence(question, desk=QuestionFiles(shelf, index))
    assert not answer.text.startswith("From ")


async def _start(
    shelf: FileCache,
    index: EvidenceIndex,
    text: str,
    *past: QuestionAnswered,
    viewed: Mapping[RelPath, AgentView] = MappingProxyType({}),
    tokens: int = 1_000,
) -> str:
    return await head_start(
        Question(text, Instant(0.0)),
        desk=QuestionFiles(shelf, index),
        past=past,
        viewed=viewed,
        budget_tokens=tokens,
    )


async def test_a_model_is_shown_whole_definitions_of_the_best_places() -> None:
    start = await _start(_shelf(WORLD), await _index(WORLD), "Where is the view run?")
    lead, first, *_ = start.split("\n\n")
    assert lead.startswith("|Best fit: src/app.py:12-13 `App.run_view`")
    assert first.startswith("src/app.py:")
    assert "\n12|def run_view(self, request):\n13|    return helpers" in start
    assert start.endswith("checked just now. They hold all telling words of the question.")
    nothing = await _start(_shelf({}), await _index({}), "Where is it?")
    assert nothing == "Not found in this workspace."


async def test_a_model_is_told_what_of_the_question_is_nowhere() -> None:
    shelf, index = _shelf(WORLD), await _index(WORLD)
    start = await _start(shelf, index, "Where is the view run by `kafka_pool`?")
    assert start.startswith("|Best fit: src/app.py:12-13")
    assert start.endswith(" Nowhere here: `kafka_pool`.")
    start = await _start(shelf, index, "Where is `kafka_pool` rebalanced?")
    assert start.startswith("Not found in this workspace: `kafka_pool`")


async def test_beside_the_uses_of_a_name_a_model_is_shown_what_ranks() -> None:
    notes = {
        "src/notes.py": "def view_notes():\n    # a view that helpers should run\n    return 1\n"
    }
    shelf, index = _shelf(WORLD | notes), await _index(WORLD | notes)
    start = await _start(shelf, index, "What breaks if I change App.run_view, the notes of a view?")
    assert start.startswith("|`run_view` is used on")
    assert "\n1|def view_notes():" in start


@pytest.mark.promise("never-falsely-fresh")
async def test_what_earlier_answers_cited_is_shown_while_those_bytes_are_there() -> None:
    files = WORLD | {"src/z.py": "def zebra():\n" + "    stripes()\n" * 9}
    index, sandbox = await _index(files), _sandbox(files)
    shelf = FileCache(Reader(sandbox, DEFAULT, 10_000))
    path = RelPath("src/z.py")
    answer = Answer(
        "",
        Mode.COMPANION,
        Grounding.VERIFIED,
        (Citation(path, 5, 5, CitationStatus.VERIFIED),),
        model="m",
        evidence={path: ContentHash.of(files[path.text].encode())},
    )
    past = QuestionAnswered(Question("Where is the view run?", Instant(0.0)), answer, 0)
    start = await _start(shelf, index, "Where is a view run?", past)
    assert "\n\nsrc/z.py:" in start
    assert "\n5|    stripes()\n" in start
    sandbox.put("src/z.py", b"def zebra():\n" + b"    moved()\n" * 9)
    later = await _start(shelf, index, "Where is a view run?", past)
    assert "src/z.py" not in later


async def test_what_the_agent_looked_at_of_a_file_that_ranks_is_shown_and_old_bytes_are_not() -> (
    None
):
    index, path = await _index(WORLD), RelPath("src/app.py")
    now = ContentHash.of(APP.encode())
    for sha, is_shown in ((now, True), (ContentHash.of(b"old"), False)):
        viewed = {path: AgentView(sha, ((15, 17),))}
        start = await _start(_shelf(WORLD), index, "Where is a page rendered?", viewed=viewed)
        assert ("MODE and result" in start) is is_shown
