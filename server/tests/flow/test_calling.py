"""Who uses a name: each use with what it may mean, and no edge to what it cannot."""

import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.evidence.places import Place
from live_memory.core.reading.redaction import DEFAULT
from live_memory.core.values import RelPath
from live_memory.flow import find_uses
from live_memory.flow.find_uses import Callers, callers_of
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.observing import observed

USERS = "export class UserService {\n  findAll() {\n    return [];\n  }\n}\n"
CONTROLLER = """import { UserService } from './users';

export class Controller {
  constructor(private readonly users: UserService) {}

  list() {
    return this.users.findAll();
  }
}
"""
BOTH = """import { UserService as Admin } from './admin/users';
import { UserService as Guest } from './guest/users';

export function both(users) {
  const admin = new Admin();
  admin.findAll();
  new Guest().findAll();
  users.findAll();
}
"""
FIND_ALL = "UserService.findAll@"
TWO = {
    "admin/users.ts": USERS,
    "guest/users.ts": USERS,
    "admin/controller.ts": CONTROLLER,
    "guest/controller.ts": CONTROLLER.replace("./users", "../guest/users"),
    "both.ts": BOTH,
}


async def _callers(
    name: str, files: dict[str, str], *, depth: int = 1, mentions: tuple[Place, ...] = ()
) -> Callers:
    index = SqliteIndex.in_memory()
    await index.update([observed(*item) for item in files.items()], textless={}, gone=())
    sandbox = InMemorySandbox({path: text.encode() for path, text in files.items()})
    desk = QuestionFiles(FileCache(Reader(sandbox, DEFAULT, 10_000)), index)
    return await callers_of(name, desk, depth=depth, mentions=mentions)


def _told(found: Callers) -> list[str]:
    rows = []
    for edge in found.edges:
        within = edge.use.within.name if edge.use.within else "-"
        means = " ".join(f"{d.name}@{d.place.path}" for d in edge.called) or "?"
        kind = "import" if edge.use.is_import else "sure" if edge.is_sure else "maybe"
        rows.append(f"{edge.use.place} {within} {kind} {means}")
    return rows


async def test_imports_tell_two_methods_of_one_name_and_class_name_apart() -> None:
    """N26: who calls the admin's?"""
    found = await _callers("findAll", TWO)
    assert _told(found) == [
        "admin/controller.ts:7 Controller.list sure UserService.findAll@admin/users.ts",
        "both.ts:6 both sure UserService.findAll@admin/users.ts",
        "both.ts:7 both sure UserService.findAll@guest/users.ts",
        "guest/controller.ts:7 Controller.list sure UserService.findAll@guest/users.ts",
        f"both.ts:8 both maybe {FIND_ALL}admin/users.ts {FIND_ALL}guest/users.ts",
    ]
    assert _told(await _callers("UserService.findAll", TWO)) == _told(found)


async def test_a_function_of_the_language_is_no_method_of_ours() -> None:
    """`isinstance` was once said to call `TableColumns.isinstance`."""
    files = {
        "columns.py": "class TableColumns:\n    def isinstance(self, kind):\n        return kind\n",
        "app.py": (
            "import re\n\n\ndef show(x, columns):\n    isinstance(x, int)\n"
            "    re.isinstance(x)\n    columns.isinstance(x)\n    x.isinstance(x)\n"
        ),
    }
    found = await _callers("isinstance", files)
    assert _told(found) == [
        "app.py:7 show sure TableColumns.isinstance@columns.py",
        "app.py:8 show maybe ?",
    ]
    assert found.others == 2


async def test_what_a_file_has_from_elsewhere_is_not_ours() -> None:
    files = {
        "lib/loads.py": "def load_all(x):\n    pass\n",
        "a.py": "from json_tools import load_all\n\n\ndef go():\n    load_all(1)\n",
        "b.py": "from lib.loads import load_all\n\n\ndef go():\n    load_all(1)\n",
        "c.py": "def go():\n    load_all(1)\n",
    }
    rows = _told(await _callers("load_all", files))
    assert [row for row in rows if "import" not in row] == [
        "b.py:5 go sure load_all@lib/loads.py",
        "c.py:2 go sure load_all@lib/loads.py",
    ]


