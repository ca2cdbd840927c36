"""Work trees of one repository share what is true in both, and nothing else (C23)."""

import pytest

from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.window import Compacted
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.ports import Sandbox
from tests.support.doubles.in_memory_sandbox import InMemorySandbox, InMemoryWorktrees
from tests.support.memory import APP, House, a_question

CONFIG, CLIENT = RelPath("app/config.py"), RelPath("app/client.py")
SIXTY = APP["app/config.py"].replace(b"3", b"60")
HERE, THERE = "/app", "/linked"


def _fact(name: str, path: RelPath, data: bytes) -> Fact:
    return Fact(FactId(name), f"`{name}` holds.", (Source(path, ContentHash.of(data), 1, 1),))


def _house() -> House:
    linked = {**APP, CONFIG.text: SIXTY}
    trees: dict[str, Sandbox] = {
        HERE: InMemorySandbox(APP),
        THERE: InMemorySandbox(linked),
        "/else": InMemorySandbox(APP),
    }
    return House(trees, trees=InMemoryWorktrees([HERE, THERE]))


async def _learn(hub: Hub, root: str, *facts: Fact) -> None:
    memory = await hub.opened(root)
    await memory.record(Compacted(frozenset(), facts))


async def _known(hub: Hub, root: str) -> set[str]:
    return {fact.id for fact in (await hub.ledger(root))[1].facts if not fact.is_stale}


@pytest.mark.promise("workspaces-never-mix", "never-falsely-fresh")
async def test_a_fact_goes_where_its_bytes_are_and_nowhere_else() -> None:
    async with _house().hub() as hub:
        await _learn(
            hub,
            HERE,
            _fact("same", CLIENT, APP[CLIENT.text]),
            _fact("three", CONFIG, APP[CONFIG.text]),
        )
        await _learn(hub, THERE, _fact("sixty", CONFIG, SIXTY))
        await hub.ask(THERE, a_question(), progress=silent)
        await hub.ask("/else", a_question(), progress=silent)
        assert await _known(hub, HERE) == {"same", "three"}
        assert await _known(hub, THERE) == {"same", "sixty"}
        assert await _known(hub, "/else") == set()


@pytest.mark.promise("nothing-lost")
async def test_what_a_work_tree_learned_outlives_it_and_what_was_forgotten_stays_away() -> None:
    house = _house()
    async with house.hub() as hub:
        await _learn(hub, THERE, _fact("learned", CLIENT, APP[CLIENT.text]))
        await hub.ask(THERE, a_question(), progress=silent)
        await _learn(hub, THERE, _fact("later", CLIENT, APP[CLIENT.text]))
        await hub.ask(THERE, a_question(), progress=silent)
        await hub.forget_fact(HERE, FactId("later"))
        await _learn(hub, THERE, _fact("last", CLIENT, APP[CLIENT.text]))
        await hub.ask(THERE, a_question(), progress=silent)
    del house.sandboxes[THERE]
    house.trees = InMemoryWorktrees()
    async with house.hub() as hub:
        assert await _known(hub, HERE) == {"learned", "last"}


async def test_a_main_work_tree_that_cannot_be_opened_harms_no_answer() -> None:
    house = _house()
    del house.sandboxes[HERE]
    async with house.hub() as hub:
        _, answer = await hub.ask(THERE, a_question(), progress=silent)
    assert "60" in answer.text
