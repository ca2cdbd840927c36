"""Definitions by grammar, and without one where the optional extra is not installed."""

import resource
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest

from live_memory.adapters.index import digest
from live_memory.adapters.index.digest import Digester
from live_memory.adapters.index.worker_pool import SyntaxWorkers
from live_memory.core.evidence.outline import outline
from tests.support.observing import observed

BY_LOOK = ("a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.rs", "a.rb", "a.php", "a.kt", "a.swift")
# What only a grammar tells: functions that are values, and arguments.
NOT_BY_LOOK = {"inner", "ip"}

SAMPLES = {
    "a.py": (
        """
        LIMIT: int = 3
        class A(Base):
            salt = "x"
            @property
            def f(self) -> int:
                def inner():
                    pass
                return 1
        async def g(): ...
        """,
        [
            "value LIMIT 2-2",
            "class A 3-9",
            "value A.salt 4-4",
            "method A.f 6-9",
            "function A.f.inner 7-8",
            "function g 10-10",
        ],
    ),
    "a.js": (
        """
        var app = exports;
        app.use = function use(fn) {
          return function inner() {};
        };
        const f = async (x) => x;
        class B { render() { return 1; } }
        defineGetter(req, 'ip', function ip() {
          return 1;
        });
        """,
        [
            "value app 2-2",
            "method app.use 3-5",
            "function f 6-6",
            "class B 7-7",
            "method B.render 7-7",
            "function ip 8-10",
        ],
    ),
    "a.ts": (
        """
        export interface Shape { area(): number }
        export type Id = string;
        export const LIMIT = 3;
        enum Color { Red }
        abstract class Tool { abstract run(a: number): void; }
        """,
        [
            "class Shape 2-2",
            "method Shape.area 2-2",
            "class Id 3-3",
            "value LIMIT 4-4",
            "class Color 5-5",
            "class Tool 6-6",
            "method Tool.run 6-6",
        ],
    ),
    "a.tsx": ("\nfunction View() { return <div/>; }\n", ["function View 2-2"]),
    "a.go": (
        """
        package x
        const limit = 3
        type Engine struct{}
        func (e *Engine) Run(a int) error {
        walk:
        \treturn nil
        }
        func New[T any]() *Engine { return nil }
        func (s Set[T]) Has() bool { return true }
        type Store interface { Get(k string) int }
        """,
        [
            "value limit 3-3",
            "class Engine 4-4",
            "method Engine.Run 5-8",
            "function New 9-9",
            "method Set.Has 10-10",
            "class Store 11-11",
            "method Store.Get 11-11",
        ],
    ),
    "a.rs": (
        """
        const LIMIT: u8 = 3;
        pub struct Cart;
        impl Cart {
            pub fn total(&self) -> u8 { 1 }
        }
        trait Price { fn of(&self); }
        """,
        [
            "value LIMIT 2-2",
            "class Cart 3-3",
            "class Cart 4-6",
            "method Cart.total 5-5",
            "class Price 7-7",
            "method Price.of 7-7",
        ],
    ),
    "a.java": (
        """\
        package a.b;

        @Deprecated
        @Since("1")
        public final class Cart<T> implements Serializable {
          public static final int LIMIT = 3, MORE = 4;
          enum Kind { A, B(2); }
          record Point(int x, int y) { Point { check(x); } }
          @interface Marker { int value() default 1; }
          interface Price { int LOW = 1; int of(Cart c); }
          public Cart(int a) {
            this.a = a;
          }
          /** Adds. */
          @Override
          public <R extends T> Map<String, List<R>>
              total(int a,
                    int b) throws IOException {
            Runnable r = new Runnable() { public void run() { go(); } };
            return null;
          }
        }""",
        [
            "class Cart 5-22",
            "value Cart.LIMIT 6-6",
            "value Cart.MORE 6-6",
            "class Cart.Kind 7-7",
            "value Cart.Kind.A 7-7",
            "value Cart.Kind.B 7-7",
            "class Cart.Point 8-8",
            "method Cart.Point.Point 8-8",
            "class Cart.Marker 9-9",
            "class Cart.Price 10-10",
            "value Cart.Price.LOW 10-10",
            "method Cart.Price.of 10-10",
            "method Cart.Cart 11-13",
            "method Cart.total 16-21",
            "function Cart.total.run 19-19",
        ],
    ),
    "a.c": (
        """\
        #ifndef A_H
        #define LIMIT 3
        #define MIN(a,b) ((a)<(b)?(a):(b))
        static const char *names[] = {"a", "b"};
        configEnum policy_enum[] = {
            {"volatile-lru", 1},
        };
        struct cart { int n; };
        typedef struct item { int n; } item_t;
        typedef enum { RED, GREEN = 2 } color;
        union u { int a; };
        int total(struct cart *c);
        static inline struct cart *
        new_cart(int n)
        {
            struct cart *c = malloc(sizeof *c);
            return c;
        }
        char **split(const char *s) { return 0; }
        int
        main(int argc, char **argv) {
            int local = 3;
            return total(0);
        }
        void (*handler(int sig))(int) { return 0; }
        #endif""",
        [
            "value LIMIT 2-2",
            "function MIN 3-3",
            "value names 4-4",
            "value policy_enum 5-7",
            "class cart 8-8",
            "class item 9-9",
            "class item_t 9-9",
            "value RED 10-10",
            "value GREEN 10-10",
            "class color 10-10",
            "class u 11-11",
            "function new_cart 13-18",
            "function split 19-19",
            "function main 20-24",
        ],
    ),
    "a.cpp": (
        """\
        #include <x>
        namespace shop {
        template <typename T>
        class Cart : public Base {
         public:
          Cart(int n) : n_(n) {}
          ~Cart();
          T& total() const { return t_; }
          virtual void clear() = 0;
          static constexpr int kMax = 3;
          bool operator==(const Cart& o) const { return true; }
         private:
          enum class Kind { kA, kB };
          struct Node { int x; };
        };
        using Id = int;
        int Cart<int>::grow(int by) {
          auto f = [](int x) { return x; };
          return by;
        }
        std::vector<int>& Pool::items() { return items_; }
        Cart::~Cart() = default;
        template <class T> concept Small = sizeof(T) < 8;
        }  // namespace shop""",
        [
            "class Cart 4-15",
            "method Cart.Cart 6-6",
            "method Cart.total 8-8",
            "method Cart.operator== 11-11",
            "class Cart.Kind 13-13",
            "value Cart.Kind.kA 13-13",
            "value Cart.Kind.kB 13-13",
            "class Cart.Node 14-14",
            "class Id 16-16",
            "method Cart<int>::grow 17-20",
            "method Pool::items 21-21",
            "method Cart::~Cart 22-22",
            "class Small 23-23",
        ],
    ),
    "a.h": (
        """\
        #ifndef A_H
        #define A_H
        extern int counter;
        typedef struct list { struct list *next; } list;
        int total(list *l);
        static inline int twice(int x) { return 2 * x; }
        #ifdef __cplusplus
        class Q { int n() { return 1; } };
        #endif
        #endif""",
        [
            "class list 4-4",
            "function twice 6-6",
            "class Q 8-8",
            "method Q.n 8-8",
        ],
    ),
    "a.cs": (
        """\
        using System;
        namespace Shop.Carts
        {
            [Serializable]
            public class Cart<T> : Base, IPrice where T : new()
            {
                public const int Limit = 3;
                private readonly List<int> _items = new();
                public int Total { get; set; }
                public string Name => "x";
                public Cart(int n) : base(n) { }
                [HttpGet("/x")]
                public async Task<int> AddAsync(int a, CancellationToken ct = default)
                {
                    int Local(int x) => x;
                    return 1;
                }
                public int Twice(int x) => 2 * x;
                enum Kind { A, B = 2 }
            }
            public interface IPrice { int Of(int x); }
            public record Point(int X, int Y);
            public struct S { }
            public delegate void Done(int x);
        }""",
        [
            "class Cart 5-20",
            "value Cart.Limit 7-7",
            "value Cart._items 8-8",
            "value Cart.Total 9-9",
            "value Cart.Name 10-10",
            "method Cart.Cart 11-11",
            "method Cart.AddAsync 13-17",
            "function Cart.AddAsync.Local 15-15",
            "method Cart.Twice 18-18",
            "class Cart.Kind 19-19",
            "value Cart.Kind.A 19-19",
            "value Cart.Kind.B 19-19",
            "class IPrice 21-21",
            "method IPrice.Of 21-21",
            "class Point 22-22",
            "class S 23-23",
            "class Done 24-24",
        ],
    ),
    "a.rb": (
        """\
        module Shop
          LIMIT = 3
          class Cart < Base
            attr_reader :n
            def initialize(n)
              @n = n
            end
            def self.build(n) = new(n)
            def empty?
              n.zero?
            end
            class << self
              def make
                1
              end
            end
          end
        end""",
        [
            "class Shop 1-18",
            "value Shop.LIMIT 2-2",
            "class Shop.Cart 3-17",
            "method Shop.Cart.initialize 5-7",
            "method Shop.Cart.build 8-8",
            "method Shop.Cart.empty? 9-11",
            "method Shop.Cart.make 13-15",
        ],
    ),
    "a.php": (
        """\
        <?php
        namespace App\\Shop;
        const LIMIT = 3;
        function total(int $a): int { return $a; }
        #[Attr]
        abstract class Cart extends Base implements Price {
            const MAX = 3;
            private int $n = 1;
            public function __construct(private int $x) {}
            #[Pure]
            public static function build(
                int $a,
                int $b
            ): self {
                return new self(1);
            }
            abstract protected function of(): int;
        }
        interface Price { public function of(): int; }
        trait Loud { function shout() { echo "x"; } }
        enum Kind: string { case A = 'a'; case B = 'b'; }""",
        [
            "value LIMIT 3-3",
            "function total 4-4",
            "class Cart 6-18",
            "value Cart.MAX 7-7",
            "method Cart.__construct 9-9",
            "method Cart.build 11-16",
            "method Cart.of 17-17",
            "class Price 19-19",
            "method Price.of 19-19",
            "class Loud 20-20",
            "method Loud.shout 20-20",
            "class Kind 21-21",
            "value Kind.A 21-21",
            "value Kind.B 21-21",
        ],
    ),
    "a.kt": (
        """\
        package a.b
        const val LIMIT = 3
        typealias Id = Int
        data class Cart(val n: Int) : Base() {
            private val items = listOf<Int>()
            companion object {
                fun of(n: Int) = Cart(n)
            }
            @Test
            override suspend fun <T> total(
                a: Int,
            ): Int {
                fun inner() {}
                return 1
            }
        }
        interface Price {
            fun of(): Int
            val name: String
        }

        object Registry {
            fun get() = 1
        }

        enum class Kind { A, B }

        fun String.shout() = uppercase()

        sealed interface S
        fun interface Done {
            fun run()
        }""",
        [
            "value LIMIT 2-2",
            "class Id 3-3",
            "class Cart 4-16",
            "value Cart.items 5-5",
            "method Cart.of 7-7",
            "method Cart.total 10-15",
            "function Cart.total.inner 13-13",
            "class Price 17-20",
            "method Price.of 18-18",
            "value Price.name 19-19",
            "class Registry 22-24",
            "method Registry.get 23-23",
            "class Kind 26-26",
            "value Kind.A 26-26",
            "value Kind.B 26-26",
            "function shout 28-28",
            "class S 30-30",
            "class Done 31-33",
            "method Done.run 32-32",
        ],
    ),
    "a.swift": (
        """\
        import Foundation
        let limit = 3
        typealias Id = Int
        @available(iOS 13, *)
        public final class Cart: Base {
            static let max = 3
            var total: Int { return 1 }
            init(n: Int) {
                self.n = n
            }
            deinit {}
            @objc
            func add(_ x: Int,
                     to y: Int) -> Int {
                return x
            }
        }
        struct Point { let x: Int }
        enum Kind { case a, b(Int) }
        protocol Price { func of() -> Int }
        extension Cart: Price {
            func of() -> Int { 1 }
        }
        actor Store { func get() {} }
        func free() {}""",
        [
            "value limit 2-2",
            "class Id 3-3",
            "class Cart 5-17",
            "value Cart.max 6-6",
            "value Cart.total 7-7",
            "method Cart.init 8-10",
            "method Cart.add 13-16",
            "class Point 18-18",
            "value Point.x 18-18",
            "class Kind 19-19",
            "value Kind.a 19-19",
            "value Kind.b 19-19",
            "class Price 20-20",
            "method Price.of 20-20",
            "class Cart 21-23",
            "method Cart.of 22-22",
            "class Store 24-24",
            "method Store.get 24-24",
            "function free 25-25",
        ],
    ),
}


