"""Names that say enough: credential files, generated files, files that hold no text."""

import re
from functools import lru_cache

from live_memory.core.reading.observation import SkipReason
from live_memory.core.values import RelPath

__all__ = ["SEARCHED", "refusal_of_name"]

# What a search for a name may open: generated files are not learned, and no secret.
SEARCHED = frozenset({None, SkipReason.GENERATED})


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CREDENTIAL_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud"})
_CREDENTIAL_NAMES = _set(
    """
    .netrc _netrc .npmrc .pypirc .git-credentials .htpasswd .pgpass .my.cnf .mylogin.cnf .s3cfg
    .boto .dockercfg .vault-token .vault_pass .vault-password .rediscli_auth .bash_history
    .zsh_history .psql_history .mysql_history .python_history kubeconfig auth.json master.key
    secring.gpg application_default_credentials.json
    """
)
_CREDENTIAL_SUFFIXES = _set(
    """
    .pem .key .p8 .p12 .pfx .pkcs12 .jks .keystore .bks .kdb .kdbx .ppk .ovpn .tfstate .tfvars
    .kubeconfig .env .agekey
    """
)
_CREDENTIAL_PATTERNS = (
    re.compile(r"\.env(?:rc)?(?:[._-].*)?"),
    re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?"),
    re.compile(
        r"\.?(?:credentials?|secrets?)(?:\.(?:json|ya?ml|toml|ini|xml|csv|db|enc|cfg|txt))?"
    ),
    re.compile(r".*(?:service[._-]?account|client[._-]?secret|adminsdk|[._-]credentials).*\.json"),
    re.compile(r".*\.tfstate\..*"),
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


# Every look at a workspace asks for all its names.
@lru_cache(65_536)
def refusal_of_name(path: RelPath) -> SkipReason | None:
    """Why a file of this name is never read, if so; upper and lower case are the same."""
    *folders, name = path.text.lower().split("/")
    if ".git" in (*folders, name):
        return SkipReason.IGNORED
    if _is_credentials(folders, name):
        return SkipReason.CREDENTIALS
    if name in _LOCK_NAMES or _GENERATED.fullmatch(name):
        return SkipReason.GENERATED
    return SkipReason.BINARY if path.suffix in _BINARY_SUFFIXES else None


def _is_credentials(folders: list[str], name: str) -> bool:
    if not _CREDENTIAL_FOLDERS.isdisjoint(folders):
        return True
    if name in _CREDENTIAL_NAMES or (name == "config.json" and folders[-1:] == [".docker"]):
        return True
    if _HARMLESS.fullmatch(name):
        return False
    _, dot, ending = name.rpartition(".")
    if f"{dot}{ending}" in _CREDENTIAL_SUFFIXES:
        return True
    return any(pattern.fullmatch(name) for pattern in _CREDENTIAL_PATTERNS)
