"""What a sentence states that its source must hold: names, values, numbers, proper nouns.

What is read of a sentence is what the check of answers reads (`core/checking/claims`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from keyword import kwlist

from live_memory.core.checking.claims import Piece, PieceKind, pieces_of
from live_memory.core.checking.written import places_in
from live_memory.core.evidence.words import is_compound

__all__ = ["Stated", "stated", "without_places"]

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

    pieces: tuple[Piece, ...]
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
    """What a text states."""
    pieces = pieces_of(text)
    prose = _CODE.sub("` `", text)
    bare = text.replace("`", " ")
    return Stated(
        pieces=pieces,
        names=_texts(pieces, PieceKind.NAME),
        values=_texts(pieces, PieceKind.VALUE),
        quotes=_texts(pieces, PieceKind.QUOTE),
        settings=frozenset(
            (*((p.text, p.value) for p in pieces if p.kind is PieceKind.SETTING), *_given(text))
        ),
        numbers=frozenset(found.rstrip(".,") for found in _NUMBER.findall(prose)),
        proper=frozenset(_proper(prose)),
        codelike=frozenset(_codelike(prose)),
        addresses=frozenset(found.rstrip(".,;:!?)]") for found in _ADDRESS.findall(bare)),
    )


def _texts(pieces: Iterable[Piece], kind: PieceKind) -> frozenset[str]:
    return frozenset(piece.text for piece in pieces if piece.kind is kind)


def without_places(text: str) -> str:
    """The text without the places it cites itself: a fact has its sources beside it."""
    for place in reversed([p for p in places_in(text) if p.is_certain]):
        before, after = text[: place.offset].rstrip(" `"), text[place.end_offset :].lstrip("`")
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
