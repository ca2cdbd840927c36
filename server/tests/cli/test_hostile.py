"""What a hostile repository holds comes to a terminal, and into a pipe, as text."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from rich.cells import cell_len

from live_memory.core.reading.observation import visible
from tests.cli.shell import Shell
from tests.support.learning import notify, tool, wait_for
from tests.support.past_sessions import CLAUDE, claude_turn, write_lines
from tests.support.scripted_endpoint import Play, Received, Text, Tools, serving
from tests.support.server import running_server

# A style that nothing of ours has, a cleared screen, a link, a title, the clipboard, the same with
# C1 controls, text that turns round, text that is not seen, and a line that is written over.
_CONTROLS = (
    "\x1b[5;7;31mPINK\x1b[2J\x1b]8;;https://evil.example/\x1b\\click\x1b]8;;\x07\x1b]0;title\x07"
    "\x1b]52;c;cm0=\x07\x9b31m\x9d52;c;cm0=\x9c\u202edesrever\u202c\u200bzero\ufeff\u2060"
    "\U000e0041wide\x08\x7f\rover"
)
_MARKUP = (
    "[red]red[/red] [link=https://evil.example]here[/link] [there](https://evil.example/?q=1) "
    "![seen](https://evil.example/i.png) <img src=https://evil.example/i.png> <b>bold</b> "
    "<https://evil.example/auto> List<Inner> :boom: "
)
_EVIL = _CONTROLS + _MARKUP
# A name holds all but `/`. No event comes from a folder whose name holds ASCII controls.
_NAMES = (_CONTROLS.replace("/", "|"), _MARKUP.replace("/", "|"))
_FOLDER = "shop [red] \u202e\u200b<b>![x](javascript:a) \x9b31m"
_CODE = (
    f"MAX_RETRIES = 7  # {_EVIL}\n\n\n"
    f"def allowed(tries):\n    # {_EVIL}\n    return tries < MAX_RETRIES\n\n\n"
    f"LONG = '{'x' * 50_000}{_CONTROLS}{'y' * 50_000}'\n"
)
_SAID = (
    f"- `MAX_RETRIES` is `7` {_MARKUP} (limits.py:1-2).\n"
    f"- `MAX_RETRIES` {_CONTROLS} is `7` (limits.py:1-2).\n"
)
_WRITTEN = (
    f"`MAX_RETRIES` is `7` <b>bold</b> List<Inner> :boom: [red]red[/red] {_EVIL} (limits.py:1).\n"
    "<https://evil.example/auto> ../../../etc/passwd:1 /etc/passwd:1 //evil.example/share:1 [a][1]"
    f"\n\n# Head {_EVIL}\n\n[1]: https://evil.example/reference\n\n<script>alert(1)</script>\n"
)
_ESCAPED = r"\x1b[5;7;31mPINK\x1b[2J\x1b]8;;https:"
_HIDDEN = r"\x9b31m\x9d52;c;cm0=\x9c\u202edesrever\u202c\u200bzero\ufeff\u2060\U000e0041wide"

_SGR = re.compile(r"\x1b\[([\d;]*)m")
_LINK = re.compile(r"\x1b\]8;[\w=]*;([^\x1b\x07]*)\x1b\\")
# How a line of progress is replaced.
_MOVES = re.compile(r"\x1b\[(?:\?25[hl]|1A|2K)|\r(?=\x1b|\n)")
_ODD = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)


def _plays(received: Received) -> Play:
    """The model: it looks something up, then says what a hostile repository made it say."""
    if b"tool_call_id" in received.raw:
        return Text(_WRITTEN)
    return Tools([("read_file", json.dumps({"path": "limits.py"})), (_EVIL, "{}")])


@dataclass(frozen=True, slots=True)
class House:
    """A shell whose server knows a hostile repository, and what of it can be named."""

    shell: Shell
    project: Path
    fact: str


def _repository(root: Path) -> Path:
    root.mkdir(parents=True)
    (root / "limits.py").write_text(_CODE, newline="")
    for n, name in enumerate(_NAMES):
        (root / f"{name}.py").write_text(f"def named_{n}():\n    return {n}\n")
    Path(os.fsdecode(os.fsencode(root) + b"/odd \xff\xfe\x1b[5m.py")).write_text("ODD = 1\n")
    (root / "README.md").write_text(f"# Retries {_EVIL}\n\n{_EVIL * 30}\n", newline="")

    def git(*words: str) -> None:
        who = ["-c", f"user.name={_MARKUP}", "-c", "user.email=e@x"]
        subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "red\u202e\u200b<b>(x)\u009b31m")
    git("add", "-A")
    git("commit", "-q", "-m", _EVIL)
    return root


@contextmanager
def _house(folder: Path, **settings: str) -> Iterator[House]:
    project = _repository(folder / _FOLDER)
    with running_server(folder / "server", **settings) as server:
        usual = {"session_id": _EVIL, "cwd": str(project)}
        reads = [project / f"{name}.py" for name in ("limits", *_NAMES)]
        notify(
            server,
            os.fsencode(project).decode("latin-1"),
            *(tool(project, "Read", file_path=str(file)) for file in reads),
            {**usual, "hook_event_name": "UserPromptSubmit", "prompt": f"Why {_EVIL}?"},
            {**usual, "hook_event_name": "Stop", "last_assistant_message": _SAID},
        )
        where = quote(str(project))
        wait_for(server, where, "facts", 1)
        facts = server.request("GET", f"/v1/facts?cwd={where}").json["facts"]
        assert isinstance(facts, list)
        shell = Shell(folder / "server", server.port, server.environment)
        log = folder / "server/home" / CLAUDE / "s.jsonl"
        write_lines(log, claude_turn(project, _EVIL, _SAID, session=_EVIL))
        yield House(shell, project, str(facts[0]["id"]))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with _house(tmp_path_factory.mktemp("hostile"), LIVE_MEMORY_PROVIDER="none") as house:
        yield house


@pytest.fixture(scope="module")
def told_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With a model that repeats what it was made to say."""
    with serving() as endpoint:
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{endpoint.open(rules=[_plays]).base_url}/v1",
            "LIVE_MEMORY_MODEL": "played [red]\u202e",
            "LIVE_MEMORY_API_KEY": "none-needed",
        }
        with _house(tmp_path_factory.mktemp("told"), **settings) as house:
            yield house


