"""The contract of `EvidenceIndex`, over both implementations, and what only a file can do wrong."""

import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.index import database, search, sqlite
from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.errors import StoreUnavailable
from live_memory.core.evidence.places import Candidates, DefinitionKind
from live_memory.core.evidence.question import terms_of
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath
from live_memory.ports import EvidenceIndex
from tests.support.observing import observed, signature_of

SESSIONS = '''"""Cookies."""

from werkzeug import Response


class CookieSession:
    """A session in a cookie."""

    samesite = None

    def save_session(self, response: Response) -> None:
        """Write the cookie."""
        response.set_cookie("session", samesite=self.get_samesite())

    def get_samesite(self) -> str:
        """The SameSite setting."""
        return CONFIG["SESSION_COOKIE_SAMESITE"]
'''
APP = '''from sessions import CookieSession


def finalize(response):
    """End a request."""
    CookieSession().save_session(response)
    return response
'''
TEST = "def test_save_session():\n    assert CookieSession().save_session(None) is None\n"
WORLD = {"src/sessions.py": SESSIONS, "src/app.py": APP, "tests/test_sessions.py": TEST}

Open = Callable[[Path], Awaitable[EvidenceIndex]]


async def _in_memory(_folder: Path) -> EvidenceIndex:
    return SqliteIndex.in_memory()


INDEXES: dict[str, Open] = {"sqlite": SqliteIndex.open, "in_memory": _in_memory}


@pytest.fixture(params=list(INDEXES))
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvidenceIndex]:
    opened = await INDEXES[request.param](tmp_path)
    yield opened
    await opened.aclose()


async def _take(index: EvidenceIndex, *seen: Observation) -> None:
    await index.update(seen, textless={}, gone=())
    while await index.settle():
        pass


async def _fill(index: EvidenceIndex, world: dict[str, str]) -> None:
    await _take(index, *(observed(name, text) for name, text in world.items()))


async def _found(index: EvidenceIndex, question: str) -> list[str]:
    return [file.path.text for file in (await _search(index, question)).files]


async def _search(index: EvidenceIndex, question: str) -> Candidates:
    return await index.search(terms_of(question), limit=12)


async def test_an_empty_index_finds_nothing(index: EvidenceIndex) -> None:
    assert await index.known() == {}
    assert await _search(index, "where is the session saved?") == Candidates()
    assert await index.definitions("save_session") == ()
    assert await index.references("save_session") == ()
    assert await index.outline(RelPath("src/app.py")) == ()


async def test_what_was_offered_is_known_with_its_signature(index: EvidenceIndex) -> None:
    """Also files without text, so that they are not read again for each question."""
    picture = signature_of(b"\x89PNG")
    await index.update([observed("a.py", "x = 1\n")], textless={RelPath("b.png"): picture}, gone=())
    for _ in range(2):
        assert await index.known() == {
            RelPath("a.py"): signature_of(b"x = 1\n"),
            RelPath("b.png"): picture,
        }


