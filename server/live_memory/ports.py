"""What the product needs from the world, on one page."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from live_memory.core.companion.chat import Abilities, ModelReply, ModelRequest, Payment
from live_memory.core.evidence.places import Candidates, Definition, Place, Terms
from live_memory.core.evidence.text_matches import Mentions
from live_memory.core.hosts.events import HostReport
from live_memory.core.notes.session_work import SessionRecord
from live_memory.core.reading.lookup import (
    History,
    HistoryQuery,
    Listing,
    Matches,
    NamePattern,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.observation import FileRead, ListedFile, Observation, Skipped
from live_memory.core.reading.redaction import KnownSignatures
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory, Restored
from live_memory.core.signals import Signal
from live_memory.core.values import (
    ContentHash,
    Instant,
    NoticedChanges,
    RelPath,
    StatSignature,
    WatchState,
    WorkspaceKey,
)

__all__ = [
    "Clock",
    "EvidenceIndex",
    "HostDialect",
    "LanguageModel",
    "Missed",
    "PaymentBook",
    "Sandbox",
    "SignalSink",
    "SnapshotStore",
    "Spool",
    "Watcher",
    "WorkspaceIdentity",
    "Workspaces",
    "Worktrees",
]


@dataclass(frozen=True, slots=True)
class WorkspaceIdentity:
    """A workspace's real root and the key that follows from it."""

    root: str
    key: WorkspaceKey


class Workspaces(Protocol):
    """Finds the workspace a folder belongs to, and opens it."""

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        """The git work tree around `cwd`, else the folder itself, by real path.

        Raises:
            InvalidRequest: not absolute, no folder, or not fit to be a workspace.
        """

    async def open(self, workspace: WorkspaceIdentity) -> "Sandbox":
        """Open the root for reading."""


class Sandbox(Protocol):
    """A read-only view of one workspace. Names are data: none leads outside the root.

    There is no method that writes or runs anything of the workspace's. A link is another spelling
    of a name: where the system can keep it beneath the root it is followed and the result carries
    the real name, elsewhere it is refused; listing shows each file once, under its real name.
    `.git` is never listed, read or searched.
    """

    async def is_same_root(self) -> bool:
        """Whether the root is still the folder that was opened."""

    async def list(self) -> Listing:
        """Regular files that git's ignore rules keep, with their signatures; no links followed."""

    async def omitted(self, listing: Listing) -> Sequence[Omitted]:
        """What the last listing leaves out that no rule ignores, and repositories below."""

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        """Open, hash and read the head of each name; one outcome a name, in the same order.

        The signature was taken before the first byte. Missing and outside look the same.
        """

    async def locate(self, paths: Sequence[str]) -> Sequence[RelPath | None]:
        """The name of each absolute path below the root; nothing for what lies elsewhere.

        Links on the way to a file's folder are followed; the file need not exist.
        """

    async def search(self, pattern: TextPattern) -> Matches:
        """Find lines in text files that `list` gives, or in the one file that `under` names.

        Names that are never read (`refusal_of_name`) are left out. What is matched, and cut
        at 500 characters, is the redacted text of the whole file.

        Raises:
            InvalidRequest: the expression or glob is malformed, or takes too long to match.
            OutsideWorkspace: `under` does not lead into the workspace.
            Unavailable: no program can be started.
        """

    async def mentions(self, texts: Sequence[str], *, among: Sequence[ListedFile]) -> Mentions:
        """How often each file holds each lower-case text, in any case: a hint what to read first.

        UTF-8 alone is known, and nothing is redacted.
        """

    async def find(self, pattern: NamePattern) -> Sequence[RelPath]:
        """Find names of regular files, in path order.

        Raises:
            InvalidRequest: the glob is malformed.
        """

    async def history(self, query: HistoryQuery) -> History:
        """Read git's history without the repository's own configuration.

        Raises:
            InvalidRequest: a revision is unknown.
            OutsideWorkspace: a path does not lead into the workspace.
        """

    async def aclose(self) -> None:
        """Let go of descriptors and private folders."""


class Worktrees(Protocol):
    """Knows the work trees of a repository."""

    async def holding(self, paths: Sequence[str], *, beside: str) -> Sequence[str | None]:
        """The real root of the other work tree of the repository at the root `beside`, or of the
        repository in one of them, that each absolute path lies in; nothing for a path in `beside`
        itself or anywhere else.

        A work tree must point back at the repository, so that no made-up path leads to a folder.
        """
        ...

    async def main(self, root: str) -> str | None:
        """The real root of the main work tree of the repository that `root` is a linked one of."""
        ...


class EvidenceIndex(Protocol):
    """Finds the places of a workspace that a question is about; derived and disposable."""

    async def known(self) -> KnownSignatures:
        """Every file that was offered, also without text; the very mapping until an update."""

    async def hashes(
        self, signatures: Mapping[RelPath, StatSignature]
    ) -> Mapping[RelPath, ContentHash]:
        """The hash of each of these files that has text and was read with this very signature."""

    async def unlearned(self) -> Collection[RelPath]:
        """The offered files whose words are not all in here."""

    async def update(
        self,
        observed: Sequence[Observation],
        *,
        textless: Mapping[RelPath, StatSignature],
        gone: Collection[RelPath],
    ) -> None:
        """Take in new versions, remember files without text, drop what is gone; all or nothing."""

    async def settle(self) -> bool:
        """A short step of what makes questions quick after updates; whether there is another."""

    async def search(self, terms: Terms, *, limit: int) -> Candidates:
        """Rank places for a question: at most `limit` files, and the best units in them."""

    async def definitions(self, name: str) -> Sequence[Definition]:
        """Where a name is defined; a qualified one (`Class.method`) by all of it if possible."""

    async def references(self, name: str) -> Sequence[Place]:
        """The lines of programs on which a name is used or imported."""

    async def outline(self, path: RelPath) -> Sequence[Definition]:
        """The definitions in a file, in order."""

    async def aclose(self) -> None:
        """Close the files on disk."""


