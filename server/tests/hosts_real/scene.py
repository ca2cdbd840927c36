"""One scene with a real host, in a process of its own so that it can be cut off from the world.

    python -m tests.hosts_real.scene PLAN.json OUTCOME.json

It plays the host's model, runs the commands one after the other, and stops our server.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.claude.scene import stop_server, told
from tests.support.scripted_endpoint import Play, Received, Text, Tools, serving

__all__ = ["play"]

Json = dict[str, Any]

_EACH_S = 90
_AGENT = re.compile(r'\\"agent_id\\":\\"([^"\\]+)')


def play(plan: Json) -> Json:
    """Run the plan's commands; returns what they printed and what the model was sent."""
    script, data_dir = _Script(plan), Path(plan["data_dir"])
    with serving() as endpoint:
        channel = endpoint.open(rules=[script.answer])
        environ = {k: v.replace("{model}", channel.base_url) for k, v in plan["environ"].items()}
        try:
            runs = [
                _run([word.replace("{model}", channel.base_url) for word in command], environ, plan)
                | {"sent": script.since()}
                for command in plan["commands"]
            ]
            heard_of = [told(route, data_dir, project=plan["cwd"]) for route in plan["then"]]
        finally:
            stop_server(data_dir)
    return {"runs": runs, "told": heard_of}


class _Script:
    """Turns of the model: its own in order, and a helper's by the task it was given."""

    def __init__(self, plan: Json) -> None:
        self._sent: list[Json] = []
        self._turns: list[Any] = plan["turns"]
        self._helpers: dict[str, list[Any]] = plan["helpers"]
        self._tool, self._wait = plan["tool"], plan["wait"]

    def answer(self, received: Received) -> Play:
        body = received.body
        if not received.path.endswith("/responses") and not body.get("tools"):
            return Text("a title")
        said = json.dumps([body.get(name) for name in ("input", "messages", "contents")])
        for task, turns in self._helpers.items():
            if re.search(rf'"(text|content)": "[^"]*{re.escape(task)}', said):
                return _turn(turns, said)
        self._sent.append(body)
        # Codex begins while a server still starts: a model waits for what it is not offered yet.
        asks = self._turns and self._turns[0][0] == self._tool
        is_offered = self._tool.partition("/")[0] in json.dumps(body)
        return _turn([self._wait] if asks and not is_offered else self._turns, said)

    def since(self) -> list[Json]:
        """What the model was sent since this was asked last."""
        sent, self._sent = self._sent, []
        return sent


def _turn(turns: list[Any], said: str) -> Play:
    """The next turn: a text, or `[tool, arguments]`; `{agent}` is the helper that was started."""
    turn = turns.pop(0) if turns else "done"
    if isinstance(turn, str):
        return Text(turn)
    name, given = turn
    return Tools([(name, given.replace("{agent}", (_AGENT.findall(said) or [""])[-1]))])


def _run(command: list[str], environ: Mapping[str, str], plan: Json) -> Json:
    done = subprocess.run(
        command,
        cwd=plan["cwd"],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_EACH_S,
        check=False,
    )
    return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


if __name__ == "__main__":
    plan_file, outcome_file = map(Path, sys.argv[1:])
    outcome_file.write_text(json.dumps(play(json.loads(plan_file.read_text()))))
