"""Secrets that can be told by the name they are given to: `password = "…"`, `api_key: …`."""

import re
import string
from collections.abc import Iterator, Mapping

from live_memory.core.reading.secret_context import (
    SecretSpan,
    decoded,
    is_data,
    is_dotted,
    is_filled_in,
    is_marked,
    is_random,
    is_reference,
    is_unchosen,
    is_wordy,
    names_a_secret,
    sites,
)
from live_memory.core.reading.secret_shapes import AFTER, AFTER_ENDS, HEAD, HEADS, Form

__all__ = ["assigned", "given", "long_words"]

# The name has to end with one of these: `token_count` and `secret_name` hold no secret.
_NAME = re.compile(
    "passphrase|passcode|password|passwort|passwd|pass|pwd|psk|secret|token|credentials?|key|auth"
    "|pepper|salt|session(?:_?id)?|sess(?:ion)?id|mnemonic|phrase|_pat"
)
# What one of them has in it: to find these takes a fifth of the time that the pattern takes.
_MIDDLES = (
    "pass", "pwd", "psk", "_pat", "secret", "token", "credential", "key", "auth", "pepper", "salt",
    "sess", "mnemonic", "phrase",
)  # fmt: skip
_STRONG = frozenset({"secret", "token", "credential", "credentials", "pepper"})
_PASSWORDS = frozenset({"passphrase", "passcode", "password", "passwort", "passwd", "pwd"})
# The other names are words too (`bypass`), so they need a beginning of their own, or an owner.
_PASS_OWNERS = (
    "db", "user", "smtp", "mail", "admin", "root", "ftp", "login", "store", "key", "sql",
)  # fmt: skip
_PHRASE_OWNERS = ("seed", "recovery", "secret", "wallet", "backup")
_OWNERS = (
    "api access secret private auth account encryption signing master shared service app deploy "
    "license subscription hmac session cookie crypto cipher jwt aes webhook admin root storage "
    "function host bot server ingest integration decryption verification presharedkey "
    "consumer wrapping flask django rails"
)
_KEY_OWNERS = tuple(_OWNERS.split())
# What such a key names is no secret.
_NAMED = (
    "public pub cache primary foreign sort partition index object row col column group lookup "
    "translation i18n locale hash idempotency dedup site registry hot map dict json yaml node "
    "react query publishable anon shortcut file path s3 blob item record"
)
_PUBLIC = tuple(_NAMED.split())

_SEPARATOR = re.compile(
    # `SECRET_KEY_BASE`, `TOKEN_PROD`, and the end of a quoted name: `"password"`, `["password"]`.
    r"(?:[_-]?(?i:base|value|val|production|prod|staging|live|dev|test|data|str|string|text|plain"
    r"|plaintext|clear|raw|hex|b64|base64|enc|old|new|previous|current|default|primary|secondary"
    r"|admin|main|[0-9]{1,2})(?![A-Za-z0-9])){0,2}"
    r"(?P<close>\\{0,3}[\"'`])?\]?(?P<separator>"
    # `password: str = "…"`, `let token: &'static str = "…"`
    r"[ \t]{0,40}:[ \t]{0,8}[&A-Za-z_][\w.\[\]<>|&' ]{0,40}=[ \t]{0,40}(?=[bBrRuUfFL@$]{0,2}[\"'`])"
    r"|[ \t]{0,40}(?::=|=>|[?+|]?={1,3}|!={1,2}|[:,(])[ \t]{0,40}"
    r"|[ \t]{1,40}value[ \t]{0,8}=[ \t]{0,8}"  # <add key="password" value="…">
    r"|</(?:key|name|Name|Key)>\s{0,60}<(?:string|value|Value)>|>|[ \t])"
)
# A look-ahead that is then consumed never gives back, like `(?:...)++`, which Python before 3.11.5
# matches wrongly where the group holds alternatives.
_QUOTED = re.compile(
    r"[bBrRuUfFL@$]{0,2}(?P<q>\\{0,3}(?:\"\"\"|'''|[\"'`]))"
    r"(?=(?P<v>(?:(?!(?P=q))(?:\\[^\r\n]|[^\\\r\n])){1,4000}))(?P=v)(?P=q)"
)
# `=` and what encloses or joins values end it, so no character is read for two names.
_BARE = re.compile(
    r"(?=(?P<whole>(?:[^\s\"'`<>(){}\[\],;=|&\\]|&(?!\w+=)){1,4000}))"
    r"(?P<v>(?P=whole)={0,2})(?![(\[{\"'`])"
)
_BRACED = re.compile(r"\{(?P<v>[^{}\s;]{4,100}+)\}(?=[;\"'\s]|\Z)")
# The value on the next line: YAML's block, a continued line, an opened bracket. A bare one ends it.
_NEXT_LINE = re.compile(r"[ \t]{0,8}(?:[|>][+-]?\d?|\\|\()?[ \t]{0,8}\r?\n[ \t]{1,60}")
_LINE_ENDS = re.compile(r"[ \t]{0,8}(?:\r?\n|\Z)")
_OPENED = re.compile(r"[\"'`][\w.-]*\Z")
# What gives the next word to a name: `--password x`, `ENV TOKEN x`, `config set api_key x`.
_GIVES = re.compile(
    r"--?[\w-]{0,40}\Z|\b(?:ENV|ARG|SET|set|setx|setenv|export)[ \t]{1,8}[\w.:/-]{0,60}\Z"
)

