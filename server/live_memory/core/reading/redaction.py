"""Raw text to `RedactedText`: the only place that makes one.

It reduces what leaks and cannot promise that nothing does: a secret of an unknown shape under an
unknown name stays.
"""

import hashlib
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile, RedactedText, refusal_of_name
from live_memory.core.reading.secret_context import SecretSpan, folded, placed, sites
from live_memory.core.reading.secret_names import assigned, given, long_words
from live_memory.core.reading.secret_shapes import key_blocks, shaped
from live_memory.core.values import RelPath, StatSignature

__all__ = [
    "DEFAULT",
    "Comparison",
    "HiddenFiles",
    "KnownSignatures",
    "Redacted",
    "Redactor",
    "compare",
    "compile_glob",
    "is_version_control",
    "redact",
]

_LINE_END = re.compile(r"\r\n|\r|\n")
# Shorter exact strings ("dummy", a local server's "x") would take ordinary words out of code.
_SHORTEST_EXACT = 8
# BLAKE2s takes a key of at most 32 bytes.
_LONGEST_KEY = 32
# Taking one secret out can lay another bare at its edge. Real text is done after one round and
# one look; the bound keeps text that was made for this linear.
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """The redacted text and how many secrets were replaced."""

    text: RedactedText
    count: int


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes secrets out of text, and the `exact` strings, which are our own credentials.

    With a `key`, which has to be secret, a placeholder carries a short keyed hash: equal secrets
    stay equal and cannot be guessed. Without one it names the kind only.
    """

    key: bytes = field(default=b"", repr=False)
    exact: tuple[str, ...] = field(default=(), repr=False)

    def redact(self, text: str) -> Redacted:
        """Replace secrets by typed placeholders, keeping the line count; idempotent."""
        return self._rounds(text, self._found)

    def redact_forms(self, text: str) -> Redacted:
        """Replace what is a secret by its own form alone, whatever is said beside it; idempotent.

        For text that cites: `password: auth.py:12` would lose its place to the other rules.
        """
        return self._rounds(text, self._forms)

    def _rounds(self, text: str, find: Callable[[str], Sequence[SecretSpan]]) -> Redacted:
        count = rounds = 0
        while rounds < _ROUNDS and (spans := find(text)):
            text = self._replaced(text, spans)
            count += len(spans)
            rounds += 1
        return Redacted(RedactedText(text), count)

    def _found(self, text: str) -> Sequence[SecretSpan]:
        lower = folded(text)
        by_place = (*assigned(text, lower), *placed(text, lower), *given(text))
        return _merged([*self._forms_in(text, lower), *by_place])

    def _forms(self, text: str) -> Sequence[SecretSpan]:
        return _merged(self._forms_in(text, folded(text)))

    def _forms_in(self, text: str, lower: str) -> list[SecretSpan]:
        by_form = (*key_blocks(text), *long_words(text), *shaped(text, lower))
        return [*self._exact(text), *by_form]

    def _exact(self, text: str) -> Iterator[SecretSpan]:
        for secret in self.exact:
            if len(secret) >= _SHORTEST_EXACT and not _LINE_END.search(secret):
                for at in sites(text, secret):
                    yield SecretSpan(at, at + len(secret), "credential")

    def _replaced(self, text: str, spans: Sequence[SecretSpan]) -> str:
        parts: list[str] = []
        done = 0
        for start, end, kind in spans:
            secret = text[start:end]
            parts += text[done:start], self._placeholder(secret, kind)
            # Every line keeps a word: an empty one at the very end would be no line.
            parts += (f"{end_of_line}<redacted>" for end_of_line in _LINE_END.findall(secret))
            done = end
        return "".join([*parts, text[done:]])

    def _placeholder(self, secret: str, kind: str) -> str:
        if not self.key:
            return f"<redacted:{kind}>"
        raw = secret.encode("utf-8", "surrogatepass")
        key = self.key[:_LONGEST_KEY]
        return f"<redacted:{kind}:{hashlib.blake2s(raw, key=key, digest_size=4).hexdigest()}>"


DEFAULT = Redactor()


def redact(text: str) -> Redacted:
    """Replace secrets by placeholders that name their kind, keeping the line count; idempotent."""
    return DEFAULT.redact(text)


def _merged(spans: Sequence[SecretSpan]) -> Sequence[SecretSpan]:
    """In order and without overlaps; what overlaps becomes one, named by its first and longest."""
    merged: list[SecretSpan] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


class KnownSignatures(Mapping[RelPath, StatSignature]):
    """Every file that an index was offered, with its signature then."""

    @property
    @abstractmethod
    def revision(self) -> int:
        """How many updates led to this; an index that starts anew begins at none."""


class _Nothing(KnownSignatures):
    """What an index knows before it was offered anything."""

    revision = 0

    def __getitem__(self, path: RelPath) -> StatSignature:
        raise KeyError(path)

    def __iter__(self) -> Iterator[RelPath]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """A listing beside what is known: what is to be read again, and what is to be dropped.

    `files` are those whose names allow that they are read; `signatures` are of all.
    """

    listing: Listing = field(default_factory=lambda: Listing(()))
    known: KnownSignatures = field(default_factory=_Nothing)
    signatures: Mapping[RelPath, StatSignature] = field(default_factory=dict)
    files: int = 0
    changed: Sequence[ListedFile] = ()
    gone: frozenset[RelPath] = frozenset()

    @property
    def is_settled(self) -> bool:
        """Whether what is known is what is there."""
        return not self.changed and not self.gone

    def settled(self, known: KnownSignatures, *, updates: int) -> "Comparison":
        """After all that differed was taken in by so many updates, which left this known.

        Where anything else came of it, as by a question that took in newer bytes meanwhile, there
        is nothing that the next comparison may build on.
        """
        only_ours = known.revision - self.known.revision == updates and len(known) == self.files
        if only_ours and all(known.get(f.path) == f.signature for f in self.changed):
            return replace(self, known=known, changed=(), gone=frozenset())
        return Comparison()


def compare(listing: Listing, known: KnownSignatures, *, before: Comparison) -> Comparison:
    """Compare a listing with what is known; `before` is the last comparison that was settled.

    Every signature is compared. A value that is the very one of the last comparison is equal to it,
    which makes the usual case, where little changed, cost little.
    """
    if known is not before.known:
        return _whole(listing, known)
    if listing is before.listing:
        return before
    old, fresh = before.signatures, _fresh(listing, before)
    new = [file for file in fresh if file.path not in old]
    is_complete = len(listing.files) - len(new) == len(old)
    if new or not is_complete:
        signatures = {file.path: file.signature for file in listing.files}
    else:
        signatures = {**old, **{file.path: file.signature for file in fresh}}
    left = [] if is_complete else [path for path in old if path not in signatures]
    gone = frozenset(path for path in left if path in known)
    readable = [file for file in fresh if refusal_of_name(file.path) is None]
    added = sum(file.path not in old for file in readable)
    removed = sum(refusal_of_name(path) is None for path in left)
    files = before.files + added - removed
    changed = [file for file in readable if known.get(file.path) != file.signature]
    return Comparison(listing, known, signatures, files, changed, gone)


def _fresh(listing: Listing, before: Comparison) -> Sequence[ListedFile]:
    """Every file that is not as it was, and maybe some that are."""
    if len(listing.files) == len(before.listing.files):
        places = zip(listing.files, before.listing.files, strict=True)
        return [file for file, then in places if file is not then]
    old = before.signatures
    return [file for file in listing.files if old.get(file.path) is not file.signature]


def _whole(listing: Listing, known: KnownSignatures) -> Comparison:
    files = [file for file in listing.files if refusal_of_name(file.path) is None]
    signatures = {file.path: file.signature for file in listing.files}
    if not known:
        return Comparison(listing, known, signatures, len(files), files)
    changed = [file for file in files if known.get(file.path) != file.signature]
    gone = frozenset(known.keys() - {file.path for file in files})
    return Comparison(listing, known, signatures, len(files), changed, gone)


_LONGEST = 1_000
# `{a,b}{c,d}` multiplies; more alternatives than this are no glob a person would write.
_MOST_ALTERNATIVES = 64
_ANY = None  # stands for `**`

_Segment = Callable[[str], object] | None


def compile_glob(glob: str) -> Callable[[RelPath], bool]:
    """Make a predicate over names.

    `*` and `?` match within a name, `**` across folders, and there are `[...]` and `{a,b}`. A glob
    without `/` is looked for in every folder; one with `/` starts at the workspace's root. Matching
    takes time in proportion to glob and name, whatever they are.

    Raises:
        InvalidRequest: the glob is malformed or points out of the workspace.
    """
    if not glob.strip() or len(glob) > _LONGEST or "\0" in glob:
        raise InvalidRequest(f"a glob has 1 to {_LONGEST:,} characters and no NUL")
    if glob.startswith(("/", "~", "!")):
        raise InvalidRequest("a glob starts at the workspace's root: leave out a leading /, ~ or !")
    ways = [_segments(each) for each in _alternatives(glob)]
    return lambda path: any(_is_match(way, path.text.split("/")) for way in ways)


def _alternatives(glob: str) -> Sequence[str]:
    """Write `{a,b}` out, innermost braces first, left to right."""
    done: list[str] = []
    waiting = [glob]
    while waiting:
        if len(waiting) + len(done) > _MOST_ALTERNATIVES:
            raise InvalidRequest(f"a glob has at most {_MOST_ALTERNATIVES} alternatives")
        text = waiting.pop()
        close = _bare(text, "}")
        opening = _bare(text[:close], "{", last=True) if close >= 0 else -1
        if opening < 0:
            if close >= 0 or _bare(text, "{") >= 0:
                raise InvalidRequest("the braces of the glob do not match: write [{] for a brace")
            done.append(text)
            continue
        before, choices, after = text[:opening], text[opening + 1 : close], text[close + 1 :]
        waiting += [before + choice + after for choice in choices.split(",")]
    return done


def _bare(text: str, wanted: str, *, last: bool = False) -> int:
    """Where a character stands outside `[...]`, or -1."""
    found, at = -1, 0
    while at < len(text):
        if text[at] == "[":
            at = _set_end(text, at)
        elif text[at] == wanted:
            found = at
            if not last:
                break
        at += 1
    return found


def _set_end(text: str, start: int) -> int:
    """The position of the `]` that closes the set at `start`."""
    first = start + 2 if text[start + 1 : start + 2] in ("!", "^") else start + 1
    end = text.find("]", first + 1)
    if end < 0 or "/" in text[start:end]:
        raise InvalidRequest("the glob opens a set that it does not close: write [[] for a bracket")
    return end


def _segments(glob: str) -> list[_Segment]:
    parts = [part for part in glob.split("/") if part != "."] or [""]
    if ".." in parts:
        raise InvalidRequest("a glob names files below the workspace's root: leave out '..'")
    if len(parts) == 1:
        parts.insert(0, "**")
    if parts[-1] == "":
        parts[-1] = "**"
    segments: list[_Segment] = []
    for part in parts:
        if part == "**":
            if not segments or segments[-1] is not _ANY:
                segments.append(_ANY)
        elif part:
            segments.append(re.compile(_name_expression(part), re.DOTALL).fullmatch)
    if segments[-1] is _ANY:
        segments.append(re.compile(".*", re.DOTALL).fullmatch)
    return segments


def _name_expression(part: str) -> str:
    """One name as an expression that never backtracks: each star takes the earliest fit."""
    pieces, at = [""], 0
    while at < len(part):
        char = part[at]
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            end = _set_end(part, at)
            pieces[-1] += _set_expression(part[at + 1 : end])
            at = end
        else:
            pieces[-1] += re.escape(char)
        at += 1
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return (
        first
        + "".join(f"(?>.*?{piece})" for piece in middle if piece)
        + (f".*{last}" if last else ".*")
    )


def _set_expression(body: str) -> str:
    negation = "^" if body[0] in "!^" else ""
    members = body[len(negation) :]
    escaped = "".join(
        char if char == "-" or char.isalnum() else re.escape(char) for char in members
    )
    try:
        re.compile(f"[{negation}{escaped}]")
    except re.error as problem:
        raise InvalidRequest(f"bad set in the glob: [{body}]") from problem
    return f"[{negation}{escaped}]"


def _is_match(way: Sequence[_Segment], names: Sequence[str]) -> bool:
    """Compare name by name; the last `**` takes one more folder each time the rest does not fit."""
    at = here = 0
    star = mark = -1
    while here < len(names):
        segment = way[at] if at < len(way) else None
        if segment is not None and segment(names[here]):
            at += 1
            here += 1
        elif segment is _ANY and at < len(way):
            star, mark = at, here
            at += 1
        elif star >= 0:
            mark += 1
            at, here = star + 1, mark
        else:
            return False
    return at == len(way)


# No secret is shorter, none has no digit, and nearly no name of a person's choice is like that.
_DIGIT = re.compile(r"\d")
_LONG_WORD = re.compile(r"(?<![\w+=-])(?=[\w+=-]{16})[\w+=-]*\d|[=:@]")
# Names whose outcome stays at hand: a listing asks for each folder once a file.
_MOST_KNOWN = 10_000
# Where version control keeps its data, and credentials among its settings.
_VERSION_CONTROL = frozenset({".git", ".jj", ".hg", ".sl", ".bzr", ".pijul", ".svn"})
# Longer chains of folders exist only to make us slow.
_DEEPEST = 128


class HiddenFiles:
    """What of one workspace a person keeps out by globs, our own folder where it lies in it, and
    names that are secrets themselves: names are kept on disk and sent to models.

    A glob that names a folder is about everything in it, as in an ignore file.
    """

    def __init__(self, globs: Sequence[str] = (), *, private: Sequence[RelPath] = ()) -> None:
        """Take the globs, and the names of folders of ours.

        Raises:
            InvalidRequest: a glob is malformed.
        """
        self._globs = [*map(_compiled, globs)]
        # Systems that do not tell upper from lower case spell one folder in many ways.
        self._private = tuple(f"{folder.text}/".casefold() for folder in private)
        self._known: dict[str, bool] = {}

    def covers(self, path: RelPath) -> bool:
        """Whether this real name, or a folder on the way to it, is kept out."""
        if self._private and f"{path.text}/".casefold().startswith(self._private):
            return True
        if _LONG_WORD.search(path.text) and self._once(path.text, _is_secret):
            return True
        if not self._globs:
            return False
        parts = path.text.split("/")
        if len(parts) > _DEEPEST:
            return True
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        is_in_one = any(self._once(folder, self._is_named) for folder in folders)
        return is_in_one or self._is_named(path.text)

    def _once(self, name: str, judge: Callable[[str], bool]) -> bool:
        """What is found out of a name, from what is at hand if possible."""
        key = f"{judge.__name__}:{name}"
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = judge(name)
        return known

    def _is_named(self, name: str) -> bool:
        path = RelPath(name)
        return any(is_match(path) for is_match in self._globs)


def is_version_control(name: str) -> bool:
    """Whether a name in lower case lies in a folder that version control keeps its data in."""
    return not _VERSION_CONTROL.isdisjoint(name.split("/"))


def _is_secret(name: str) -> bool:
    return _DIGIT.search(name) is not None and redact(name).count > 0


def _compiled(glob: str) -> Callable[[RelPath], bool]:
    try:
        return compile_glob(glob)
    except InvalidRequest as problem:
        raise InvalidRequest(f"{glob[:100]!r}: {problem}") from problem
