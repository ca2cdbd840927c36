"""What the agent edited lately ranks higher, and an answer says why its files ranked."""

from dataclasses import replace
from types import MappingProxyType

from live_memory.core.answer import Answer, Question
from live_memory.core.memory.window import FileObserved
from live_memory.core.values import ContentHash, Origin, RelPath
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.scripted import Says, Scripted
from tests.support.memory import House, a_question

STORE = b"def save_basket(basket):\n    basket.stored = True\n"
WORLD = {"app/files.py": STORE, "app/table.py": STORE}
QUESTION = replace(a_question("Where is a basket stored?"), wants_why=True)


async def _asked(hub: Hub, question: Question = QUESTION) -> Answer:
    return (await hub.ask("/app", question, progress=silent))[1]


async def _see(hub: Hub, origin: Origin) -> None:
    memory = await hub.opened("/app")
    path, sha = RelPath("app/table.py"), ContentHash.of(STORE)
    await memory.record(FileObserved(path, sha, 1, 2, 2, origin, QUESTION.asked_at))


async def test_of_files_that_say_the_same_the_one_that_was_edited_leads() -> None:
    house = House({"/app": InMemorySandbox(WORLD)})
    async with house.hub() as hub:
        assert (await _asked(hub)).citations[0].path == RelPath("app/files.py")
        await _see(hub, Origin.READ)
        assert (await _asked(hub)).citations[0].path == RelPath("app/files.py")
        await _see(hub, Origin.EDIT)
        answer = await _asked(hub)
        assert answer.citations[0].path == RelPath("app/table.py")
        assert [(path.text, why.factors.get("edited")) for path, why in answer.why.items()] == [
            ("app/table.py", 1.3),
            ("app/files.py", None),
        ]


async def test_with_a_model_edits_beside_an_answer_do_not_change_what_it_rests_on() -> None:
    """Else an edit of any file would have a kept answer made again."""
    house = House({"/app": InMemorySandbox(WORLD)})
    house.model = Scripted(lambda _request: Says(["I do not know."]))
    async with house.hub() as hub:
        await _see(hub, Origin.EDIT)
        answer = await _asked(hub)
        assert "Found without it: Best fit: app/files.py:" in (answer.notice or "")
        assert answer.evidence.keys() == {RelPath("app/files.py"), RelPath("app/table.py")}


async def test_why_is_told_to_who_asks_and_not_remembered() -> None:
    house = House({"/app": InMemorySandbox(WORLD)})
    async with house.hub() as hub:
        answer = await _asked(hub)
        _, past = await hub.answers("/app")
        unasked = await _asked(hub, replace(QUESTION, wants_why=False))
    assert unasked.why == {}
    why = answer.why[RelPath("app/files.py")]
    assert why.words == ("basket", "stored")
    assert why.score > 0
    assert [asked.answer.why for asked in past] == [MappingProxyType({})]