_SIGN_INSIDE = re.compile(r"[!@#$%^*~]\w")
_SIZED_TYPE = re.compile(r"[A-Za-z_]+(?:8|16|32|64|128|256|512)(?:_t)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HASH = re.compile(r"[0-9a-f]{32,128}|[0-9A-F]{32,128}")
_TOKEN = re.compile(r"[\w.+/=~:-]+")
_WORDS = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){11,23}")
# A random value under a name that says little of it.
_WEAK_FROM = 16


def assigned(text: str, lower: str) -> Iterator[SecretSpan]:
    """Literals given to a name that says secret; `lower` is the folded text."""
    for name in _names(lower):
        separator = _SEPARATOR.match(text, name.end())
        kind = _kind(text, lower, name) if separator else None
        if separator is None or kind is None:
            continue
        value = _value(text, name.start(), separator)
        if value and _is_secret(value, kind, text[name.start() : name.end()]):
            yield SecretSpan(*value.span("v"), kind.removeprefix("weak "))


def _names(lower: str) -> Iterator[re.Match[str]]:
    for middle in _MIDDLES:
        for at in sites(lower, middle):
            name = _NAME.match(lower, at)
            if name:
                yield name


def _kind(text: str, lower: str, name: re.Match[str]) -> str | None:
    """What a value of this name may be; `weak` where the name alone says too little."""
    word, at = name[0], name.start()
    before = lower[max(0, at - 24) : at]
    is_begun = not before[-1:].isalpha() or (text[at].isupper() and text[at - 1].islower())
    if word in _PASSWORDS:
        return "password"
    if word in _STRONG:
        return "secret"
    if word in ("mnemonic", "phrase"):
        is_one = word == "mnemonic" or before.rstrip("_- ").endswith(_PHRASE_OWNERS)
        return "phrase" if is_one else None
    if word == "key":
        owner = before.rstrip("_- .")
        if owner.endswith(_PUBLIC):
            return None
        return "key" if owner.endswith(_KEY_OWNERS) else "weak key"
    if word != "_pat" and not is_begun and not before.endswith(_PASS_OWNERS):
        return None
    return "password" if word in ("pass", "psk") else "weak secret"


def _value(text: str, at: int, separator: re.Match[str]) -> re.Match[str] | None:
    sign, end = separator["separator"].strip(), separator.end()
    is_given = not sign and _GIVES.search(text[max(0, at - 70) : at]) is not None
    quoted = _QUOTED.match(text, end)
    if quoted:
        # `login(password, "…")` gives the literal to something else.
        named = separator["close"] and _OPENED.search(text[max(0, at - 80) : at])
        return quoted if is_given or (sign and (sign != "," or named)) else None
    if sign in ("=", ":", "=>", ":=", "(") and (below := _NEXT_LINE.match(text, end)):
        return _below(text, below.end())
    if sign.endswith(">") and sign != "=>":
        bare = _BARE.match(text, end)
        return bare if bare and text.startswith("</", bare.end()) else None
    match sign:
        case "=" | "?=" | "+=":
            if text.startswith("{", end):
                return _BRACED.match(text, end) if text[at:end].lower().startswith("pwd") else None
            is_open = True
        case ":":
            is_open = separator["separator"][-1] in " \t"
        case "":
            is_open = is_given
        case _:
            is_open = False
    return _BARE.match(text, end) if is_open else None


