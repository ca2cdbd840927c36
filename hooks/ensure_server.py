"""Makes sure that the server is there before the agent asks it; the host runs this before each ask.

A server that proves itself costs one connection. One that is gone is started as a session's start
does it, so that the agent notices nothing. Where that cannot be, and where the port answers without
a proof, the agent is told in one sentence to go on without memory, and the user the same; what fails
in here counts as no proof.
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
    """Why the agent must not ask, or nothing: where somebody answers, only a proof lets it pass."""
    import hook

    hook.UNTIL = time.monotonic() + PROOF_S
    folder = hook.data_folder()
    try:
        with socket.create_connection(("127.0.0.1", number), timeout=PROOF_S) as connection:
            hook.prove(connection, hook.own_token(folder), "127.0.0.1:%d" % number, number)
    except ConnectionRefusedError:
        return started(number)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        # Nothing was said in time, or cut short: a server of ours that is busy, or a stranger.
        if not (isinstance(problem, OSError) and is_held_by_ours(hook, folder, number)):
            return (
                "port %d is held by a program that is not Live Memory: stop that "
                "program, or set another port for the plugin with /plugin" % number
            )
    return None


def is_held_by_ours(hook, folder, number):
    """Whether our server runs and has this port: it holds the data folder's lock until its end.

    What it published it wrote once it listened there, and the lock says that it still runs.
    """
    import fcntl

    try:
        said = json.loads(hook.own_file(folder, "server.json", hook.LARGEST_REPLY))
        lock = os.open(os.path.join(folder, "lock"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pid, port = map(int, os.read(lock, 64).split())
        there = "127.0.0.1", number
        return (said["host"], said["port"]) == there and (said["pid"], said["port"]) == (pid, port)
    finally:
        os.close(lock)
    return False


def started(number):
    """Start the server as the header helper does; why that failed, or nothing."""
    done = subprocess.run(  # one that takes longer is not waited for, nor asked
        ["/bin/sh", os.path.join(HERE, "../bin/live-memory"), "headers"],
        env={
            **{name: text for name, text in os.environ.items() if not SECRET.search(name)},
            "CLAUDE_CODE_MCP_SERVER_URL": "http://127.0.0.1:%d/mcp" % number,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # it says what opens the server, which goes nowhere
        stderr=subprocess.PIPE,
        timeout=START_S,
    )
    if done.returncode == 0 and json.loads(done.stdout):
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
    except Exception as problem:  # noqa: BLE001  whatever it is, nothing was proved
        found = "it could not be seen whether it runs (%s)" % (problem or type(problem).__name__)
    if found:
        print(json.dumps(refusal(found.rstrip("."))), flush=True)
    os._exit(0)
