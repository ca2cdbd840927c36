"""`config`: the settings in force with their sources, changing them, and trying the model."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr

from live_memory.cli.connection import find, get, post
from live_memory.cli.environment import Failure, write_whole
from live_memory.cli.launcher import LOG_NAME
from live_memory.cli.main import absolute, configured, json_option, load_configuration
from live_memory.cli.saying import say, say_json
from live_memory.core.errors import InvalidRequest
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

    They are those of the running server; where one that is started here would have another value,
    that is said too.

    \b
    Examples:
      live-memory config show
      live-memory config show --json
    """
    server = _server(configuration.settings)
    if as_json:
        settings = configuration.shown()
        settings["port"]["in_force"] = server and server["port"]
        shown = {"file": str(config_file()), "settings": settings, "server": server}
        say_json(shown)
        return
    # What somebody set comes first: the rest is in the documentation, too.
    rows = sorted(_rows(configuration.shown(), server), key=lambda row: row[2] == "default")
    width = max(len(name) for name, _, _ in rows)
    for name, value, why in rows:
        say(f"{name:<{width}}  {value}  ({why})")
    say(f"\nThe file is {config_file()}.")
    if server is None:
        say("No server runs; one that is started here has these.")
    elif not server["settings"]:
        say(f"The server at {server['url']} is of another version and may have others.")
    else:
        answers = f"{server['model']} answers" if server["model"] else "no model answers"
        say(f"The server at {server['url']} has these; {answers}.")


def _server(settings: Settings) -> dict[str, Any] | None:
    """What the running server has, and where it is: `url`, `port`, `model`, `settings`."""
    try:
        server = find(settings)
    except (Failure, InvalidRequest):
        return None
    try:
        said = get(server, "/v1/config")
    except Failure:
        said = {"model": None, "settings": {}}
    return {"url": server.url, "port": server.port, **said}


def _rows(
    here: Mapping[str, Mapping[str, object]], server: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, str]]:
    """Each setting with the value in force, and where that is from.

    Where a server that is started here would have another one, that is said, too.
    """
    for name, one in here.items():
        value, why = _text(one["value"]), _where(one["source"])
        theirs = server and server["settings"].get(name)
        if not theirs or name == "data_dir" or theirs["value"] == LOG_NAME:
            yield name, value, why
            continue
        now = _text(theirs["value"])
        source = _where(theirs["source"])
        other = "" if now == value else f"; one that is started here has {value}: {why}"
        if server and name == "port" and server["port"] != theirs["value"]:
            now, source = str(server["port"]), f"the server took it in place of {now}: {source}"
        yield name, now, f"{source}{other}"


def _where(source: object) -> str:
    """Where a value is from; the file's whole name stands below, once."""
    return {"flag": "command line", str(config_file()): config_file().name}.get(
        str(source), str(source)
    )


def _text(value: object) -> str:
    """A value as `config set` takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, {}, []) else str(value)


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
        say_json(outcome)
        return
    say(f"wrote {', '.join(sorted(changes))} to {file}")
    if outcome["reloaded"]:
        say(f"the running server answers with {outcome['model'] or 'no model'}")
    if "note" in outcome:
        say(str(outcome["note"]))


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
        say_json(verdict)
    else:
        say(_sentence(verdict))
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
`live-memory config show` prints each value that the running server has, with its source.
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