def _below(text: str, at: int) -> re.Match[str] | None:
    quoted = _QUOTED.match(text, at)
    if quoted:
        return quoted
    bare = _BARE.match(text, at)
    return bare if bare and _LINE_ENDS.match(text, bare.end()) else None


def _is_secret(match: re.Match[str], kind: str, name: str) -> bool:
    value = match["v"]
    if kind == "phrase":
        return _WORDS.fullmatch(value) is not None
    if is_marked(value) or is_reference(value) or any(char.isspace() for char in value):
        return False
    if kind.startswith("weak"):
        return _is_weak_secret(match, name)
    if match.re is not _BARE:
        return _is_password(value) if kind == "password" else _is_key(value, shortest=8)
    value = value.rstrip("?!*.:")
    is_long = len(value) >= _WEAK_FROM and is_random(value)
    if (is_dotted(value) and not is_long) or _SIZED_TYPE.fullmatch(value):
        return False
    if kind == "password":
        return _is_bare_password(value)
    if not _is_key(value, shortest=12):
        return False
    return is_long or sum(char.isdigit() for char in value) > 1


def _is_weak_secret(match: re.Match[str], name: str) -> bool:
    value = match["v"]
    if len(value) < _WEAK_FROM or not is_random(value) or _UUID.fullmatch(value):
        return False
    if not any(map(str.isdigit, value)) or not _TOKEN.fullmatch(value):
        return False
    if _HASH.fullmatch(value):
        return name.isupper()
    start = match.start("v")
    if is_data(value, before=match.string[max(0, start - 40) : start]):
        return False
    text = decoded(value)
    return text is None or (":" in text and "auth" in name.lower())


def _is_password(value: str) -> bool:
    if is_wordy(value, digits=4) and names_a_secret(value) and len(value) < 16:
        return False
    if is_wordy(value, digits=0) and not _SIGN_INSIDE.search(value):
        # Four words are a passphrase, unless they name a field: `reset-user-password-form`.
        return len(value) >= 20 and value.count("-") > 2 and not names_a_secret(value)
    return len(value) >= 6 and len(set(value)) > 2


def _is_bare_password(value: str) -> bool:
    """Without quotes it may be a variable: `password = other_password2`."""
    if is_wordy(value, digits=4) and ("_" in value or names_a_secret(value)):
        return False
    return _is_password(value) and any(char in "0123456789!@#$%^*+~?" for char in value)


def _is_key(value: str, *, shortest: int) -> bool:
    if len(value) < shortest or len(set(value)) < 5 or is_wordy(value, digits=4):
        return False
    return len(value) >= 16 or not value.isdigit()


_WORD = re.compile(r"[A-Za-z0-9_-]{16,}+")
_DIGIT = re.compile("[0-9]")
_ESCAPES, _JOINTS = frozenset("\\%"), frozenset("./~+$-:!")
# `\n` in a string literal, `%3D` in an address: the word begins after it.
_ESCAPED = re.compile(r"(?<=\\)[nrt]|(?<=%)[0-9A-F]{2}")
# Signed and encrypted tokens; of the latter a part may be empty.
_WORD_PART = re.compile(r"eyJ[\w-]{6,}+(?:\.[\w-]*+){2,4}+", re.ASCII)
_DISCORD = re.compile(r"[A-Za-z0-9_-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}+", re.ASCII)
# By the sign before the word: who the token is of, and the token.
_OWNED = {
    ":": (
        ("telegram-token", re.compile(r"\d{8,12}:\Z"), re.compile(r"AA[\w-]{30,}+")),
        (
            "asana-token",
            re.compile(r"(?<!\d)[12]/\d{10,20}(?:/\d{10,20})?:\Z"),
            re.compile(r"[0-9a-f]{32}"),
        ),
    ),
    "!": (
        ("salesforce-token", re.compile(r"00D[A-Za-z0-9]{9,15}!\Z"), re.compile(r"[\w.]{60,}+")),
    ),
    "~": (("azure-secret", re.compile(r"[\w.~]{3}\dQ~\Z"), re.compile(r"[\w.~-]{30,}+")),),
}
# The secret half of a pair, as key lists have it: `AKIA…:secret`, `AKIA…,secret`.
_AWS_SECRET = re.compile(r"[\s,:;|\"']{1,5}(?P<v>[A-Za-z0-9+/]{40})(?![\w+/])")
_MOST_OWNER = 64
_BY_END = re.compile(r"[0-9a-f]{32}-us\d{1,2}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk")

