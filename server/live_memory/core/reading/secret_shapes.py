"""Secrets that can be told by their shape in a text: key blocks, addresses, headers.

Every search is linear: a literal is found first, and what is matched there is possessive or
bounded. No match but a key block crosses a line end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from live_memory.core.reading.secret_context import (
    SecretSpan,
    decoded,
    is_marked,
    is_random,
    is_reference,
    is_wordy,
    names_a_secret,
    sites,
)

__all__ = ["AFTER", "AFTER_ENDS", "HEAD", "HEADS", "Form", "key_blocks", "shaped"]

# The user may be empty or an e-mail address; a password may hold any sign.
_URL = re.compile(
    r"://[^\s:/\"'<>\[\]]{0,128}+:(?P<v>[^\s\"'<>@]{1,256}+(?:@[^\s\"'<>@/]{1,64}+(?=@))?)@(?=[\w\[.-])"
)
_TOKEN_URL = re.compile(r"://(?P<v>[^\s:/@\"'<>]{8,256}+)(?::x-oauth-basic|:)?@(?=[\w\[.-])")
# `8080/path@2x.png` is a port and a path.
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_SLASH = re.compile(r"[/?#@]")
_HOST = re.compile(r"[\w-]{1,63}(?:[./:]|\Z)|localhost")
# As documentation writes it: `user:pass@`, `user:PASSWORD@`.
_URL_DUMMY = re.compile(r"(?i:pass|x+|x-oauth-basic)|[*.]+|[A-Z_]{3,}|\[\w+\]|.{1,3}")
# Without a scheme before: Go's `user:password@tcp(…)`, Oracle's `thin:user/password@`.
_DRIVER = re.compile(r"(?<![\w.-])[\w.-]{1,64}:(?P<v>[^\s:\"'`<>]{1,128})\Z")
_ORACLE = re.compile(r"thin:[\w.-]{1,64}/(?P<v>[^\s\"'@]{1,128})@")
_HEADER = re.compile(
    r"authorization\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:=>|[:=,])[ \t]{0,8}[a-z]?\\{0,3}[\"'`]?"
    r"(?:[a-z][a-z0-9-]{1,30}[ \t]{1,8})?(?P<v>[\w.~+/:-]{6,4000}+={0,2})(?![({\[])",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"authorization.{1,400}?(?:signature|response)=\"?(?P<v>[A-Za-z0-9+/]{32,128}+=?)", re.I
)
_BEARER = re.compile(r"bearer[ \t]{1,8}(?P<v>[\w.~+/-]{16,4000}+={0,2})(?![({\[])", re.IGNORECASE)
_HOOK = re.compile(
    r"(?:hooks?|webhooks?|webhookb2)(?:\.[a-z0-9.-]{2,40})?/(?P<v>[\w./@+-]{20,300}+)",
    re.IGNORECASE,
)
_AZURE_KEY = re.compile(r"Key=(?P<v>[A-Za-z0-9+/]{32,128}+={0,2})")
_AZURE_SIGNATURE = re.compile(r"sig=(?P<v>[A-Za-z0-9%+/]{40,128}+={0,2})")
_JWK_VALUE = re.compile(r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,8}:\s{0,8}\"(?P<v>[\w-]{16,1400}+)\"")
_MOST_JWK = 4_000

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# Between the marks of a real block stand base64, armour headers, and what a string literal or a
# comment adds to each line; program text between two marks has brackets, `_` or ` = `.
_BODY = re.compile(r"[A-Za-z0-9+/=\s\\\"',:.|>#*-]*+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}+")
# A block whose end is missing ends with its last line of base64.
_OPEN_BODY = re.compile(
    r"(?:\s*+[A-Z][\w-]*+: [^\r\n]*+)*+(?:(?:\\[rn]|[\s\"'+,#*>|])*+[A-Za-z0-9+/]{16,}+={0,2})++"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,4}(?:\r?\n[A-Za-z0-9+/]{1,80}+={0,2}){1,200}+")


def shaped(text: str, lower: str) -> Iterator[SecretSpan]:
    """Secrets with a known shape; `lower` is the folded text."""
    yield from _in_urls(text)
    for literal, pattern in (("Key=", _AZURE_KEY), ("sig=", _AZURE_SIGNATURE)):
        for at in sites(text, literal):
            match = pattern.match(text, at)
            if match and not is_marked(match["v"]):
                yield SecretSpan(*match.span("v"), "azure-key")
    for literal, patterns in (("authorization", (_HEADER, _SIGNED)), ("bearer", (_BEARER,))):
        for at in sites(lower, literal):
            for pattern in patterns:
                match = pattern.match(text, at)
                if match and not _is_harmless_header(match["v"]):
                    yield SecretSpan(*match.span("v"), "authorization-header")
    yield from _hooks(text, lower)
    yield from _private_jwks(text)


def _hooks(text: str, lower: str) -> Iterator[SecretSpan]:
    done = 0
    for at in sites(lower, "hook"):
        match = _HOOK.match(text, at) if at >= done else None
        if match:
            done = match.end()
            if _is_capability(match["v"]):
                yield SecretSpan(*match.span("v"), "webhook")


def _private_jwks(text: str) -> Iterator[SecretSpan]:
    done = 0
    for at in sites(text, '"kty"'):
        if at < done:
            continue
        start = max(text.rfind("{", max(0, at - _MOST_JWK), at), done)
        end = text.find("}", at, at + _MOST_JWK)
        done = end if end > 0 else at + _MOST_JWK
        for match in _JWK_VALUE.finditer(text, start, done):
            yield SecretSpan(*match.span("v"), "private-key")


def key_blocks(text: str) -> Iterator[SecretSpan]:
    """Private keys between their marks, or from the first mark on where the last is missing."""
    places = sorted(
        {at - (text[at - 1 : at] == "-") for at in sites(text, "---- BEGIN ")}
        | {*sites(text, "-----BEGIN ")}
    )
    begins = [match for at in places if (match := _BEGIN.match(text, at))]
    limits = [*(match.start() for match in begins[1:]), len(text)]
    for begin, limit in zip(begins, limits, strict=False):
        end = _END.search(text, begin.end(), limit)
        if end and _is_key_body(text[begin.end() : end.start()]):
            yield SecretSpan(begin.start(), end.end(), "private-key")
        elif not end and (rest := _OPEN_BODY.match(text, begin.end(), limit)):
            yield SecretSpan(begin.start(), rest.end(), "private-key")
    for at in sites(text, "Private-Lines: "):
        if lines := _PUTTY.match(text, at):
            yield SecretSpan(at, lines.end(), "private-key")


def _in_urls(text: str) -> Iterator[SecretSpan]:
    for at in sites(text, "://"):
        match = _URL.match(text, at)
        if match and not _is_path(match):
            if not _is_harmless_in_url(match["v"]):
                yield SecretSpan(*match.span("v"), "url-password")
            continue
        match = _TOKEN_URL.match(text, at)
        if match and _is_capability(match["v"]):
            yield SecretSpan(*match.span("v"), "url-token")
    for driver in ("@tcp(", "@unix(", "@cloudsql("):
        for at in sites(text, driver):
            match = _DRIVER.search(text, max(0, at - 200), at)
            if match and not _is_harmless_in_url(match["v"]):
                yield SecretSpan(*match.span("v"), "url-password")
    for at in sites(text, "thin:"):
        match = _ORACLE.match(text, at)
        if match and not _is_harmless_in_url(match["v"]):
            yield SecretSpan(*match.span("v"), "url-password")


def _is_path(match: re.Match[str]) -> bool:
    """Whether a path stands where a password may, as in `ssh://git@host:owner/name@v1`."""
    value, text = match["v"], match.string
    if _PORT.match(value):
        return True
    if not _SLASH.search(value):
        return False
    is_host = _HOST.match(text, match.end()) is not None
    return "@" in text[match.start() : match.start("v")] or is_wordy(value, digits=4) or not is_host


def _is_capability(value: str) -> bool:
    """Whether who knows this part of an address may do something."""
    if is_marked(value) or is_reference(value) or is_wordy(value, digits=4):
        return False
    parts = [part for part in value.split("/") if len(part) >= 16]
    return any(map(is_random, parts or [value])) or sum(map(str.isdigit, value)) > 7


def _is_harmless_in_url(value: str) -> bool:
    is_name = is_wordy(value, digits=0) and names_a_secret(value)
    is_dummy = is_name or _URL_DUMMY.fullmatch(value) is not None
    return is_dummy or is_marked(value) or is_reference(value)


def _is_harmless_header(value: str) -> bool:
    if pair := decoded(value):
        return _is_harmless_in_url(pair.partition(":")[2] or pair)
    return is_marked(value) or is_reference(value) or is_wordy(value, digits=4)


def _is_key_body(body: str) -> bool:
    return (
        _BODY.fullmatch(body) is not None
        and _BASE64.search(body) is not None
        and not is_marked(body)
    )


class Form(NamedTuple):
    """What announces a secret, its kind, and the pattern of the rest.

    Where the start `is_common`, as `key-` is, the rest has to be random. The forms are facts of the
    issuers' own documentation, of GitHub's page "Supported secret scanning patterns" and of the
    public rule lists of secret scanners. Lengths are lower bounds, so that a longer later form
    still fits.
    """

    start: str
    kind: str
    rest: re.Pattern[str]
    is_common: bool = False


# How many of which characters follow at least: `w` also `_` and `-`, `d` also `.`, `b` base64,
# `a` letters and digits, `A` capitals and digits, `h` hexadecimal. `=` after the number: no more;
# `~` before all: the start is a common word.
_CLASSES = {
    "w": r"[\w-]", "d": r"[\w.-]", "b": r"[\w+/=-]", "a": "[A-Za-z0-9]", "A": "[A-Z0-9]",
    "h": "[A-Fa-f0-9]",
}  # fmt: skip
# No key is longer, and what a pattern looks at from each word is bounded.
_LONGEST = 1_000
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_BY_START = """
anthropic-key w16 sk-ant-
openai-key ~w20 sk- sess-
aws-key-id A16= AKIA ASIA ABIA ACCA
aws-key b60 ABSK bedrock-api-key-
github-token a30 ghp_ gho_ ghu_ ghs_ ghr_
github-token w22 github_pat_
gitlab-token d20 glpat- gldt- glrt- glrtr- glptt- glft- glsoat- glcbt- glagent- glimt- glffct-
gitlab-token d20 gloas- glwt- GR1348941
slack-token d10 xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-
stripe-key a16 sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_
stripe-key b16 whsec_
payment-key w24 sk_org_ duffel_live_ duffel_test_ shippo_live_ shippo_test_ FLWSECK- CHKTEST-
payment-key w14 rzp_live_ rzp_test_ FLWSECK_TEST-
payment-key w22 sq0csp- sq0atp- sq0idb- EAAA EAAl pdl_live_ pdl_sdbx_
payment-key a50 EZAK EZTK
google-key w30 AIza
google-key w20 GOCSPX-
npm-token a30 npm_
pypi-token w40 pypi-
package-token h40 rubygems_
package-token ~a32 cio oy2 CLOJARS_ packagist_
hugging-face-token a30 hf_ api_org_
digitalocean-token h40 dop_v1_ doo_v1_ dor_v1_
databricks-token h32 dapi dkea dose dsapi
shopify-token h32 shpat_ shpca_ shppa_ shpss_ shptka_ shpit_
docker-token w20 dckr_pat_ dckr_oat_
grafana-token b30 glsa_ glc_ eyJrIjoi
model-key w20 gsk_ xai- pplx- r8_ nvapi- csk- tgp_v1_ pcsk_ lsv2_pt_ lsv2_sk_ tvly- phx_ phs_ bfl_
model-key ~w20 fw_ fc- fal_ jina_ ctx7sk- rpa_ cpk_ voy- pa- wsk- key_ sk_ ak-
age-key A50 AGE-SECRET-KEY-1
atlassian-token b50 ATATT3 ATCTT3
atlassian-token ~b24 ATBB BBDC- ATCV
linear-key a30 lin_api_ lin_oauth_ lin_wh_
mailgun-key ~h32 key- pubkey- api- private-
mail-key w30 xkeysib- xsmtpsib-
mail-key ~w24 re_ em_ api_live_
notion-token ~a30 secret_ ntn_
figma-token w30 figd_ figr_ figu_
postman-key w40 PMAK- PMAT-
hosting-token w30 fo1_ nfp_ vcp_ vci_ vca_ vcr_ vck_ rnd_ HRKU- sbp_ sb_secret_
hosting-token b30 fm1r_ fm1a_ fm2_ cfat_ cfut_ cfk_ napi_ ddp_ ddw_ akab-
database-token d24 pscale_tkn_ pscale_pw_ pscale_oauth_ mdb_sa_sk_
database-token ~w18 AVNS_ fnA xau_ upstash_ neon_ turso_
monitoring-key w20 NRAK- NRAL- NRII- NRJS- NRRA- hcaik_ hcbik_ hcxik_ hcxmk_ hcamk_ hcalk_
monitoring-key b30 sntrys_ sntryu_ sntrya_ sntryi_
monitoring-key ~w30 squ_ sqp_ sqa_ ddapi_ ddapp_ rootly_ lp_ sgp_ slk_ waka_ snyk_
cloud-key ~a16 LTAI AKID SCW AQVN JDC_
ci-token w20 CCIPAT_ CCIPRJ_ bkua_ bkct_ bkaj_ tskey- pnu_ pnb_ tfp_ rdme_
ci-token ~w26 API- pul- ico- AKCp cmVmd nx_ infp_ drn_
ci-token w16 sm_aat_ sm_pat_ sm_sat_ p8e- fio-u- tk-us- s-s4t2ud- s-s4t2af- CFPAT- CFPMT-
chat-token ~b40 dG9rO
payment-key ~b80 AQE
chat-token ~w50 EAAC EAAG EAAM EAAJ EAAB EAAD IGQV os_v2_app_ os_v2_org_
private-key b60 MHcCAQEEI MIGHAgEAMBMG MC4CAQAwBQYDK2 MIGkAgEBBDA
double-jwt b60 ZXlK
one-password b60 ops_eyJ
live-key ~a30 live_ test_ prod_ access_ sandbox_
""".strip()
_BY_START_EXACTLY = {
    "airtable-token": ("pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    "one-password-key": ("A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}"),
    "launchdarkly-key": ("sdk- mob- api- rel-", _UUID),
    "hubspot-token": ("pat-na1- pat-na2- pat-na3- pat-eu1- pat-ap1-", _UUID),
    "plaid-token": (
        "access-sandbox- access-production- access-development- public-production-",
        _UUID,
    ),
    "stytch-secret": ("secret-test- secret-live-", r"[\w-]{30,100}+={0,2}"),
    "twilio-key": (
        " ".join(f"SK{digit}" for digit in "0123456789abcdef"),
        r"[0-9a-f]{31}(?![A-Za-z0-9])",
    ),
    "twitter-token": ("AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9]{2,60}%[\w%]{20,200}+"),
    "private-key": (
        "MII",
        (
            r"[A-Za-z0-9+/]{3,6}IBA[AD](?:KC|NB|BM|AN)[A-Za-z0-9+/]{40,4000}+={0,2}"
            r"(?:\s{1,8}+[A-Za-z0-9+/]{16,100}+={0,2}){0,60}+"
        ),
    ),
}

# What stands before a long word, with a sign between: `hvs.` before `CAESI…`.
_BY_END = """
sendgrid-key w16\\.w16 SG.
vault-token w20 hvs. hvb. hvr.
vault-token ~a24= s. b. r.
google-key d20 ya29.
google-key w40 1//
doppler-token a40 dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.
doppler-token a40 dp.st.dev. dp.st.prd. dp.st.stg.
dynatrace-token A24\\.A60 dt0c01. dt0s01. dt0s02. dt0s06. dt0s08. dt0e01.
harness-token ~w22\\.a24\\.a20 pat. sat.
mapbox-token ~w20\\.w20 sk. tk.
terraform-token w60 .atlasv1.
snyk-token d40 snyk_uat. snyk_sat.
openshift-token w40 sha256~
pagerduty-key w20 pdus+ pdeu+
braintree-token a16\\$h32 access_token$production$ access_token$sandbox$
yandex-token w40 t1.
amazon-token w40 amzn.mws. amzn1.oa2-cs.v1.
dropbox-token ~w60 sl. sl.u.
cloudflare-key 0-h24-h60 v1.
zoho-token h32\\.h32 1000.
mail-key w60 mlsn. MS.
""".strip()


def _repeated(least: str, *, is_exact: bool) -> str:
    return f"{{{least}}}(?![A-Za-z0-9])" if is_exact else f"{{{least},{_LONGEST}}}+"


def _pattern(spec: str) -> re.Pattern[str]:
    """`a30` or `w16\\.w16` as a possessive pattern."""
    parts = re.sub(
        r"([wdbaAh])(\d+)(=?)",
        lambda m: _CLASSES[m[1]] + _repeated(m[2], is_exact=bool(m[3])),
        spec,
    )
    return re.compile(parts, re.ASCII)


def _forms(table: str) -> Sequence[Form]:
    rows = (line.split() for line in table.splitlines())
    return [
        Form(start, kind, _pattern(spec.lstrip("~")), spec.startswith("~"))
        for kind, spec, *starts in rows
        for start in starts
    ]


def _by_head(forms: Sequence[Form]) -> Mapping[str, Sequence[Form]]:
    """By the first characters; the longer of two starts that begin alike comes first."""
    heads: dict[str, list[Form]] = {}
    for form in sorted(forms, key=lambda form: -len(form.start)):
        heads.setdefault(form.start[:HEAD], []).append(form)
    return heads


# So many characters of a word lead to the few forms that may fit.
HEAD = 3
_EXACT = [
    Form(start, kind, re.compile(rest, re.ASCII))
    for kind, (starts, rest) in _BY_START_EXACTLY.items()
    for start in starts.split()
]
HEADS = _by_head([*_forms(_BY_START), *_EXACT])
AFTER = _forms(_BY_END)
AFTER_ENDS = tuple(form.start for form in AFTER)
