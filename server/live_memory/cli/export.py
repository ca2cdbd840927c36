"""`export`: notes, handoffs and facts leave as lines of JSON, or as pages of Markdown."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from live_memory.cli.connection import ProvenServer, each
from live_memory.cli.environment import ExitCode, Failure, write_whole
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, configured
from live_memory.cli.saying import say
from live_memory.core.notes.pages import page_of
from live_memory.settings import Configuration

Form = Mapping[str, object]

_START_S = 30.0
_TEMPLATES = Path(__file__).parent / "templates"
_LARGEST_TEMPLATE, _MOST_TEMPLATES = 256 * 1024, 100


@click.command()
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "md"]),
    default="jsonl",
    show_default=True,
    help="Lines of JSON, which `import` takes back, or pages of Markdown, for people and git.",
)
@click.option("--out", help="The file, or for pages the folder, to write; else it is printed.")
@click.option(
    "--scope",
    type=click.Choice(["workspace", "user"]),
    default="workspace",
    show_default=True,
    help="What is kept of this codebase, or what is kept across all.",
)
@click.option("--templates", help="A folder of templates of your own (*.md) for the pages.")
@configured
def export(
    configuration: Configuration,
    *,
    folder: str,
    form: str,
    out: str | None,
    scope: str,
    templates: str | None,
) -> None:
    """Write what was told and understood: all of it as JSON, or what counts now as pages.

    The same memory gives the same bytes, so that both can live in git.

    \b
    Examples:
      live-memory export --out memory.jsonl
      live-memory export --format md --out docs/memory
    """
    if templates is not None and form != "md":
        raise click.UsageError("--templates is for --format md")
    given = _templates(_TEMPLATES if templates is None else Path(absolute(templates)))
    server = ensure_running(configuration, within_s=_START_S)
    query = {"cwd": absolute(folder), "scope": scope} | ({"current": "1"} if form == "md" else {})
    records = [*_records(server, query)]
    if form == "md":
        pages = {name: page_of(name, text, records[1:]) for name, text in given.items()}
        _write_pages(pages, out)
        return
    # Line by line, each as it came: the keys keep their order.
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    if out is None:
        sys.stdout.write(text)
        return
    _write(Path(absolute(out)), text)
    say(f"{len(records) - 1} records are in {out}")


def _records(server: ProvenServer, query: Mapping[str, str]) -> Iterator[Form]:
    """All records, the header first.

    Raises:
        Failure: the server broke off.
    """
    for count, record in enumerate(each(server, "/v1/notes/export", **query)):
        if "kind" not in record and record.get("exported") == count - 1:
            return
        yield record
    raise Failure(
        "the server broke off before all was there: try again",
        code=ExitCode.UNREACHABLE,
        kind="unreachable",
    )


def _templates(folder: Path) -> dict[str, str]:
    """Templates by the name of their page.

    Raises:
        Failure: there are none, or too many, or one cannot be read.
    """
    files = sorted(folder.glob("*.md"))
    if not 0 < len(files) <= _MOST_TEMPLATES:
        why = f"'{folder}' holds {len(files)} templates (*.md): 1 to {_MOST_TEMPLATES} are needed"
        raise Failure(why, code=ExitCode.REFUSED, kind="invalid")
    found: dict[str, str] = {}
    for file in files:
        with file.open("rb") as data:
            text = data.read(_LARGEST_TEMPLATE + 1)
        if len(text) > _LARGEST_TEMPLATE:
            why = f"template '{file}' has more than {_LARGEST_TEMPLATE} bytes"
            raise Failure(why, code=ExitCode.REFUSED, kind="invalid")
        found[file.name] = text.decode("utf-8", "replace")
    return found


def _write_pages(pages: Mapping[str, str], out: str | None) -> None:
    if out is None:
        for name, text in pages.items():
            say(f"==> {name} <==\n{text}")
        return
    folder = Path(absolute(out))
    folder.mkdir(parents=True, exist_ok=True)
    changed = [name for name, text in pages.items() if _write(folder / name, text)]
    say(f"{len(pages)} pages are in {out}, {len(changed)} of them changed")


def _write(file: Path, text: str) -> bool:
    """Write a file where it says something else; whether it did."""
    data = text.encode("utf-8")
    if file.is_file() and file.stat().st_size == len(data) and file.read_bytes() == data:
        return False
    write_whole(file, data)
    return True
