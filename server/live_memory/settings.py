"""Everything a person can set, read once: flags > environment > config file > defaults."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from live_memory.core.errors import InvalidRequest

__all__ = ["Configuration", "Settings", "config_file", "load", "page"]

_PREFIX = "LIVE_MEMORY_"


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
    port: int = Field(default=7711, ge=1, le=65_535, description="TCP port to listen on.")
    max_file_bytes: int = Field(
        default=256 * 1024,
        ge=1024,
        le=16 * 1024 * 1024,
        description="Bytes of a file that are read into memory; of a longer file, its head.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe lines that are logged."
    )


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings, where each value came from, and what was found but not understood."""

    settings: Settings
    sources: Mapping[str, str]
    warnings: tuple[str, ...]


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
                name: environ[_PREFIX + name.upper()]
                for name in known
                if environ.get(_PREFIX + name.upper())
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


def page() -> str:
    """The text of docs/settings.md."""
    rows = "\n".join(
        f"| `{name}` | {_kind(name)} | {_default(name)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    )
    return f"""# Settings

Flags win over the environment, the environment over the config file, the file over the defaults.
In the environment a setting is called `{_PREFIX}` and its name in capitals: `{_PREFIX}PORT`.
The file is `config.toml` in the user's config folder for `live-memory`.
`live-memory config show` prints each value with its source.
Nothing in a repository can change a setting.

| setting | values | default | meaning |
|---|---|---|---|
{rows}
"""


def _kind(name: str) -> str:
    schema = Settings.model_json_schema()["properties"][name]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    return "folder" if schema.get("format") == "path" else "text"


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    return "the user's data folder" if field.default_factory else f"`{field.default}`"


def _read(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"{file} is not a TOML file: {problem}") from problem
    except OSError as problem:
        raise InvalidRequest(f"{file} cannot be read: {problem.strerror}") from problem


def _explain(problem: ValidationError, sources: Mapping[str, str]) -> str:
    lines = []
    for error in problem.errors(include_url=False, include_input=False):
        name = str(error["loc"][0])
        lines.append(f"setting {name!r} ({sources.get(name, 'unknown')}): {error['msg']}")
    return "; ".join(lines)