# A random word under no name. Issuers use 32 characters and more; shorter random words are mostly
# names of things, and what is longer than the last is data.
_SHORTEST, _LONGEST, _AWS_LENGTH = 32, 200, 40
_PATH = re.compile(r"\A/|\A[A-Za-z]{3,10}/|/[a-z]{3,}/|/[A-Z][a-z]{3,}")
_JOINT = re.compile(r"[_=~-]")
_RUN = re.compile(rf"[A-Za-z0-9+/_=~-]{{0,{2 * _LONGEST}}}+")
_LETTERS = string.ascii_letters + string.digits
_RUN_CHARACTERS = f"{_LETTERS}+/_=~-"


def long_words(text: str) -> Iterator[SecretSpan]:
    """Long words that are secrets by their form: found in one pass, each looked at in bounds."""
    done = 0
    for word in _WORD.finditer(text):
        if word.start() < done:
            continue
        found = _found(text, *word.span())
        if found:
            done = found.end
            yield found
            if found.kind == "aws-key-id" and (pair := _AWS_SECRET.match(text, done)):
                yield SecretSpan(*pair.span("v"), "aws-secret")


def _found(text: str, at: int, end: int) -> SecretSpan | None:
    if text[at - 1 : at] in _ESCAPES and (escaped := _ESCAPED.match(text, at)):
        at = escaped.end()
    if found := _issued(text, at):
        return found
    # Next to none is without a digit; most long words are.
    if not _DIGIT.search(text, at, end):
        return _after(text, at) if text[at - 1 : at] == "." else None
    return _joined(text, at, end) or _by_itself(text, at, end)


def _issued(text: str, at: int) -> SecretSpan | None:
    for form in HEADS.get(text[at : at + HEAD], ()):
        if text.startswith(form.start, at) and (found := _of(form, text, at)):
            return found
    return None


def _joined(text: str, at: int, end: int) -> SecretSpan | None:
    """A secret that goes on beside the word, or is announced there."""
    if text.startswith("eyJ", at) and (token := _WORD_PART.match(text, at)):
        return None if is_marked(token[0]) else SecretSpan(*token.span(), "jwt")
    if text[end : end + 1] == "." and (token := _DISCORD.match(text, at)) and is_random(token[0]):
        return SecretSpan(*token.span(), "bot-token")
    if (token := _BY_END.match(text, at)) and token.end() == end:
        return SecretSpan(at, end, "key")
    return _after(text, at) if text[at - 1 : at] in _JOINTS else None


def _by_itself(text: str, at: int, end: int) -> SecretSpan | None:
    """A word that nobody can have chosen, or as many characters of base64 as AWS gives."""
    start, run_end = _run_around(text, at)
    if start < at and (found := _issued(text, start)):
        return found
    run = text[start:run_end]
    if _is_of_block(text, start, run_end):
        return None
    if _PATH.search(run) and is_wordy(text[start:at] + text[end:run_end], digits=4):
        start, run_end, run = at, end, text[at:end]  # a name in a path is looked at alone
    is_whole = (start, run_end) == (at, end)
    if is_whole and not _SHORTEST <= len(run) <= _LONGEST:
        return None
    if not is_whole and (len(run) != _AWS_LENGTH or _PATH.search(run) or _JOINT.search(run)):
        return None
    if not is_unchosen(run) or is_marked(run):
        return None
    if is_data(run, before=text[max(0, start - 40) : start]) or decoded(run) is not None:
        return None
    return SecretSpan(start, run_end, "secret")


