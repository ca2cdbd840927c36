"""Server, hook and wrapper find the one data folder, however a person wrote its name down."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.settings import load
from tests.cli.shell import open_shell

_REPOSITORY = Path(__file__).parents[3]
_HOME = "/home/you"

# What stands in the file, and the folder that it means; `...` where the wrapper takes the default.
WRITTEN = {
    "plain": ('data_dir = "/srv/lm"', "/srv/lm"),
    "home": ('data_dir = "~/lm"', f"{_HOME}/lm"),
    "home in single quotes": ("data_dir='~/lm'", f"{_HOME}/lm"),
    "a sharp": ('data_dir = "/srv/#1/lm"  # here', "/srv/#1/lm"),
    "a sharp in single quotes": ("data_dir = '/srv/c#' # it's here", "/srv/c#"),
    "an apostrophe": ('data_dir = "/srv/o\'brien"', "/srv/o'brien"),
    "a quote": ("data_dir = '/srv/a \"b\"'", '/srv/a "b"'),
    "an equals sign": ('data_dir = "/srv/a=b"', "/srv/a=b"),
    "blanks": ('\t data_dir\t=\t"/srv/a b "\t', "/srv/a b "),
    "a quoted key": ('"data_dir" = "/srv/lm"', "/srv/lm"),
    "after a list": ('ignore = [\n  "*.csv",\n]\ndata_dir = "/srv/lm"', "/srv/lm"),
    "before a table": ('data_dir = "/srv/lm"\n[openai_extra_body]\na = 1', "/srv/lm"),
    "of a table": ('[openai_extra_body]\ndata_dir = "/elsewhere"', None),
    "of a quoted table": ('[ "openai_extra_body" ] # x\ndata_dir = "/elsewhere"', None),
    "in a comment": ('# data_dir = "/elsewhere"', None),
    "another name": ('my_data_dir = "/elsewhere"\ndata_dirs = "/elsewhere"', None),
}
# A wrapper that runs without Python reads no escapes: it makes no environment in a wrong place.
ESCAPED = {
    "escapes": ('data_dir = "/srv/\\u00e9\\\\a\\"b"', '/srv/é\\a"b'),
    "a long escape": ('data_dir = "/srv/\\U0001F600\\\\U0001F600"', "/srv/\U0001f600\\U0001F600"),
}


def _by_hook() -> str:
    spec = importlib.util.spec_from_file_location(
        "the_hook", _REPOSITORY / "server/live_memory/client/hook.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.data_folder()
    assert isinstance(found, str)
    return found


def _by_wrapper(config: Path) -> str:
    script = (_REPOSITORY / "bin/live-memory").read_text()
    functions = script[script.index("# Whether nobody but us") : script.index("# What can run our")]
    done = subprocess.run(
        ["sh", "-c", f'{functions}\ndata_folder; printf %s "$data"'],
        env={"PATH": os.environ["PATH"], "HOME": _HOME, "XDG_CONFIG_HOME": str(config)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("case", [*WRITTEN, *ESCAPED])
def test_all_read_the_same_name_out_of_the_file(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = (WRITTEN | ESCAPED)[case]
    file = tmp_path / "live-memory/config.toml"
    file.parent.mkdir()
    file.write_text(f"port = 7711\n{text}\n", encoding="utf-8")
    monkeypatch.setenv("HOME", _HOME)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("LIVE_MEMORY_DATA_DIR", raising=False)
    expected = expected or f"{_HOME}/.local/share/live-memory"
    assert str(load({}, {}, file).settings.data_dir) == expected
    assert _by_hook() == expected
    if case in WRITTEN:
        assert _by_wrapper(tmp_path) == expected
    else:
        assert _by_wrapper(tmp_path) == f"{_HOME}/.local/share/live-memory"


@pytest.mark.parametrize("name", ["lm", "./lm", "../lm", "~nobody-has-this-name/lm", "$HOME/lm"])
def test_a_name_that_depends_on_the_working_folder_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"data_dir = {json.dumps(name)}")
    for environ, of in (({}, file), ({"LIVE_MEMORY_DATA_DIR": name}, tmp_path / "none")):
        with pytest.raises(InvalidRequest, match="depends on the working folder: begin it with /"):
            load({}, environ, of)


@pytest.mark.parametrize("name", ["~/lm", "lm", "../l#m"])
def test_what_is_set_by_command_is_where_events_arrive(name: str, tmp_path: Path) -> None:
    """The hook writes an event down in the folder that the server reads."""
    with open_shell(tmp_path / "shell") as shell:
        inside = shell.folder / "work"
        inside.mkdir()
        environ = {"LIVE_MEMORY_DATA_DIR": ""}
        done = shell.run("config", "set", f"data_dir={name}", cwd=inside, environ=environ)
        assert done.code == 0, done.err
        shown = shell.run("config", "show", "--json", cwd=tmp_path, environ=environ).json
        settings = shown["settings"]
        assert isinstance(settings, dict)
        folder = Path(settings["data_dir"]["value"])
        folder.mkdir()
        event = {"hook_event_name": "PostToolUse", "tool_name": "Read", "cwd": str(inside)}
        subprocess.run(
            ["sh", str(_REPOSITORY / "hooks/run"), "hook.py"],
            input=json.dumps(event).encode(),
            cwd=inside,
            env={**shell.environ, **environ},
            timeout=30,
            check=True,
        )
        assert (folder / "spool.jsonl").read_text().count("\n") == 1
