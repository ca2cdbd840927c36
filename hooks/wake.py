"""Makes sure that the server is there before the agent asks it; the host runs this before each ask.

A server that proves itself costs one connection. One that is gone is started as a session's start
does it, so that the agent notices nothing. Where that cannot be, the agent is told in one sentence
to go on without memory, and the user the same; somebody else's program on the port is shown no
token.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# A server that is busy answers within this; one that does not may be about to.
PROOF_S = 1.0
# A little more than the helper takes at most to start a server.
START_S = 10.0
# The host keeps these from its header helper, and a server must not depend on who started it: with
# a key that is the agent's own, it would spend money that nobody gave it.
SECRET = re.compile("(?i)key|secret|token|passw|credential")


def port():
    """Where the host connects: the plugin's option, or its default."""
    given = os.environ.get("CLAUDE_PLUGIN_OPTION_PORT")
    if given:
        return int(float(given))
    with open(os.path.join(HERE, "../.claude-plugin/plugin.json"), encoding="utf-8") as file:
        return int(json.load(file)["userConfig"]["port"]["default"])


def trouble(number):
    """Why the agent cannot ask, or nothing."""
    import hook

    hook.UNTIL = time.monotonic() + PROOF_S
    try:
        connection = socket.create_connection(("127.0.0.1", number), timeout=PROOF_S)
    except ConnectionRefusedError:
        return started(number)
    with connection:
        # Without a token nothing can be proved; the server itself then says what is wrong.
        token = hook.own_token(hook.data_folder())
        try:
            hook.prove(connection, token, "127.0.0.1:%d" % number, number)
        except (ValueError, LookupError, AttributeError):
            return (
                "port %d is held by a program that is not Live Memory: stop that program, or set "
                "another port for the plugin with /plugin" % number
            )
    return None


def started(number):
    """Start the server as the header helper does; why that failed, or nothing."""
    done = subprocess.run(
        ["/bin/sh", os.path.join(HERE, "../bin/live-memory"), "headers"],
        env={
            **{name: text for name, text in os.environ.items() if not SECRET.search(name)},
            "CLAUDE_CODE_MCP_SERVER_URL": "http://127.0.0.1:%d/mcp" % number,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # it says the token, which goes nowhere
        stderr=subprocess.PIPE,
        timeout=START_S,
    )
    if json.loads(done.stdout):
        return None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[0].replace("live-memory: ", "", 1) if said else "it did not start"


def refusal(why):
    """What makes the host refuse the call, with the reason for the agent and for the user."""
    return {
        "systemMessage": "Live Memory is not there: %s" % why,
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Live Memory is not there: %s. Work without it." % why,
        },
    }


if __name__ == "__main__":
    try:
        sys.path.insert(0, HERE)
        found = trouble(port())
        if found:
            print(json.dumps(refusal(found.rstrip("."))), flush=True)
    except Exception:  # noqa: BLE001  then the call itself says what is wrong
        pass
    os._exit(0)
