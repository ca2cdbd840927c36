"""Made-up secrets of known shapes, and what only looks like one."""

import hashlib
import random
import string
import uuid
from base64 import b64encode

__all__ = ["FURTHER", "PEM", "TWELVE", "lookalikes", "made_up"]

_ALNUM = string.ascii_letters + string.digits
_DICE = random.Random(25)


def made_up(length: int, alphabet: str = _ALNUM) -> str:
    return "".join(_DICE.choice(alphabet) for _ in range(length))


_UPPER, _HEX = string.ascii_uppercase + string.digits, "0123456789abcdef"
_PEM_LINES = tuple(made_up(64) for _ in range(4))
PEM = "\n".join(("-----BEGIN RSA PRIVATE KEY-----", *_PEM_LINES, "-----END RSA PRIVATE KEY-----"))

# What must not be left of each, and the text around it: the twelve shapes of row S25.
_ANTHROPIC = f"sk-ant-api03-{made_up(80)}"
TWELVE = {
    "anthropic": (f'client = Anthropic(api_key="{_ANTHROPIC}")', (_ANTHROPIC,)),
    "openai": (f"key is sk-{(k := made_up(48))}.", (k,)),
    "aws pair": (
        (
            f"aws_access_key_id = {(i := 'AKIA' + made_up(16, _UPPER))}\n"
            f"aws_secret_access_key = {(k := made_up(38) + '+/')}"
        ),
        (i, k),
    ),
    "github": (
        f"ghp_{(i := made_up(36))} github_pat_{(k := made_up(22) + '_' + made_up(59))}",
        (i, k),
    ),
    "slack": (f"SLACK: 'xoxb-{(k := '123456789012-' + made_up(24))}'", (k,)),
    "jwt": (f"see eyJ{made_up(30)}.eyJ{made_up(60)}.{(k := made_up(43))} there", (k,)),
    "private key": (f"before\n{PEM}\nafter", _PEM_LINES),
    "url": (f"DSN=postgres://app:{(k := 'p' + made_up(11))}@db:5432/main", (k,)),
    "header": (f"curl -H 'Authorization: Bearer {(k := made_up(30))}' https://h", (k,)),
    "password": ('password = "Tr0ub4dor&3"', ("Tr0ub4dor&3",)),
    "npm": (f"//registry/:_authToken=npm_{(k := made_up(36))}", (k,)),
    "service account": (
        '{"type": "service_account", "private_key": "' + PEM.replace("\n", "\\n") + '"}',
        _PEM_LINES,
    ),
}

FURTHER = {
    "gitlab": (f"glpat-{(k := made_up(20))}", (k,)),
    "stripe": (f"sk_live_{(k := made_up(24))}", (k,)),
    "google": (f"AIza{(k := made_up(35))}", (k,)),
    "pypi": (f"pypi-AgEIcHlwaS5vcmc{(k := made_up(70))}", (k,)),
    "hugging face": (f"hf_{(k := made_up(34))}", (k,)),
    "sendgrid": (f"SG.{made_up(22)}.{(k := made_up(43))}", (k,)),
    "twilio": (f"SK{(k := made_up(32, _HEX))}", (k,)),
    "digitalocean": (f"dop_v1_{(k := made_up(64, _HEX))}", (k,)),
    "azure": (f"AccountName=a;AccountKey={(k := made_up(86))}==;X=y", (k,)),
    "azure signature": (f"https://h/c?sv=1&sig={(k := made_up(43))}%3D", (k,)),
    "slack webhook": (f"https://hooks.slack.com/services/T01/B02/{(k := made_up(24))}", (k,)),
    "telegram": (f"123456789:AA{(k := made_up(33))}", (k,)),
    "aws pair, listed": (f"AKIA{made_up(16, _UPPER)},{(k := made_up(40))}", (k,)),
    "basic": ('{"Authorization": "Basic dXNlcjpodW50ZXIy"}', ("dXNlcjpodW50ZXIy",)),
    "bearer alone": (f"-H {(k := made_up(24))} bearer {k}x1", (f"{k}x1",)),
    "yaml": ("password: hunter2", ("hunter2",)),
    "ini": ("DB_PASSWORD=sup3rs3cret&x", ("sup3rs3cret", "&x")),
    "query": ("GET /a?access_token=abcd1234efgh5678&user=bob", ("abcd1234efgh5678",)),
    "xml": ("<password>hunter2</password>", ("hunter2",)),
    "xml attribute": ('<add key="ApiKey" value="abcd1234efgh" />', ("abcd1234efgh",)),
    "flag": ("mysql --password hunter2x", ("hunter2x",)),
    "typed": ("const apiKey: string = 'q8Zr41LmN0vX'", ("q8Zr41LmN0vX",)),
    "go": ('clientSecret := "q8Zr41LmN0vX"', ("q8Zr41LmN0vX",)),
    "item": ('os.environ["API_KEY"] = "q8Zr41LmN0vX"', ("q8Zr41LmN0vX",)),
    "pair": ('("password", "q8Zr41LmN0vX")', ("q8Zr41LmN0vX",)),
    "call": ('.setPassword("q8Zr41LmN0vX")', ("q8Zr41LmN0vX",)),
    "escaped": (r'"{\"password\":\"q8Zr41LmN0vX\"}"', ("q8Zr41LmN0vX",)),
    "comparison": ('if pwd == "abc!def":', ("abc!def",)),
    "passphrase": ('passphrase: "correct-horse-battery-staple"', ("horse",)),
    "numbers": ('token = "8315902746112093"', ("8315902746112093",)),
    "no end": (f"-----BEGIN PRIVATE KEY-----\n{_PEM_LINES[0]}\n{_PEM_LINES[1]}", _PEM_LINES[:2]),
    "dotted secret": ('token: "q8Zr4.1LmN0vX"', ("1LmN0vX",)),
}


