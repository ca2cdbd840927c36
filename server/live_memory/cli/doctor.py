"""`doctor`: a line for each thing that has to be right, and the fix for what is not."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

import click

from live_memory.cli.checking.delivery import of_delivery
from live_memory.cli.checking.server import of_server
from live_memory.cli.checks import Check, Verdict, of_installation, of_plugin
from live_memory.cli.failure import ExitCode
from live_memory.cli.options import configured, json_option
from live_memory.settings import Configuration, Settings

__all__ = ["doctor"]

_Look = Callable[[Settings], Iterator[Check]]
_CHECKS: tuple[_Look, ...] = (
    of_installation,
    of_server,
    of_delivery,
    of_plugin,
)


def _looked(look: _Look, settings: Settings) -> Iterator[Check]:
    """What a look finds; what the system refuses it is a finding too."""
    try:
        yield from look(settings)
    except OSError as problem:
        found = f"could not look: {problem}"
        yield Check("system", Verdict.FAIL, found, "free some space, or give what was refused")


@click.command()
@json_option
@configured
def doctor(configuration: Configuration, *, as_json: bool) -> int:
    """Check the installation and name the fix for what is wrong."""
    checks = [check for look in _CHECKS for check in _looked(look, configuration.settings)]
    is_fine = all(check.verdict is not Verdict.FAIL for check in checks)
    if as_json:
        click.echo(json.dumps({"ok": is_fine, "checks": [asdict(check) for check in checks]}))
    else:
        for check in checks:
            click.echo(f"{check.verdict:<4}  {check.name:<11}  {check.found}")
            if check.verdict is not Verdict.OK and check.fix:
                click.echo(f"      {'fix':<11}  {check.fix}")
    return ExitCode.FINE if is_fine else ExitCode.FAILED
