"""The bridge in the real client: in the first session, in each kind of session, and killed."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from live_memory.client.offer import TOOLS
from live_memory.web.identity import ensure_token
from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, PROJECT, Client, Stage, results_of, verified_lines

pytestmark = pytest.mark.real("claude")

_QUESTION = {"question": "Where is RETRY_LIMIT set?"}
_ASK: Turn = (ASK, {**_QUESTION})
_LINE = ("settings.py", PROJECT["settings.py"].splitlines().index("RETRY_LIMIT = 7") + 1)
_REPOSITORY = Path(__file__).parents[3]
# Makes an environment that runs this package, as slowly as a test wants.
_SLOW_UV = """#!/bin/sh
case "$1" in
venv)
    echo venv >> "{folder}/begun"
    mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
    printf '#!/bin/sh\\nexec "{python}" "$@"\\n' > "$4/bin/python"
    chmod 755 "$4/bin/python" ;;
pip) while [ -e "{folder}/wait" ]; do sleep 0.05; done ;;
esac
"""


def test_the_first_session_of_all_has_its_tool_while_it_is_installed(stage: Stage) -> None:
    """An empty home, no command anywhere: offered in the first request, answered in the session."""
    _make_whole(stage)
    programs = stage.folder / "programs"
    programs.mkdir()
    uv = _SLOW_UV.format(python=sys.executable, folder=stage.folder)
    (programs / "uv").write_text(uv)
    (programs / "uv").chmod(0o755)
    client = shutil.which("claude")
    assert client is not None
    (programs / "claude").symlink_to(Path(client).resolve())
    (stage.folder / "wait").touch()

    outcome = stage.play(
        _session(stage),  # it ends at once, and what it began goes on
        _session(stage),
        turns=[
            "done",
            (ASK, {**_QUESTION, "timeout": 5}),
            _bash(f"rm '{stage.folder}/wait'"),
            _ASK,
            "done",
        ],
        path=f"{programs}:/usr/local/bin:/usr/bin:/bin",
    )

    assert [run.returncode for run in outcome.runs] == [0, 0], outcome.runs
    assert ASK in outcome.tools_offered_first()
    assert (stage.folder / "begun").read_text() == "venv\n"
    first, _, last = outcome.tool_results()
    assert "is being installed for the plugin (step 2 of 3, getting " in first
    assert first.endswith("; work without it for now and ask again later")
    assert "\n" not in first
    assert _LINE in verified_lines(last), (last, stage.server_log())


@pytest.mark.parametrize("stranger", ["talks", "is silent"])
def test_where_the_port_is_held_the_server_has_another_and_nothing_is_told(
    stage: Stage, stranger: str
) -> None:
    """C03, F1."""
    token = ensure_token(stage.data_dir)

    outcome = stage.play(_session(stage), turns=[_ASK, "done"], stranger=stranger)

    assert ASK in outcome.tools_offered_first()
    assert _LINE in verified_lines(outcome.tool_result()), stage.server_log()
    assert not any(token in request or "uthorization" in request for request in outcome.heard)


def test_sessions_of_every_kind_ask_about_their_own_tree(stage: Stage) -> None:
    """Begun, resumed, in a subfolder, in another work tree."""
    tree = _with_work_tree(stage)
    session = _session(stage)
    ask: list[Turn] = [_ASK, "done"]

    outcome = stage.play(
        session,
        [*session, "--continue"],
        Client(session, cwd=stage.project / "below"),
        Client(session, cwd=tree),
        turns=ask * 4,
        then=["/v1/answers"],
    )

    assert [run.returncode for run in outcome.runs] == [0] * 4, outcome.runs
    begun, resumed, below, other = _answers_by_run(outcome.requests)
    for answer in (begun, resumed, below):
        assert _LINE in verified_lines(answer), stage.server_log()
    assert ("settings.py", 2) in verified_lines(other), other


def test_two_sessions_at_once_have_a_bridge_each_and_one_server(stage: Stage) -> None:
    """The second begins, asks and ends while the first is in the middle of its work."""
    words = " ".join(map(shlex.quote, ["claude", *_session(stage)]))
    bridges = f"pgrep -fc '{stage.plugin}/.*/client/[b]ridge.py'"
    second = f"env -u CLAUDECODE {words} && echo there are $({bridges})"

    outcome = stage.play(
        _session(stage),
        turns=[_ASK, _bash(second), _ASK, _bash(bridges), "done", _ASK, "done"],
    )

    assert [run.returncode for run in outcome.runs] == [0], outcome.runs
    before, ended, after = outcome.tool_results()
    within = results_of(outcome.requests[4])
    for answer in (before, after, within[0]):
        assert _LINE in verified_lines(answer), (answer, stage.server_log())
    assert (within[1], ended) == ("2", "done\nthere are 1")


def test_a_bridge_that_is_killed_is_not_missed_by_who_types(stage: Stage) -> None:
    """The client never starts one again that died."""
    stage.settle_in()
    # So written the pattern does not find the shell that runs this.
    bridge = f"'{stage.plugin}/.*/client/[b]ridge.py'"
    # Asked before it has seen the death, the client would start another one itself.
    followed = f"until pgrep -f {bridge} | grep -vx $old; do sleep 0.05; done"
    killed = f"old=$(pgrep -f {bridge}) && kill -9 $old && {followed}"
    words = ["--permission-mode", "default", "--plugin-dir", str(stage.plugin)]

    outcome = stage.play(
        Client([*words, "--allowedTools", ASK, "Bash"], typed="go"),
        turns=[_ASK, _bash(killed), _ASK, "done"],
    )

    results = outcome.tool_results()
    assert len(results) == 3, outcome.runs[0].stdout[-3000:]
    assert _LINE in verified_lines(results[0])
    assert _LINE in verified_lines(results[2]), results[2]
    assert "failed" not in outcome.runs[0].stdout


@pytest.mark.parametrize("where", [".", "docs"])
def test_an_opened_clone_has_one_server_of_its_own(stage: Stage, where: str) -> None:
    """Its `.mcp.json` is the plugin's; no variable of the plugin is there."""
    settings = stage.folder / "home/.claude/settings.json"
    settings.write_text(json.dumps({"enableAllProjectMcpServers": True}))
    (stage.plugin / "docs").mkdir()
    for name, text in PROJECT.items():
        (stage.plugin / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(stage.plugin)], check=True)
    tool = "mcp__live-memory__ask_live_memory"

    outcome = stage.play(
        Client(["-p", "go", "--allowedTools", tool], cwd=stage.plugin / where),
        turns=[(tool, {**_QUESTION}), "done"],
    )

    ours = [one for one in outcome.tools_offered_first() if "live-memory" in one]
    assert sorted(ours) == sorted(f"mcp__live-memory__{name}" for name in TOOLS)
    assert _LINE in verified_lines(outcome.tool_result()), outcome.tool_result()
    assert outcome.runs[0].stderr == ""


def _session(stage: Stage) -> list[str]:
    return ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", ASK, "Bash"]


def _bash(command: str) -> Turn:
    return ("Bash", {"command": command, "description": "meanwhile"})


def _make_whole(stage: Stage) -> None:
    """Give the plugin the server that it installs."""
    ignored = shutil.ignore_patterns("__pycache__", "tests", ".*_cache", ".hypothesis")
    shutil.copytree(
        _REPOSITORY / "server", stage.plugin / "server", ignore=ignored, dirs_exist_ok=True
    )


def _with_work_tree(stage: Stage) -> Path:
    """Make the project a repository with a second work tree, in which the line is another."""
    (stage.project / "below").mkdir()
    (stage.project / "below/other.py").write_text("OTHER = 1\n")
    tree = stage.folder / "tree"

    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@x"]
        subprocess.run(["git", "-C", str(stage.project), *who, *words], check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    git("worktree", "add", "-q", str(tree))
    (tree / "settings.py").write_text("\nRETRY_LIMIT = 9\n")
    return tree


def _answers_by_run(requests: object) -> list[str]:
    """The last result of each session."""
    assert isinstance(requests, tuple)
    return [results_of(request)[-1] for request in requests[1::2]]