def _after(text: str, at: int) -> SecretSpan | None:
    """A secret that is announced by what stands before the word, with a sign between."""
    if text.endswith(AFTER_ENDS, max(0, at - 32), at):
        for form in AFTER:
            if text.endswith(form.start, 0, at) and (
                found := _of(form, text, at - len(form.start))
            ):
                return found
    for kind, owner, secret in _OWNED.get(text[at - 1], ()):
        if owner.search(text[max(0, at - _MOST_OWNER) : at]) and (token := secret.match(text, at)):
            return SecretSpan(*token.span(), kind)
    return None


def _of(form: Form, text: str, start: int) -> SecretSpan | None:
    before = text[start - 1 : start]
    at = start + len(form.start)
    rest = form.rest.match(text, at)
    is_inside = form.start[0].isalnum() and before.isalnum() and before.isascii()
    if not rest or (is_inside and not _ESCAPED.match(text, start - 1)):
        return None
    if is_marked(text[start : rest.end()]):
        return None
    is_said = not form.is_common and not is_wordy(rest[0], digits=0)
    if form.start.startswith("."):  # what stands before it is of the secret
        start -= len(text[max(0, start - 32) : start]) - len(
            text[max(0, start - 32) : start].rstrip(_LETTERS)
        )
    return SecretSpan(start, rest.end(), form.kind) if is_said or is_random(rest[0]) else None


def _run_around(text: str, at: int) -> tuple[int, int]:
    """The ends of the run of base64 that a word stands in; to the left only so far."""
    near = text[max(0, at - _LONGEST) : at]
    start = at - (len(near) - len(near.rstrip(_RUN_CHARACTERS)))
    run = _RUN.match(text, at)
    return start, run.end() if run else at


def _is_of_block(text: str, start: int, end: int) -> bool:
    """Whether the run is a line of several that hold nothing else, as data in base64 are."""
    above = text[max(0, start - _LONGEST) : start].split("\n")
    below = text[end : end + _LONGEST].split("\n")
    if above[-1].strip() or below[0].strip():
        return False
    lines = (*above[-2:-1], *below[1:2])
    return any(len(line.strip()) >= _SHORTEST and _RUN.fullmatch(line.strip()) for line in lines)


# A value: in quotes, or up to a blank.
_VALUE = r"(?P<q>[\"'])?(?P<v>(?(q)[^\"'\r\n]{1,400}|[^\s\"'|;&<>()`]{1,400}))"
_PAIR = r"[\"']?[^\s:\"'|;&]{0,100}:(?P<v>[^\s\"'|;&<>()`]{1,400})"


def _flag(flags: str, value: str = _VALUE, *, joint: str = r"(?:=|[ \t]{1,4})") -> re.Pattern[str]:
    return re.compile(rf"-(?:{flags}){joint}{value}")


