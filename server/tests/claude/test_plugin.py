"""The plugin in the real client: nothing is started by hand, and nothing breaks the session."""

import json
import re
from pathlib import Path

import pytest

from live_memory import __version__
from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, PROJECT, Stage, verified_lines
from tests.support.cited_tree import CITATION, WHOLE, write_tree

_ASKS: list[Turn] = [(ASK, {"question": "Where is RETRY_LIMIT set?"}), "done"]
_LINE = PROJECT["settings.py"].splitlines().index("RETRY_LIMIT = 7") + 1
_REPOSITORY = Path(__file__).parents[3]


@pytest.mark.real("claude")
@pytest.mark.promise("citations-checked")
def test_the_first_session_offers_the_tool_and_its_answer_cites_the_line(stage: Stage) -> None:
    """C06: no server runs, the home is empty, and the model can ask at once."""
    session = ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", ASK]

    outcome = stage.play(session, turns=_ASKS)

    assert outcome.runs[0].returncode == 0, outcome.runs[0]
    assert ASK in outcome.tools_offered_first(), stage.server_log()
    assert ("settings.py", _LINE) in verified_lines(outcome.tool_result())


@pytest.mark.real("claude")
def test_an_installed_plugin_works_like_one_that_is_read_in_place(stage: Stage) -> None:
    outcome = stage.play(
        ["plugin", "marketplace", "add", str(stage.plugin)],
        ["plugin", "install", "live-memory@live-memory"],
        ["-p", "go", "--allowedTools", ASK],
        turns=_ASKS,
    )

    assert [run.returncode for run in outcome.runs] == [0, 0, 0], outcome.runs
    assert ASK in outcome.tools_offered_first(), stage.server_log()
    assert ("settings.py", _LINE) in verified_lines(outcome.tool_result())


@pytest.mark.real("claude")
def test_the_commands_put_real_figures_and_settings_before_the_model(stage: Stage) -> None:
    def session(prompt: str) -> list[str]:
        return ["-p", prompt, "--plugin-dir", str(stage.plugin), "--allowedTools", ASK]

    outcome = stage.play(
        session("go"),
        session("/live-memory-stats"),
        session("/live-memory-config show"),
        session("/live-memory-empty"),
        session("/live-memory-stats"),
        turns=_ASKS,
    )

    *_, stats, config, empty, stats_after = outcome.said()
    assert re.search(r"^knows +2 files, ", stats, re.MULTILINE)
    assert re.search(r"^answered +1 question$", stats, re.MULTILINE)
    assert re.search(rf"^data_dir +{stage.data_dir}  \(default\)$", config, re.MULTILINE)
    assert f"forgot {stage.project}" in empty
    assert re.search(r"^answered +0 questions$", stats_after, re.MULTILINE)


@pytest.mark.real("claude")
def test_the_session_goes_on_where_the_command_is_not_installed(stage: Stage) -> None:
    session = ["-p", "go", "--plugin-dir", str(stage.plugin)]

    outcome = stage.play(session, turns=["done"], with_command=False)

    assert outcome.runs[0].returncode == 0
    assert outcome.runs[0].stdout == "done\n"


@pytest.mark.real("claude")
@pytest.mark.parametrize("manifest", [".", ".claude-plugin/plugin.json"])
def test_the_client_finds_nothing_wrong_with_plugin_and_marketplace(
    stage: Stage, manifest: str
) -> None:
    outcome = stage.play(["plugin", "validate", "--strict", str(_REPOSITORY / manifest)])

    assert outcome.runs[0].returncode == 0, outcome.runs[0]


def test_the_plugin_has_the_version_of_the_package() -> None:
    manifest = json.loads((_REPOSITORY / ".claude-plugin/plugin.json").read_text())

    assert manifest["version"] == __version__


@pytest.mark.real("claude")
@pytest.mark.promise("citations-checked")
def test_a_companion_explores_for_the_agent_and_its_lines_arrive_corrected(stage: Stage) -> None:
    outcome = stage.play(
        ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", ASK],
        turns=_ASKS,
        companion=[
            ("Grep", {"pattern": "RETRY_LIMIT"}),
            ("Read", {"path": "settings.py"}),
            "`RETRY_LIMIT` is 7 (settings.py:1). See also ghost.py:12.",
        ],
    )
    assert outcome.runs[0].returncode == 0
    answer = outcome.tool_result()
    assert "`RETRY_LIMIT` is 7 (settings.py:4). See also ghost.py:12 (not found there)." in answer
    assert "- settings.py:4 (line corrected)" in answer
    assert "- ghost.py:12 (not found there)" in answer
    assert "[mode companion" in answer


@pytest.mark.real("claude")
@pytest.mark.promise("citations-checked")
def test_what_a_model_really_wrote_reaches_the_agent_as_it_was_said(stage: Stage) -> None:
    answer = WHOLE[1]
    write_tree(answer, stage.project)
    outcome = stage.play(
        ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", ASK],
        turns=_ASKS,
        companion=[("Read", {"path": CITATION.findall(answer)[0][0]}), answer],
    )
    assert outcome.runs[0].returncode == 0
    result = outcome.tool_result()
    assert answer in result
    assert "grounding verified" in result
