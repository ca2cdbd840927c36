"""Makes the environment that the plugin runs in, once, for users who installed nothing else.

    python3 -I -S install_env.py DATA_FOLDER VERSION

It installs what the plugin's `server/locked` lists into `DATA_FOLDER/environment/VERSION`, with uv
where that is, else with venv and pip: finished packages only, each known by its hash, so that the
index they come from decides nothing. The server itself is copied from the plugin. One at a time (a
kernel lock); a file `status` says in a sentence how far it is, and a file `ready` that the
environment is whole; one that does not run any more is made anew. At the end the server is started,
so that the session that waited for it has its tool. Runs on any Python 3.9 and newer.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time

EACH_S = 900
STEPS, USUAL_S = 3, 60
# A machine without network is not asked again with every session.
PAUSE_S = 600
NEEDED = (3, 11)
PLUGIN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(PLUGIN, "server"))

from live_memory.client.passing_on import INDEXES, kept  # noqa: E402

# What is in the way, by how tools say it: their last line is seldom the one that tells.
KNOWN = {
    "no room is left on the disk": r"No space left|Disk quota exceeded|os error 28",
    "the proxy refuses": r"(?i)tunnel (?:error|connection failed)|proxy ?error|proxy.{0,60}(?:refus|40\d|50\d)",
    "the package index cannot be reached: is there a network?": r"(?i)name resolution|resolve host"
    r"|dns error|nodename nor servname|NewConnectionError|network is unreachable|connect error"
    r"|client error \(Connect\)|no route to|timed out|offline|network connectivity is disabled",
    "its Python has no pip: install python3-venv, or uv (https://docs.astral.sh/uv)": "ensurepip",
    "the package index gives something else than was looked at": r"(?i)hash.{0,12}mismatch"
    r"|do not match the hashes",
}


class Failed(Exception):
    """It cannot be done; the text says why."""


def main(data, version):
    """Make it unless it is there and runs, is being made, or failed a moment ago."""
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
    if is_made(made) or failed_lately(folder, version):
        return
    try:
        with open(log, "w") as out:
            make(made, version, Teller(folder, version), out)
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
    """Says how far it is, where a call, `/live-memory-stats` and the next session find it."""

    def __init__(self, folder, version):
        self.folder, self.version, self.began_at = folder, version, time.monotonic()
        self.step = ""

    def __call__(self, number, step):
        self.step = "step %d of %d, %s" % (number, STEPS, step)
        self.still()

    def still(self):
        """Say it again, with the time that passed."""
        took_s = int(time.monotonic() - self.began_at)
        usual = "usually within a minute" if took_s < USUAL_S else "which is longer than usual"
        text = "Live Memory %s is being installed for the plugin (%s): %d s so far, %s"
        say(self.folder, text % (self.version, self.step + self.fetched(), took_s, usual))

    def fetched(self):
        """How many of the packages pip has; uv names none before it has all."""
        if "packages" not in self.step:
            return ""
        try:
            with open(os.path.join(self.folder, "log"), errors="replace") as log:
                first = [line.split(" ", 1)[0] for line in log]
        except OSError:
            return ""
        if "Installing" in first:
            return ", all there and being put in place"
        many = first.count("Collecting")
        return ", %d so far" % many if many else ""


def make(made, version, tell, out):
    """An environment with the server in it, by the first way that works."""
    ways = list(ways_to(made))
    if not ways:
        raise Failed("it needs Python %d.%d or newer, or uv (https://docs.astral.sh/uv)" % NEEDED)
    for name, begin, install in ways:
        shutil.rmtree(made, ignore_errors=True)
        tell(1, "making its environment with %s" % name)
        if not done(begin, out, tell.still):
            continue
        needed = os.path.join(PLUGIN, "server/locked/server.txt")
        tell(2, "getting %d packages with %s" % (listed(needed), name))
        if done([*install, needed], out, tell.still):
            tell(3, "getting parsers with %s and trying it" % name)
            # Not every machine has these; the server then searches and parses by itself.
            done([*install, os.path.join(PLUGIN, "server/locked/extras.txt")], out, tell.still)
            put_in(made, version)
            if runs(made, out):
                return
    raise Failed(reason(out.name))


def ways_to(made):
    """Each tool that is there, with its words to begin and to install what a file lists."""
    python = os.path.join(made, "bin", "python")
    only = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "-r"]
    uv = shutil.which("uv") or shutil.which("uv", path=os.path.expanduser("~/.local/bin"))
    if uv and os.path.isabs(uv):
        wanted = ">=%d.%d" % NEEDED
        begin = [uv, "venv", "--python", wanted, made]
        yield "uv", begin, [uv, "pip", "install", "--python", python, *only]
    own = new_enough()
    if own:
        # -u: how far it is, is seen while it is.
        pip = [
            python,
            "-I",
            "-u",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
        ]
        yield "pip", [own, "-I", "-m", "venv", made], [*pip, *only]


def new_enough():
    """An interpreter that the server can run on."""
    if sys.version_info >= NEEDED:
        return sys.executable
    for minor in range(20, NEEDED[1] - 1, -1):
        found = shutil.which("python3.%d" % minor)
        if found and os.path.isabs(found):
            return found
    return None


def put_in(made, version):
    """Copy the server, which needs no building, and its command."""
    lib = os.path.join(made, "lib")
    names = [name for name in os.listdir(lib) if name.startswith("python3")]
    packages = os.path.join(lib, names[0], "site-packages")
    source = os.path.join(PLUGIN, "server")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(
        os.path.join(source, "live_memory"), os.path.join(packages, "live_memory"), ignore=ignored
    )
    about = os.path.join(packages, "live_memory-%s.dist-info" % version)
    os.makedirs(about)
    with open(os.path.join(about, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\nName: live-memory\nVersion: %s\n" % version)
    with open(os.path.join(about, "direct_url.json"), "w") as out:
        json.dump({"url": "file://" + source, "dir_info": {}}, out)
    command = os.path.join(made, "bin", "live-memory")
    shutil.copyfile(os.path.join(source, "scripts", "live-memory"), command)
    os.chmod(command, 0o700)


def is_made(made):
    """Whether it is whole, and runs: its interpreter may be gone since."""
    with open(os.devnull, "w") as nowhere:
        return os.path.exists(os.path.join(made, "ready")) and runs(made, nowhere)


def runs(made, out):
    """Whether the server's command runs there."""
    python = os.path.join(made, "bin", "python")
    return done([python, "-I", "-m", "live_memory", "--version"], out)


