"""Everything a person can set, read once: flags > environment > config file > defaults."""

import ast
import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from live_memory.client.offer import TOOLS
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.redaction import DEFAULT, HiddenFiles

__all__ = ["PREFIX", "RELOADABLE", "Configuration", "Settings", "config_file", "load"]

PREFIX = "LIVE_MEMORY_"

# What a running server takes over when it is told to read its configuration again.
RELOADABLE = frozenset(
    {
        "provider", "model", "base_url", "api_key", "auth_header", "use_oauth", "openai_extra_body",
        "context_tokens", "max_context_tokens", "price_input", "price_output",
        "price_cache_read_mult", "price_cache_write_mult", "spend_cap_usd_day",
        "spend_cap_tokens_hour",
    }
)  # fmt: skip

# A list of globs; `[ab]*` is one glob, and so is `[]x]`.
_JSON_LIST = re.compile(r'\s*\[\s*(?:"|\]\s*$)')
# As `service install` wrote them once: what was hidden stays hidden.
_OLD_LIST = re.compile(r"""\(["'].*["'],?\)$|\(\)$""")

_ToolName = Literal["ask_live_memory", "remember", "recall", "forget", "handoff"]


class Settings(BaseModel):
    """One frozen object; each field's description is its line in docs/settings.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("live-memory"),
        description="Folder that holds the token, the lock and what each workspace keeps.",
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on; only addresses of this machine's loopback are accepted.",
    )
    port: int = Field(
        default=7711,
        ge=1,
        le=65_535,
        description="TCP port to listen on, a free one where a program has that; where none is "
        "set, that of last time comes first. `live-memory status` says which it is.",
    )
    max_file_bytes: int = Field(
        default=256 * 1024,
        ge=1024,
        le=16 * 1024 * 1024,
        description="Bytes of a file that are read into memory; of a longer file, its head.",
    )
    passive: bool = Field(
        default=True,
        description="Whether memory fills from what the agent reads and edits; `no`: only counted.",
    )
    remember_conclusions: bool = Field(
        default=True,
        description="Whether memory keeps what the agent concluded at the end of its work, where "
        "it cites places; `no`: the hooks send no word of it.",
    )
    handoffs: bool = Field(
        default=True,
        description="Whether the end of a session leaves a handoff by itself, and the start of one "
        "says in a line how many are open.",
    )
    ignore: tuple[str, ...] = Field(
        default=(),
        description="Files and folders that are never read, listed or learned, as globs: "
        "`*.csv`, `fixtures/**`. In the environment, a JSON list or globs with blanks between.",
    )
    provider: Literal["auto", "anthropic", "openai", "claude-cli", "none"] = Field(
        default="auto",
        description="Who answers: `auto` takes a key or base URL that is set, else the user's own "
        "Claude Code where it is logged in, else no model; `none` answers from evidence alone.",
    )
    model: str | None = Field(
        default=None, description="Model name; the provider's cheap one where it is not set."
    )
    base_url: str | None = Field(
        default=None,
        description="Address of the provider or a compatible server, with its `/v1` for `openai`.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="Key for the provider; else `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or "
        "`DEEPSEEK_API_KEY`.",
    )
    auth_header: Literal["bearer", "x-api-key"] = Field(
        default="bearer", description="How the key travels; some gateways want `x-api-key`."
    )
    use_oauth: bool = Field(
        default=False,
        description="Whether the login of your Claude Code answers, in place of a key. Its maker "
        "may refuse that; where the login ran out, renewing it can end it for Claude Code. "
        "`claude-cli` has neither problem.",
    )
    openai_extra_body: dict[str, object] = Field(
        default_factory=dict, description="Fields added to every Chat Completions request."
    )
    context_tokens: int | None = Field(
        default=None,
        ge=2_048,
        le=10_000_000,
        description="Tokens of the model's own window; known by its name where it is not set.",
    )
    max_context_tokens: int = Field(
        default=12_000,
        ge=4_096,
        le=128_000,
        description="Tokens of memory that are sent with a question, at most.",
    )
    price_input: float | None = Field(
        default=None, ge=0, le=10_000, description="US dollars for a million input tokens."
    )
    price_output: float | None = Field(
        default=None, ge=0, le=10_000, description="US dollars for a million output tokens."
    )
    price_cache_read_mult: float = Field(
        default=0.1,
        ge=0,
        le=10,
        description="Price of a cached token, as a share of `price_input`.",
    )
    price_cache_write_mult: float = Field(
        default=1.25,
        ge=0,
        le=10,
        description="Price of a token written to the cache, as a share of `price_input`.",
    )
    spend_cap_usd_day: float = Field(
        default=5.0,
        ge=0,
        le=100_000,
        description="US dollars that models may cost in a day; then evidence answers. 0 is no cap.",
    )
    spend_cap_tokens_hour: int = Field(
        default=3_000_000,
        ge=0,
        le=10_000_000_000,
        description="Tokens that models may use in an hour; then evidence answers. 0 is no cap.",
    )
    max_parallel_questions: int = Field(
        default=4,
        ge=1,
        le=32,
        description="Questions of one workspace that are answered at a time; 1 is one by one.",
    )
    max_queue: int = Field(
        default=100, ge=0, le=10_000, description="Questions of one workspace that may wait."
    )
    async_tools: bool = Field(
        default=False,
        description="Whether questions can also be submitted and collected later, by two tools.",
    )
    tools: tuple[_ToolName, ...] = Field(
        default=TOOLS,
        min_length=1,
        description="Tools that agents are offered, with commas between: `ask_live_memory,recall`; "
        "the command line has all of them.",
    )
    keep_warm: bool = Field(
        default=False,
        description="Whether the provider's prompt cache is kept from expiring; costs money.",
    )
    keep_warm_max_idle_s: int = Field(
        default=1_800,
        ge=60,
        le=86_400,
        description="Seconds after the last question for which the cache is kept.",
    )
    idle_exit_s: int = Field(
        default=7_200,
        ge=0,
        le=2_592_000,
        description="Seconds without a client or a hook after which a server that was started in "
        "the background ends; the next session starts it again. 0 is never. What `serve` or a "
        "service runs stays.",
    )
    canonicalize_workspace: bool = Field(
        default=True,
        description="Whether every folder of a git work tree is the one workspace of its root; "
        "else each folder that is asked about is a workspace.",
    )
    repo_root_mode: Literal["nearest", "outermost"] = Field(
        default="nearest",
        description="Which root a folder in a submodule belongs to: the submodule's, or that of "
        "the repository that holds it.",
    )
    watch: bool = Field(
        default=True,
        description="Whether changed files are looked at as soon as they change; without it, when "
        "a question comes in, which they are in any case.",
    )
    log_file: Path | None = Field(
        default=None,
        description="File that lines are logged to, in place of standard error; three of a "
        "mebibyte are kept. A relative name is one in the data folder.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe lines that are logged."
    )

    @field_validator("tools", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """As text they are words; as they were written once, a list in JSON."""
        if not isinstance(value, str):
            return value
        return json.loads(value) if _JSON_LIST.match(value) else re.findall(r"[^,\s]+", value)

    @field_validator("openai_extra_body", "ignore", mode="before")
    @classmethod
    def _from_text(cls, value: object, info: ValidationInfo) -> object:
        """In the environment a table or a list is written as JSON, globs also as words."""
        if not isinstance(value, str):
            return value
        if info.field_name != "ignore" or _JSON_LIST.match(value):
            return json.loads(value)
        old = _old_list(value)
        return value.split() if old is None else old

    @field_validator("data_dir", "log_file")
    @classmethod
    def _at_home(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        """`~` is the home folder, and hooks find the data folder only by its whole name."""
        if value is None:
            return None
        found = Path(os.path.expanduser(value))  # noqa: PTH111  (leaves an unknown user's as it is)
        if info.field_name == "data_dir" and not found.is_absolute():
            raise ValueError(f"'{found}' depends on the working folder: begin it with / or ~")
        return found

    @field_validator("ignore")
    @classmethod
    def _are_globs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            HiddenFiles(value)
        except InvalidRequest as problem:
            raise ValueError(str(problem)) from problem
        return value


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, where each value came from, and what was found but not understood."""

    settings: Settings
    sources: Mapping[str, str]
    warnings: tuple[str, ...]

    def shown(self) -> dict[str, dict[str, object]]:
        """Each setting's value as JSON has it, without secrets, and its source."""
        dumped = self.settings.model_dump(mode="json")
        return {
            name: {"value": _shown(name, value), "source": self.sources[name]}
            for name, value in dumped.items()
        }

    def reread(self, latest: "Configuration") -> "Configuration":
        """What a server that runs with this has once it took over what it can of another."""
        taken = {name: getattr(latest.settings, name) for name in RELOADABLE}
        sources = {name: latest.sources[name] for name in RELOADABLE}
        settings = self.settings.model_copy(update=taken)
        return Configuration(settings, {**self.sources, **sources}, latest.warnings)