_ATTACHED = _flag("p", joint="")
_APART = _flag("p|P|-pass")
_SNMP = _flag("A|X|c")
_STORE = _flag("storepass|keypass|srcstorepass|deststorepass")
# By program, the flags that give it a secret, as its manual has them.
_PROGRAMS: Mapping[str, re.Pattern[str]] = {
    "curl": _flag(r"[a-zA-Z]{0,4}[uU]|-user|-proxy-user", _PAIR, joint=r"(?:=|[ \t]{0,4})"),
    **dict.fromkeys(("http", "https", "httpie", "xh"), _flag("a|-auth", _PAIR)),
    "skopeo": _flag("-creds|-src-creds|-dest-creds", _PAIR),
    **dict.fromkeys(
        ("mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "mysqlimport", "mysqlsh",
         "7z", "7za", "7zz"),
        _ATTACHED,
    ),
    "sshpass": _flag("p", joint=r"[ \t]{0,4}"),
    **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli"), _flag("a|-pass")),
    **dict.fromkeys(
        ("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "cqlsh",
         "influx", "beeline", "rdesktop", "rabbitmqadmin", "login"),  # docker, podman, az, oc
        _APART,
    ),
    **dict.fromkeys(
        ("zip", "unzip", "sqlcmd", "bcp", "isql", "tsql", "mosquitto_pub", "mosquitto_sub"),
        _flag("P"),
    ),
    **dict.fromkeys(
        ("ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete"),
        _flag("w", joint=r"[ \t]{0,4}"),
    ),
    **dict.fromkeys(
        ("smbclient", "rpcclient"), _flag("U", r"[^\s%]{1,100}%(?P<v>[^\s\"']{1,200})")
    ),
    "openssl": _flag("passin|passout|pass|k|K", r"(?:pass:)?(?P<v>[^\s\"':]{1,200})"),
    "lftp": _flag("u", r"[^\s,]{1,100},(?P<v>[^\s\"']{1,200})"),
    **dict.fromkeys(("snmpwalk", "snmpget", "snmpset"), _SNMP),
    "htpasswd": _flag(
        r"\w{0,3}b\w{0,3}", r"\S{1,200}[ \t]{1,4}(?:[^\s-]\S{0,99}[ \t]{1,4})?(?P<v>\S{1,200})"
    ),
    **dict.fromkeys(("keytool", "jarsigner"), _STORE),
    "gpg": _flag("-passphrase"),
    "kubectl": _flag("-from-literal", r"[\"']?[\w.-]{1,100}=(?P<v>[^\s\"']{1,400})"),
    "useradd": _flag("p"), "usermod": _flag("p"), "twine": _flag("p"), "psexec": _flag("p"),
}  # fmt: skip
# The first letters of the long flags.
_LONG_LETTERS = frozenset("upacsdf")
_ENDS = re.compile(r"[|;&\r\n(`]")
# A port, a path, another flag, a variable.
_NO_SECRET = re.compile(r"\d{1,5}(?::\d{1,5})?(?:/\w+)?|\d{1,5}-\d{1,5}|[./~][\w./-]*|-.*|[A-Z_]+")
_DIRECT = (
    ("vault login ", re.compile(r"vault login (?P<v>(?![\w-]+=)[^\s\"'-][^\s\"'=]{15,200})")),
    ("authtoken ", re.compile(r"authtoken (?P<v>\w{20,100})")),
    ("sqlplus ", re.compile(r"sqlplus [\w.]{1,100}/(?P<v>[^\s\"'@/]{1,200})@")),
    (
        "chpasswd",
        re.compile(r"chpasswd[ \t]{0,4}<<<[ \t]{0,4}[\"']?[\w.-]{1,64}:(?P<v>[^\s\"']{1,200})"),
    ),
)  # fmt: skip


def given(text: str) -> Iterator[SecretSpan]:
    """Values of the flags that give a secret to a known program."""
    for literal, pattern in _DIRECT:
        for at in sites(text, literal):
            match = pattern.match(text, at)
            if match and not is_filled_in(match["v"]):
                yield SecretSpan(*match.span("v"), "password")
    looked, flags = 0, None
    for at in sites(text, " -"):
        letter = text[at + 2 : at + 3]
        if not (letter.isalpha() or (letter == "-" and text[at + 3 : at + 4] in _LONG_LETTERS)):
            continue
        looked, flags = at, _program(text, looked, at, flags)
        match = flags.match(text, at + 1) if flags else None
        if match and not is_filled_in(match["v"]) and not _NO_SECRET.fullmatch(match["v"]):
            yield SecretSpan(*match.span("v"), "password")


def _program(
    text: str, looked: int, at: int, before: re.Pattern[str] | None
) -> re.Pattern[str] | None:
    """The flags of the program that a command before `at` runs; up to `looked` it was `before`.

    A backslash at the end of a line continues a command.
    """
    words = text[max(looked, at - 1_000) : at].replace("\\\r\n", " ").replace("\\\n", " ")
    *others, last = _ENDS.split(words)
    found = None if others else before
    for word in last.split():
        name = word.rpartition("/")[2].strip("\"'$")
        found = _PROGRAMS.get(name, found)
    return found
