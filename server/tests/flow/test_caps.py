"""Files at the cap and over it are whole or said to be cut, never cut silently (S33, C15)."""

import pytest

from live_memory.core.memory.window import FileObserved
from live_memory.flow.jobs import silent
from tests.flow.test_ingest import listening, tool
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.memory import House, a_question

# As the house's settings have it.
_CAP = 256 * 1024
_LINE = b"value_%06d = compute(%06d)\n"


def sized(size: int) -> bytes:
    """A module of exactly so many bytes, with the line that is asked about at its very end."""
    last = b"RETRY_LIMIT = 3\n"
    lines = b"".join(_LINE % (n, n) for n in range(size // len(_LINE % (1, 1))))
    body = lines[: size - len(last)]
    return body[: body.rindex(b"\n") + 1].ljust(size - len(last) - 1, b"#") + b"\n" + last


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_file_about_as_large_as_the_cap_is_learned_to_its_last_line(over: int) -> None:
    data = sized(_CAP + over)
    total = data.count(b"\n")
    house = House({"/app": InMemorySandbox({"a.py": data, "b.py": b"x = 1\n"})})
    async with listening(house) as at:
        await at.hear(tool("Read", "/app/a.py", offset=total, limit=1))
        (entry,) = (await at.memory()).window.entries
        assert isinstance(entry.content, FileObserved)
        assert (entry.content.start, entry.content.total) == (total, total)


@pytest.mark.parametrize("over", [0, 1])
async def test_what_lies_beyond_the_cap_is_found_and_said_not_to_be_learned(over: int) -> None:
    house = House({"/app": InMemorySandbox({"a.py": sized(_CAP + over)})})
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(), progress=silent)
        assert "RETRY_LIMIT = 3" in answer.text
        assert ("up to which this file is learned" in answer.text) is (over == 1)
        assert answer.citations
