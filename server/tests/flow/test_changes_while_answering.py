"""Files that change while a question is answered, on a real disk (S55)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.answer import Answer, CitationStatus
from live_memory.core.companion.chat import ModelReply, ModelRequest
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.flow.workspace import Workspace
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk
from tests.support.doubles.in_memory_sandbox import InMemoryWorktrees
from tests.support.doubles.in_memory_spool import InMemorySpool
from tests.support.doubles.scripted import Calls, Says, Scripted
from tests.support.memory import House, a_question
from tests.support.shown_lines import in_view

pytestmark = [pytest.mark.real("git"), pytest.mark.promise("never-falsely-fresh")]

CONFIG = RelPath("app/config.py")
OLD = b'"""Settings."""\n\nRETRY_LIMIT = 3\n'
NEW = OLD.replace(b"3", b"7")
CLAIM = "`RETRY_LIMIT` is 3 (app/config.py:3)."

Act = Callable[[], Awaitable[None]]


class Acting(Scripted):
    """Reads the file, lets something happen, and then says what it read."""

    def __init__(self, claim: str = CLAIM) -> None:
        read = Calls([("Read", {"path": CONFIG.text})])
        super().__init__(lambda request: Says([claim]) if _has_read(request) else read)
        self.act: Act | None = None

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """What happens, happens once, between its reading and its answer."""
        if self.act is not None and _has_read(request):
            act, self.act = self.act, None
            await act()
        return await super().complete(request, heard=heard, lost=lost)


def _has_read(request: ModelRequest) -> bool:
    return len(request.messages) > 1


@dataclass(frozen=True, slots=True)
class Scene:
    """A workspace on disk, its memory, and the way in for events."""

    root: Path
    hub: Hub
    reception: Reception
    model: Acting

    @property
    def config(self) -> Path:
        return self.root / CONFIG.text

    async def memory(self) -> Workspace:
        return await self.hub.opened(str(self.root))

    async def ask(self, text: str = "Where is RETRY_LIMIT set?") -> Answer:
        _, answer = await self.hub.ask(str(self.root), a_question(text), progress=silent)
        return answer

    async def hear(self, *payloads: tuple[str, Path]) -> None:
        """Events of tools, learned before this returns."""
        events = [
            {"hook_event_name": "PostToolUse", "cwd": str(self.root), "tool_name": name,
             "tool_input": {"file_path": str(path)}}
            for name, path in payloads
        ]  # fmt: skip
        await self.reception.take(events, project=str(self.root))
        with anyio.fail_after(20):
            await (await self.memory()).ingestor.caught_up()

    async def shows_what_is_there(self) -> bool:
        """Whether memory takes no bytes for current that are not on disk."""
        for path, shown in in_view((await self.memory()).window).items():
            file = self.root / path.text
            there = ContentHash.of(file.read_bytes()) if file.is_file() else None
            if shown.sha != there:
                return False
        return True


@asynccontextmanager
async def scene(root: Path, model: Acting) -> AsyncIterator[Scene]:
    async with opened_on_disk(root) as sandbox:
        house = House({str(root): sandbox}, model=model)
        async with house.hub() as hub:
            reception = Reception(
                ClaudeCode(),
                opened=hub.opened,
                spool=InMemorySpool(),
                worktrees=InMemoryWorktrees(),
            )
            yield Scene(root, hub, reception, model)


def make_root(folder: Path) -> Path:
    root = folder.resolve() / "ws"
    make_repository(root, [("start", {CONFIG.text: OLD, "app/client.py": b"import config\n"})])
    return root


def claims_the_old_value(answer: Answer) -> bool:
    """Whether what is no longer there is said as if it were."""
    statuses = [c.status for c in answer.citations if c.path == CONFIG]
    return "3 (app/config.py:3)." in answer.text and CitationStatus.VERIFIED in statuses


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


FATES: dict[str, Callable[[Path], object]] = {
    "edited": lambda file: file.write_bytes(NEW),
    "truncated": lambda file: file.write_bytes(b""),
    "deleted": Path.unlink,
    "renamed": lambda file: file.rename(file.with_name("moved.py")),
    "replaced by a folder": replace_by_folder,
}


@pytest.mark.parametrize("notified", ["never", "before the answer", "after the answer"])
@pytest.mark.parametrize("fate", FATES)
async def test_what_changes_after_it_was_read_is_never_said_to_be_there(
    tmp_path: Path, fate: str, notified: str
) -> None:
    root = make_root(tmp_path)
    async with scene(root, Acting()) as at:
        await at.hear(("Read", at.config))

        async def change() -> None:
            FATES[fate](at.config)
            if notified == "before the answer":
                await at.hear(("Edit", at.config))

        at.model.act = change
        first = await at.ask()
        assert not claims_the_old_value(first), first
        if notified == "after the answer":
            await at.hear(("Edit", at.config))
        if notified != "never":
            assert await at.shows_what_is_there()

        calls = len(at.model.requests)
        second = await at.ask()
        assert not claims_the_old_value(second), second
        assert len(at.model.requests) > calls  # the answer on old bytes was not given again
        assert await at.shows_what_is_there()


@pytest.mark.parametrize("is_notified", [True, False])
async def test_bytes_that_are_back_count_as_fresh(tmp_path: Path, *, is_notified: bool) -> None:
    root = make_root(tmp_path)
    async with scene(root, Acting()) as at:
        await at.hear(("Read", at.config))

        async def change_and_restore() -> None:
            for data in (NEW, OLD):
                at.config.write_bytes(data)
                if is_notified:
                    await at.hear(("Edit", at.config))

        at.model.act = change_and_restore
        answer = await at.ask()
        assert claims_the_old_value(answer)
        assert [c.status for c in answer.citations] == [CitationStatus.VERIFIED]
        assert await at.shows_what_is_there()
        assert (await at.hub.stats(str(root))).known_files == 1
        assert claims_the_old_value(await at.ask("What is RETRY_LIMIT?"))


@pytest.mark.parametrize("is_notified", [True, False])
async def test_a_checkout_of_five_hundred_files_leaves_no_old_one(
    tmp_path: Path, *, is_notified: bool
) -> None:
    root = tmp_path.resolve() / "ws"
    names = [f"m{n}/f{n}.py" for n in range(500)]

    def state(value: int, config: bytes) -> dict[str, bytes]:
        return {CONFIG.text: config} | dict.fromkeys(names, b"VALUE = %d\n" % value)

    make_repository(root, [("one", state(1, OLD)), ("two", state(2, NEW))])
    git(root, "branch", "-q", "new")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    async with scene(root, Acting()) as at:
        await at.hear(*(("Read", root / name) for name in (CONFIG.text, *names)))
        assert (await at.hub.stats(str(root))).known_files == 501

        async def checkout() -> None:
            git(root, "checkout", "-q", "new")
            if is_notified:
                await at.hear(*changed())

        def changed() -> Sequence[tuple[str, Path]]:
            return [("Edit", root / name) for name in names]

        at.model.act = checkout
        assert not claims_the_old_value(await at.ask())
        assert not claims_the_old_value(await at.ask())
        assert await at.shows_what_is_there()
        assert (await at.hub.stats(str(root))).known_files == 501