def lookalikes() -> list[str]:
    dice = random.Random(200)
    hashes = [hashlib.sha1(str(n).encode()).hexdigest() for n in range(20)]
    digests = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(20)]
    uuids = [str(uuid.UUID(int=dice.getrandbits(128), version=4)) for _ in range(20)]
    images = [b64encode(dice.randbytes(n * 40 + 60)).decode() for n in range(20)]
    generated = [
        *(f"commit {h}" for h in hashes),
        *(f'"integrity": "sha512-{b64encode(bytes.fromhex(d) * 2).decode()}",' for d in digests),
        *(f"sha256:{d}  file-{n}.tar.gz" for n, d in enumerate(digests)),
        *(f'id = "{u}"' for u in uuids),
        *(f"request_id: {u}" for u in uuids),
        *(f'<img src="data:image/png;base64,{i}">' for i in images),
    ]
    return generated + _WRITTEN.strip().splitlines()


_WRITTEN = """
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
export ANTHROPIC_API_KEY=your-api-key-here
OPENAI_API_KEY=sk-your-api-key-goes-here
api_key = "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
token: <token>
token: ${TOKEN}
token: ${{ secrets.GITHUB_TOKEN }}
password: {{ .Values.postgres.password }}
key = os.environ["X"]
api_key = os.environ["OPENAI_API_KEY"]
const key = import.meta.env.X_API_KEY
const apiKey = import.meta.env.VITE_STRIPE_API_KEY
const token = process.env.NPM_TOKEN1
secret = getpass()
password = getpass.getpass("Password: ")
password: str
password: str = "",
password = None
password: Optional[str] = None
password: String!
token: uint256
access_key: int64
def login(user: str, password: str) -> Token:
password = settings.DATABASE_PASSWORD2
token = self.lexer.next_token()
token = tokens[index1]
api_key=settings.api_key,
secret = hashlib.sha256(seed).hexdigest()
"password": "Password",
"password": "Passwort vergessen?",
"token": "access_token",
<input type="password" name="new_password" autocomplete="current-password">
placeholder: "Enter your password"
'password' => 'required|min:8|confirmed',
postgres://user:password@localhost:5432/db
postgres://user:pass@localhost/db
https://user:<password>@host/path
redis://:${REDIS_PASSWORD}@cache:6379
http://localhost:8080/path@2x.png
git@github.com:owner/name.git
Authorization: Bearer <token>
Authorization: Bearer ${token}
headers = {"Authorization": f"Bearer {token}"}
headers["Authorization"] = "Bearer " + token
Authorization: Bearer YOUR_TOKEN
Basic usage1234 of the bearer protocol
-----BEGIN CERTIFICATE-----
if "-----BEGIN PRIVATE KEY-----" in text:
PEM = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")
-----BEGIN PUBLIC KEY-----
<div class="sk-folding-cube sk-cube-grid-animation"></div>
npm_config_cache=/tmp/npm
max_tokens = 8192
token_count = 128000
"eos_token": "<|endoftext|>",
secret_name: "projects/1/secrets/db-1"
password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"
api_key_id = "1f2e3d4c5b6a"
public_key = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61de"
const passwordField = document.querySelector("#password1")
"page=1&size=2&appkey=test-appkey", "bar2=foo"
login(password, "2024-01-01")
secret: vault:secret/data/app
password: op://vault/item/password1
token = "test-token-1"
the token "abc12345" is not one
""" + "\n".join(f"{kind}_{n}: value-{n}" for n in range(4) for kind in ("token", "secret", "key"))