# The words of a command, and what is seen of the hostile text.
_VIEWS: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("ask", "What does allowed compare?"), ("[red]red[/red]",)),
    (("ask", "What does named_0 return?"), ()),
    (("ask", "What does named_1 return?"), ()),
    (("ask", "--long", "What does README say of Retries?"), (_ESCAPED, _HIDDEN)),
    (("ask", "--json", "What does README say of Retries?"), ("[red]red[/red]",)),
    (("ask", "Is it", _EVIL), ("[red]red[/red]",)),
    (("ask", "Is it", "--cwd", f"/{_CONTROLS}"), (_ESCAPED, _HIDDEN)),
    (("stats",), (r"shop [red] \u202e\u200b<b>![x] (javascript:a) \x9b31m",)),
    (("stats", "--json"), ("[red]",)),
    (("facts", "list"), ("<https://evil.example/auto>List<Inner>:boom:",)),
    (("facts", "list", "--json"), ("List<Inner>",)),
    (("facts", "why", "FACT"), ("[red]red[/red]", _ESCAPED)),
    (("facts", "why", "--json", "FACT"), ("[red]red[/red]",)),
    (("facts", "why", _CONTROLS), ()),
    (("facts", "pin", "FACT"), ("[red]red[/red]",)),
    (("learn",), (r"shop [red] \u202e\u200b<b>",)),
    (("learn", f"/{_CONTROLS}"), (_ESCAPED, _HIDDEN)),
    (("import", "--all", "--again", "--dry-run"), (r"shop [red] \u202e\u200b<b>",)),
    (("import", "--all", "--again"), (r"shop [red] \u202e\u200b<b>",)),
    (("config",), ()),
    (("config", "test"), ()),
    (("config", "set", f"{_EVIL}=1"), (r"\x1b[5;7;31mPINK",)),
    (("doctor",), ()),
    (("status",), ()),
    (("start", "--data-dir", f"/proc/{_NAMES[0]}"), (r"\x1b[5;7;31mPINK",)),
    ((_EVIL,), (r"\x1b[5;7;31mPINK", "[red]red[/red]")),
    ((f"--{_EVIL}",), (_ESCAPED,)),
)
# The same with a model, where it makes a difference.
_WITH_MODEL: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("ask", "What does allowed compare?"), ("<b>bold</b> List<Inner> :boom: [red]red", _ESCAPED)),
    (("ask", "--long", "What is in README?"), (_ESCAPED, _HIDDEN, "<https://evil.example/auto>")),
    (("ask", "Is it", _EVIL), ("<b>bold</b> List<Inner>",)),
    (("config",), (r"played [red]\u202e",)),
    (("config", "test"), (r"played [red]\u202e",)),
    (("doctor",), (r"played [red]\u202e",)),
)

