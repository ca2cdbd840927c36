"""`config`: the settings in force, each with where it was set; a secret is never printed."""

import json

import click

from live_memory.cli.options import configured, json_option
from live_memory.settings import Configuration, config_file

__all__ = ["config"]


@click.group(invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show the settings in force."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@config.command()
@json_option
@configured
def show(configuration: Configuration, *, as_json: bool = False) -> None:
    """Print each setting with its value and where it was set."""
    values = configuration.settings.model_dump(mode="json")
    if as_json:
        settings = {
            name: {"value": value, "source": configuration.sources[name]}
            for name, value in values.items()
        }
        click.echo(json.dumps({"file": str(config_file()), "settings": settings}))
        return
    width = max(map(len, values))
    for name, value in values.items():
        click.echo(f"{name:<{width}}  {value}  ({configuration.sources[name]})")
    click.echo(f"\nThe file is {config_file()}.")
