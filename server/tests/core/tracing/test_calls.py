"""What a call may mean: as far as names tell, and never more than they tell."""

from textwrap import dedent

import pytest

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Definition, RankedFileText
from live_memory.core.evidence.uses import meant_by, objects_on
from live_memory.core.values import ContentHash, RelPath

SHOP = """
    from stores import FileStore
    import tools.memory

    class Base:
        def save(self):
            pass

    class Shop(Base):
        def buy(self, till: Till):
            pass

        def pay(self):
            ledger = Ledger()

    class SmallShop(Shop):
        def buy(self, till):
            pass

    def total(cart):
        def inner():
            pass
"""
STORES = """
    class FileStore:
        def save(self):
            pass

        def keep_all(self):
            pass

    class MemoryStore:
        def save(self):
            pass

        def keep_all(self):
            pass

    class Till:
        def save(self):
            pass

    class Ledger:
        def save(self):
            pass

    class Cart:
        def total(self):
            pass

    def buy(what):
        pass
"""


def _opened(name: str, text: str) -> RankedFileText:
    lines = dedent(text).splitlines()
    path = RelPath(name)
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


FILES = [_opened("shop.py", SHOP), _opened("lib/stores.py", STORES)]


def _meant(
    line: str, caller: str, name: str, files: list[RankedFileText] = FILES
) -> dict[str, int]:
    """By the names of what may be meant, one of how many it is."""
    every = [(file, definition) for file in files for definition in file.outline]
    file, within = next(pair for pair in every if pair[1].name == caller)
    named: list[Definition] = [d for _, d in every if d.name.rpartition(".")[2] == name]
    heads = {d.name: d.signature for _, d in every if d.signature.startswith("class")}
    heads |= {n.lower(): head for n, head in heads.items()}
    return {d.name: among for d, among in meant_by(line, within, file, named, heads).items()}


@pytest.mark.parametrize(
    ("line", "caller", "name", "meant"),
    [
        # Its own, and in second place what takes that place in a class that extends its own.
        ("self.buy(till)", "Shop.pay", "buy", {"SmallShop.buy": 2, "Shop.buy": 1}),
        ("self.save()", "Shop.pay", "save", {"Base.save": 1}),
        ("super().buy(till)", "SmallShop.buy", "buy", {"Shop.buy": 1}),
        ("self.total()", "Shop.pay", "total", {}),
        # By its name, by how it was made, by what it is said to be.
        ("FileStore.save(it)", "Shop.pay", "save", {"FileStore.save": 1}),
        ("self.file_store.save()", "Shop.pay", "save", {"FileStore.save": 1}),
        ("self.store.save()", "Shop.pay", "save", {"FileStore.save": 2, "MemoryStore.save": 2}),
        ("get_store().save()", "Shop.pay", "save", {}),
        ("ledger.save()", "Shop.pay", "save", {"Ledger.save": 1}),
        ("till.save()", "Shop.buy", "save", {"Till.save": 1}),
        ("stores.buy(1)", "Shop.pay", "buy", {"buy": 1}),
        ("lib.buy(1)", "Shop.pay", "buy", {"buy": 1}),
        ("cart.total()", "Shop.pay", "total", {"Cart.total": 1}),
        # Nothing tells of the object: a plain word says nothing, one that only code has does.
        ("x.save()", "Shop.pay", "save", {}),
        ("items[0].save()", "Shop.pay", "save", {}),
        ("x.keep_all()", "Shop.pay", "keep_all", {"FileStore.keep_all": 2}),
        ("marshal.keep_all()", "Shop.pay", "keep_all", {"FileStore.keep_all": 2}),
        ("till.save()", "Shop.pay", "save", {"Till.save": 1}),
        ("memory.save()", "Shop.pay", "save", {}),  # a module of that name
        (
            "x.keep_all()",
            "Till.save",
            "keep_all",
            {"FileStore.keep_all": 2, "MemoryStore.keep_all": 2},
        ),
        # A name on its own is a function's, and first one of the same file.
        ("buy(1)", "Shop.pay", "buy", {"buy": 1}),
        ("total(1)", "Shop.pay", "total", {"total": 1}),
        ("inner()", "total", "inner", {"total.inner": 1}),
        ("inner()", "Shop.pay", "inner", {}),
        ("save()", "Shop.pay", "save", {}),
        ("print(save, 'save()')", "Shop.pay", "save", {}),
    ],
)
def test_a_call_may_mean(line: str, caller: str, name: str, meant: dict[str, int]) -> None:
    assert _meant(line, caller, name) == meant


def test_in_some_languages_a_method_is_called_by_its_name_alone() -> None:
    text = """
        class Base {
            void close() {
            }
        }
        class Shop extends Base {
            void open() {
            }
            void count() {
            }
        }
    """
    files = [_opened("Shop.java", text)]
    assert _meant("count();", "Shop.open", "count", files) == {"Shop.count": 1}
    assert _meant("close();", "Shop.open", "close", files) == {"Base.close": 1}
    assert _meant("super.close();", "Shop.open", "close", files) == {"Base.close": 1}


def test_a_method_of_go_calls_on_what_its_head_calls_its_object() -> None:
    text = """
        type Engine struct {
        }

        func (e *Engine) Serve() {
            e.run()
        }

        func (e *Engine) run() {
        }

        type Other struct {
        }

        func (o *Other) run() {
        }
    """
    files = [_opened("engine.go", text)]
    assert _meant("e.run()", "Engine.Serve", "run", files) == {"Engine.run": 1}
    assert _meant("x.run()", "Engine.Serve", "run", files) == {}


def test_a_function_of_a_module_of_rust_is_called_by_its_name_within() -> None:
    text = """
        mod convert {
            fn size(v: &str) -> u64 {
                parse(v)
            }
            fn small(v: &str) -> u32 {
                size(v)
            }
        }
        impl Till {
            fn open(&self) {
                close();
            }
            fn close(&self) {
            }
        }
    """
    files = [_opened("convert.rs", text)]
    assert _meant("size(v)", "convert.small", "size", files) == {"convert.size": 1}
    assert _meant("close();", "Till.open", "close", files) == {}


def test_methods_of_a_prototype_belong_to_its_class() -> None:
    text = """
        function View() {
        }
        View.prototype.render = function render() {
        };
        function show(view) {
          view.render();
        }
        exports.charset = function () {
        };
    """
    files = [_opened("view.js", text)]
    assert _meant("view.render();", "show", "render", files) == {"View.prototype.render": 1}
    assert _meant("charset();", "show", "charset", files) == {"exports.charset": 1}


def test_what_a_name_is_called_on_is_told_by_its_last_name() -> None:
    assert list(objects_on("a.b().save(); save(); c::save()", "save")) == ["b", "", "c"]