async def test_identifiers_are_found_whole_split_and_inflected(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    for question in ("save_session", "saving a session", "SessionSaved", "SAVE_SESSION"):
        assert (await _found(index, question))[0] == "src/sessions.py", question


async def test_the_place_with_its_definition_comes_with_the_file(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    best = (await _search(index, "Where is the SameSite setting read?")).units[0]
    assert best.place.path == RelPath("src/sessions.py")
    assert best.place.start <= 15 <= best.place.end
    assert best.definition is not None
    assert best.definition.name == "CookieSession.get_samesite"


async def test_programs_come_before_tests_unless_tests_are_asked_for(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    assert (await _found(index, "how is saving the session done?"))[0] == "src/sessions.py"
    assert (await _found(index, "how is saving the session tested?"))[0] == "tests/test_sessions.py"


async def test_what_a_file_is_counts_before_the_best_are_taken(index: EvidenceIndex) -> None:
    said = "session cookie saved"
    await _fill(index, {f"tests/test_{n}.py": f"# {said}\n" for n in range(5)})
    await _fill(index, {"src/a.py": f"# {said} and some more words, so less to each\n"})
    found = await index.search(terms_of(said), limit=1)
    assert found.files[0].path.text == found.units[0].place.path.text == "src/a.py"


async def test_a_file_that_holds_more_of_the_question_comes_first(index: EvidenceIndex) -> None:
    body = "def {}():\n    return {}\n\n\n".format
    part = body("ship", "parcel, stamp") + body("hold", "parcel") + body("drop", "parcel")
    whole = body("ship", "parcel, stamp") + body("pay", "postage")
    rest = {
        f"src/{word}_{n}.py": body("x", word) for n in range(3) for word in ("stamp", "postage")
    }
    await _fill(index, {"src/a.py": part, "src/b.py": whole, **rest})
    assert (await _found(index, "parcel stamp postage"))[0] == "src/b.py"


async def test_the_files_of_the_best_places_come_behind_the_best_files(
    index: EvidenceIndex,
) -> None:
    """Else a place could not be opened, and so not be shown."""
    await _fill(index, {f"src/{name}.py": "x = session_cookie\n" for name in "abc"})
    found = await index.search(terms_of("session cookie"), limit=1)
    assert [file.path.text for file in found.files] == ["src/a.py", "src/b.py", "src/c.py"]
    assert {unit.place.path for unit in found.units} == {file.path for file in found.files}


async def test_an_exact_name_comes_before_names_that_share_its_parts(index: EvidenceIndex) -> None:
    steps = "".join(f"def step_{n}():\n    return {n}\n\n\n" for n in range(1, 31))
    await _fill(index, {"steps.py": steps})
    best = (await _search(index, "Where is step_3 defined?")).units[0]
    assert best.definition is not None
    assert best.definition.name == "step_3"


async def test_an_exact_word_comes_before_its_letters_where_nothing_is_defined(
    index: EvidenceIndex,
) -> None:
    steps = {f"docs/{n:02}.txt": f"run step_{n} of the plan\n" for n in range(1, 10)}
    await _fill(index, steps | {"docs/10.txt": "step step step\n"})
    assert (await _found(index, "What does step_3 run?"))[0] == "docs/03.txt"


async def test_a_file_says_which_words_of_the_question_it_holds(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    found = await _search(index, "How is the SameSite response finalized?")
    held = {file.path.text: file.words for file in found.files}
    assert "samesit" in held["src/sessions.py"]
    assert "samesit" not in held["src/app.py"]
    assert held["src/app.py"] >= {"respons", "finaliz"}


async def test_words_are_worth_more_the_rarer_they_are(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    worth = (await _search(index, "cookie of the finalize step, unheardof")).worth
    assert worth["finaliz"] > worth["cooki"] > 0
    assert "unheardof" not in worth


async def test_definitions_are_found_by_their_last_or_their_whole_name(
    index: EvidenceIndex,
) -> None:
    await _fill(index, WORLD | {"other.py": "def save_session():\n    pass\n"})
    found = await index.definitions("save_session")
    assert {(d.name, d.place.path.text) for d in found} == {
        ("CookieSession.save_session", "src/sessions.py"),
        ("save_session", "other.py"),
    }
    only = await index.definitions("CookieSession.save_session")
    assert [(d.kind, d.place.start, d.place.end) for d in only] == [(DefinitionKind.METHOD, 11, 13)]
    assert only[0].signature == "def save_session(self, response: Response) -> None"
    assert await index.definitions("session") == ()


async def test_references_are_lines_that_use_or_import_a_name(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    assert [str(place) for place in await index.references("CookieSession")] == [
        "src/app.py:1",
        "src/app.py:6",
        "src/sessions.py:6",
        "tests/test_sessions.py:2",
    ]


async def test_an_outline_is_in_order(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    assert [d.name for d in await index.outline(RelPath("src/sessions.py"))] == [
        "CookieSession",
        "CookieSession.samesite",
        "CookieSession.save_session",
        "CookieSession.get_samesite",
    ]


@pytest.mark.promise("never-falsely-fresh")
async def test_a_new_version_replaces_the_old_one_everywhere(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    await _take(index, observed("src/app.py", "def wrap_up():\n    pass\n", version=2))
    assert await _search(index, "finalize") == Candidates()
    assert (await _found(index, "wrap_up")) == ["src/app.py"]
    assert await index.definitions("finalize") == ()
    assert "src/app.py:6" not in map(str, await index.references("CookieSession"))
    assert [d.name for d in await index.outline(RelPath("src/app.py"))] == ["wrap_up"]


@pytest.mark.promise("never-falsely-fresh")
async def test_an_outline_is_that_of_the_version_that_was_taken_in_last(
    index: EvidenceIndex,
) -> None:
    await _fill(index, WORLD)
    path = RelPath("src/app.py")
    assert [d.name for d in await index.outline(path)] == ["finalize"]
    await index.update([observed(path.text, "def other():\n    pass\n")], textless={}, gone=())
    assert [d.name for d in await index.outline(path)] == ["other"]
    await index.update((), textless={}, gone=[path])
    assert await index.outline(path) == ()
    assert path not in await index.known()


async def test_outlines_beyond_those_kept_are_the_same(
    index: EvidenceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST_OUTLINES", 1)
    await _fill(index, WORLD)
    for _ in range(2):
        outlines = [await index.outline(RelPath(name)) for name in WORLD]
        assert [outline[0].name for outline in outlines] == [
            "CookieSession",
            "finalize",
            "test_save_session",
        ]


async def test_a_file_that_is_gone_or_became_binary_is_found_no_more(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    was_text = RelPath("src/sessions.py")
    await index.update(
        (), textless={was_text: signature_of(b"\0")}, gone={RelPath("tests/test_sessions.py")}
    )
    assert await _found(index, "save_session") == ["src/app.py"]
    assert set(await index.known()) == {was_text, RelPath("src/app.py")}
    assert await index.outline(was_text) == ()


async def test_to_drop_what_was_never_there_is_no_error(index: EvidenceIndex) -> None:
    await index.update((), textless={}, gone={RelPath("never.py")})
    assert await index.known() == {}


async def test_the_way_to_a_state_does_not_show_in_its_answers(index: EvidenceIndex) -> None:
    """Scores too: a word must not become more common by being edited often."""
    for version in range(5):
        await _take(index, observed("src/app.py", APP + f"# {version}\n", version=version))
    await _fill(index, WORLD)
    fresh = SqliteIndex.in_memory()
    await _fill(fresh, WORLD)
    question = "Where is the session cookie saved?"
    assert await _search(index, question) == await _search(fresh, question)
    await fresh.aclose()


@pytest.mark.parametrize("most_gone", [-1_000, 0, 5_000])
@pytest.mark.parametrize("fan", [2, 3, 16])
async def test_merging_many_small_updates_changes_no_answer(
    index: EvidenceIndex, monkeypatch: pytest.MonkeyPatch, fan: int, most_gone: int
) -> None:
    """Also where what is gone is left out and all units are numbered anew."""
    await _fill(index, WORLD | {"empty.py": ""})
    before = await _search(index, "Where is the session cookie saved?")
    used = await index.references("save_session")
    monkeypatch.setattr(database, "_FAN", fan)
    monkeypatch.setattr(sqlite, "_MOST_GONE", most_gone)
    for _ in range(3):
        for name, text in reversed(WORLD.items()):
            await _take(index, observed(name, text))
    assert await _search(index, "Where is the session cookie saved?") == before
    assert await index.references("save_session") == used


async def test_updates_of_a_size_are_merged_so_that_few_rows_are_read(tmp_path: Path) -> None:
    index = await SqliteIndex.open(tmp_path)
    for version in range(40):
        await _take(index, observed("a.py", "alone = 1\n", version=version))
    await index.aclose()
    file = sqlite3.connect(tmp_path / "index.sqlite")
    levels = [level for (level,) in file.execute("SELECT level FROM run ORDER BY id")]
    rows = file.execute("SELECT count(*) FROM word WHERE key = 'alon'").fetchone()[0]
    file.close()
    assert levels == [1, 1, *[0] * 8]
    assert rows == len(levels)


async def test_a_merge_that_was_broken_off_loses_nothing_and_is_made_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_STRETCH", 2)
    index = await SqliteIndex.open(tmp_path)
    files = [observed(f"f{n}.py", f"shared = 1\nalone_{n} = shared\n") for n in range(16)]
    for seen in files:
        await index.update([seen], textless={}, gone=())
    before = [await _found(index, "shared"), await _found(index, "alone_3")]
    for _ in range(3):
        assert await index.settle()
    await index.update([files[5]], textless={}, gone=())
    await index.aclose()
    index = await SqliteIndex.open(tmp_path)
    assert sorted(await _found(index, "shared")) == sorted(before[0])
    assert await _found(index, "alone_3") == before[1]
    await _take(index, observed("last.py", "last = 1\n"))
    assert sorted(await _found(index, "shared")) == sorted(before[0])
    await index.aclose()
    file = sqlite3.connect(tmp_path / "index.sqlite")
    assert [level for (level,) in file.execute("SELECT level FROM run")] == [1]
    assert file.execute("SELECT count(*) FROM word WHERE key = 'shar'").fetchone() == (1,)
    file.close()


async def test_versions_that_are_gone_take_no_room_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_MOST_GONE", 20)
    index = await SqliteIndex.open(tmp_path)
    for version in range(100):
        await _take(index, observed("a.py", "alone = 1\n", version=version))
        assert (await _found(index, "alone")) == ["a.py"]
    await index.aclose()
    file = sqlite3.connect(tmp_path / "index.sqlite")
    counters = dict(file.execute("SELECT * FROM counter"))
    kept = sum(len(units) // 4 for (units,) in file.execute("SELECT units FROM word"))
    file.close()
    assert counters["next_unit"] <= 24
    assert counters["live_units"] == counters["files"] == 1
    assert kept <= 24 * 4


async def test_words_of_scripts_without_spaces_are_found(index: EvidenceIndex) -> None:
    await _fill(
        index,
        {"docs/用户.md": "# 登录\n\n用户登录后可以修改密码。\n", "b.md": "# 退出\n\n再见。\n"},
    )
    assert await _found(index, "怎样修改密码?") == ["docs/用户.md"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
async def test_other_encodings_are_found_by_their_words(
    index: EvidenceIndex, encoding: str
) -> None:
    """C17: a byte order mark or a foreign byte may not hide a file."""
    await _take(index, observed("a.txt", "une naïve mémoire du projet\r\n".encode(encoding)))
    assert await _found(index, "projet") == ["a.txt"]


async def test_names_that_look_like_queries_are_only_names(index: EvidenceIndex) -> None:
    await _fill(index, {"it's.py": 'def drop_table():\n    return "\'; DROP TABLE file; --"\n'})
    assert await _found(index, '"; DROP TABLE file; --" drop_table* OR NEAR(') == ["it's.py"]
    assert await index.definitions("x' OR '1'='1") == ()


async def test_searching_goes_on_while_an_update_runs(index: EvidenceIndex) -> None:
    await _fill(index, WORLD)
    many = [observed(f"many/f{n}.py", f"def fresh_{n}():\n    return {n}\n") for n in range(200)]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: index.update(many, textless={}, gone=()))
            for _ in range(20):
                assert (await _found(index, "save_session"))[0] == "src/sessions.py"
    assert len(await index.known()) == len(WORLD) + len(many)


async def test_a_failed_update_changes_nothing(
    index: EvidenceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _fill(index, WORLD)

    def full_disk(*_args: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(database, "append", full_disk)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await _take(index, observed("src/app.py", "def other():\n    pass\n"))
    monkeypatch.undo()
    assert await _found(index, "finalize") == ["src/app.py"]
    await _take(index, observed("src/app.py", "def other():\n    pass\n"))
    assert await _found(index, "finalize") == []


async def test_the_same_answer_comes_after_opening_again(tmp_path: Path) -> None:
    first = await SqliteIndex.open(tmp_path)
    await _fill(first, WORLD)
    question = "Where is the session cookie saved?"
    before = await _search(first, question)
    await first.aclose()
    again = await SqliteIndex.open(tmp_path)
    assert await _search(again, question) == before
    assert len(await again.known()) == len(WORLD)
    await again.aclose()


async def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, WORLD)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    await index.aclose()
    assert set(modes.values()) == {0o600}
    assert "index.sqlite" in modes


@pytest.mark.promise("no-secrets")
async def test_no_line_of_text_can_be_read_back_from_the_disk(tmp_path: Path) -> None:
    """Names and signatures may stand there, and words one by one; sentences and code may not."""
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, WORLD)
    await index.aclose()
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for text in (b"Write the cookie", b"response.set_cookie(", b'samesite="', b"return CONFIG["):
        assert text not in raw
    words = sqlite3.connect(tmp_path / "index.sqlite")
    keys = [key for (key,) in words.execute("SELECT key FROM word NOT INDEXED")]
    words.close()
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: b"not a database at all, but long enough" * 99, id="foreign"),
        pytest.param(lambda raw: raw[: len(raw) // 2], id="torn"),
        pytest.param(lambda raw: raw[:4096] + b"\xff" * (len(raw) - 4096), id="overwritten"),
        pytest.param(lambda raw: raw[:60] + b"\0\0\0\x63" + raw[64:], id="newer version"),
    ],
)
async def test_a_file_that_cannot_be_read_is_built_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    first = await SqliteIndex.open(tmp_path)
    await _fill(first, WORLD)
    await first.aclose()
    file = tmp_path / "index.sqlite"
    file.write_bytes(damage(file.read_bytes()))
    again = await SqliteIndex.open(tmp_path)
    assert await again.known() == {}
    await _fill(again, WORLD)
    assert (await _found(again, "save_session"))[0] == "src/sessions.py"
    await again.aclose()


async def test_an_index_that_breaks_while_it_is_open_starts_anew(tmp_path: Path) -> None:
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, WORLD)
    vandal = sqlite3.connect(tmp_path / "index.sqlite")
    vandal.execute("UPDATE word SET units = x'ff'")
    vandal.commit()
    vandal.close()
    assert await _search(index, "save_session") == Candidates()
    assert await index.known() == {}
    await _fill(index, WORLD)
    assert (await _found(index, "save_session"))[0] == "src/sessions.py"
    await index.aclose()


async def test_many_that_notice_the_same_damage_start_anew_once(tmp_path: Path) -> None:
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, WORLD)
    vandal = sqlite3.connect(tmp_path / "index.sqlite")
    vandal.execute("UPDATE word SET units = x'ff'")
    vandal.commit()
    vandal.close()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(_search, index, "save_session")
    await _fill(index, WORLD)
    assert (await _found(index, "save_session"))[0] == "src/sessions.py"
    await index.aclose()


async def test_a_closed_index_says_so_and_leaves_the_file_alone(tmp_path: Path) -> None:
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, WORLD)
    await index.aclose()
    await index.aclose()
    with pytest.raises(StoreUnavailable):
        await index.known()
    again = await SqliteIndex.open(tmp_path)
    assert len(await again.known()) == len(WORLD)
    await again.aclose()


@pytest.mark.parametrize(
    "sabotage",
    [
        "UPDATE word SET units = x'ffffff7f', counts = x'01000000'",
        "UPDATE word SET counts = x'0100000001000000'",
        "UPDATE file SET first_unit = 9999",
        "DROP TABLE definition",
    ],
)
async def test_rows_that_do_not_fit_together_are_noticed(tmp_path: Path, sabotage: str) -> None:
    index = await SqliteIndex.open(tmp_path)
    await _fill(index, {"a.py": "def alone():\n    pass\n"})
    await index.aclose()
    vandal = sqlite3.connect(tmp_path / "index.sqlite")
    vandal.execute(sabotage)
    vandal.commit()
    vandal.close()
    again = await SqliteIndex.open(tmp_path)
    assert await _search(again, "alone") == Candidates()
    assert await again.known() == {}
    await again.aclose()


async def test_a_folder_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"Check the data folder's space and permissions"):
        await SqliteIndex.open(tmp_path / "missing")
    (tmp_path / "index.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable):
        await SqliteIndex.open(tmp_path)
    assert not (tmp_path / "elsewhere").exists()
