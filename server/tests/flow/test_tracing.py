"""The way from one definition to another, also through objects whose class only names tell."""

import pytest

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.reading.redaction import DEFAULT
from live_memory.flow import find_uses
from live_memory.flow.find_uses import way
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.observing import observed

SHOP = """from stores import FileStore


class Shop:
    def open_up(self):
        self.sell(1)

    def sell(self, what):
        self.store.save(what)

    def save(self, what):
        pass


def start():
    shop = Shop()
    shop.open_up()
"""
STORES = """class FileStore:
    def save(self, what):
        self.write_down(what)

    def write_down(self, what):
        raise NotImplementedError


class MemoryStore:
    def save(self, what):
        pass
"""
MORE = """from stores import FileStore


class SafeStore(FileStore):
    def write_down(self, what):
        lock_it(what)


def lock_it(what):
    pass
"""
WORLD = {"shop.py": SHOP, "stores.py": STORES, "more.py": MORE}


async def _desk(files: dict[str, str]) -> QuestionFiles:
    index = SqliteIndex.in_memory()
    await index.update([observed(*item) for item in files.items()], textless={}, gone=())
    sandbox = InMemorySandbox({name: text.encode() for name, text in files.items()})
    return QuestionFiles(FileCache(Reader(sandbox, DEFAULT, 10_000)), index)


async def _way(start: str, end: str, files: dict[str, str] = WORLD) -> list[str]:
    steps = await way(start, end, await _desk(files))
    assert all(step.use.within for step in steps)
    return [
        f"{step.use.within and step.use.within.name} {step.use.place} {step.called.name}"
        + (f" 1/{step.among}" if step.among > 1 else "")
        for step in steps
    ]


async def test_a_call_on_an_object_is_followed_to_each_class_that_it_may_be() -> None:
    assert await _way("start", "FileStore.save") == [
        "start shop.py:17 Shop.open_up",
        "Shop.open_up shop.py:6 Shop.sell",
        "Shop.sell shop.py:9 FileStore.save 1/2",
    ]
    assert (await _way("start", "MemoryStore.save"))[-1] == (
        "Shop.sell shop.py:9 MemoryStore.save 1/2"
    )


async def test_what_is_called_on_self_is_never_another_class_s() -> None:
    """`self.save()` of a shop was once said to save a file."""
    own = {"shop.py": SHOP.replace("self.store.save", "self.save"), "stores.py": STORES}
    assert await _way("Shop.sell", "FileStore.save", own) == []
    assert await _way("Shop.sell", "Shop.save", own) == ["Shop.sell shop.py:9 Shop.save"]


async def test_a_method_that_takes_the_place_of_another_is_one_of_those_it_may_be() -> None:
    assert await _way("Shop.sell", "lock_it") == [
        "Shop.sell shop.py:9 FileStore.save 1/2",
        "FileStore.save stores.py:3 SafeStore.write_down 1/2",
        "SafeStore.write_down more.py:6 lock_it",
    ]


async def test_calls_that_can_mean_one_thing_only_are_taken_before_fewer_others() -> None:
    direct = "def start(store):\n    keep()\n    store.save_it()\n"
    keep = "def keep():\n    FileStore.save_it(1)\n\n\n"
    stores = "class FileStore:\n    def save_it(self):\n        pass\n\n\n"
    other = stores.replace("File", "Memory")
    files = {"a.py": direct, "b.py": keep, "c.py": stores + other}
    files["d.py"] = "def begin():\n    start(1)\n"
    assert await _way("begin", "FileStore.save_it", files) == [
        "begin d.py:2 start",
        "start a.py:2 keep",
        "keep b.py:2 FileStore.save_it",
    ]


async def test_a_call_that_may_mean_many_is_a_step_only_to_what_is_asked_for() -> None:
    many = "\n".join(
        f"class C{n}:\n    def save_it(self):\n        end_{n}()\n\n\ndef end_{n}():\n    pass\n"
        for n in range(6)
    )
    files = {"a.py": "def start(x):\n    x.save_it()\n", "b.py": many}
    assert await _way("start", "C3.save_it", files) == ["start a.py:2 C3.save_it 1/6"]
    assert await _way("start", "end_3", files) == []


async def test_a_name_that_many_define_is_no_end_unless_the_class_or_module_is_named() -> None:
    files = {f"lib/m{n}.py": "def run():\n    stop_it()\n" for n in range(7)}
    files["lib/last.py"] = "def stop_it():\n    pass\n"
    assert await _way("run", "stop_it", files) == []
    assert await _way("m3.run", "stop_it", files) == ["run lib/m3.py:2 stop_it"]
    assert await _way("nothing.run", "stop_it", files) == []


async def test_overloads_are_one_definition() -> None:
    more = "@overload\ndef run(a: int): ...\n@overload\ndef run(a: str): ...\n"
    one = f"{more}def run(a):\n    end_it()\n"
    files = {"a.py": f"def start():\n    run(1)\n\n\n{one}\n\ndef end_it():\n    pass\n"}
    assert await _way("start", "end_it", files) == ["start a.py:2 run", "run a.py:10 end_it"]


async def test_a_prototype_is_named_as_its_class_is() -> None:
    view = "function View() {\n}\nView.prototype.render = function render() {\n};\n"
    files = {"a.js": f"{view}function show(view) {{\n  view.render();\n}}\n"}
    assert await _way("show", "View.render", files) == ["show a.js:6 View.prototype.render"]


async def test_what_only_imports_a_name_is_no_definition_of_it() -> None:
    files = {
        "a.js": "var { charset } = require('./b');\nvar total = require('./b').total;\n"
        "function show() {\n  total(1);\n}\n",
        "b.js": "exports.total = function total() {\n};\n",
    }
    assert await _way("show", "total", files) == ["show a.js:4 exports.total"]


@pytest.mark.promise("never-falsely-fresh")
async def test_a_caller_that_is_gone_is_no_step() -> None:
    desk = await _desk(WORLD)
    files = {**WORLD, "shop.py": SHOP.replace("self.sell(1)", "pass")}
    sandbox = InMemorySandbox({name: text.encode() for name, text in files.items()})
    now = QuestionFiles(FileCache(Reader(sandbox, DEFAULT, 10_000)), desk.index)
    assert await way("start", "FileStore.save", now) == []


async def test_the_work_for_one_question_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = {f"m{n}.py": f"def f_{n}():\n    f_{n + 1}()\n" for n in range(30)}
    assert len(await _way("f_0", "f_29", chain)) == 29
    with monkeypatch.context() as bounds:
        bounds.setattr(find_uses, "_MOST_LOOKED_AT", 20)
        assert await _way("f_0", "f_29", chain) == []
    monkeypatch.setattr(find_uses, "MOST_OPENED", 20)
    desk = await _desk(chain)
    assert await way("f_0", "f_29", desk) == []
    assert len(desk.files) <= 20
