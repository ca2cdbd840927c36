"""Whole answers without a model over one small tree, each with `why`: every change of one shows.

`LIVE_MEMORY_WRITE_GOLDEN=1` writes the file anew.
"""

import json
import os
from pathlib import Path

import pytest

from tests.support.cited_tree import WHOLE, write_tree
from tests.support.server import running_server

_GOLDEN = Path(__file__).parent / "golden" / "answers.json"
# Kinds of questions that are treated differently: where, who, how, which value, whether, a phrase,
# a text that stands in a file, a file's name, and something that is nowhere.
_QUESTIONS = (
    "Where is the delay before a retry computed?",
    "Who calls retry_delay?",
    "How is a request sent, step by step?",
    "What is the value of MOST_TRIES?",
    "Is there a cache for replies?",
    "retry delay",
    "Where does it say that the server gave up?",
    "What does net/client.py do?",
    "Which function implements the Kubernetes operator?",
)
_TREE = {
    "README.md": "# Net\n\nSends requests and asks again where that can help.\n",
    "net/retry.py": '"""When to ask again."""\n\nMOST_TRIES = 4\n\n\n'
    "def retry_delay(attempt: int) -> float:\n"
    '    """Seconds before the next try."""\n    return 2.0**attempt\n',
    "net/client.py": '"""Sends requests."""\n\nimport time\n\n'
    "from net.retry import MOST_TRIES, retry_delay\n\n\nclass Client:\n"
    '    """Sends one request at a time."""\n\n    def send(self, request: bytes) -> bytes:\n'
    "        for attempt in range(MOST_TRIES):\n            if reply := self._try(request):\n"
    "                return reply\n            time.sleep(retry_delay(attempt))\n"
    '        raise TimeoutError("the server gave up")\n\n'
    '    def _try(self, request: bytes) -> bytes:\n        return b""\n',
    "tests/test_retry.py": "from net.retry import retry_delay\n\n\n"
    "def test_delay() -> None:\n    assert retry_delay(1) == 2.0\n",
}
_VOLATILE = frozenset(
    {"text", "workspace", "duration_s", "elapsed_s", "age_s", "answered_at", "at", "id"}
)


def _steady(value: object, root: Path) -> object:
    """Without what differs from run to run; the text for people ends with the seconds taken."""
    if isinstance(value, dict):
        return {k: _steady(v, root) for k, v in value.items() if k not in _VOLATILE}
    if isinstance(value, list):
        return [_steady(each, root) for each in value]
    return value.replace(str(root), "/project") if isinstance(value, str) else value


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Files of ours, and those that answers of models cite."""
    root = tmp_path / "project"
    for name, text in _TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    write_tree(WHOLE[0], root)
    return root


def test_answers_over_a_small_tree_read_so(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_python")
    with running_server(tmp_path / "server", LIVE_MEMORY_PROVIDER="none") as server:
        answers = {
            question: _steady(server.ask(question, project, why=True), project)
            for question in _QUESTIONS
        }
    text = json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("LIVE_MEMORY_WRITE_GOLDEN"):
        _GOLDEN.write_text(text, encoding="utf-8")
    assert _GOLDEN.read_text(encoding="utf-8") == text