async def test_another_language_calls_nothing_by_its_name() -> None:
    files = {
        "lib.rs": "impl Worker {\n    pub fn run_it(&self) {}\n}\n",
        "main.rs": "fn main() {\n    worker.run_it();\n}\n",
        "bench.py": "def main(worker):\n    worker.run_it()\n",
    }
    found = await _callers("Worker::run_it", files)
    assert _told(found) == ["main.rs:2 main sure Worker.run_it@lib.rs"]
    assert found.others == 1


async def test_what_is_handed_on_is_used_and_what_is_named_alike_is_not() -> None:
    files = {
        "a.py": (
            "def handle(x):\n    pass\n\n\ndef begin():\n    run(handle)\n"
            "    handle = 3\n    run(handle=1)\n"
        ),
        "b.py": "def other(handle):\n    run(handle)\n",
        "c.py": "from a import handle\n\n\nON = {1: handle}\n",
    }
    lines = [("a.py", 6), ("a.py", 7), ("a.py", 8), ("b.py", 2), ("c.py", 4)]
    mentions = tuple(Place(RelPath(path), n, n) for path, n in lines)
    found = await _callers("handle", files, mentions=mentions)
    assert _told(found) == [
        "a.py:6 begin sure handle@a.py",
        "c.py:4 - sure handle@a.py",
        "c.py:1 - import handle@a.py",
    ]


async def test_callers_of_callers_are_followed_and_constructors_lead_to_their_class() -> None:
    files = {
        "a.py": (
            "def open_it():\n    pass\n\n\nclass Pool:\n    def __init__(self):\n"
            "        open_it()\n\n\ndef serve():\n    return Pool()\n\n\n"
            "def main():\n    serve()\n\n\nmain()\n"
        ),
        "test_a.py": "from a import serve\n\n\ndef test_it():\n    serve()\n",
    }
    assert _told(await _callers("open_it", files, depth=3)) == [
        "a.py:7 Pool.__init__ sure open_it@a.py",
        "a.py:11 serve sure Pool@a.py",
        "a.py:15 main sure serve@a.py",
    ]
    assert _told(await _callers("serve", files, depth=3)) == [
        "a.py:15 main sure serve@a.py",
        "a.py:18 - sure main@a.py",
        "test_a.py:5 test_it sure serve@a.py",
        "test_a.py:1 - import serve@a.py",
    ]


async def test_a_constructor_that_belongs_to_nothing_is_only_itself() -> None:
    files = {"a.js": "function initialize() {\n  start();\n}\n\nfunction start() {\n}\n"}
    assert _told(await _callers("start", files, depth=2)) == ["a.js:2 initialize sure start@a.js"]


async def test_a_name_as_it_is_written_comes_before_other_cases_and_an_unknown_one_is_used() -> (
    None
):
    files = {
        "a.py": "class Limit:\n    pass\n\n\ndef limit():\n    pass\n\n\ndef go():\n    limit()\n",
        "README.md": "# Limit\n\nWords.\n",
    }
    assert [d.kind.value for d in (await _callers("limit", files)).defined] == ["function"]
    assert [d.kind.value for d in (await _callers("Limit", files)).defined] == ["class"]
    assert (await _callers("LIMIT", files)).defined
    assert _told(await _callers("format", {"a.py": "def go(x):\n    x.format(1)\n"})) == [
        "a.py:2 go sure ?"
    ]


async def test_the_work_is_bounded_and_what_was_not_looked_at_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {f"m{n}.py": f"def go_{n}():\n    save_it()\n" for n in range(6)}
    files["a.py"] = "def save_it():\n    pass\n\n\ndef a_go():\n    save_it()\n"
    monkeypatch.setattr(find_uses, "MOST_OPENED", 4)
    found = await _callers("save_it", files, depth=3)
    assert len(found.edges) == 4
    assert found.unopened == 3
    monkeypatch.setattr(find_uses, "_MOST_EDGES", 2)
    assert len((await _callers("save_it", files, depth=3)).edges) == 2
