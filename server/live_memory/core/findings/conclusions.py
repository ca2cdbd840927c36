"""What becomes a finding of a text that an agent wrote: each sentence whose places hold.

Nothing of it is believed. Orders, plans, praise and talk to a person are no findings, and neither
is what our own answers said before.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from live_memory.core.answer import Citation, CitationStatus, Grounding
from live_memory.core.checking.citations import CheckedText, check, checked_sentences
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.checking.claims import ClaimPiece, ClaimPieceKind
from live_memory.core.compaction.fact_check import KnownFacts, fact_id
from live_memory.core.compaction.fact_wording import stated, statement, without_places
from live_memory.core.evidence.places import Place, RankedFileText
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.words import base_name, tokens_of_word, vocabulary, words_of
from live_memory.core.hosts.notices import Conclusion
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.memory.window import Concluded
from live_memory.core.values import ContentHash, Instant, RelPath

__all__ = ["findings_of", "lines_hash"]

# A text of 16,000 characters has some 150 sentences; the best are said early.
_MOST_FINDINGS = 40
# A row of a list that cites five places has so many characters.
_LONGEST = 800
_LIST_MARK = re.compile(r"^\s*(?:(?:[-*+>|#]+|\d{1,3}[.)])\s+)*")
_BOLD = re.compile(r"(`[^`]*`)|\*\*")
# What stands for a place that does not hold, and what of a sentence goes with it.
_GONE = "\0"
_WITHOUT = re.compile(
    r" ?[(\[](?:[`,;/ ]|and )*\0(?:[`,;/ \0]|and )*[)\]]|(?:[,;/]| and| at| in| see|:)? ?`?\0`?"
)
_TALK = re.compile(
    r"\b(?:I|I['’]\w+|[Ww]e|[Ww]e['’]\w+|[Oo]ur|us|[Mm]y|[Mm]e|[Ll]et['’]?s|TODO"
    r"|[Nn]ext steps?)\b(?!/O)"
    r"|\b(?:will|would|could|might) (?:need|want|have|be (?:better|good|safer|worth))\b"
    r"|^(?:Great|Good|Nice|Perfect|Excellent|Sure|Thanks|Sorry|Done|Yes|No)\b[,!.]"
    r"|^(?:Added|Changed|Fixed|Updated|Removed|Renamed|Moved|Refactored|Implemented|Created|Replaced"
    r"|Wrote|Ran|Deleted|Committed|Reverted|Plan|Proposal)\b"
)
# An answer of ours that is told again shares most runs of so many words with it.
_RUN, _ECHO = 4, 0.5


def findings_of(
    said: Conclusion,
    files: Mapping[RelPath, RankedFileText],
    ledger: Ledger,
    *,
    answers: Collection[str],
    now: Instant,
) -> Concluded:
    """Judge each sentence by the files that it cites, as they are now.

    `answers` are our own answers of late: what repeats one is dropped.
    """
    # What changed since it was written is no source of it.
    files = {path: f for path, f in files.items() if said.evidence.get(path, f.sha) == f.sha}
    sources = {path: SourceFile(path, f.lines, f.outline) for path, f in files.items()}
    echo = {run for answer in answers for run in _runs(answer)}
    whole = f"{said.session}\0{said.task}\0{said.text}".encode("utf-8", "surrogatepass")
    conclusion = hashlib.sha256(whole).hexdigest()[:16]
    # A past session tells later what it knew then; nobody knew it in the future.
    learned_at = now if said.said_at is None else min(now, said.said_at)
    facts: dict[FactId, Fact] = {}
    rejected = 0
    for sentence in checked_sentences(said.text, sources):
        text, held = _kept(sentence, sources)
        if text is None or _is_echo(text, echo):
            rejected += 1
            continue
        places = [
            Source(c.path, files[c.path].sha, c.start, c.end, lines_hash(files[c.path].lines, c))
            for c in held
        ]
        fact = Fact(
            id=fact_id(text, [source.path for source in places]),
            text=text,
            sources=tuple(dict.fromkeys(places)),
            author=said.author,
            learned_at=learned_at,
            questions=(said.task,) if said.task else (),
            session=said.session,
            conclusion=conclusion,
            novelty=_novelty(text, held, files),
        )
        facts.setdefault(fact.id, fact)
    known = KnownFacts(ledger, {path: file.sha for path, file in files.items()})
    kept = [fact for fact in facts.values() if known.is_new(fact)][:_MOST_FINDINGS]
    return Concluded(tuple(kept), rejected)


def lines_hash(lines: Sequence[str], place: Citation | Place) -> ContentHash:
    """The hash of the lines of a place."""
    return ContentHash.of("\n".join(lines[place.start - 1 : place.end]).encode())


def _kept(
    sentence: CheckedText, sources: Mapping[RelPath, SourceFile]
) -> tuple[str | None, Sequence[Citation]]:
    """The sentence as it is kept, if it is one that states something and holds."""
    held = [c for c in sentence.citations if c.status is CitationStatus.VERIFIED]
    text = sentence.text.replace(_GONE, "")
    for other in (c for c in sentence.citations if c.status is not CitationStatus.VERIFIED):
        text = re.sub(rf"{re.escape(str(other))}(?!\d|-\d)", _GONE, text)
    text = _WITHOUT.sub("", " ".join(text.split()))
    text = _LIST_MARK.sub("", _BOLD.sub(r"\1", text)).strip()
    bare = without_places(text)
    if not held or _TALK.search(bare):
        return None, ()
    if statement(bare, longest=_LONGEST) is None or not (said := stated(bare)).is_checkable:
        return None, ()
    lines = [line for c in held for line in sources[c.path].lines[c.start - 1 : c.end]]
    is_here = (
        all(any(address in line for line in lines) for address in said.addresses)
        and _are_known(said.proper, held, sources)
        and _are_names(said.pieces, sources.values())
        and check(text, sources).grounding is Grounding.VERIFIED  # also where it stands alone
    )
    return (text, held) if is_here else (None, ())


def _are_known(
    names: Collection[str], held: Sequence[Citation], sources: Mapping[RelPath, SourceFile]
) -> bool:
    """Whether what is written as a proper noun, as a product is, occurs in the files cited."""
    tokens = {token for n in names for part in words_of(n) for token in tokens_of_word(part)[:1]}
    files = [sources[path] for path in {citation.path for citation in held}]
    return all(any(t in file.where or t in file.name for file in files) for t in tokens)


def _are_names(pieces: Iterable[ClaimPiece], files: Collection[SourceFile]) -> bool:
    """Whether each name that is not said to be absent occurs in a file that the text cites."""
    names = (p for p in pieces if p.kind is ClaimPieceKind.NAME and not p.is_denied)
    return all(
        any(name in file.words or name in file.path.text for file in files)
        for name in (base_name(piece.text) for piece in names)
    )


def _novelty(text: str, held: Sequence[Citation], files: Mapping[RelPath, RankedFileText]) -> float:
    said = {word for word, _ in terms_of(without_places(text)).weights}
    lines = (line for c in held for line in files[c.path].lines[c.start - 1 : c.end])
    shown = vocabulary("\n".join((*lines, *(c.path.text for c in held))))
    return len(said - shown) / max(1, len(said))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = [word.lower() for word in words_of(without_places(text))]
    return zip(*(words[at:] for at in range(_RUN)), strict=False)


def _is_echo(text: str, echo: Collection[tuple[str, ...]]) -> bool:
    runs = [*_runs(text)] if echo else []
    return bool(runs) and sum(run in echo for run in runs) >= _ECHO * len(runs)
