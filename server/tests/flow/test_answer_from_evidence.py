"""The answer without a model rests on bytes read for this question, and on nothing else."""

from collections.abc import Sequence

import pytest

from live_memory.adapters.index.in_memory import in_memory_index
from live_memory.adapters.sandbox.in_memory import InMemorySandbox
from live_memory.core.asking.answer import Answer, Budget, CitationStatus, Grounding, Mode, Question
from live_memory.core.asking.reply import render
from live_memory.core.evidence.question import terms_of
from live_memory.core.reading.observation import FileRead, Skipped
from live_memory.core.reading.redaction import DEFAULT
from live_memory.core.values import ContentHash, Instant, RelPath
from live_memory.flow.answer_from_evidence import answer_from_evidence
from live_memory.flow.evidence.desk import Desk, Shelf
from live_memory.ports import EvidenceIndex
from tests.support.observing import observed

SESSIONS = '''"""Sessions in cookies."""

from defaults import COOKIE_LIFETIME


class CookieSession:
    """Keeps a session in a signed cookie. More of it here."""

    def save_session(self, response):
        """Write the session cookie. It is signed."""
        response.set_cookie(
            "session",
            lifetime=COOKIE_LIFETIME,
            samesite=self.get_samesite(),
        )

    def get_samesite(self):
        """Read the SameSite setting."""
        return CONFIG["SESSION_COOKIE_SAMESITE"]
'''
APP = '''from sessions import CookieSession


def finalize(response):
    """End a request."""
    # save_session is mentioned here
    CookieSession().save_session(response)
    return response
'''
DEFAULTS = "# Seconds that a cookie lives.\nCOOKIE_LIFETIME = 3600\n"
TEST = "def test_saving():\n    assert CookieSession().save_session(None) is None\n"
WORLD = {
    "src/sessions.py": SESSIONS,
    "src/app.py": APP,
    "src/defaults.py": DEFAULTS,
    "tests/test_sessions.py": TEST,
    "README.md": "# Shop\n\nSells things.\n",
}


