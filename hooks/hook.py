"""Tells the Live Memory server what the agent read, changed and ran; run by the host each time.

Names, ranges and commands only: what a file or a program said never leaves this process. What the
agent said at the end of its work is sent where it cites a place, and how its task begins, unless
`remember_conclusions` is off. The server proves that it is ours before it hears anything. Whatever
goes wrong, this ends soon, says nothing and exits 0; an event that could not be sent is written
down for the server to find.
"""

import json
import os
import re
import stat
import sys
import time

# All of it, from the first line to the last, on a machine that is not overloaded.
BUDGET_S = 0.2
# Even one that a program on the port only half answers must not be waited for.
UNTIL = time.monotonic() + BUDGET_S
OTHERS = 0 if sys.platform == "win32" else 0o077
LARGEST_PAYLOAD, LONGEST_COMMAND, LARGEST_REPLY = 8 * 1024 * 1024, 16_000, 64 * 1024
# Bytes of a conclusion, characters of a task.
LONGEST_TEXT, LONGEST_TASK = 16_000, 300
HELPER_TOOLS, SPEAKING = ("Agent", "Task"), ("Stop", "SubagentStop", "UserPromptSubmit")
OFF = frozenset("0 off f false n no".split())
NOISY = frozenset([".git", "node_modules", ".venv", "__pycache__"])
KEPT = {
    **dict.fromkeys(
        "hook_event_name session_id agent_id agent_type cwd transcript_path tool_name file_path "
        "event source reason is_interrupt".split()
    ),
    "tool_input": dict.fromkeys(("file_path", "notebook_path", "offset", "limit", "command")),
    "tool_response": {
        "file": dict.fromkeys(("startLine", "numLines", "totalLines")),
        "structuredPatch": [dict.fromkeys(("newStart", "newLines"))],
        "interrupted": None,
    },
}


def kept(value, wanted):
    """What of a payload is sent: the named fields, and of them only plain values."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return None
        found = {name: kept(value[name], wanted[name]) for name in wanted if name in value}
        return {name: one for name, one in found.items() if one is not None}
    if isinstance(wanted, list):
        return [kept(one, wanted[0]) for one in value[:64]] if isinstance(value, list) else None
    if isinstance(value, str):
        return value[: LONGEST_COMMAND + 1]  # one more, so that the server sees it was cut
    return value if isinstance(value, (int, float)) else None


def words_in(payload):
    """What an agent was asked or concluded, as fields of the event; nothing if that is nothing."""
    name, given = payload.get("hook_event_name"), payload.get("tool_input")
    if name == "UserPromptSubmit":
        # The host announces by a prompt of its own that a helper ended.
        prompt = beginning(payload.get("prompt"), LONGEST_TASK)
        return {"prompt": prompt} if prompt and not prompt.startswith("<task-notification>") else {}
    if name in SPEAKING:
        # What the host does for itself ends like a helper, and has no type.
        is_own = name == "SubagentStop" and not payload.get("agent_type")
        text = "" if is_own else conclusion(payload.get("last_assistant_message"))
        return {"last_assistant_message": text} if text else {}
    made = kept(payload.get("tool_response"), {"agentId": None, "content": [{"text": None}]}) or {}
    texts = [part["text"] for part in made.get("content", []) if part]
    text = conclusion("\n".join(one for one in texts if isinstance(one, str)))
    made["content"] = [{"type": "text", "text": text}]
    task = beginning(given.get("prompt"), LONGEST_TASK) if isinstance(given, dict) else ""
    return {"tool_input": {"prompt": task}, "tool_response": made}


def conclusion(value):
    """The beginning of a text that cites a place there; of any other text nothing."""
    text = beginning(value, LONGEST_TEXT)
    # `a.py:12`, `a.py#L12`, `line 12`, `a.py (12-14)`: the server looks closer.
    is_cited = re.search(r"\w`?[:#]L?\d|[Ll]ines? L?\d|\.\w{1,9}`? \(L?\d", text)
    return text if is_cited else ""


def beginning(value, most):
    """At most so many characters of a text, and bytes of a conclusion, to the end of a word."""
    text = value if isinstance(value, str) else ""
    cut = text[:most].encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore")
    return cut if len(cut) == len(text) else (cut.rsplit(None, 1) or [""])[0]


def remembers():
    """Whether conclusions are wanted, as far as this can know: the server asks its own settings."""
    name = "remember_conclusions"
    said = os.environ.get("LIVE_MEMORY_" + name.upper()) or configured(name)
    return str(said).lower() not in OFF


def data_folder():
    """Where the server keeps its token, as the server finds it."""
    named = os.environ.get("LIVE_MEMORY_DATA_DIR") or configured("data_dir")
    if named:
        return os.path.expanduser(named)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(local, "live-memory", "live-memory")
    fallback = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    return os.path.join(xdg("XDG_DATA_HOME", fallback), "live-memory")


def configured(name):
    """What the user's configuration sets by this name; this runs without a TOML reader."""
    fallback = "~/Library/Application Support" if sys.platform == "darwin" else "~/.config"
    file = os.path.join(xdg("XDG_CONFIG_HOME", fallback), "live-memory", "config.toml")
    try:
        with open(file, encoding="utf-8") as lines:
            state = os.fstat(lines.fileno())
            if hasattr(os, "geteuid") and state.st_uid not in (os.geteuid(), 0):
                return None  # the server does not obey it either
            if OTHERS and state.st_mode & 0o022:
                return None
            return set_in(lines.read(), name)
    except (OSError, ValueError):
        pass
    return None


