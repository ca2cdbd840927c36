"""Only `adapters/workspace` opens, lists or follows names of a workspace (security D5).

Whatever else touches files is named here with the files it is about: our own, never a workspace's.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "live_memory"

# Modules and packages of ours that open files, and which.
OWN_FILES = {
    "adapters/workspace": "the one opener of workspace files",
    "adapters/llm/claude_process.py": "the installed client and the empty folder it runs in",
    "adapters/llm/installed_client.py": "the login in the client's own folder, by a person's wish",
    "adapters/hooks/spool.py": "what hooks left in the data folder",
    "adapters/transcripts": "what hosts wrote of their sessions; names of folders, for one of them",
    "adapters/index": "the index in the data folder",
    "adapters/llm/endpoint.py": "certificates that the user's environment names",
    "adapters/telemetry.py": "the log, where a person's setting says, and the null device",
    "adapters/store": "snapshots and journal in the data folder",
    "client": "the token and where the server is; folders to watch; whether a host has our hooks; "
    "a file that was patched, of which line numbers leave",
    "cli/connect.py": "where the command of this installation is",
    "cli/host_files.py": "the settings of hosts, a project's where a person names it",
    "cli/doctor.py": "limits and processes, our data folder, a folder to try a hook in",
    "cli/environment.py": "the locks of the data folder",
    "cli/launcher.py": "the server's process and its log",
    "cli/export.py": "templates, of the package or of the person; what it writes where they say",
    "cli/import_notes.py": "a file or a folder of Markdown that a person names",
    "cli/import_sessions.py": "how far logs were imported, in the data folder",
    "cli/service.py": "what a supervisor reads",
    "cli/uninstall.py": "names in the data folder, and the user's config file",
    "cli/lifecycle.py": "the plugin's files",
    "web/routes.py": "the real path of a folder that a model names, of which it opens nothing",
    "core/companion/prompt.py": "prompt texts, which are package data",
    "core/compaction/plan.py": "a prompt text, which is package data",
    "cli/config.py": "the user's config file",
    "web/identity.py": "who runs, and the token, in the data folder",
    "cli/ui.py": "the real path of the folder that it is called in, of which it opens nothing",
    "web/page/page_routes.py": "the page, which is package data",
    "wiring/building.py": "folders in the data folder",
}

_FUNCTIONS = frozenset({"open"})
_OF_MODULES = {
    "os": {"open", "walk", "fwalk", "scandir", "listdir", "readlink", "stat", "lstat"},
    "io": {"open", "open_code", "FileIO"},
    "glob": {"glob", "iglob"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "rmtree", "move"},
    "os.path": {"realpath", "exists", "isfile", "isdir", "getsize"},
}
_METHODS = frozenset(
    {"read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "rglob", "resolve", "touch",
     "unlink", "symlink_to", "readlink", "lstat", "is_file", "is_dir", "mkdir"}
)  # fmt: skip


def file_calls(source: str) -> Iterator[tuple[int, str]]:
    """Calls that open, list or follow a name, as far as reading the source can tell."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            yield node.lineno, node.func.id
        elif isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            if owner.endswith("workspaces"):  # `Workspaces.resolve`, the port itself
                continue
            if node.func.attr in _METHODS or node.func.attr in _OF_MODULES.get(owner, ()):
                yield node.lineno, f"{owner}.{node.func.attr}"


def test_nothing_else_opens_a_name_of_a_workspace() -> None:
    found: list[str] = []
    for module in sorted(PACKAGE.rglob("*.py")):
        name = module.relative_to(PACKAGE).as_posix()
        if any(name == own or name.startswith(f"{own}/") for own in OWN_FILES):
            continue
        calls = file_calls(module.read_text(encoding="utf-8"))
        found += [f"{name}:{line} calls {call}" for line, call in calls]
    assert found == [], "read workspace files through the Sandbox port; name our own in OWN_FILES"


def test_every_exception_is_still_needed() -> None:
    for own in OWN_FILES:
        where = PACKAGE / own
        modules = [where] if where.suffix else [*where.rglob("*.py")]
        assert any([*file_calls(module.read_text(encoding="utf-8"))] for module in modules), own


def test_the_check_sees_the_ways_there_are() -> None:
    source = (
        "open(x); os.walk(x); Path(x).read_text(); p.resolve(); glob.glob(x); os.path.realpath(x)"
    )
    assert len([*file_calls(source)]) == 6
