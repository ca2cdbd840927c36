"""An answer as a person reads it on a terminal: what was found first, in three to ten lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from live_memory.cli.quoted import Shown
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.reading.observation import visible
from live_memory.core.values import RelPath

__all__ = ["show_answer", "show_records", "show_rows"]

Fields = Mapping[str, object]

# Lines in all that are not blank, lines of what was found, and other places that are named.
_LINES, _FOUND_LINES, _MORE_PLACES = 10, 5, 3
# Where something was told: lines of the first note, and of what was found.
_NOTE_LINES, _BESIDE_NOTES = 2, 2
_NUMBERED = re.compile(r"(\d+)\|(.*)")
_PLACE = re.compile(r"(?<![^\s`])([^\s:`]{1,4096}):(\d+)(?:-\d+)?")
_GROUNDED = {
    "verified": ("green", "checked just now"),
    "partial": ("yellow", "checked just now, covers a part"),
    "ungrounded": ("red", "nothing supports an answer"),
}


def show_answer(answer: Fields, *, text: str, is_long: bool) -> None:
    """Print an answer; `text` is the whole of it, with notices, sources and figures."""
    console = Console(highlight=False)
    root = str(_fields(answer, "workspace").get("root", ""))
    is_written = answer.get("mode") != "evidence"
    said, text = visible(str(answer.get("answer") or "")).strip(), visible(text)
    blocks = list(_blocks(said))
    if is_long:
        before, _, after = text.partition(said) if said else ("", "", text)
        blocks = [before.strip(), *blocks, after.strip()]
        shown = [_block(block, root, is_written=is_written) for block in blocks if block]
        console.print(Group(*_apart(shown)))
        return
    notice = answer.get("notice")
    parts: list[RenderableType] = [Text(visible(f"({notice})"), style="yellow")] if notice else []
    told = _told(console, str(answer.get("told") or ""), root)
    parts += [Group(*told)] if told else []
    found = next((block for block in blocks if not _is_code(block)), "")
    most_found = _BESIDE_NOTES if told else _FOUND_LINES
    lines = _first(console, _rendered(found) if is_written else _linked(found, root), most_found)
    parts.append(Group(*lines))
    best = next((block for block in blocks if _is_code(block)), None)
    if best and not is_written:
        place = _PLACE.match(best)
        is_named = place is not None and f"{place[1]}:{place[2]}" in found
        # Beside it stand a line that says how much follows, the other places, and the last line.
        most = max(1, _LINES - len(told) - len(lines) - 3 - (not is_named))
        parts.append(_code(best, root, most=most, is_headed=not is_named))
    parts.append(_last(answer, root, skipped=int(bool(best) and not is_written)))
    console.print(Group(*_apart(parts)))


# With the next prompt, a screen of 24 is full.
_MOST_ROWS = 23


def show_rows(rows: Sequence[tuple[str, str]], *, more: str) -> None:
    """Print rows of a word and a sentence on one screen; of what is amiss, as much as fits.

    `more` says where the rest is.
    """
    console, shown = Console(highlight=False), len(rows)
    amiss = next((n for n, (name, _) in enumerate(rows) if name == "problem"), shown)
    lines = _lines(console, _grid(rows, shown, more))
    while len(lines) > _MOST_ROWS and shown > amiss:
        shown -= 1
        lines = _lines(console, _grid(rows, shown, more))
    for line in lines:
        line.rstrip()
    console.print(Group(*lines))


def _grid(rows: Sequence[tuple[str, str]], shown: int, more: str) -> Table:
    grid = Table.grid(padding=(0, 2))
    left = [("", f"{len(rows) - shown} {more}")] if shown < len(rows) else []
    for name, value in (*rows[:shown], *left):
        style = "yellow" if name == "problem" else ""
        grid.add_row(Text(name, style=style or "dim"), Text(visible(value), style, overflow="fold"))
    return grid


def _apart(parts: Sequence[RenderableType]) -> Iterator[RenderableType]:
    for part in parts:
        yield Padding(part, (0, 0, 0 if part is parts[-1] else 1, 0))


def _blocks(said: str) -> Iterator[str]:
    """What stands between blank lines; a place below a sentence is a block of its own."""
    for block in said.split("\n\n"):
        lines = block.split("\n")
        code = next((n for n, line in enumerate(lines) if _NUMBERED.fullmatch(line)), 0)
        for part in (lines[: max(0, code - 1)], lines[max(0, code - 1) :]):
            if "".join(part).strip():
                yield "\n".join(part)


def _told(console: Console, notes: str, root: str) -> list[Text]:
    """The first note in two lines, and that nobody checked it."""
    lines = notes.splitlines()
    if not lines:
        return []
    more = f", {len(lines) - 1} more" if len(lines) > 1 else ""
    first = _first(console, _linked(f"| {lines[0]}", root), _NOTE_LINES)
    return [Text(f"Told, not checked{more}:", style="yellow"), *first]


def _first(console: Console, shown: RenderableType, most: int) -> list[Text]:
    """The first lines of what is shown, as wide as the terminal, with a mark where more follow."""
    lines = _lines(console, shown)
    kept = lines[:most]
    if len(lines) > most:
        kept[-1].rstrip()
        kept[-1].truncate(console.width - 2)
        kept[-1].append(" …", style="dim")
    return kept


def _lines(console: Console, shown: RenderableType) -> list[Text]:
    lines = console.render_lines(shown, pad=False)
    return [Text.assemble(*((s.text, s.style or "") for s in line)) for line in lines]


def _is_code(block: str) -> bool:
    return any(_NUMBERED.fullmatch(line) for line in block.split("\n", 2)[:2])


def _block(block: str, root: str, *, is_written: bool) -> RenderableType:
    if _is_code(block):
        return _code(block, root)
    is_frame = block.startswith(("(", "[", "Sources:", "Told, not checked:"))
    return _rendered(block) if is_written and not is_frame else _linked(block, root)


def _code(
    block: str, root: str, *, most: int | None = None, is_headed: bool = True
) -> RenderableType:
    """A place: its heading, then its lines with their numbers, coloured as their file is."""
    head, _, body = block.partition("\n")
    if _NUMBERED.fullmatch(head):
        head, body = "", block
    lines = body.split("\n")
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    code = "\n".join(line[2] if line else "" for line in numbered)
    place = _PLACE.match(head)
    lexer = Syntax.guess_lexer(place[1] if place else "", code)
    coloured = Syntax(code, lexer, theme="ansi_dark", background_color="default").highlight(code)
    shown: list[Text] = [_linked(head, root, style="bold")] if head and is_headed else []
    wide = max((len(line[1]) for line in numbered if line), default=0)
    for line, text, own in list(zip(numbered, coloured.split("\n"), lines, strict=False))[:most]:
        number = f"{line[1] if line else '':>{wide}} │ "
        shown.append(Text.assemble((number, "dim"), text if line else (own, "dim")))
    for each in shown:
        each.no_wrap, each.overflow = True, "ellipsis"
    left = 0 if most is None else sum(line is not None for line in numbered[most:])
    if left:
        shown.append(Text(f"{'':>{wide}} │ … {left} more lines", style="dim"))
    return Group(*shown)


# Words of a model lead nowhere, and all of them are seen: what is between < and >, too.
_MARKDOWN = MarkdownIt().enable(["strikethrough", "table"])
_MARKDOWN.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])


def _rendered(text: str) -> Markdown:
    shown = Markdown(text)
    shown.parsed = _MARKDOWN.parse(text)
    return shown


def _linked(text: str, root: str, *, style: str = "") -> Text:
    """A text whose places open their file, where the terminal knows links."""
    shown = Text(text, style=style)
    for place in _PLACE.finditer(text):
        if root and _is_inside(place[1]):
            shown.stylize(f"link {Path(root, place[1]).as_uri()}", *place.span())
    return shown


def _is_inside(path: str) -> bool:
    try:
        RelPath(path)
    except OutsideWorkspace:
        return False
    return True


def _last(answer: Fields, root: str, *, skipped: int) -> RenderableType:
    """The other places, then how far the answer is to be trusted and what it cost."""
    cited = answer.get("citations")
    named = [f"{one['path']}:{one['start']}" for one in cited] if isinstance(cited, list) else []
    others = [visible(place) for place in named[skipped:]]
    colour, said = _GROUNDED.get(str(answer.get("grounding")), ("", ""))
    lines: list[Text] = []
    if others:
        more = f" · {len(others) - _MORE_PLACES} more" if len(others) > _MORE_PLACES else ""
        shown = _linked(" · ".join(others[:_MORE_PLACES]), root, style="dim")
        lines.append(Text.assemble(("also ", "dim"), shown, (more, "dim")))
    figures = [said, f"{float(str(answer.get('elapsed_s') or 0)):.1f} s", _price(answer)]
    lines.append(Text.assemble((" · ".join(figures), colour), ("  (--long shows all)", "dim")))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _price(answer: Fields) -> str:
    cost = answer.get("cost_usd")
    if answer.get("model") is None:
        return "free"
    return f"${cost:.4f}" if isinstance(cost, float) else "price unknown"


def _fields(of: Fields, name: str) -> Fields:
    value = of.get(name)
    return value if isinstance(value, dict) else {}


# Lines of what a record says that are shown where it stands among others.
_RECORD_LINES = 4


def show_records(records: Sequence[Shown], *, is_long: bool) -> None:
    """Print records; of what each says the first lines, or all of it."""
    console = Console(highlight=False)
    for one in records:
        console.print(Text.assemble((one.id, "bold"), "  ", (one.about, "dim")))
        grid = Table.grid()
        grid.add_column(width=4)
        grid.add_column(overflow="fold")
        most = len(one.text) + 1 if is_long else _RECORD_LINES
        said = Text(one.text, overflow="fold")
        for line in _first(console, Padding(said, (0, 6, 0, 0)), most):
            line.rstrip()
            grid.add_row(Text("  │ ", style="dim"), line)
        console.print(grid)
        rows = Table.grid(padding=(0, 2))
        for name, value in one.rows:
            rows.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
        if one.rows:
            console.print(Padding(rows, (0, 0, 0, 2)))