def set_in(text, name):
    """What a TOML file sets at its top level; a text over several lines is not looked for."""
    top = re.split(r"""(?m)^[ \t]*\[[\w.'" \[-]+\]+[ \t]*(?:#.*)?$""", text, maxsplit=1)[0]
    key = r"""(?m)^[ \t]*(["']?)%s\1[ \t]*=[ \t]*""" % name
    value = r"""(?:'([^'\n]*)'|"((?:[^"\\\n]|\\.)*)"|(true|false))[ \t]*(?:#.*)?$"""
    found = re.search(key + value, top)
    if not found:
        return None
    if found[3] is None:
        return found[2] or found[4]
    long = re.sub(r"(\\\\)|\\U([0-9A-Fa-f]{8})", lambda u: u[1] or chr(int(u[2], 16)), found[3])
    return json.loads('"%s"' % long.replace("\t", "\\t"))


def xdg(name, fallback):
    """A folder that the environment may name."""
    value = os.environ.get(name, "").strip()
    return value if os.path.isabs(value) else os.path.expanduser(fallback)


def own_file(folder, name, most):
    """A file that nobody but us can have written; nothing otherwise."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(os.path.join(folder, name), flags)
    try:
        state = os.fstat(descriptor)
        is_ours = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
        if not is_ours or not stat.S_ISREG(state.st_mode) or state.st_mode & OTHERS:
            raise OSError("not ours alone")
        return os.read(descriptor, most).decode("ascii")
    finally:
        os.close(descriptor)


def own_token(folder):
    """The server's token; half of one, or none, would prove a stranger."""
    token = own_file(folder, "token", 256).rstrip("\n")
    if len(token) != 43 or not token.replace("-", "").replace("_", "").isalnum():
        raise OSError("no token")
    return token


def left_s():
    """Seconds of the budget that are left; a socket takes no zero."""
    left = UNTIL - time.monotonic()
    if left <= 0:
        raise OSError("out of time")
    return left


