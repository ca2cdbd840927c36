"""`completion`: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

from live_memory.cli.environment import ExitCode, Failure

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    Examples:
      live-memory completion bash > ~/.local/share/bash-completion/completions/live-memory
      live-memory completion zsh > ~/.zfunc/_live-memory     (with ~/.zfunc in fpath)
      live-memory completion fish > ~/.config/fish/completions/live-memory.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise Failure(f"{shell} is not known here", code=ExitCode.REFUSED, kind="invalid")
    group = context.find_root().command
    script = made(group, {}, "live-memory", "_LIVE_MEMORY_COMPLETE").source()
    click.echo(script)  # noqa: TID251  (all of it is ours, and a shell reads it)
