"""`stats` and `empty`: what is remembered about a workspace, and forgetting it."""

import json

import click

from live_memory.cli.options import absolute, configured, cwd_option, json_option
from live_memory.cli.reaching.connection import get, post
from live_memory.cli.reaching.finding import find
from live_memory.core.reading.inert import visible
from live_memory.settings import Configuration

__all__ = ["empty", "stats"]


@click.command()
@cwd_option
@json_option
@configured
def stats(configuration: Configuration, *, cwd: str, as_json: bool) -> None:
    """Show what is remembered about a workspace."""
    figures = get(find(configuration.settings), "/stats", cwd=absolute(cwd))
    click.echo(json.dumps(figures) if as_json else _table(figures))


@click.command()
@click.argument("scope", type=click.Choice(["all"]), required=False)
@click.option("--all", "everything", is_flag=True, help="Every workspace, the same as `empty all`.")
@cwd_option
@json_option
@configured
def empty(
    configuration: Configuration, *, scope: str | None, everything: bool, cwd: str, as_json: bool
) -> None:
    """Forget a workspace, or all of them; files in the workspace are not touched."""
    body: dict[str, object] = {"all": True} if scope or everything else {"cwd": absolute(cwd)}
    outcome = post(find(configuration.settings), "/clear", body)
    if as_json:
        click.echo(json.dumps(outcome))
    else:
        click.echo("forgot every workspace" if "all" in body else visible(f"forgot {body['cwd']}"))


def _table(figures: dict[str, object], *, prefix: str = "") -> str:
    """One line a figure, aligned; nested objects and lists are spelt out."""
    rows: list[tuple[str, str]] = []
    for name, value in figures.items():
        match value:
            case dict():
                rows += [(f"{name} {inner}", str(v)) for inner, v in value.items()]
            case list():
                rows += [(name, str(item)) for item in value] or [(name, "none")]
            case _:
                rows.append((name, f"{value:,}" if type(value) is int else str(value)))
    width = max((len(name) for name, _ in rows), default=0)
    rows = [(visible(name), visible(value)) for name, value in rows]
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in rows)
