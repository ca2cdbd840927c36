"""What was read of a file: the raw reading, the redacted observation, or why there is none."""

import codecs
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = [
    "CREDENTIAL_FOLDERS",
    "LONGEST_LINE",
    "SEARCHED",
    "FileRead",
    "ListedFile",
    "Observation",
    "RedactedText",
    "SkipReason",
    "Skipped",
    "cells_of",
    "clean",
    "decode",
    "decode_head",
    "inert",
    "lines_of",
    "refusal_of_name",
    "visible",
]

_UNSPEAKABLE = re.compile("[\ud800-\udfff\0]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# git calls a file binary when its first 8,000 bytes hold a NUL.
_BINARY_PROBE = 8_000
# Control bytes that text of no encoding holds. A ninth of compressed data are such bytes, and next
# to none of text in an encoding we do not know.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_MOST_CONTROL = 0.02
# Kana are frequent in Japanese text and improbable in any other text read as Japanese; half-width
# kana do not count, Latin letters turn into them.
_KANA = re.compile("[\u3041-\u30fa]")


def clean(text: str) -> str:
    """Replace lone surrogates and NUL, which JSON, SQLite and providers refuse."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSPEAKABLE.sub("\ufffd", text)


def decode(data: bytes) -> str | None:
    """Decode by byte order mark, then UTF-8, then best effort; nothing for binary content.

    Best effort never moves a line end: UTF-16 without a mark by where its NULs stand, UTF-8 with
    broken bytes replaced, Japanese by its kana, else Western European.
    """
    return _decoded(data, is_whole=True)


def decode_head(data: bytes) -> str | None:
    """Decode the head of a file; a character that the cut went through is left out."""
    return _decoded(data, is_whole=False)


def lines_of(text: str) -> tuple[str, ...]:
    """Lines as every editor numbers them: LF, CRLF and CR end one, and nothing else does."""
    # Ten times as fast as to split at a pattern.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def _decoded(data: bytes, *, is_whole: bool) -> str | None:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _by_mark(data[len(bom) :], encoding, is_whole=is_whole)
    if b"\0" in data[:_BINARY_PROBE]:
        encoding_or_none = _utf16_without_mark(data)
        text = encoding_or_none and _strict(data, encoding_or_none, is_whole=is_whole)
        return clean(text) if text else None
    text = _strict(data, "utf-8", is_whole=is_whole)
    return _guessed(data, is_whole=is_whole) if text is None else clean(text)


def _by_mark(data: bytes, encoding: str, *, is_whole: bool) -> str:
    text = _strict(data, encoding, is_whole=is_whole)
    return clean(data.decode(encoding, "replace") if text is None else text)


def _strict(data: bytes, encoding: str, *, is_whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
    except UnicodeDecodeError:
        return None


def _utf16_without_mark(data: bytes) -> str | None:
    """Program text in UTF-16 has a NUL in every other byte, on one side only."""
    probe = data[:_BINARY_PROBE]
    even, odd = probe[::2].count(0), probe[1::2].count(0)
    enough = len(probe) // 4
    if odd > enough and not even:
        return "utf-16-le"
    if even > enough and not odd:
        return "utf-16-be"
    return None


def _guessed(data: bytes, *, is_whole: bool) -> str | None:
    if len(data) - len(data.translate(None, _CONTROL)) > _MOST_CONTROL * len(data):
        return None
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if sum(not char.isascii() for char in text) < 2 * broken:
        japanese = (_strict(data, each, is_whole=is_whole) for each in ("cp932", "euc_jp"))
        telling = (each for each in japanese if each and len(_KANA.findall(each)) > 1)
        text = next(telling, None) or data.decode("cp1252", "replace")
    return clean(text)


# A longer line is data. Both ends of it are kept: they tell what it is, and close its quotes.
LONGEST_LINE, _FIRST_OF_LINE, _LAST_OF_LINE = 2_000, 120, 40


class SkipReason(StrEnum):
    """Why a name gave no text."""

    OUTSIDE = "outside the workspace or missing"
    NOT_REGULAR = "not a regular file"
    UNREADABLE = "cannot be read"
    TOO_LARGE = "too large"
    BINARY = "binary"
    CREDENTIALS = "a credential file"
    GENERATED = "generated"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A name that gave no text; `name` is as it was asked for."""

    name: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A regular file that listing found, with what the file system says of it."""

    path: RelPath
    signature: StatSignature


@dataclass(frozen=True, slots=True)
class FileRead:
    """Raw bytes as the one file opener gave them; only `core.admission` turns them into text.

    `data` is the whole file, or its head where the file is longer than the caller's cap;
    `sha` is always of the whole file.
    """

    path: RelPath
    signature: StatSignature
    sha: ContentHash
    data: bytes

    @property
    def is_clipped(self) -> bool:
        """Whether `data` is only the head of the file."""
        return len(self.data) < self.signature.size


@dataclass(frozen=True, slots=True)
class RedactedText:
    """Text that went through `core.redaction`, the only place that may construct one.

    It has the same number of lines as the file, so that line numbers hold.
    """

    text: str

    def shortened(self) -> "RedactedText":
        """Without the middle of lines that are data; redacted text stays so when it is cut."""
        lines = map(_shortened, lines_of(self.text))
        return RedactedText("\n".join([*lines, ""]))


@dataclass(frozen=True, slots=True)
class Observation:
    """A file's redacted text with the hash of its bytes on disk."""

    path: RelPath
    signature: StatSignature
    sha: ContentHash
    text: RedactedText
    lines: tuple[str, ...]
    is_clipped: bool
    is_thinned: bool  # of lines of data or a notebook a part is left out

    def excerpt(self, first: int, count: int) -> RedactedText:
        """`count` lines from line `first` on; redacted text stays redacted when it is cut."""
        return RedactedText("\n".join(self.lines[first - 1 : first - 1 + count]))


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    left_out = len(line) - _FIRST_OF_LINE - _LAST_OF_LINE
    return f"{line[:_FIRST_OF_LINE]}...({left_out:,} more)...{line[-_LAST_OF_LINE:]}"


# As every tool saves notebooks: each key and each line of a cell on a line of its own.
_OPENS = re.compile(r'(?P<indent>\s*)"(?P<key>[^"]+)":\s*(?P<bracket>[\[{])\s*')
_WHOLE = re.compile(r'\s*"source":\s*(?P<text>"(?:[^"\\]|\\.)*"),?\s*')
_STRING = re.compile(r'\s*(?P<text>"(?:[^"\\]|\\.)*"),?\s*')
_CLOSES = {"[": "]", "{": "}"}
# What a cell shows and what a tool notes of it may hold anything, a `source` too.
_NOT_WRITTEN = frozenset({"outputs", "metadata", "attachments"})


def cells_of(lines: Sequence[str]) -> list[str] | None:
    """The source lines as they are meant, all others empty; nothing where there are none."""
    found = [""] * len(lines)
    closing, is_source, any_source = "", False, False
    for at, line in enumerate(lines):
        if closing:
            if line.startswith(closing) and not line[len(closing) :].strip(" \t,"):
                closing = ""
            elif is_source:
                found[at] = _said(_STRING.fullmatch(line))
        elif opening := _OPENS.fullmatch(line):
            is_source = opening["key"] == "source"
            if is_source or opening["key"] in _NOT_WRITTEN:
                closing = opening["indent"] + _CLOSES[opening["bracket"]]
                any_source = any_source or is_source
        elif whole := _WHOLE.fullmatch(line):
            found[at] = _said(whole)
            any_source = True
    return found if any_source else None


def _said(found: re.Match[str] | None) -> str:
    """A line of JSON as text; several lines in one stay on one."""
    try:
        text = json.loads(found["text"]) if found else ""
    except ValueError:
        return ""
    return " ".join(str(text).splitlines())


# C0 but for tab and line feed, C1, what turns the direction of text, and what is never seen: but
# for the two joiners, which scripts and emoji are written with.
_CONTROLS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# An image is fetched without a click, and so can carry words away in its address.
_IMAGE = re.compile(r"(!\[[^\[\]\n]{0,300}\])(?=[(\[])")
_LINK = re.compile(r"\](?=\(\s{0,9}<?\s{0,9}(?:[A-Za-z][A-Za-z0-9+.-]{1,20}:|//|\\\\|www\.))")
_REFERENCE = re.compile(r"^([ \t]{0,3})(?=\[[^\[\]\n]{1,300}\]:)", re.MULTILINE)
_TAG = re.compile(
    r"<(?=/?(?:a|area|audio|base|embed|form|iframe|image|img|input|link|meta|object|picture|script|"
    r"source|style|svg|track|video)\b)",
    re.IGNORECASE,
)
# Lines that only we write: the last one, the list of sources, headers, places and numbered lines.
_FRAME = re.compile(
    r"^(?=[ \t>*_`]{0,9}(?:\[[ \t]*mode\b|Sources[ \t]*:|={3}|See also:|Best fit:|\(Partial:"
    r"|Told, not checked:)"
    r"|[ \t]{0,9}\d{1,9}\||[ \t]{0,9}[^\s:|]{1,300}:\d{1,9}-\d{1,9}[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)


def visible(text: str) -> str:
    r"""Controls written out, as `\x1b` or `\u202e`, and images as the text they are made of.

    Everything that is answered passes this; what a model wrote passes `inert` before it is kept.
    """
    text = text.replace("\r\n", "\n")
    return _IMAGE.sub(r"\1 ", _CONTROLS.sub(_written_out, text))


def inert(text: str) -> str:
    """What a model wrote, with its links, tags and references as text, and no line of our frame."""
    text = _TAG.sub("< ", _LINK.sub("] ", visible(text)))
    return _FRAME.sub("| ", _REFERENCE.sub(r"\1\\", text))


def _written_out(control: re.Match[str]) -> str:
    code = ord(control.group())
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


# What a search for a name may open: generated files are not learned, and no secret.
SEARCHED = frozenset({None, SkipReason.GENERATED})


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


CREDENTIAL_FOLDERS = _set(
    """
    .ssh .aws .gnupg .kube .azure .gcloud .password-store .oci .aliyun .credentials .secrets
    .minikube .terraform.d keychains
    """
)
# In these folders, these files.
_CREDENTIAL_PLACES = frozenset(
    {
        (".docker", "config.json"), (".claude", "settings.local.json"), (".m2", "settings.xml"),
        (".m2", "settings-security.xml"), (".config/gh", "hosts.yml"), (".cargo", "credentials"),
        (".gem", "credentials"), (".bundle", "config"), (".composer", "auth.json"),
        (".gradle", "gradle.properties"), (".nuget", "nuget.config"), ("config", "master.key"),
        (".ngrok2", "ngrok.yml"), (".config/rclone", "rclone.conf"), (".snowsql", "config"),
        (".databricks", "token-cache.json"), (".streamlit", "secrets.toml"), (".jupyter",
        "jupyter_server_config.json"), (".codex", "auth.json"), (".gemini", "oauth_creds.json"),
        (".vscode", "sftp.json"), (".idea", "webservers.xml"), (".idea", "datasources.local.xml"),
        (".continue", "config.json"), (".cursor", "mcp.json"), (".vscode", "mcp.json"),
        (".gemini", "settings.json"), (".roo", "mcp.json"), (".fly", "config.yml"),
    }
)  # fmt: skip
_FOLDERS_OF = {
    name: frozenset(folder for folder, file in _CREDENTIAL_PLACES if file == name)
    for _, name in _CREDENTIAL_PLACES
}
_CREDENTIAL_NAMES = _set(
    """
    .netrc _netrc .npmrc .pypirc .git-credentials .htpasswd .htdigest .pgpass pgpass.conf .my.cnf
    .mylogin.cnf .s3cfg .boto .dockercfg .dockerconfigjson .vault-token .vault_pass
    .vault-password .rediscli_auth .bash_history .zsh_history .psql_history .mysql_history
    .python_history .node_repl_history .sqlite_history .irb_history fish_history kubeconfig
    auth.json master.key secring.gpg application_default_credentials.json .dev.vars .mcp.json
    rclone.conf .passwd-s3fs passwd-s3fs wp-config.php wp-config-local.php localsettings.php
    .terraformrc terraform.rc .curlrc .wgetrc .fetchmailrc .msmtprc .muttrc .mbsyncrc
    .offlineimaprc .ftpconfig .remote-sync.json sftp-config.json .esmtprc .smbcredentials
    smb.credentials .smbcreds .lftprc .ldaprc .databrickscfg .snowsql.cnf .dbshell filezilla.xml
    sitemanager.xml recentservers.xml winscp.ini shadow shadow- gshadow htpasswd passwd.db
    krb5.keytab robomongo.json datasources.local.xml webservers.xml parameters.local.yml
    local.settings.json appsettings.local.json appsettings.secrets.json secrets.local.json
    settings.local.json settings-security.xml .pip.conf .doctlcfg .ngrok.yml ngrok.yml
    .sentryclirc .heroku-credentials oauth_creds.json client_secrets.json
    """
)
_CREDENTIAL_SUFFIXES = _set(
    """
    .pem .key .p8 .p12 .pfx .pkcs12 .jks .keystore .bks .bcfks .kdb .kdbx .kwallet .ppk .ovpn
    .tfstate .tfvars .kubeconfig .env .agekey .keytab .gpg .pgp .psafe3 .opvault .agilekeychain
    .keychain .jceks .mobileprovision .rdp .skr .wg .htpasswd .credentials .secret .secrets .pwd
    """
)
_CREDENTIAL_PATTERNS = (
    re.compile(r"\.env(?:rc)?(?:[._-].*)?"),
    re.compile(r"\.dev\.vars(?:\..*)?"),
    re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?"),
    re.compile(
        r"\.?(?:(?:app|prod|production|staging|dev|local|my|db|aws|gcp|azure|k8s)[._-])?"
        r"(?:credentials?|secrets?)(?:[._-](?:prod(?:uction)?|local|dev|stag(?:e|ing)|test|live))?"
        r"(?:\.(?:json|ya?ml|toml|ini|xml|csv|db|enc|cfg|conf|properties|txt|env))"
    ),
    re.compile(r"\.?(?:credentials?|secrets?)"),
    re.compile(r".*(?:service[._-]?account|client[._-]?secret|adminsdk|[._-]credentials).*\.json"),
    re.compile(r".*\.tfstate\..*"),
    re.compile(r".*\.tfvars\.json"),
    re.compile(r"wp-config(?!-sample)[.-].*php.*"),
)
# A copy of a file is what the file is: `.npmrc.bak`, `id_rsa~`, `.netrc.old`.
_COPY = re.compile(
    r"(?P<of>.{1,200}?)(?:~|[._-](?:bak|backup|old|orig|saved?|copy|sw[op]|tmp|prev|[12]|rpmsave"
    r"|rpmnew|dpkg-old|disabled|local|20\d{2}[\d-]{0,8}))"
)
# A file that shows what to fill in, and the public half of a key pair.
_HARMLESS = re.compile(r".*[._-](?:example|sample|template|tmpl|tpl|dist|schema|pub)")

_LOCK_NAMES = _set(
    """
    package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum package.resolved
    packages.lock.json gradle.lockfile conda-lock.yml .terraform.lock.hcl
    """
)
_GENERATED = re.compile(r".*(?:\.lock|[.-]min\.(?:m?js|cjs|css)|\.(?:[cm]?[jt]sx?|css)\.map)")

# Formats that are never text. What is missing here is told by its bytes.
_BINARY_SUFFIXES = _set(
    """
    .png .jpg .jpeg .gif .webp .avif .ico .bmp .tiff .psd .pdf .zip .gz .tgz .bz2 .xz .zst .7z .rar
    .jar .war .class .whl .egg .so .dylib .dll .exe .a .o .pyc .pyo .wasm .woff .woff2 .ttf .otf
    .eot .mp3 .mp4 .mov .avi .mkv .ogg .wav .flac .sqlite .sqlite3 .parquet .npy .npz .gguf
    .safetensors .docx .xlsx .pptx
    """
)


def refusal_of_name(path: RelPath) -> SkipReason | None:
    """Why a file of this name is never read, if so; upper and lower case are the same."""
    parts = path.text.lower().split("/")
    name = parts.pop()
    if ".git" in parts or name == ".git":
        return SkipReason.IGNORED
    if not CREDENTIAL_FOLDERS.isdisjoint(parts):
        return SkipReason.CREDENTIALS
    refusal, placed = _of_name(name)
    if placed and not {*parts[-1:], "/".join(parts[-2:])}.isdisjoint(placed):
        return SkipReason.CREDENTIALS
    return refusal


# Every look at a workspace asks for all its files, of which many have one name.
@lru_cache(65_536)
def _of_name(name: str) -> tuple[SkipReason | None, frozenset[str]]:
    """Why a file called so is never read, wherever it is, and in which folders it is not."""
    copy = _COPY.fullmatch(name)
    names = [] if _HARMLESS.fullmatch(name) else [name, *([copy["of"]] if copy else ())]
    if any(map(_is_named, names)):
        return _shared(SkipReason.CREDENTIALS)
    placed = frozenset[str]().union(*(_FOLDERS_OF.get(each, ()) for each in names))
    if name in _LOCK_NAMES or _GENERATED.fullmatch(name):
        return _shared(SkipReason.GENERATED, placed)
    is_binary = RelPath(name).suffix in _BINARY_SUFFIXES
    return _shared(SkipReason.BINARY if is_binary else None, placed)


@cache
def _shared(
    refusal: SkipReason | None, placed: frozenset[str] = frozenset()
) -> tuple[SkipReason | None, frozenset[str]]:
    """The very same for all names that it is said of, which are many."""
    return refusal, placed


def _is_named(name: str) -> bool:
    if name in _CREDENTIAL_NAMES:
        return True
    _, dot, ending = name.rpartition(".")
    if f"{dot}{ending}" in _CREDENTIAL_SUFFIXES:
        return True
    return any(pattern.fullmatch(name) for pattern in _CREDENTIAL_PATTERNS)
