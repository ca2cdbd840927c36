"""Names that say enough: credential files, generated files, files that hold no text."""

import re
from functools import cache, lru_cache

from live_memory.core.reading.observation import SkipReason
from live_memory.core.values import RelPath

__all__ = ["CREDENTIAL_FOLDERS", "SEARCHED", "refusal_of_name"]

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
