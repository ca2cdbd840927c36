"""`config`: the settings in force with their sources, changing them, and trying the model."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from pydantic import SecretStr

from live_memory.cli.connection import find, post
from live_memory.cli.environment import Failure, write_whole
from live_memory.cli.main import absolute, configured, json_option, load_configuration
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.redaction import DEFAULT
from live_memory.settings import PREFIX, RELOADABLE, Configuration, Settings, config_file, load

__all__ = ["page"]


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show and change settings, and try the model."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@config.command()
@json_option
@configured
def show(configuration: Configuration, *, as_json: bool = False) -> None:
    """Print each setting with its value and where it was set; never a secret.

    \b
    Examples:
      live-memory config show
      live-memory config show --json
    """
    dumped = configuration.settings.model_dump(mode="json")
    values = {name: _shown(name, value) for name, value in dumped.items()}
    port = _port_in_force(configuration.settings)
    if as_json:
        settings: dict[str, dict[str, object]] = {
            name: {"value": value, "source": configuration.sources[name]}
            for name, value in values.items()
        }
        settings["port"]["in_force"] = port
        click.echo(json.dumps({"file": str(config_file()), "settings": settings}))
        return
    width = max(map(len, values))
    for name, value in values.items():
        shown = "-" if value in (None, {}, []) else value
        now = f"; the server has {port}" if name == "port" and port not in (None, value) else ""
        click.echo(f"{name:<{width}}  {shown}  ({configuration.sources[name]}{now})")
    click.echo(f"\nThe file is {config_file()}.")


def _port_in_force(settings: Settings) -> int | None:
    """Where the server is: another port than the one that is set where a program has that."""
    try:
        return find(settings).port
    except (Failure, InvalidRequest):
        return None


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


@config.command(name="set")
@click.argument("assignments", nargs=-1, required=True, metavar="KEY=VALUE...")
@json_option
def set_values(assignments: Sequence[str], *, as_json: bool) -> None:
    """Write settings to the config file and tell the running server.

    KEY= goes back to the default; KEY=- reads the value from standard input, which is the only
    way for a key.

    \b
    Examples:
      live-memory config set provider=none
      live-memory config set api_key=-
    """
    changes = _parsed(assignments)
    file = config_file()
    _write(file, changes)
    outcome: dict[str, object] = {"file": str(file), "set": sorted(changes), "reloaded": False}
    try:
        server = find(load_configuration({}).settings)
    except Failure:
        outcome["note"] = "no server runs; the next one takes them"
    else:
        outcome |= {"model": post(server, "/reload", {}).get("model"), "reloaded": True}
        later = sorted(changes.keys() - RELOADABLE)
        if later:
            outcome["note"] = (
                f"{', '.join(later)}: restart the server (`live-memory stop`, `start`)"
            )
    if as_json:
        click.echo(json.dumps(outcome))
        return
    click.echo(f"wrote {', '.join(sorted(changes))} to {file}")
    if outcome["reloaded"]:
        click.echo(f"the running server answers with {outcome['model'] or 'no model'}")
    if "note" in outcome:
        click.echo(outcome["note"])


@config.command()
@json_option
@configured
def test(configuration: Configuration, *, as_json: bool) -> None:
    """Ask the model once and print what it can carry.

    \b
    Examples:
      live-memory config test
    """
    verdict = post(find(configuration.settings), "/v1/models/test", {})
    if as_json:
        click.echo(json.dumps(verdict))
    else:
        click.echo(_sentence(verdict))
    if not verdict["is_reachable"]:
        sys.exit(1)


def _sentence(verdict: Mapping[str, object]) -> str:
    if not verdict["is_reachable"]:
        return f"{verdict['model'] or 'no model'}: not usable: {verdict['problem']}"
    tools = "calls tools" if verdict["has_tools"] else "calls no tools"
    price = "price known" if verdict["is_price_known"] else "price unknown (set price_input, ...)"
    return (
        f"{verdict['model']}: reachable, {tools}, window of {verdict['context_tokens']} tokens, "
        f"{price}; answers as {verdict['mode']}"
    )


def _parsed(assignments: Sequence[str]) -> dict[str, object]:
    """What to write for each key; `None` takes it out. An `InvalidRequest` lists what can be."""
    changes: dict[str, object] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if key not in Settings.model_fields:
            valid = ", ".join(Settings.model_fields)
            raise InvalidRequest(f"there is no setting {key!r}; the settings are {valid}")
        if not equals:
            raise InvalidRequest(f"write {key}=VALUE, {key}= for the default, or {key}=- for stdin")
        if key == "api_key" and text not in ("", "-"):
            raise InvalidRequest(
                "a key on the command line is seen by others: pipe it into `config set api_key=-`"
            )
        given = sys.stdin.readline().strip() if text == "-" else text
        changes[key] = _value(key, given) if given else None
    return changes


def _value(key: str, text: str) -> object:
    """The value as the file holds it; a folder's name as it is from where the shell is."""
    text = absolute(text) if key == "data_dir" else text
    value: object = getattr(load({key: text}, {}, Path(os.devnull)).settings, key)
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return str(value) if isinstance(value, Path) else value


def _write(file: Path, changes: Mapping[str, object]) -> None:
    """Change the file in one step, 0600, with a person's comments left where they are.

    Raises:
        InvalidRequest: what is there is not TOML, or it cannot be written.
    """
    import tomlkit  # noqa: PLC0415  (only this command edits, and the others start fast)

    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        document = tomlkit.parse(before)
        for key, value in changes.items():
            if value is None:
                document.pop(key, None)
            else:
                document[key] = value
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, tomlkit.dumps(document).encode())
    except (OSError, ValueError) as problem:
        raise InvalidRequest(f"{file} cannot be changed: {problem}") from problem


def page() -> str:
    """The text of docs/settings.md."""
    rows = "\n".join(
        f"| `{name}` | {_kind(name)} | {_default(name)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    )
    return f"""# Settings

Flags win over the environment, the environment over the config file, the file over the defaults.
In the environment a setting is called `{PREFIX}` and its name in capitals: `{PREFIX}PORT`.
The file is `config.toml` in the user's config folder for `live-memory`.
Where others can write it, it is not obeyed.
What a session of the host starts or runs reads the file alone: a project may set its environment.
`live-memory config show` prints each value with its source.
Nothing in a repository can change a setting.

| setting | values | default | meaning |
|---|---|---|---|
{rows}
"""


def _kind(name: str) -> str:
    schema = Settings.model_json_schema()["properties"][name]
    schema = schema.get("anyOf", [schema])[0]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "minimum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    if schema.get("format") == "path":
        return "file" if name.endswith("_file") else "folder"
    return {"boolean": "yes, no", "object": "table", "array": "list"}.get(schema["type"], "text")


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if name == "data_dir":
        return "the user's data folder"
    value = field.default_factory() if field.default_factory else field.default  # type: ignore[call-arg]  # ours take no argument
    if isinstance(value, bool):
        return "`yes`" if value else "`no`"
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value)
    return "" if value in (None, {}) else f"`{value}`"