@pytest.fixture
def no_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package without its extra `syntax`."""
    monkeypatch.setattr(digest, "_is_there", lambda _module: False)


def _found(syntax: Digester, name: str, text: str) -> list[str]:
    found = syntax.digest(observed(name, dedent(text))).definitions
    return [f"{d.kind} {d.name} {d.place.start}-{d.place.end}" for d in found]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_grammar_finds_every_definition_with_its_owner(syntax: Digester, name: str) -> None:
    text, expected = SAMPLES[name]
    assert _found(syntax, name, text) == expected


@pytest.mark.usefixtures("no_grammars")
@pytest.mark.parametrize("name", BY_LOOK)
def test_without_grammars_the_look_of_lines_finds_functions_and_classes(
    syntax: Digester, name: str
) -> None:
    text, expected = SAMPLES[name]
    wanted = {row.split()[1].rpartition(".")[2] for row in expected if row.startswith("function")}
    names = {row.split()[1].rpartition(".")[2] for row in _found(syntax, name, text)}
    assert wanted - NOT_BY_LOOK <= names


def test_broken_code_still_has_the_definitions_around_the_break(syntax: Digester) -> None:
    text = "\ndef good():\n    pass\n\ndef bad(:\n  )(\n\ndef fine():\n    pass\n"
    assert "function good 2-3" in _found(syntax, "a.py", text)


def test_text_that_cannot_be_code_has_none(syntax: Digester) -> None:
    assert _found(syntax, "a.py", "\ufffd" * 50) == []
    assert _found(syntax, "a.go", "") == []


def test_names_nest_no_deeper_than_people_do(syntax: Digester) -> None:
    deep = "\n".join(f"{' ' * at}class A:" for at in range(60)) + f"\n{' ' * 60}x = 1\n"
    for name in ("a.py", "a.unknown"):
        found = syntax.digest(observed(name, deep)).definitions
        assert len(found) >= 60
        assert max(d.name.count(".") for d in found) <= 8


HARD = {
    "brackets that never close": ("a.py", "((((((((((\n" * 20_000),
    "comparisons that may be types": ("a.java", "a<b<c<\n" * 30_000),
    "comments that never close": ("a.js", "/*\n" * 80_000),
    "functions that never end": ("a.go", "func f() {\n" * 20_000),
}


@pytest.mark.parametrize("why", HARD)
def test_a_text_made_to_be_hard_costs_no_more_than_itself(syntax: Digester, why: str) -> None:
    """Without a process of its own each of these ends the server or fills the machine."""
    name, text = HARD[why]
    found = syntax.digest(observed(name, text)).definitions
    assert all(definition.name.count(".") <= 8 for definition in found)
    assert _found(syntax, "b.rs", "\nmod m { fn f() {} }\n") == [
        "class m 2-2",
        "method m.f 2-2",
    ]


def test_a_worker_that_was_killed_is_replaced_unnoticed() -> None:
    workers = SyntaxWorkers()
    reader, worker = Digester(workers), workers.free[0][1]
    text = "\nmod m { fn f() {} }\n"
    first = _found(reader, "b.rs", text)
    (process,) = worker._running
    process.kill()
    process.wait()
    assert _found(reader, "b.rs", text) == first
    assert worker._running[0].pid != process.pid


def test_a_worker_ends_with_the_one_who_holds_it() -> None:
    workers = SyntaxWorkers()
    Digester(workers).digest(observed("b.rs", "fn f() {}"))
    (process,) = workers.free[0][1]._running
    del workers
    assert process.returncode is not None


def test_a_worker_that_never_works_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    workers = SyntaxWorkers()
    reader, worker = Digester(workers), workers.free[0][1]
    seen = observed("b.rs", "fn f() {}")
    for _ in range(20):
        assert reader.digest(seen).definitions == outline(seen.path, seen.lines)
    assert reader._failures == 8
    assert not worker._running


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for descriptors above those that `select` takes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_a_server_with_many_open_files_still_parses(tmp_path: Path) -> None:
    """`select` takes no descriptor above 1,023."""
    with ExitStack() as held:
        for _ in range(1_100):
            held.enter_context((tmp_path / "file").open("w"))
        text = "\nmod m { fn f() {} }\n"
        found = _found(Digester(SyntaxWorkers()), "b.rs", text)
    assert found == ["class m 2-2", "method m.f 2-2"]