class CountingSandbox(InMemorySandbox):
    """Remembers what was read."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.reads: list[Sequence[str]] = []

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        self.reads.append(names)
        return await super().read(names, max_bytes=max_bytes)


async def _world(files: dict[str, str]) -> tuple[CountingSandbox, EvidenceIndex]:
    index = in_memory_index()
    await index.update([observed(*item) for item in files.items()], textless={}, gone=())
    return CountingSandbox({name: text.encode() for name, text in files.items()}), index


async def _ask(
    sandbox: InMemorySandbox, index: EvidenceIndex, text: str, *, tokens: int = 1500
) -> Answer:
    question = Question(text, Instant(0.0), Budget(answer_tokens=tokens))
    shelf = Shelf(sandbox, redactor=DEFAULT, max_bytes=256 * 1024)
    return await answer_from_evidence(question, desk=Desk(shelf, index))


async def _answer(text: str, world: dict[str, str] = WORLD, *, tokens: int = 1500) -> Answer:
    return await _ask(*await _world(world), text, tokens=tokens)


def _cited(answer: Answer) -> list[str]:
    return [str(citation) for citation in answer.citations]


async def test_a_finding_says_what_where_how_who_calls_it_and_what_it_uses() -> None:
    answer = await _answer("How does saving write the session cookie?")
    finding = answer.text.split("\n\n")[0].splitlines()
    assert finding[:3] == [
        "`CookieSession.save_session` (src/sessions.py:9-15): Write the session cookie.",
        "  - `def save_session(self, response)`",
        "  - called from `finalize` (src/app.py:7): `CookieSession().save_session(response)`",
    ]
    assert "  - uses `COOKIE_LIFETIME` (src/defaults.py:2): Seconds that a cookie lives." in finding
    assert answer.mode is Mode.EVIDENCE
    assert answer.grounding is Grounding.VERIFIED
    assert answer.model is None
    assert answer.usage.model_calls == 0


@pytest.mark.promise("citations-checked")
async def test_each_citation_is_of_current_bytes_and_its_file_in_the_evidence() -> None:
    answer = await _answer("How does saving write the session cookie?")
    assert {citation.path for citation in answer.citations} == set(answer.evidence)
    for path, sha in answer.evidence.items():
        assert sha == ContentHash.of(WORLD[path.text].encode())
    for citation in answer.citations:
        assert citation.status is CitationStatus.VERIFIED
        assert citation.end <= len(WORLD[citation.path.text].splitlines())


async def test_each_snippet_is_the_text_of_the_lines_it_names() -> None:
    answer = await _answer("How does saving write the session cookie?")
    blocks = [part for part in answer.text.split("\n\n") if part.endswith("\n```")]
    assert blocks
    for block in answer.text.split("```")[1::2]:
        first = block.strip().splitlines()[0]
        assert any(first.strip() in text for text in WORLD.values())


async def test_citations_are_a_ranking_that_the_finding_leads() -> None:
    answer = await _answer("How does saving write the session cookie?")
    order = list(dict.fromkeys(citation.path.text for citation in answer.citations))
    assert order[0] == "src/sessions.py"
    assert order.index("src/app.py") < order.index("tests/test_sessions.py")


async def test_callers_are_listed_programs_first_without_comments_and_definitions() -> None:
    answer = await _answer("What calls save_session?")
    assert answer.text.split("\n\n")[0].splitlines() == [
        "`save_session` is used on 1 line of code and 1 of tests:",
        "- `finalize` (src/app.py:7): `CookieSession().save_session(response)`",
        (
            "- test `test_saving` (tests/test_sessions.py:2): "
            "`assert CookieSession().save_session(None) is None`"
        ),
        "Defined: `CookieSession.save_session` (src/sessions.py:9-15): Write the session cookie.",
    ]
    assert _cited(answer)[0] == "src/app.py:7"


async def test_importers_are_listed_apart() -> None:
    answer = await _answer("Who uses CookieSession?")
    assert "Imported at src/app.py:1" in answer.text


async def test_what_nothing_calls_is_said_to_have_no_caller() -> None:
    answer = await _answer("What calls finalize?")
    assert answer.text.startswith("No line of code that was looked at uses `finalize`.\nDefined: ")


async def test_many_callers_are_counted_and_the_first_are_listed() -> None:
    calls = {f"src/use{n:02}.py": "def use():\n    finalize(1)\n" for n in range(30)}
    answer = await _answer("What calls finalize?", WORLD | calls)
    first = answer.text.splitlines()[0]
    assert first.startswith("`finalize` is used on ")
    assert "more mentions were not opened" in first
    assert answer.text.count("\n- `use`") <= 12


async def test_a_name_that_only_sounds_like_one_is_no_question_for_callers() -> None:
    answer = await _answer("Which part uses saving to write the session cookie?")
    assert answer.text.startswith("`CookieSession.save_session`")


@pytest.mark.promise("grounded-or-says-so")
async def test_a_question_about_something_else_gets_nothing_invented() -> None:
    answer = await _answer("How does the Kafka consumer commit a payment?")
    assert answer.grounding is Grounding.UNGROUNDED
    assert answer.text.startswith("Nothing in this workspace matches `Kafka`")
    assert "```" not in answer.text


@pytest.mark.promise("grounded-or-says-so")
async def test_an_empty_workspace_gets_an_honest_answer() -> None:
    for question in ("Where is the session saved?", "What calls save_session?", "What is it?"):
        answer = await _answer(question, {})
        assert answer.grounding is Grounding.UNGROUNDED
        assert answer.citations == ()
        assert answer.text


async def test_an_unsupported_question_names_the_nearest_places() -> None:
    answer = await _answer("Where is the refund payment lifetime handled by an invoice?")
    assert answer.grounding is Grounding.UNGROUNDED
    assert "The nearest by the other words, and probably something else: src/" in answer.text
    assert 1 <= len(answer.citations) <= 3


async def test_words_that_are_spread_over_many_files_are_said_to_be_no_answer() -> None:
    spread = {f"{name}.py": f"def {name}():\n    pass\n" for name in ("alpha", "beta", "gamma")}
    answer = await _answer("alpha beta gamma", spread)
    assert answer.text.startswith("No place in this workspace holds much of this question; looked")
    assert answer.grounding is Grounding.UNGROUNDED


@pytest.mark.promise("grounded-or-says-so")
async def test_a_missing_name_in_a_good_question_is_said_first() -> None:
    answer = await _answer("How does GraphQL saving write the session cookie with samesite?")
    assert answer.text.startswith("Not found in this workspace: `GraphQL`.")
    assert answer.grounding is Grounding.PARTIAL


async def test_a_long_question_that_is_only_touched_is_said_to_be_partial() -> None:
    words = " ".join(f"notion{letter}" for letter in "abcdefghijk")
    answer = await _answer(f"session cookie lifetime {words} written samesite")
    assert answer.text.startswith("No single place here holds much of this question.")
    assert answer.grounding is Grounding.PARTIAL


@pytest.mark.promise("never-falsely-fresh")
async def test_a_file_that_changed_since_it_was_indexed_is_answered_as_it_is_now() -> None:
    sandbox, index = await _world(WORLD)
    moved = "\n" * 7 + SESSIONS.replace("Write the session cookie", "Store the session cookie")
    sandbox.put("src/sessions.py", moved.encode())
    answer = await _ask(sandbox, index, "How does saving write the session cookie?")
    assert "(src/sessions.py:16-22): Store the session cookie." in answer.text
    assert answer.evidence[RelPath("src/sessions.py")] == ContentHash.of(moved.encode())
    assert "Write the session cookie" not in answer.text


@pytest.mark.promise("never-falsely-fresh")
async def test_a_change_that_brings_another_file_forward_opens_that_one_too() -> None:
    files = {f"f{n:02}.py": f"def cookie_{n}():\n    return 'session cookie'\n" for n in range(14)}
    sandbox, index = await _world(files)
    ranked = list((await _ask(sandbox, index, "session cookie")).evidence)
    sandbox.put(ranked[0].text, b"x = 1\n")
    answer = await _ask(sandbox, index, "session cookie")
    assert ranked[0] not in answer.evidence
    assert set(answer.evidence) - set(ranked)


@pytest.mark.promise("never-falsely-fresh")
async def test_a_file_that_comes_forward_and_has_changed_too_is_left_out() -> None:
    """The index ranked other bytes than those that are there now."""
    files = {f"f{n:02}.py": f"def cookie_{n}():\n    return 'session cookie'\n" for n in range(13)}
    sandbox, index = await _world(files)
    ranked = (await index.search(terms_of("session cookie"), limit=13)).files
    sandbox.put(ranked[0].path.text, b"x = 1\n")
    sandbox.put(ranked[12].path.text, b"def other():\n    return 'session cookie'\n")
    answer = await _ask(sandbox, index, "session cookie")
    assert ranked[12].path not in answer.evidence
    assert ranked[12].path.text not in answer.text


@pytest.mark.promise("never-falsely-fresh")
async def test_a_caller_is_not_said_to_stand_in_a_function_that_is_gone() -> None:
    sandbox, index = await _world(CROWD | FAR)
    sandbox.put("src/user.py", b"paid = [\n    zebra(),\n]\n")
    answer = await _ask(sandbox, index, "crowd_crowd")
    assert "  - called from (src/user.py:2): `paid = [ … zebra() …`" in answer.text


@pytest.mark.promise("never-falsely-fresh")
async def test_a_file_that_vanished_or_became_binary_is_left_out() -> None:
    sandbox, index = await _world(WORLD)
    sandbox.remove("src/sessions.py")
    sandbox.put("src/app.py", b"\0\1\2")
    answer = await _ask(sandbox, index, "How does saving write the session cookie?")
    assert "src/sessions.py" not in answer.text
    assert "src/app.py" not in answer.text
    gone = await _ask(sandbox, index, "What calls save_session?")
    assert "Defined:" not in gone.text
    assert "src/app.py" not in gone.text


@pytest.mark.promise("never-falsely-fresh")
async def test_a_caller_or_definition_that_moved_since_is_not_cited_where_it_was() -> None:
    """Files that are opened beyond the ranked ones are checked line by line."""
    sandbox, index = await _world(WORLD)
    sandbox.put("src/app.py", b"# nothing\n" * 12)
    sandbox.put("src/defaults.py", b"OTHER = 1\n")
    sandbox.reads.clear()
    answer = await _ask(sandbox, index, "get_samesite CookieSession SameSite")
    assert "called from `finalize`" not in answer.text
    assert "COOKIE_LIFETIME` (src/defaults.py" not in answer.text


CROWD = {f"src/c{n:02}.py": f"def crowd_{n}():\n    return 'crowd'\n" for n in range(12)}
FAR = {
    "src/lead.py": "def zebra():\n    return far_name(crowd_crowd)\n",
    "src/far.py": "def far_name(a):\n    return a\n",
    "src/user.py": "def user():\n    return zebra()\n",
}


async def test_what_is_used_and_who_calls_is_opened_beyond_the_ranked_files() -> None:
    answer = await _answer("crowd_crowd", CROWD | FAR)
    assert "  - called from `user` (src/user.py:2): `return zebra()`" in answer.text
    assert "  - uses `far_name` (src/far.py:1-2): `def far_name(a)`" in answer.text
    users = await _answer("What calls far_name in a crowd crowd crowd?", CROWD | FAR)
    assert "`zebra` (src/lead.py:2)" in users.text


@pytest.mark.promise("never-falsely-fresh")
async def test_what_is_opened_beyond_the_ranked_files_must_still_be_there() -> None:
    sandbox, index = await _world(CROWD | FAR)
    sandbox.put("src/far.py", b"# far_name moved\n")
    sandbox.put("src/user.py", b"def other():\n    return 1\n")
    answer = await _ask(sandbox, index, "crowd_crowd")
    assert "called from" not in answer.text
    assert "uses `far_name`" not in answer.text


async def test_files_are_opened_in_few_batches_and_none_twice() -> None:
    sandbox, index = await _world(WORLD)
    await _ask(sandbox, index, "How does saving write the session cookie?")
    assert len(sandbox.reads) <= 2
    opened = [name for names in sandbox.reads for name in names]
    assert len(opened) == len(set(opened))


async def test_a_default_answer_stays_short_and_a_small_budget_shorter() -> None:
    body = "\n".join(f"    cookie_{n} = session.save({n})  # session cookie" for n in range(300))
    world = {f"src/s{n}.py": f"def save_session_{n}():\n{body}\n" for n in range(20)}
    full = await _answer("Where is the session cookie saved?", world)
    assert len(render(full)) < 8_000
    assert len(full.text) <= 1500 * 2.8
    small = await _answer("Where is the session cookie saved?", world, tokens=256)
    assert len(small.text) < len(full.text)
    assert small.citations


async def test_a_place_without_a_definition_can_lead() -> None:
    world = {"setup.js": "// Trust the proxy.\n\nenable('trust proxy');\n"}
    answer = await _answer("Where is the trusted proxy enabled?", world)
    assert answer.text.startswith("`setup.js` (setup.js:3): Trust the proxy.") or (
        answer.text.startswith("`setup.js` (setup.js:3): `enable('trust proxy');`")
    )


async def test_prose_answers_where_no_program_does() -> None:
    world = {"docs/deploy.md": "# Deploying\n\nRun the container behind nginx.\n"}
    answer = await _answer("How is the container deployed behind nginx?", world)
    assert answer.text.startswith("`Deploying` (docs/deploy.md:1-3): a section of the text.")
    assert answer.grounding is Grounding.VERIFIED
    plain = await _answer("container behind nginx", {"notes.txt": "\ncontainer behind nginx\n"})
    assert plain.text.startswith("`notes.txt` (notes.txt:2): a section of the text.")


async def test_a_class_does_not_crowd_out_its_own_methods() -> None:
    answer = await _answer("CookieSession save_session get_samesite cookie session samesite")
    heads = [line for line in answer.text.splitlines() if line.lstrip("- ").startswith("`Cookie")]
    assert sum("`CookieSession`" in line.split("(")[0] for line in heads) <= 1


async def test_what_an_answer_and_a_model_need_is_searched_for_and_opened_once() -> None:
    """And the first ten files are those that a search for ten finds."""
    names = [f"m{n:02}.py" for n in range(20)]
    sandbox, index = await _world(
        {name: f"def save_{n}():\n    return session\n{'#' * n}" for n, name in enumerate(names)}
    )
    shelf = Shelf(sandbox, redactor=DEFAULT, max_bytes=1_000)
    desk, terms = Desk(shelf, index, most=16), terms_of("Where is the session saved?")
    few = await desk.look_up(terms, limit=10)
    many = await desk.look_up(terms, limit=16)
    assert [len(reads) for reads in sandbox.reads] == [16]
    assert few.candidates == await index.search(terms, limit=10)
    assert many.candidates == await index.search(terms, limit=16)
    other = await desk.look_up(terms_of("What returns?"), limit=16)
    assert len(sandbox.reads) == 2
    assert other.candidates != many.candidates
    alone = await Desk(shelf, index).look_up(terms, limit=16)
    assert alone.candidates == many.candidates


async def test_a_line_is_quoted_in_the_finding_where_no_snippet_below_shows_it() -> None:
    body = "\n".join(f"    step_{n}()" for n in range(30))
    world = {
        "a.py": f"def save():\n    session.cookie()\n    session.cookie_session()\n{body}\n"
        f"    return cookie({'x' * 9})\n"
    }
    answer = await _answer("Where does save write the session cookie?", world)
    finding, snippets = answer.text.split("\n\n", 1)
    assert "  - line 34: `return cookie(xxxxxxxxx)`" in finding or "return cookie" in snippets
    for line in finding.splitlines():
        if line.startswith("  - line "):
            assert line.split("`")[1] not in snippets


async def test_a_stretch_of_imports_is_not_shown() -> None:
    names = "\n".join(f"    save_session_{n},  # session cookie" for n in range(12))
    world = {
        "a.py": f"# The session.\nfrom session import (\n{names}\n)\n\nimport cookie\n\n\n"
        "def other():\n    return session\n",
        "b.py": "def save_session():\n    return cookie\n",
    }
    answer = await _answer("Where is the session cookie saved?", world)
    assert "import" not in answer.text
    assert "save_session_3,  #" not in answer.text


async def test_places_of_a_file_that_lie_close_together_are_one_snippet_and_one_source() -> None:
    world = {
        "a.py": "class Jar:\n    def save(self):\n        return cookie\n\n"
        "    def load(self):\n        return cookie\n"
    }
    answer = await _answer("How does the jar save and load a cookie?", world)
    assert answer.text.count("```") == 2
    assert _cited(answer) == ["a.py:1-6"]


async def test_a_single_line_that_is_pointed_at_stays_a_source_of_its_own() -> None:
    answer = await _answer("How does saving write the session cookie?")
    assert "src/app.py:7" in _cited(answer)


async def test_a_class_of_which_only_the_head_is_shown_names_what_it_defines() -> None:
    methods = "".join(f"\n    def part_{n}(self):\n" + "        x = 1\n" * 12 for n in range(14))
    world = {"a.py": f'class CookieJar:\n    """Crumbs.\n{chr(10) * 9}    """\n{methods}'}
    answer = await _answer("What is the cookie jar?", world)
    assert "`CookieJar` defines `part_0`, " in answer.text
    assert " and 4 more" in answer.text


async def test_what_else_the_best_files_define_of_the_question_is_named() -> None:
    body = "\n".join("    session_cookie_saved()" for _ in range(24))
    parts = "".join(f"\n\ndef save_session_{n}():\n{body}\n" for n in range(40))
    answer = await _answer("Where is the session cookie saved?", {"a.py": parts})
    assert "Also in a.py: `save_session_" in answer.text
    assert len(answer.text) <= 1500 * 2.8


@pytest.mark.promise("grounded-or-says-so")
async def test_a_file_that_is_only_known_in_part_is_said_to_be() -> None:
    """C15: the rest of it may hold the answer."""
    text = "def save_session():\n    return cookie\n" + "x = 1\n" * 100
    sandbox, index = await _world({"a.py": text, "b.py": "def load_session():\n    pass\n"})
    shelf = Shelf(sandbox, redactor=DEFAULT, max_bytes=100)
    question = Question("Where does save_session set the cookie?", Instant(0.0))
    answer = await answer_from_evidence(question, desk=Desk(shelf, index))
    assert "\n\na.py is only indexed up to line 12." in answer.text
    assert "b.py is only" not in answer.text
