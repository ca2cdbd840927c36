"""A small workspace in memory, and what is found out about it, for tests of findings."""

from collections.abc import Mapping, Sequence

from live_memory.core.checking.citations import named_paths
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import RankedFileText
from live_memory.core.findings.conclusions import findings_of
from live_memory.core.hosts.notices import LONGEST_CONCLUSION, Conclusion
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.memory.window import Concluded
from live_memory.core.values import Author, ContentHash, Instant, RelPath

__all__ = ["CLIENT", "LIMITS", "TOLD_AT", "concluded", "facts_of", "files_of"]

TOLD_AT = Instant(1_000_000.0)
LIMITS = """\
# Limits of the service.
MAX_ROOMS = 7
MAX_USERS = 40

def check_users(users):
    if users > MAX_USERS:
        raise TooMany(users)
    return users

def open_room(rooms):
    return rooms < MAX_ROOMS
"""
CLIENT = """\
from limits import check_users

class Client:
    def join(self, users):
        return check_users(users)

    def leave(self, users):
        self.closed = True
        notify_owner(users)
"""


def files_of(**texts: str) -> Mapping[RelPath, RankedFileText]:
    """The workspace as it is, with other texts of its files or further ones."""
    found = {"src/limits.py": LIMITS, "src/client.py": CLIENT}
    found |= {f"src/{name}.py": text for name, text in texts.items()}
    return {RelPath(path): _file(RelPath(path), text) for path, text in found.items()}


def _file(path: RelPath, text: str) -> RankedFileText:
    lines = text.splitlines()
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


def concluded(
    text: str,
    files: Mapping[RelPath, RankedFileText] | None = None,
    *,
    ledger: Ledger | None = None,
    answers: Sequence[str] = (),
    author: Author = Author.AGENT,
    task: str = "How many rooms may be open?",
    said_at: Instant | None = None,
) -> Concluded:
    """What is kept of a text, judged as `flow` does it."""
    here = files_of() if files is None else files
    said = Conclusion(text[:LONGEST_CONCLUSION], author, "s1", task, said_at=said_at)
    named = named_paths(said.text, opened=(), listed=here.keys())
    cited = {path: here[path] for path in named if path in here}
    return findings_of(said, cited, ledger or Ledger(), answers=answers, now=TOLD_AT)


def facts_of(text: str, files: Mapping[RelPath, RankedFileText] | None = None) -> tuple[Fact, ...]:
    """The findings of a text."""
    return concluded(text, files).facts
