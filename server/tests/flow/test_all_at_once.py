"""Questions that read, edits, deletions and hook events on one workspace, all at once."""

import random
from collections.abc import Mapping
from functools import partial

import anyio
import pytest

from live_memory.core.companion.chat import ModelRequest, ToolResults
from live_memory.core.memory.window import FileGone, FileObserved, Window, current_hashes
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.jobs import silent
from tests.flow.test_companion import GOOD
from tests.flow.test_ingest import listening, tool
from tests.support.doubles.scripted import Calls, Says, Scripted, Turn
from tests.support.memory import a_question, app_house


@pytest.mark.promise("nothing-lost", "never-falsely-fresh")
@pytest.mark.parametrize("seed", range(5))
async def test_sixteen_questions_and_two_hundred_edits_lose_nothing(seed: int) -> None:
    """S53, with a window so small that it is compacted meanwhile.

    Every answer is kept, every hash existed, and the last bytes win.
    """
    dice = random.Random(seed)
    house = app_house()
    # Of an entry only what was asked and said counts. Sixteen answers alone are over the mark,
    # however far the model counts below our estimates.
    house.max_context_tokens = 160
    names = [f"app/n{n}.py" for n in range(10)]
    existed: dict[str, set[ContentHash]] = {name: set() for name in names}
    last: dict[str, bytes] = {}

    def rule(request: ModelRequest) -> Turn:
        if any(isinstance(message, ToolResults) for message in request.messages):
            return Says([GOOD], pause_s=0.01)
        return Calls([("Read", {"path": dice.choice(names)}), ("Read", {"path": "README.md"})])

    house.model = Scripted(rule)

    def write(name: str, text: str) -> None:
        last[name] = text.encode()
        house.sandbox.put(name, last[name])
        existed[name].add(ContentHash.of(last[name]))

    for name in names:
        write(name, f"{name} = 'start'\n")
    async with listening(house) as at:

        async def edit() -> None:
            for n in range(200):
                name = dice.choice(names)
                write(name, f"edit = {n}\n")
                await at.reception.take([tool("Edit", f"/app/{name}")], project="/app")
                await anyio.sleep(0.001)
            house.sandbox.remove("README.md")

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(edit)
                for n in range(16):
                    question = a_question(f"Where is RETRY_LIMIT set, {n}?")
                    tasks.start_soon(partial(at.hub.ask, "/app", question, progress=silent))
            memory = await at.memory()
            while memory.compactor.count < 1:
                await anyio.sleep(0.05)
            await at.hub.ask("/app", a_question("And now?"), progress=silent)
        window = memory.window
        _, kept = await at.hub.answers("/app")

    assert len(kept) == 17
    _assert_true(window, existed, last)


def _assert_true(
    window: Window, existed: Mapping[str, set[ContentHash]], last: Mapping[str, bytes]
) -> None:
    """Whether memory holds only what existed, and of each file what it is now."""
    for entry in window.entries:
        if isinstance(entry.content, FileObserved) and entry.content.path.text in existed:
            assert entry.content.sha in existed[entry.content.path.text]
    sources = (source for fact in window.ledger.facts for source in fact.sources)
    assert all(s.sha in existed.get(s.path.text, {s.sha}) for s in sources)
    now = current_hashes(window)
    seen = {RelPath(name) for name in existed} & now.keys()
    assert seen
    assert all(now[path] == ContentHash.of(last[path.text]) for path in seen)
    gone = [e.content for e in window.entries if isinstance(e.content, FileGone)]
    assert now.get(RelPath("README.md"), None) is None
    assert all(entry.path == RelPath("README.md") for entry in gone)
