"""The page that documents every setting, made from the settings themselves."""

from live_memory.settings import PREFIX, Settings

__all__ = ["page"]


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
    return "" if value in (None, {}, ()) else f"`{value}`"
