"""Secrets that can be told by their shape: known prefixes, key blocks, URLs, headers.

Every search is linear: a literal is found first, and what is matched there is possessive, bounded,
or consumed. No match but a key block crosses a line end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from live_memory.core.reading.lookalikes import is_marked, is_reference, is_wordy, names_a_secret

__all__ = ["SHAPES", "Shape", "Span", "folded", "key_blocks", "shaped", "sites"]


class Span(NamedTuple):
    """Where a secret stands and what kind it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of secret: literals that announce it, and the pattern that begins with one of them.

    The group `v` is the secret, where it is not the whole match.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


def _prefixed(kind: str, literals: str, rest: str) -> Shape:
    names = tuple(literals.split())
    starts = "|".join(map(re.escape, names))
    return Shape(kind, names, re.compile(rf"(?<![A-Za-z0-9_-])(?:{starts}){rest}"))


# The issuers' published formats; lengths are lower bounds, so that a longer later form still fits.
SHAPES = (
    _prefixed("anthropic-key", "sk-ant-", r"[\w-]{16,}+"),
    _prefixed("openai-key", "sk-", r"[\w-]{20,}+"),
    _prefixed("aws-key-id", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}+"),
    _prefixed("github-token", "github_pat_", r"\w{22,}+"),
    _prefixed("gitlab-token", "glpat- gldt- glrt- glptt- glft- glsoat- glcbt-", r"[\w.-]{20,}+"),
    _prefixed("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[\w.-]{10,}+"),
    _prefixed("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{16,}+"),
    _prefixed("google-key", "AIza", r"[\w-]{30,}+"),
    _prefixed("google-key", "GOCSPX- ya29.", r"[\w.-]{20,}+"),
    _prefixed("npm-token", "npm_", r"[A-Za-z0-9]{30,}+"),
    _prefixed("pypi-token", "pypi-", r"[\w-]{40,}+"),
    _prefixed("hugging-face-token", "hf_", r"[A-Za-z0-9]{30,}+"),
    _prefixed("sendgrid-key", "SG.", r"[\w-]{16,}+\.[\w-]{16,}+"),
    _prefixed("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{40,}+"),
    _prefixed("databricks-token", "dapi", r"[a-f0-9]{32}"),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32}"),
    _prefixed("vault-token", "hvs. hvb.", r"[\w-]{20,}+"),
    _prefixed("docker-token", "dckr_pat_", r"[\w-]{20,}+"),
    _prefixed("grafana-token", "glsa_ glc_", r"[\w+/-]{30,}+"),
    _prefixed("model-key", "gsk_ xai- pplx- r8_ nvapi-", r"[\w-]{30,}+"),
    _prefixed("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    _prefixed("atlassian-token", "ATATT3", r"[\w=-]{50,}+"),
    _prefixed("linear-key", "lin_api_", r"[A-Za-z0-9]{30,}+"),
    _prefixed("mailgun-key", "key-", r"[0-9a-f]{32}(?![\w-])"),
    Shape("telegram-token", (":AA",), re.compile(r"(?<=\d{8}):AA[\w-]{30,}+")),
    Shape(
        "slack-webhook",
        ("hooks.slack.com/services/",),
        re.compile(r"hooks\.slack\.com/services/(?P<v>[\w/]{20,}+)"),
    ),
    # Group by group possessive: an endless first part fails at once instead of shrinking.
    Shape("jwt", ("eyJ",), re.compile(r"(?<![\w-])eyJ[\w-]{6,}+\.eyJ[\w-]{6,}+\.[\w-]{8,}+")),
    Shape(
        "azure-key",
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"\w+Key=(?P<v>[A-Za-z0-9+/]{32,}+={0,2})"),
    ),
    Shape(
        "azure-signature",
        ("?sig=", "&sig="),
        re.compile(r"[?&]sig=(?P<v>[A-Za-z0-9%+/]{40,}+={0,2})"),
    ),
    # The secret half of a pair, as key lists have it: `AKIA…:secret`, `AKIA…,secret`.
    Shape(
        "aws-secret",
        ("AKIA", "ASIA"),
        re.compile(r"A[KS]IA[A-Z0-9]{16}[\s,:;|\"']{1,5}(?P<v>[A-Za-z0-9+/]{40})(?![\w+/])"),
    ),
)

# Literals that begin alike are looked for together: every search costs half a millisecond of each
# megabyte, whatever it finds. Shorter beginnings are found too often to gain anything.
_BEGINNINGS = ("gh", "gl", "hv", "shp", "xox")


