"""The plugin's commands as a person sees them, typed and in print mode: the values in force."""

import json
import re
from typing import Any

import pytest

from tests.claude.fake_anthropic import SHOWN, Turn
from tests.claude.stage import ASK, Client, Stage, results_of

_ASK: Turn = (ASK, {"question": "Where is RETRY_LIMIT set?"})
_TURNS: list[Turn] = [
    _ASK,
    ("Bash", {"command": "live-memory stats --json", "description": "figures"}),
    ("Bash", {"command": "live-memory config show --json", "description": "settings"}),
    "asked",
]
_COMPANION: list[Turn] = [("Read", {"path": "settings.py"}), "`RETRY_LIMIT` is 7 (settings.py:4)."]


@pytest.mark.real("claude", "tmux")
def test_what_is_typed_at_the_keyboard_shows_the_values_in_force(stage: Stage) -> None:
    """A stranger has the port that is set, and one setting is of the file."""
    _set(stage, "spend_cap_tokens_hour = 50000")
    stage.settle_in()
    typed = Client(
        [*_session(stage), "--permission-mode", "default"],
        keys=[
            ("", "Live Memory keeps"),
            ("go", "asked"),
            ("/live-memory-stats", "last activity"),
            ("/live-memory-config", "has these"),
            ("/live-memory-empty", "forgot"),
        ],
    )

    outcome = stage.play(
        typed,
        turns=[*_TURNS, SHOWN, SHOWN, SHOWN],
        companion=_COMPANION,
        stranger="talks",
        then=["/stats"],
    )

    start, _, stats, config, empty = outcome.runs[0].screens
    words = " ".join(start.split())
    assert "keeps on this machine, in ~/.local/share/live-memory: an index of your code" in words
    _, said_stats, said_config = results_of(outcome.requests[3])
    _shows_the_figures(stats, json.loads(said_stats), stage)
    _shows_the_settings(config, json.loads(said_config), stage)
    assert f"forgot {stage.project}" in empty
    assert outcome.told[0]["questions"] == 0


@pytest.mark.real("claude")
def test_what_is_printed_shows_the_values_in_force(stage: Stage) -> None:
    _set(stage, "spend_cap_tokens_hour = 50000")
    outcome = stage.play(
        [*_session(stage), "-p", "go"],
        [*_session(stage), "-p", "/live-memory-stats"],
        [*_session(stage), "-p", "/live-memory-config show"],
        turns=[*_TURNS, SHOWN, SHOWN],
        companion=_COMPANION,
        stranger="talks",
    )

    stats, config = (run.stdout for run in outcome.runs[1:])
    _, said_stats, said_config = results_of(outcome.requests[3])
    _shows_the_figures(stats, json.loads(said_stats), stage)
    _shows_the_settings(config, json.loads(said_config), stage)


def _shows_the_figures(shown: str, said: dict[str, Any], stage: Stage) -> None:
    rows = _rows(shown)
    assert rows["codebase"] == str(stage.project)
    assert rows["knows"].startswith(f"{said['indexed_files']} files, ")
    assert rows["answered"] == f"{said['questions']} question"
    assert rows["cost"] == f"${said['cost_usd']:.4f} in {said['model_calls']} calls"
    took = sum(spent["tokens"] for spent in said["spend"].values())
    assert took == said["spent_lately"]["tokens_an_hour"] > 0
    assert rows["caps"].startswith(f"{took:,} of 50,000 tokens in the last hour, $0.0000 of $5.00")
    assert f"{abs(said['tokens_saved']):,} tokens" in rows["saved"]


def _shows_the_settings(shown: str, said: dict[str, Any], stage: Stage) -> None:
    rows = _rows(shown)
    port = said["settings"]["port"]["in_force"]
    assert port != stage.port
    # The screen is too narrow for some paths, and this sentence.
    assert rows["port"].startswith(f"{port}  (the server took it in place of {stage.port}: config")
    assert f"The server at http://127.0.0.1:{port} has these; gpt-" in " ".join(shown.split())
    assert rows["spend_cap_tokens_hour"] == "50000  (config.toml)"
    for name in ("max_queue", "log_level", "spend_cap_usd_day"):
        one = said["server"]["settings"][name]
        assert rows[name] == f"{said['settings'][name]['value']}  (default)", one
    assert f"data_dir {stage.data_dir} (default)".replace(" ", "") in "".join(shown.split())
    assert set(said["server"]["settings"]) - {"data_dir"} <= rows.keys()


def _rows(shown: str) -> dict[str, str]:
    """Word and rest of each line that has both, of the last block."""
    found = re.findall(r"^[●\s]*(\w+) {2,}(\S.*?) *$", shown, re.MULTILINE)
    return dict(found)


def _set(stage: Stage, line: str) -> None:
    with (stage.folder / "home/.config/live-memory/config.toml").open("a") as file:
        file.write(f"{line}\n")


def _session(stage: Stage) -> list[str]:
    tools = [ASK, "Bash(live-memory:*)"]
    return ["--plugin-dir", str(stage.plugin), "--allowedTools", *tools]
