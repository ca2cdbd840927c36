"""The forms that issuers publish for their keys and tokens.

Facts of the issuers' own documentation, of GitHub's page "Supported secret scanning patterns" and
of the public rule lists of secret scanners. Lengths are lower bounds, so that a longer later form
still fits.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["AFTER", "AFTER_ENDS", "HEAD", "HEADS", "Form"]


class Form(NamedTuple):
    """What announces a secret, its kind, and the pattern of the rest.

    Where the start `is_common`, as `key-` is, the rest has to be random.
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