# What an added field is called may say nothing of what it holds.
_PLAIN = (bool, int, float, type(None))


def _shown(name: str, value: object) -> object:
    """A setting without secrets: an address without its user, added fields by their names."""
    if name == "base_url" and isinstance(value, str):
        scheme, joint, rest = value.partition("://")
        place, slash, path = (rest if joint else value).partition("/")
        path = path.partition("?")[0]
        bare = f"{'***@' * ('@' in place)}{place.rpartition('@')[2]}{slash}{path}"
        return DEFAULT.redact(f"{scheme}{joint}{bare}" if joint else bare).text.text
    if name == "openai_extra_body" and isinstance(value, dict):
        return {key: one if isinstance(one, _PLAIN) else "***" for key, one in value.items()}
    return DEFAULT.redact(value).text.text if isinstance(value, str) and name == "model" else value


def _old_list(text: str) -> tuple[object, ...] | None:
    """What `service install` wrote once as a Python tuple; nothing for anything else."""
    if not _OLD_LIST.match(text):
        return None
    with suppress(SyntaxError, ValueError):
        value = ast.literal_eval(text)
        return value if isinstance(value, tuple) else None
    return None


def config_file() -> Path:
    """Where the user's configuration is."""
    return platformdirs.user_config_path("live-memory") / "config.toml"