class LanguageModel(Protocol):
    """A model at an endpoint; provider quirks end here."""

    @property
    def abilities(self) -> Abilities:
        """What is known of the model, including what its endpoint taught us."""

    def conversation(self) -> AbstractAsyncContextManager["LanguageModel"]:
        """A model for one question; what it holds for it, as a process, is gone at the end."""

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask once; `heard` gets text as it arrives, so that a deadline can keep what there is.

        What fails after text was heard is a reply that was `CUT`, so `heard` never gets the text
        of two attempts. Cancelling closes the connection. `lost` gets what began and is not given.

        Raises:
            ModelUnavailable: there is no usable reply; the subclass says what helps.
        """

    async def aclose(self) -> None:
        """Close connections."""


class SnapshotStore(Protocol):
    """Keeps memories: a snapshot now and then, and a journal of what came since. Only what was
    loaded takes records and saves. What fails raises `StoreUnavailable`.
    """

    async def load(self, key: WorkspaceKey) -> Restored:
        """What was kept; what cannot be read is set aside, or told and left alone."""

    async def is_readable(self, key: WorkspaceKey) -> bool:
        """Whether the system gives what is kept now; who would use it has to load it."""

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        """Add records: they survive a crash once this returns, or none comes before a save."""

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Replace the snapshot in one step, or leave it as it was.

        `taken` is called once the next journal has begun: what comes from then on is in that.
        """

    async def sessions(self, key: WorkspaceKey) -> Sequence[SessionRecord]:
        """What was noted of sessions, beside the memory; what cannot be read is set aside."""

    async def keep_sessions(self, key: WorkspaceKey, sessions: Sequence[SessionRecord]) -> None:
        """Keep what is noted of sessions, in place of what was."""

    async def tell_open(self, key: WorkspaceKey, until: Sequence[Instant]) -> None:
        """Keep until when each open handoff counts, where a session that begins looks for it."""

    async def rewrite(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Save, and remove all that was saved or written down before, also what was set aside.

        What is not in the memory that `taken` gives, or comes later, is in no file then.
        """

    async def release(self, key: WorkspaceKey) -> None:
        """Let go of a workspace's open files; it takes records again once it is loaded again."""

    async def forget(self, key: WorkspaceKey) -> None:
        """Remove everything that is kept for a workspace."""

    async def exchange(self, key: WorkspaceKey, *, kept: str, wanted: str) -> str:
        """Set a memory aside as that of repository `kept`, and take up that of `wanted`, if any.

        Says where it is; it takes records again once it is loaded again.
        """

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """The workspaces that have something saved, with their roots."""

    async def saved(self) -> Mapping[WorkspaceKey, Instant]:
        """When something was last written down of each workspace."""


class PaymentBook(Protocol):
    """Keeps what was paid lately, so that a restart does not begin the caps anew.

    What fails raises `StoreUnavailable`.
    """

    async def load(self, *, since: Instant) -> Sequence[Payment]:
        """What was paid since then."""
        ...

    async def add(self, payment: Payment) -> None:
        """Write down a payment."""
        ...


class HostDialect(Protocol):
    """Understands what a coding tool's hooks send."""

    def parse(self, payload: Mapping[str, object]) -> HostReport:
        """What one payload says; what is unknown or malformed says nothing, and never raises."""


@dataclass(frozen=True, slots=True)
class Missed:
    """An event that a hook could not deliver; `payload` is nothing where `dropped` were lost."""

    project: str
    payload: Mapping[str, object] | None
    dropped: int = 0


class Spool(Protocol):
    """Keeps what hooks wrote down while the server was away."""

    async def take(self) -> Sequence[Missed]:
        """All that was written down since, oldest first; each once, but again after a crash."""

    async def forget(self, root: str) -> None:
        """Remove what was written down of this folder and those below, also what was taken.

        Raises:
            StoreUnavailable: the disk does not let it.
        """


class Watcher(Protocol):
    """Notices that files of one workspace change: a hint, late or absent, and never proof."""

    @property
    def state(self) -> WatchState:
        """How much is watched now."""

    async def follow(self, folders: Sequence[str]) -> None:
        """Watch these folders alone, each without what is below it; `""` is the root.

        The first matter most where not all can be watched; a folder comes after the one above, so
        that neither being made is missed. Never raises: `state` says what fails. A folder that
        comes back is noticed by its name.
        """

    async def wait(self) -> None:
        """Wait until there is something to take."""

    def take(self) -> NoticedChanges:
        """What changed since the last time."""

    async def aclose(self) -> None:
        """Watch nothing any more."""


class Clock(Protocol):
    """Wall-clock time, for display."""

    def now(self) -> Instant:
        """The current time."""


class SignalSink(Protocol):
    """Takes what happened to logs, counters and the dashboard."""

    def emit(self, signal: Signal) -> None:
        """Note that something happened; never blocks and never raises."""