def listed(file):
    """How many packages a lock file lists."""
    with open(file) as lines:
        return sum("==" in line for line in lines)


def done(words, out, still=lambda: None):
    """Whether a program succeeded, far from any workspace; what it says goes to the log.

    `still` is called every second while it runs.
    """
    out.write("$ %s\n" % " ".join(words))
    out.flush()
    try:
        running = subprocess.Popen(
            words,
            cwd="/",
            env=kept(os.environ, INDEXES),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    except OSError as problem:
        out.write("%s\n" % problem)
        return False
    until = time.monotonic() + EACH_S
    while time.monotonic() < until:
        try:
            return running.wait(1) == 0
        except subprocess.TimeoutExpired:
            try:
                still()
            except OSError:  # what it says is worth less than what it does
                pass
    running.kill()
    running.wait()
    out.write("%s timed out after %d s\n" % (words[0], EACH_S))
    return False


def start(made):
    """Bring the server up; a session may be waiting."""
    nothing = subprocess.DEVNULL
    subprocess.run(
        [os.path.join(made, "bin", "python"), "-I", "-m", "live_memory", "start"],
        cwd="/",
        env=kept(os.environ, frozenset(["LIVE_MEMORY_DATA_DIR"])),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        timeout=60,
        check=False,
    )


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


def reason(path):
    """Why it failed: what is known to be in the way, else the last thing that a program said."""
    with open(path, errors="replace") as lines:
        said = [line.strip() for line in lines if line.strip() and not line.startswith("$ ")]
    for why, form in KNOWN.items():
        if any(re.search(form, line[:2000]) for line in said):
            return why
    return said[-1] if said else "nothing said why"


if __name__ == "__main__":
    os.environ["PATH"] = kept(os.environ)["PATH"]
    main(*sys.argv[1:3])
