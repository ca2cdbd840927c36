"""A question that comes before the index is built is answered from what it finds for itself."""

from collections.abc import Sequence

import anyio
import pytest

from live_memory.core.answer import Grounding
from live_memory.core.errors import StoreUnavailable
from live_memory.core.evidence.text_matches import Mentions
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import FileRead, ListedFile, Skipped
from live_memory.flow.jobs import silent
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import House, a_question

_RETRY = b"RETRY_LIMIT = 3\n\n\ndef retry(call):\n    return call(RETRY_LIMIT)\n"
_MANY = 300


class HeldSandbox(InMemorySandbox):
    """A large workspace whose batches are not read before `go_on` is set; little is at once."""

    def __init__(self, *, each: bytes = b"filler = 1\n", files: int = _MANY) -> None:
        super().__init__({f"part/f{n:04}.py": each for n in range(files)})
        self.put("zone/retry.py", _RETRY)
        self.go_on = anyio.Event()
        self.asked_for: list[str] = []

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        if len(names) > 50:
            await self.go_on.wait()
            self.asked_for += names
        return await super().read(names, max_bytes=max_bytes)


class BlindSandbox(HeldSandbox):
    """One whose search ends before it has seen everything."""

    async def mentions(self, texts: Sequence[str], *, among: Sequence[ListedFile]) -> Mentions:
        return Mentions({}, is_cut=True)


async def test_a_question_while_the_index_is_built_is_answered_from_what_it_is_about() -> None:
    sandbox = HeldSandbox()
    async with House({"/app": sandbox}).hub() as hub:
        with anyio.fail_after(10):
            _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert answer.grounding is Grounding.VERIFIED
        assert answer.citations[0].path.text == "zone/retry.py"
        assert answer.notice is None
        assert (await hub.stats("/app")).files_waiting == _MANY + 1
        sandbox.go_on.set()
        with anyio.fail_after(20):
            while (await hub.stats("/app")).files_waiting:
                await anyio.sleep(0.01)
        assert "zone/retry.py" not in sandbox.asked_for


async def test_a_file_written_while_the_index_is_built_is_found() -> None:
    sandbox = HeldSandbox()
    async with House({"/app": sandbox}).hub() as hub:
        with anyio.fail_after(10):
            await hub.ask("/app", a_question(), progress=silent)
            sandbox.put("zone/later.py", b"WRITTEN_LATER = 9\n")
            question = a_question("Where is WRITTEN_LATER set?")
            _, answer = await hub.ask("/app", question, progress=silent)
        assert answer.citations[0].path.text == "zone/later.py"


async def test_what_stands_in_no_file_is_denied_once_all_were_searched() -> None:
    async with House({"/app": HeldSandbox()}).hub() as hub:
        question = a_question("Where is NOWHERE_AT_ALL set?")
        with anyio.fail_after(10):
            _, answer = await hub.ask("/app", question, progress=silent)
    assert answer.notice is None
    assert answer.text.startswith("Not found in this workspace: `NOWHERE_AT_ALL`.")


async def test_what_was_not_looked_for_everywhere_is_not_denied() -> None:
    async with House({"/app": BlindSandbox()}).hub() as hub:
        with anyio.fail_after(10):
            question = a_question("Where is NOWHERE_AT_ALL set?")
            _, answer = await hub.ask("/app", question, progress=silent)
    assert answer.text == "Nothing was found in the part of this workspace that is known."
    assert answer.notice is not None
    assert "not all of the others were looked at" in answer.notice


async def test_what_more_files_hold_than_were_read_is_said_to_be_unread() -> None:
    async with House({"/app": HeldSandbox(each=b"RETRY_LIMIT = 1\n")}).hub() as hub:
        with anyio.fail_after(10):
            _, answer = await hub.ask("/app", a_question(), progress=silent)
    assert answer.notice is not None
    assert "40 of 301 files are known; 261 of the others may matter" in answer.notice


@pytest.mark.parametrize("words", ["RETRY_LIMIT", "FILLER"])
async def test_in_a_very_large_workspace_words_that_are_everywhere_do_not_hide_the_rare(
    words: str,
) -> None:
    sandbox = HeldSandbox(files=2_400)
    async with House({"/app": sandbox}).hub() as hub:
        question = a_question(f"Where is {words} set beside filler?")
        with anyio.fail_after(20):
            _, answer = await hub.ask("/app", question, progress=silent)
    found = {citation.path.text for citation in answer.citations}
    assert ("zone/retry.py" in found) == (words == "RETRY_LIMIT")
    assert found


class FailingSandbox(HeldSandbox):
    """One that can be listed only once."""

    def __init__(self) -> None:
        super().__init__()
        self._listed = False

    async def list(self) -> Listing:
        if self._listed:
            raise StoreUnavailable("the disk is on fire")
        self._listed = True
        return await super().list()


@pytest.mark.promise("always-something-true")
async def test_a_workspace_that_can_no_longer_be_listed_is_said_to_be_so() -> None:
    async with House({"/app": FailingSandbox()}).hub() as hub:
        with anyio.fail_after(10):
            await hub.ask("/app", a_question(), progress=silent)
            _, answer = await hub.ask("/app", a_question(), progress=silent)
    assert answer.notice == "The workspace could not be read again: the disk is on fire"
    assert answer.citations


async def test_the_index_is_begun_when_the_host_is_heard_of_first() -> None:
    sandbox = HeldSandbox()
    sandbox.go_on.set()
    async with House({"/app": sandbox}).hub() as hub:
        memory = await hub.opened("/app")
        await memory.hear([], events=1)
        with anyio.fail_after(20):
            while (await hub.stats("/app")).indexed_files < _MANY:
                await anyio.sleep(0.01)
