"""What a file is to somebody who asks."""

import pytest

from live_memory.core.evidence.file_kinds import (
    Nature,
    family_of,
    is_aside,
    is_guide,
    is_on_ci,
    is_on_settings,
    is_test,
    nature_of,
)
from live_memory.core.values import RelPath


@pytest.mark.parametrize(
    ("nature", "names"),
    [
        (Nature.CODE, "src/a.py lib/router.go a.rs src/change.py news.js src/history/undo.ts"),
        (
            Nature.TEST,
            "tests/a.py a.test.js src/CartTest.java testdata/a.json features/pay.feature",
        ),
        (Nature.TEST, "features/step_definitions/pay.rb features/support/env.js x/pay.feature"),
        (Nature.EXAMPLE, "docs/conf.py doc/messages/bad.py documentation/a.js"),
        (Nature.EXAMPLE, "examples/a.py docs_src/first.py demo/main.go config.example.toml"),
        (Nature.VENDORED, "vendor/a/b.go third_party/zip.c node_modules/x/i.js vendor/tests/a.c"),
        (Nature.GENERATED, "dist/a.js api.pb.go a.min.js poetry-lock.json Cargo.lock a_pb2.py"),
        (Nature.TRANSLATED, "docs/ja/start.md README.zh-CN.md locale/de.po i18n/pt-br/a.md"),
        (
            Nature.CHANGELOG,
            "CHANGELOG.md HISTORY.rst docs/release-notes.md changes/1.2.md NEWS ChangeLog",
        ),
        (Nature.BUILD, "Makefile package.json .github/workflows/ci.yml Dockerfile setup.py"),
        (Nature.PROSE, "README.md docs/start.rst LICENSE man/bat.1"),
        (Nature.DATA, "a.json locales.yaml style.css page.html logo.svg .env"),
    ],
)
def test_what_a_file_is_shows_in_its_path(nature: Nature, names: str) -> None:
    found = {name: nature_of(RelPath(name)) for name in names.split()}
    assert found == dict.fromkeys(names.split(), nature)


def test_a_folder_below_the_source_of_a_program_is_a_part_of_it() -> None:
    names = (
        "src/benchmark/executor.rs src/main/java/com/example/demo/Cart.java lib/sample/rate.rb "
        "pkg/spec/parse.go internal/bench/run.go cmd/demo/main.go packages/a/src/build/plan.ts "
        "crates/core/src/example/a.rs Sources/Shop/Sample/Rate.swift src/spec/mod.rs"
    )
    found = {name: nature_of(RelPath(name)) for name in names.split()}
    assert found == dict.fromkeys(names.split(), Nature.CODE)
    assert not any(is_test(RelPath(name)) for name in names.split())


@pytest.mark.parametrize(
    ("nature", "names"),
    [
        (Nature.TEST, "src/test/java/com/example/ATest.java src/shop/tests/a.py src/a/test/b.ts"),
        (Nature.TEST, "src/spec/groovy/CartFacts.groovy spec/lib/cart.rb src/a/spec/b.spec.ts"),
        (Nature.TEST, "test/src/bench/a.rs lib/__tests__/a.js src/demo/cart_test.go"),
        (Nature.EXAMPLE, "examples/shop/src/main.rs src/sample/java/A.java example/lib/main.dart"),
        (Nature.EXAMPLE, "src/Samples/Web/Program.cs bench/a.rb benchmark/src/run.js demo/a.py"),
        (Nature.BUILD, "build/plan.ts src/Makefile"),
    ],
)
def test_what_stands_beside_the_source_or_is_a_set_of_sources_is_no_part(
    nature: Nature, names: str
) -> None:
    found = {name: nature_of(RelPath(name)) for name in names.split()}
    assert found == dict.fromkeys(names.split(), nature)


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "a/__tests__/b.js",
        "src/test_x.py",
        "x_test.go",
        "a.spec.ts",
        "conftest.py",
        "Shop.Tests/Cart.cs",
        "test-shop/src/Cart.java",
        "src/CartTest.java",
        "Source/CartTests.swift",
        "src/CartSpec.kt",
        "benchmarks/cart.rb",
    ],
)
def test_tests_are_known_by_their_path(path: str) -> None:
    assert is_test(RelPath(path))


@pytest.mark.parametrize(
    "path", ["src/testimony.py", "latest/a.py", "attest.go", "src/contest.js", "src/Latest.java"]
)
def test_a_word_with_test_in_it_is_no_test(path: str) -> None:
    assert not is_test(RelPath(path))


def test_documents_that_say_how_people_work_here_are_guides() -> None:
    for name in ("CONTRIBUTING.md", "README.rst", "docs/install.md", "docs/contributing/a.md"):
        assert is_guide(RelPath(name)), name
    for name in ("docs/api.md", "LICENSE", "docs/routing.md"):
        assert not is_guide(RelPath(name)), name


def test_what_serves_shells_and_editors_stands_beside_the_program() -> None:
    for name in ("completions/a.sh", "types/index.d.ts", "contrib/a.pl", "config.h.in"):
        assert is_aside(RelPath(name)), name
    assert not is_aside(RelPath("src/index.ts"))


def test_files_that_a_machine_runs_on_every_change_are_known() -> None:
    for name in (".github/workflows/a.yml", ".ci/run", ".gitlab-ci.yml", "tox.ini"):
        assert is_on_ci(RelPath(name)), name
    for name in ("src/circle.py", "docs/ci.md", "Makefile"):
        assert not is_on_ci(RelPath(name)), name


def test_files_that_are_named_for_what_can_be_set_are_known() -> None:
    for name in ("src/config.py", "lib/defaults.js", "cmd/flags.go", "src/cli.rs", "a/env.py"):
        assert is_on_settings(RelPath(name)), name
    for name in ("src/cart.py", "lib/client.js", "environment.py"):
        assert not is_on_settings(RelPath(name)), name


@pytest.mark.parametrize("pair", ["a.h a.cpp", "a.tsx a.js", "a.kt a.java", "a.pyi a.py"])
def test_files_of_one_language_are_one_family(pair: str) -> None:
    one, other = pair.split()
    assert family_of(RelPath(one)) == family_of(RelPath(other))
    assert family_of(RelPath(one)) != family_of(RelPath("a.rs"))