def _grouped(shapes: Sequence[Shape]) -> Mapping[str, Sequence[tuple[str, Shape]]]:
    groups: dict[str, list[tuple[str, Shape]]] = {}
    for shape in shapes:
        for literal in shape.literals:
            beginning = next((b for b in _BEGINNINGS if literal.startswith(b)), literal)
            groups.setdefault(beginning, []).append((literal, shape))
    return groups


_GROUPS = _grouped(SHAPES)

_URL = re.compile(r"://[^\s:/@\"'<>]{0,128}:(?P<v>[^\s/\"'<>]{1,256})@(?=[\w\[.-])")
# As documentation writes it: `user:pass@`, `user:PASSWORD@`.
_URL_DUMMY = re.compile(r"(?i:pass|password|passwd|pwd|secret|token|x+)|[*.]+|[A-Z_]{3,}")
_HEADER = re.compile(
    r"authorization\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:=>|[:=,])[ \t]{0,8}[a-z]?\\{0,3}[\"'`]?"
    r"(?:(?:bearer|basic|token|apikey|digest|key)[ \t]{1,8})?(?P<v>[\w.~+/-]{6,}+={0,2})(?![({\[])",
    re.IGNORECASE,
)
_BEARER = re.compile(r"bearer[ \t]{1,8}(?P<v>[\w.~+/-]{16,}+={0,2})(?![({\[])", re.IGNORECASE)

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# Between the marks of a real block stand base64, armour headers, and what a string literal or a
# comment adds to each line; program text between two marks has brackets, `_` or ` = `.
_BODY = re.compile(r"[A-Za-z0-9+/=\s\\\"',:.|>#*-]*+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}+")
# A block whose end is missing ends with its last line of base64.
_OPEN_BODY = re.compile(
    r"(?:\s*+[A-Z][\w-]*+: [^\r\n]*+)*+(?:(?:\\[rn]|[\s\"'+,#*>|])*+[A-Za-z0-9+/]{16,}+={0,2})++"
)


def folded(text: str) -> str:
    """Lower case with every position kept: only the dotted capital I would grow."""
    return text.replace("\u0130", "I").lower()


def sites(text: str, literal: str) -> Iterator[int]:
    """Where a literal stands, without overlaps."""
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def shaped(text: str, lower: str) -> Iterator[Span]:
    """Secrets with a known shape; `lower` is the folded text."""
    for beginning, group in _GROUPS.items():
        yield from _matches(text, beginning, group)
    for at in sites(text, "://"):
        match = _URL.match(text, at)
        if match and not _is_harmless_in_url(match["v"]):
            yield Span(*match.span("v"), "url-password")
    for literal, pattern in (("authorization", _HEADER), ("bearer", _BEARER)):
        for at in sites(lower, literal):
            match = pattern.match(text, at)
            if match and not _is_harmless_header(match["v"]):
                yield Span(*match.span("v"), "authorization-header")


def key_blocks(text: str) -> Iterator[Span]:
    """Private keys between their marks, or from the first mark on where the last is missing."""
    begins = [match for at in sites(text, "-----BEGIN ") if (match := _BEGIN.match(text, at))]
    limits = [*(match.start() for match in begins[1:]), len(text)]
    for begin, limit in zip(begins, limits, strict=False):
        end = _END.search(text, begin.end(), limit)
        if end and _is_key_body(text[begin.end() : end.start()]):
            yield Span(begin.start(), end.end(), "private-key")
        elif not end and (rest := _OPEN_BODY.match(text, begin.end(), limit)):
            yield Span(begin.start(), rest.end(), "private-key")


def _matches(text: str, beginning: str, group: Sequence[tuple[str, Shape]]) -> Iterator[Span]:
    literals = tuple(literal for literal, _ in group)
    done = [0] * len(group)  # what a pattern has matched once it does not look at again
    for at in sites(text, beginning):
        if not text.startswith(literals, at):
            continue
        for number, (literal, shape) in enumerate(group):
            if at < done[number] or not text.startswith(literal, at):
                continue
            match = shape.pattern.match(text, at)
            if match:
                done[number] = match.end()
                secret = match[shape.pattern.groups]
                if not is_marked(secret) and not is_wordy(secret, digits=0):
                    yield Span(*match.span(shape.pattern.groups), shape.kind)


def _is_harmless_in_url(value: str) -> bool:
    return is_marked(value) or is_reference(value) or _URL_DUMMY.fullmatch(value) is not None


def _is_harmless_header(value: str) -> bool:
    if is_marked(value) or is_reference(value):
        return True
    return is_wordy(value, digits=4) and (len(value) < 12 or names_a_secret(value))


def _is_key_body(body: str) -> bool:
    return (
        _BODY.fullmatch(body) is not None
        and _BASE64.search(body) is not None
        and not is_marked(body)
    )