def reply_of(connection):
    """Status and body of one reply."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += some(connection, len(received))
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    lengths = [line.split(":")[1] for line in lines[1:] if line.startswith("content-length:")]
    length = int(lengths[0]) if lengths else 0
    while len(body) < min(length, LARGEST_REPLY):
        body += some(connection, len(body))
    return int(lines[0].split()[1]), body[:length]


def some(connection, so_far):
    """The next bytes of a reply."""
    connection.settimeout(left_s())
    chunk = connection.recv(65536)
    if not chunk or so_far > LARGEST_REPLY:
        raise OSError("no reply")
    return chunk


def deliver(folder, project, event):
    """Send the event to the server that proves itself; the reply's status."""
    import socket

    token = own_token(folder)
    server = json.loads(own_file(folder, "server.json", LARGEST_REPLY))
    host, port = str(server["host"]), int(server["port"])
    if host not in ("127.0.0.1", "::1"):
        raise OSError("not this machine")
    shown = "[%s]:%d" % (host, port) if ":" in host else "%s:%d" % (host, port)
    with socket.create_connection((host, port), timeout=left_s()) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = prove(connection, token, shown, port)
        data = json.dumps(event).encode("ascii")
        head = (
            "POST /notify HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n"
            "X-Live-Memory-Project: "
        ) % (shown, key, len(data))
        # The name goes as its bytes; a line end in it would end the header.
        name = project.encode("utf-8", "surrogateescape").replace(b"\r", b"").replace(b"\n", b"")
        connection.settimeout(left_s())
        connection.sendall(head.encode("ascii") + name + b"\r\n\r\n" + data)
        return reply_of(connection)[0]


def prove(connection, token, shown, port):
    """Make sure that the other side knows our token, which it is never shown; what opens it.

    That key is of this start of the server, and of the address that it was asked at.
    """
    import hashlib
    import hmac

    def derived(message):
        return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()

    nonce = os.urandom(24).hex()
    ask = "GET /health?nonce=%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (nonce, shown)
    connection.sendall(ask.encode("ascii"))
    status, body = reply_of(connection)
    said = json.loads(body) if status == 200 else {}
    pid = said.get("pid")
    proof = derived("%s|%d|%s" % (nonce, port, pid))
    if not hmac.compare_digest(str(said.get("proof")).encode(), proof.encode()):
        raise ValueError("a stranger")
    return derived("key|%s|%s|%d" % (said.get("start"), connection.getpeername()[0], port))


def event_of(payload):
    """What of a payload is sent, if anything."""
    event = kept(payload, KEPT)
    speaks = event.get("hook_event_name") in SPEAKING
    if speaks or event.get("tool_name") in HELPER_TOOLS:
        words = words_in(payload) if remembers() else {}
        return {**event, **words} if words else None
    return event


def is_noise(event, folder):
    """Our own data, and changes in folders that programs fill."""
    path = event.get("file_path") or event.get("tool_input", {}).get("file_path") or ""
    path = path.replace("\\", "/")
    if path.startswith(folder.replace("\\", "/") + "/"):
        return True
    parts = path.split("/")
    touched = event.get("hook_event_name") == "FileChanged"
    return touched and not NOISY.isdisjoint(parts)


def payload():
    """The event on standard input, read to its end or to the end of the budget."""
    import select

    data = b""
    while len(data) <= LARGEST_PAYLOAD:
        # What is there is read even if the machine was too busy to start us in time.
        wait_s = max(0.0, UNTIL - time.monotonic())
        if sys.platform != "win32" and not select.select([0], [], [], wait_s)[0]:
            raise OSError("no payload")
        chunk = os.read(0, 1 << 20)
        if not chunk:
            return json.loads(data)
        data += chunk
    raise OSError("too large")


def main():
    """Send one event, or write it down."""
    project = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    event, folder = event_of(payload()), data_folder()
    if event is None or is_noise(event, folder):
        return
    try:
        status = deliver(folder, project, event)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        status = None
    # 401: it took our proof for an answer and not our key, as a server of another version may.
    if status is None or status >= 500 or status in (401, 429):
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        from spool import write_down

        write_down(folder, project, event, until=time.monotonic() + 0.05)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001  the host shows what fails; a hook never gets in the way
        pass
    # No clean-up, and nothing that is still open can hold us.
    os._exit(0)
