"""What the agent edited lately, and only that."""

from live_memory.core.memory.learning import edited_lately
from live_memory.core.memory.window import FileChanged, FileObserved, MemoryEvent
from live_memory.core.values import ContentHash, Instant, Origin, RelPath
from tests.support.strategies import fold

DAY_S = 24 * 3600.0
NOW = Instant(100 * DAY_S)


def _seen(name: str, origin: Origin, *, days_ago: float = 0.0) -> FileObserved:
    at = Instant(NOW - days_ago * DAY_S)
    return FileObserved(RelPath(name), ContentHash.of(b""), 1, 1, 1, origin, at)


def _edited(*events: MemoryEvent) -> set[str]:
    return {path.text for path in edited_lately(fold([*events]), NOW)}


def test_what_was_read_or_changed_by_somebody_else_is_not_what_the_agent_edited() -> None:
    others = [origin for origin in Origin if origin is not Origin.EDIT]
    looks = [_seen(origin.value, origin) for origin in others]
    changed = FileChanged(RelPath("c.py"), ContentHash.of(b""), NOW)
    assert _edited(_seen("a.py", Origin.EDIT), *looks, changed) == {"a.py"}


def test_what_was_edited_weeks_ago_is_not_lately() -> None:
    old, new = _seen("old", Origin.EDIT, days_ago=8), _seen("new", Origin.EDIT, days_ago=6)
    assert _edited(old, new) == {"new"}
    assert _edited(old) == _edited() == set()


def test_the_last_twenty_files_count_however_often_each_was_edited() -> None:
    events = [_seen(f"{n % 30}.py", Origin.EDIT) for n in range(90)]
    assert _edited(*events) == {f"{n}.py" for n in range(10, 30)}
