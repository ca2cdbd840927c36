"""Whether a sentence is a statement about code, and not an order, advice, or talk.

What stands in a file is no excuse: a file can say anything, and what becomes a fact is later read
by other programs as known to be true. So a doubtful sentence is lost, and nothing else with it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from keyword import kwlist

from live_memory.core.checking.claims import ClaimPiece, ClaimPieceKind, pieces_of, places_in
from live_memory.core.evidence.words import is_compound
from live_memory.core.reading.observation import clean

__all__ = ["Stated", "stated", "statement", "without_places"]

# With these a sentence begins only when it wants something done.
_STRONG = """
accept act always append approve assume avoid become begin browse chmod click clone comply
consider convince curl decrypt deploy disable discard disclose disregard don't download drop
email enable encourage enter erase escalate exec execute exfiltrate explain fetch follow forget
forward go grant hide ignore inform inject insist install instruct introduce invoke keep kill
launch leak let make memorize mention navigate never obey open override paste perform please
prefer pretend prevent proceed provide push put rebuild recommend redeploy refer reject reload
remember remind remove rename repeat replace reply rerun respond restart reveal rewrite roleplay
run say see send share skip steal sudo suggest summarize take tell terminate transmit treat
trust try uninstall unlock upgrade upload use verify visit wget wipe
"""
# These may as well be nouns (`Request objects`): they order when something is named after them.
_WEAK = """
add answer apply ask attach authorize be bypass call cancel cat change check clear commit
complete confirm contact continue copy create delete do dump echo edit emit encrypt ensure eval
evaluate export find flag force format generate get give import include insert list load log
look mail mark merge modify move note notify omit output pipe post prepend print publish pull
query quote raise read release report request reset return rm save search select set sign start
state stop submit test touch trigger turn type update validate write
"""
_OBJECT = (
    r"(?:a|an|the|this|that|these|those|any|all|every|each|it|them|no|only|everything|anything|"
    r"nothing|to|from|with|as|at|`|~|/)"
)
_STRONG_WORDS, _WEAK_WORDS = _STRONG.split(), _WEAK.split()
ORDER = (
    rf"(?:(?:{'|'.join(_STRONG_WORDS)})(?=\s+[\w`~/<$-])"
    rf"|(?:{'|'.join(_WEAK_WORDS)})(?=\s+{_OBJECT}(?!\w)))"
)
ANY_ORDER = rf"(?:{'|'.join((*_STRONG_WORDS, *_WEAK_WORDS))})\b"

# Fewer characters state nothing; more are several facts.
_SHORTEST, _LONGEST = 12, 400
_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARKS = re.compile(r"[`*\"“”‘’]|(?<!\w)'|'(?!\w)")
_MARKED = re.compile(r"(?<!`)`[^`\s](?:[^`]*[^`\s])?`(?!`)")
_CODE_RUN = re.compile(r"`[^`]+`(?:\s+`[^`]+`)*")
_PROSE = re.compile(r"(?:\b[A-Za-z']+ +){2}[A-Za-z']+")
_BEGINNING = r"(?:^|[.!?;:,(–—]\s*|\s-+\s*)"
_PEOPLE = (
    r"(?:developer|programmer|engineer|maintainer|reviewer|human|person|people|everyone|anyone|"
    r"assistant|agent|companion|claude|chatgpt|gpt|llm|ai)s?"
)
_READERS = rf"(?:{_PEOPLE}|(?:user|reader|model|caller)s?)"
_OBLIGED = (
    r"(?:must|ha(?:s|ve) to|needs? to|to|(?:is|are) (?:to|(?:asked|told|expected|required|supposed"
    r"|advised|instructed) to))"
)

# Orders, read with names in code left out, so that a function called `run` is none.
_ORDERED = (
    rf"{_BEGINNING}{ORDER}",
    rf"\b(?:and|or|then|but|always|never)\s+{ORDER}",
    rf"{_BEGINNING}`\s+(?:a|an|the|this|that|these|those|any|all|every|each|it|them)\b",
    r"(?:^|[.!?;]\s*)(?:system|assistant|user|human|developer|tool)\s*:",
    rf"\b{_READERS}\s+(?:\w+ly\s+)?{_OBLIGED}\s+{ANY_ORDER}",
    r"\b(?:user|developer|caller|agent)s?\s+(?:asked|wanted|said|wondered)\b",
)
_ROLES = (
    r"(?-i:\b(?:SYSTEM|System|ASSISTANT|Assistant|USER|HUMAN|Human|DEVELOPER|Developer|TOOL"
    r"|INSTRUCTIONS?|Instructions?|IMPORTANT|ATTENTION|PROMPT)\s*[:>\]])"
)
_CHAT_MARKS = (
    r"<\|?/?\s*(?:system|assistant|user|human|instructions?|prompt|tool_\w+|function_\w+"
    r"|im_\w+|endoftext)\b[^>]*>|\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|#{2,} ?\w|={3,} \w"
)
_PERSONS = r"\b(?:you|your|yours|yourself|you['’]\w+|as an ai|my instructions|i am|i['’]m)\b"
_ADVICE = (
    r"\b(?:please|kindly|make sure|be sure|don['’]t|remember to|beware|should|ought|shall"
    r"|recommend(?:ed|s)?|advis(?:e|ed|able)|had better|it is best)\b"
)
_TOLD = (
    r"\b(?:tell|ask|instruct|order|urge|advise|remind|inform|warn|convince)\w*\s+"
    r"(?:(?:the|a|an|any|every|each|all|other|coding|ai)\s+)*"
    rf"(?:{_PEOPLE}\b|{_READERS}\s+to\b)"
)
_FORGOTTEN = (
    r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b.{0,40}"
    r"\b(?:instruction|prompt|rule|above|previous|prior|guideline)s?\b"
)
_ANSWERS = (
    r"\b(?:correct|right|only|final) answer\b|\banswers?\s+(?:to|for)\s+(?:every|any|all|this)\b"
)
# A download into a shell, whoever wrote it.
_SHELL = (
    r"\bpip(?:e|es|ed|ing)\b.{0,40}\b(?:ba|z|da|k|fi|c)?sh(?:ell)?\b"
    r"|\|\s*(?:sudo\s+)?(?:\S*/)?(?:(?:ba|z|da|k|fi|c)?sh|python\d?|perl|ruby|node)\b"
    r"|\b(?:curl|wget|iwr|irm)\b.*(?:\||<\(|\$\()|\b(?:eval|iex)\b.*\b(?:curl|wget|iwr)\b"
)
_TALK = r"\b(?:this|our) (?:conversation|chat|talk|transcript)\b"
# Read as it stands, whatever is marked as code.
_NEVER = (_ROLES, _CHAT_MARKS, _PERSONS, _ADVICE, _TOLD, _FORGOTTEN, _ANSWERS, _SHELL, _TALK)
_IS_ORDERED = re.compile("|".join(_ORDERED), re.IGNORECASE)
_IS_REFUSED = re.compile("|".join(_NEVER), re.IGNORECASE)


@lru_cache(maxsize=4_096)  # each is looked at where it is proposed, where it is admitted, and again
def statement(text: str, *, longest: int = _LONGEST) -> str | None:
    """The sentence on one line, if it is one and states something; else nothing."""
    said = clean(text).strip()
    if len(said) > 2 * longest or _LINE_ENDS.search(said):
        return None
    said = " ".join(said.split())
    # What cannot be seen, as marks of direction and joiners, could hide a second meaning.
    if not _SHORTEST <= len(said) <= longest or not said.isprintable():
        return None
    # Marks that are nested or left open would hide which words are code.
    if "`" in _MARKED.sub("", said):
        return None
    # With a mark for each name in code; words that are marked only to look like code stay.
    masked = _CODE_RUN.sub(_mask, said)
    masked = _MARKS.sub(lambda mark: mark.group() if mark.group() == "`" else "", masked)
    if _IS_ORDERED.search(masked) or _IS_REFUSED.search(_MARKS.sub("", said)):
        return None
    return said


def _mask(run: re.Match[str]) -> str:
    bare = run.group().replace("`", "")
    is_name = run.group().count("`") == 2 and not _PROSE.search(bare)
    return "`" if is_name else bare


_CODE = re.compile(r"`([^`]+)`")
_NUMBER = re.compile(r"(?<![\w.-])-?(?:0[xXbBoO][0-9A-Fa-f_]+|\d[\d_.,]*\d|\d)")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_SMALL.split())} | {
    "twenty": "20",
    "thirty": "30",
    "sixty": "60",
    "hundred": "100",
}
_LITERAL = (
    r"\"[^\"]{1,80}\"|'[^']{1,80}'|0[xXbBoO][0-9A-Fa-f_]+|-?\d[\d_.]*\d|-?\d|"
    r"[Tt]rue|[Ff]alse|None|null|nil|undefined"
)
_LITERAL_OR_WORD = rf"{_LITERAL}|(?:{'|'.join(_NUMBER_WORDS)})(?=[.,;)]|\Z)"
# `LIMIT` is 3, LIMIT defaults to `3`, a `LIMIT` of 3, the constant `LIMIT` has the value 3.
_GIVEN = re.compile(
    r"(?P<mark>`?)\b(?:[\w$]{1,80}+\.){0,9}(?P<name>[A-Za-z_$][\w$]{0,80}+)(?P=mark),?"
    r"\s(?:(?:by default|currently|always|here|now|value|setting|constant|that|which|limit|"
    r"count|number)\s)*"
    r"(?:is|are|was|equals|has|have|holds|defaults|stands|set|means|of|=|==|:=?)\s(?:(?:set|equal|to|"
    r"at|by|default|the|a|an|value|of|exactly|currently|always|now|number|string|boolean|limited)\s)*"
    rf"(?P<code>`?)(?P<value>{_LITERAL_OR_WORD})(?P=code)(?![\w%])(?!\.\d)"
)
_CONDITION = re.compile(r"\b(?:if|when|whenever|unless|while|until|whether|where)\b[^,;.:]*$")
_PROPER = re.compile(r"(?<![\w.`])[A-Z][\w-]*\w")
_START = re.compile(r"(?:^|[.!?:]\s+)[\"'(]*$")
_CODELIKE = re.compile(r"[~$@\\|<>=&%{}\[\]]|\w[.:]{1,2}\w|/\S*[/.]|(?<!\w)/\w|--\w")
_NOT_CODE = re.compile(r"(?i)e\.g|i\.e|etc|a\.k\.a|->|=>|<=|>=|==|!=|\d+%|[<>=&|]")
_ADDRESS = re.compile(r"\w{1,20}://[^\s`\"'<>]+|[\w.+-]{1,64}@[\w-]{1,255}\.\w+|~/\S+")
# Products that are written small too; those that are English words besides are left out.
_PRODUCTS = """
apache aws azure bigquery boto3 cassandra celery cloudflare cloudwatch couchdb django docker
dynamodb elasticsearch etcd fastapi firebase firestore gcp github gitlab grafana graphql grpc
gunicorn hadoop heroku jenkins jwt kafka keycloak kibana kinesis kubernetes ldap mariadb
memcached minio mongodb mongo mqtt mysql nats neo4j netlify nginx numpy oauth okta openai
opensearch openssl pandas postgres postgresql protobuf pytorch rabbitmq redis rocksdb s3
sagemaker splunk sqlalchemy sqlite sqs supabase tensorflow terraform twilio vercel zookeeper
"""
_KNOWN_PRODUCTS = frozenset(_PRODUCTS.split())
_SAY_NOTHING = frozenset({*kwlist, "self", "this", "cls"})


@dataclass(frozen=True, slots=True)
class Stated:
    """All that a text states, over its sentences.

    `settings` are names with the value they are said to have, `numbers` those of the prose,
    `proper` what is written as a proper noun or is one, `codelike` unmarked words that only code
    writes, and `addresses` what leads somewhere else.
    """

    pieces: tuple[ClaimPiece, ...]
    names: frozenset[str]
    values: frozenset[str]
    quotes: frozenset[str]
    settings: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    proper: frozenset[str]
    codelike: frozenset[str]
    addresses: frozenset[str]

    @property
    def is_checkable(self) -> bool:
        """Whether it says anything that not every source holds."""
        return bool(self.names - _SAY_NOTHING or self.values or self.quotes or self.settings)


@lru_cache(maxsize=4_096)
def stated(text: str) -> Stated:
    """What a text states.

    What is read of a sentence is what the check of answers reads (`core/checking/claims`).
    """
    pieces = pieces_of(text)
    prose = _CODE.sub("` `", text)
    bare = text.replace("`", " ")
    return Stated(
        pieces=pieces,
        names=_texts(pieces, ClaimPieceKind.NAME),
        values=_texts(pieces, ClaimPieceKind.VALUE),
        quotes=_texts(pieces, ClaimPieceKind.QUOTE),
        settings=frozenset(
            (
                *((p.text, p.value) for p in pieces if p.kind is ClaimPieceKind.SETTING),
                *_given(text),
            )
        ),
        numbers=frozenset(found.rstrip(".,") for found in _NUMBER.findall(prose)),
        proper=frozenset(_proper(prose)),
        codelike=frozenset(_codelike(prose)),
        addresses=frozenset(found.rstrip(".,;:!?)]") for found in _ADDRESS.findall(bare)),
    )


def _texts(pieces: Iterable[ClaimPiece], kind: ClaimPieceKind) -> frozenset[str]:
    return frozenset(piece.text for piece in pieces if piece.kind is kind)


def without_places(text: str) -> str:
    """The text without the places it cites itself: a fact has its sources beside it."""
    for place in reversed([p for p in places_in(text) if p.is_certain]):
        before, after = text[: place.offset], text[place.end_offset :]
        if before.endswith("`") and after.startswith("`"):
            before, after = before[:-1], after[1:]
        before = before.rstrip()
        if before.endswith(("(", "[")) and after.startswith((")", "]")):
            before, after = before[:-1].rstrip(), after[1:]
        text = f"{before}{after}" if after[:1] in (".", ",", ";", "") else f"{before} {after}"
    return text


def _given(text: str) -> Iterator[tuple[str, str]]:
    """Names with their values, where that is stated and no condition."""
    for found in _GIVEN.finditer(text):
        name = found["name"]
        # A plain word is no name: "keys set to `None`".
        is_name = found["mark"] or is_compound(name) or name.isupper()
        if is_name and not _CONDITION.search(text[: found.start()]):
            yield name, _NUMBER_WORDS.get(found["value"], found["value"])


def _proper(prose: str) -> Iterator[str]:
    for found in _PROPER.finditer(prose):
        word = found.group()
        has_capital_inside = any(letter.isupper() for letter in word[1:])
        if has_capital_inside or not _START.search(prose[: found.start()]):
            yield word
    for word in re.findall(r"\w+", prose):
        if word.lower() in _KNOWN_PRODUCTS:
            yield word


def _codelike(prose: str) -> Iterator[str]:
    for token in prose.split():
        word = token.strip(".,;:!?()\"'`")
        if _CODELIKE.search(word) and not _NOT_CODE.fullmatch(word):
            yield word