_SURROUNDINGS = [(60, ""), (120, "1"), (None, "")]


@pytest.mark.parametrize(("columns", "plain"), _SURROUNDINGS)
@pytest.mark.parametrize(("words", "shown"), _VIEWS, ids=range(len(_VIEWS)))
def test_nothing_but_our_own_styles_and_links_reaches_a_terminal(
    house: House, words: Sequence[str], shown: Sequence[str], columns: int | None, plain: str
) -> None:
    _check(house, words, shown, columns=columns, plain=plain)


@pytest.mark.parametrize(("columns", "plain"), _SURROUNDINGS)
@pytest.mark.parametrize(("words", "shown"), _WITH_MODEL, ids=range(len(_WITH_MODEL)))
def test_nor_where_a_model_was_made_to_say_it(
    told_house: House, words: Sequence[str], shown: Sequence[str], columns: int | None, plain: str
) -> None:
    _check(told_house, words, shown, columns=columns, plain=plain)


def _check(
    house: House, words: Sequence[str], shown: Sequence[str], *, columns: int | None, plain: str
) -> None:
    """On a terminal of so many columns, coloured or plain, and in a pipe."""
    words = [house.fact if word == "FACT" else word for word in words]
    if columns is None:
        done = house.shell.run(*words, cwd=house.project)
        text = done.out + done.err
        assert "\x1b" not in text
    else:
        _, raw = house.shell.show(
            *words, cwd=house.project, columns=columns, hears=True, environ={"NO_COLOR": plain}
        )
        text = raw.decode().replace("\r\n", "\n")
    links = _LINK.findall(text)
    inside = f"{Path(visible(str(house.project))).as_uri()}/"
    assert [uri for uri in links if uri and (not uri.startswith(inside) or ".." in uri)] == []
    styles = _SGR.findall(text)
    assert "5;7;31" not in styles
    if plain:
        assert [style for style in styles if re.search(r"\b(?:[349]\d|38|48)\b", style)] == []
    bare = _MOVES.sub("\n", _SGR.sub("", _LINK.sub("", text)))
    assert [repr(line)[:300] for line in bare.split("\n") if _ODD.search(line)] == []
    seen = re.sub(r"\s", "", bare)
    assert [each for each in shown if re.sub(r"\s", "", each) not in seen] == [], bare[:3000]
    if columns and words[0] == "ask" and "--json" not in words and "--cwd" not in words:
        assert max(map(cell_len, bare.split("\n"))) <= columns
