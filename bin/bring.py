"""Makes the environment that the plugin runs in, once, for users who installed nothing else.

    python3 -I -S bring.py DATA_FOLDER VERSION

It installs the plugin's own `server` folder into `DATA_FOLDER/environment/VERSION`, with uv where
that is, else with venv and pip. One at a time (a kernel lock); a file `status` says in a sentence
how far it is, and a file `ready` that the environment is whole. At the end the server is started,
so that the session that waited for it has its tool. Runs on any Python 3.8 and newer.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time

EACH_S = 900
# A machine without network is not asked again with every session.
PAUSE_S = 600
EXTRAS = ("[search,syntax]", "")
NEEDED = (3, 11)


class Failed(Exception):
    """It cannot be done; the text says why."""


def main(data, version):
    """Make it unless it is there, is being made, or failed a moment ago."""
    os.umask(0o077)
    try:
        os.setsid()  # what ends the session does not end us
    except OSError:
        pass
    folder = os.path.join(data, "environment")
    os.makedirs(folder, exist_ok=True)
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    made, log = os.path.join(folder, version), os.path.join(folder, "log")
    if os.path.exists(os.path.join(made, "ready")) or failed_lately(folder, version):
        return
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "server")
    try:
        with open(log, "w") as out:
            make(made, source, Teller(folder, version), out)
    except (Failed, OSError) as problem:
        shutil.rmtree(made, ignore_errors=True)
        say(
            folder,
            "Live Memory %s could not be installed for the plugin: %s. It is tried again in a "
            "later session; the log is %s" % (version, problem, log),
        )
        return
    with open(os.path.join(made, "ready"), "w"):
        pass
    start(made)
    say(folder, "Live Memory %s is installed for the plugin" % version)
    forget_others(folder, made)


class Teller:
    """Says how far it is, where `/live-memory-stats` and the next session find it."""

    def __init__(self, folder, version):
        self.folder, self.version = folder, version

    def __call__(self, step):
        text = "Live Memory %s is being installed for the plugin (%s); the tool is there when that"
        say(self.folder, (text + " is done, usually within a minute") % (self.version, step))


def make(made, source, tell, out):
    """An environment with the server in it, by the first way that works."""
    ways = list(ways_to(made))
    if not ways:
        raise Failed("it needs Python %d.%d or newer, or uv (https://docs.astral.sh/uv)" % NEEDED)
    for extras in EXTRAS:
        for name, begin, install in ways:
            shutil.rmtree(made, ignore_errors=True)
            tell("making its environment with %s" % name)
            if not done(begin, out, made):
                continue
            tell("getting what it needs with %s" % name)
            if done([*install, source + extras], out, made):
                if done([os.path.join(made, "bin", "live-memory"), "--version"], out, made):
                    return
    raise Failed(last_line(out.name) or "nothing said why")


def ways_to(made):
    """Each tool that is there, with its words to begin and to install."""
    python = os.path.join(made, "bin", "python")
    uv = shutil.which("uv") or shutil.which("uv", path=os.path.expanduser("~/.local/bin"))
    if uv:
        wanted = ">=%d.%d" % NEEDED
        yield (
            "uv",
            [uv, "venv", "--python", wanted, made],
            [uv, "pip", "install", "--python", python],
        )
    own = new_enough()
    if own:
        pip = [python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        yield "pip", [own, "-I", "-m", "venv", made], pip


def new_enough():
    """An interpreter that the server can run on."""
    if sys.version_info >= NEEDED:
        return sys.executable
    for minor in range(20, NEEDED[1] - 1, -1):
        found = shutil.which("python3.%d" % minor)
        if found and os.path.isabs(found):
            return found
    return None


def done(words, out, made):
    """Whether a program succeeded, far from any workspace; what it says goes to the log."""
    out.write("$ %s\n" % " ".join(words))
    out.flush()
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CLAUDE", "VIRTUAL"))
    }
    try:
        ended = subprocess.run(
            words,
            cwd=os.path.dirname(made),
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            timeout=EACH_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        out.write("no end after %d s\n" % EACH_S)
        return False
    return ended.returncode == 0


def start(made):
    """Bring the server up where the host will look for it; a session may be waiting."""
    has_host = "CLAUDE_CODE_MCP_SERVER_URL" in os.environ
    words = [os.path.join(made, "bin", "live-memory"), "headers" if has_host else "start"]
    nothing = subprocess.DEVNULL  # the token is among what it says
    subprocess.run(words, stdin=nothing, stdout=nothing, stderr=nothing, timeout=60, check=False)


def forget_others(folder, made):
    """Remove older environments, but for the last one: a server may still run from there."""
    others = [e.path for e in os.scandir(folder) if e.is_dir() and e.path != made]
    for path in sorted(others, key=os.path.getmtime)[:-1]:
        shutil.rmtree(path, ignore_errors=True)


def failed_lately(folder, version):
    """Whether this version could not be installed a moment ago."""
    try:
        with open(os.path.join(folder, "status")) as file:
            text = file.read()
            age_s = time.time() - os.fstat(file.fileno()).st_mtime
    except OSError:
        return False
    return "%s could not be installed" % version in text and 0 <= age_s < PAUSE_S


def say(folder, sentence):
    """Put a sentence in the status file, whole."""
    new = os.path.join(folder, "status.new")
    with open(new, "w") as out:
        out.write(sentence.replace("\n", " ") + "\n")
    os.replace(new, os.path.join(folder, "status"))


def last_line(path):
    """The last thing that a program said."""
    with open(path, errors="replace") as lines:
        said = [line.strip() for line in lines if line.strip() and not line.startswith("$ ")]
    return said[-1] if said else None


if __name__ == "__main__":
    main(*sys.argv[1:3])
