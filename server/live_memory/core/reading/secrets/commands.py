"""Secrets that programs are given by flags: `curl -u user:password`, `mysql -ppassword`."""

import re
from collections.abc import Iterator, Mapping

from live_memory.core.reading.secrets.places import is_filled_in
from live_memory.core.reading.secrets.spans import Span, sites

__all__ = ["given"]

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


def given(text: str) -> Iterator[Span]:
    """Values of the flags that give a secret to a known program."""
    for literal, pattern in _DIRECT:
        for at in sites(text, literal):
            match = pattern.match(text, at)
            if match and not is_filled_in(match["v"]):
                yield Span(*match.span("v"), "password")
    looked, flags = 0, None
    for at in sites(text, " -"):
        letter = text[at + 2 : at + 3]
        if not (letter.isalpha() or (letter == "-" and text[at + 3 : at + 4] in _LONG_LETTERS)):
            continue
        looked, flags = at, _program(text, looked, at, flags)
        match = flags.match(text, at + 1) if flags else None
        if match and not is_filled_in(match["v"]) and not _NO_SECRET.fullmatch(match["v"]):
            yield Span(*match.span("v"), "password")


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