def load(flags: Mapping[str, object], environ: Mapping[str, str], file: Path) -> Configuration:
    """Merge what was set; a flag that is `None` was not given.

    Raises:
        InvalidRequest: a value is of the wrong type or out of range, or the file is not TOML;
            the text names the setting and where it was set.
    """
    known = Settings.model_fields
    in_file = _read(file)
    layers: list[tuple[str, Mapping[str, object]]] = [
        (str(file), {k: v for k, v in in_file.items() if k in known}),
        (
            "environment",
            {
                name: environ[PREFIX + name.upper()]
                for name in known
                if environ.get(PREFIX + name.upper())
            },
        ),
        ("flag", {k: v for k, v in flags.items() if v is not None}),
    ]
    values: dict[str, object] = {}
    sources = dict.fromkeys(known, "default")
    for source, layer in layers:
        values |= layer
        sources |= dict.fromkeys(layer, source)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as problem:
        raise InvalidRequest(_explain(problem, sources)) from problem
    unknown = sorted(in_file.keys() - known.keys())
    warnings = tuple(f"unknown setting {key!r} in {file} is ignored" for key in unknown)
    return Configuration(settings, sources, warnings)


def _read(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            _check_owner(file, os.fstat(stream.fileno()))
            return tomllib.load(stream)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"{file} is not a TOML file: {problem}") from problem
    except OSError as problem:
        raise InvalidRequest(f"{file} cannot be read: {problem.strerror}") from problem


def _check_owner(file: Path, state: os.stat_result) -> None:
    """Obey nobody but the user and root: what is set here decides who reads the user's code.

    Raises:
        InvalidRequest: someone else can have written the file.
    """
    if state.st_uid not in (os.geteuid(), 0):
        raise InvalidRequest(
            f"{file} belongs to another user, so it is not obeyed: remove it, or make it yours "
            f"(sudo chown {os.geteuid()} '{file}')"
        )
    if stat.S_ISREG(state.st_mode) and state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidRequest(
            f"{file} can be written by others ({stat.S_IMODE(state.st_mode):o}), so it is not "
            f"obeyed: look through it, then chmod 600 '{file}'"
        )


def _explain(problem: ValidationError, sources: Mapping[str, str]) -> str:
    lines = []
    for error in problem.errors(include_url=False, include_input=False):
        name = str(error["loc"][0])
        lines.append(f"setting {name!r} ({sources.get(name, 'unknown')}): {error['msg']}")
    return "; ".join(lines)
