"""What a file is to somebody who asks: program, test, example, document, build file or other."""

import re
from enum import StrEnum
from functools import lru_cache

from live_memory.core.evidence.outline import is_code
from live_memory.core.values import RelPath

__all__ = [
    "COPIES",
    "Nature",
    "family_of",
    "is_aside",
    "is_guide",
    "is_on_ci",
    "is_on_settings",
    "is_program",
    "is_test",
    "nature_of",
]


class Nature(StrEnum):
    """What a file is by its path."""

    CODE = "code"
    TEST = "test"
    EXAMPLE = "example"
    VENDORED = "vendored"
    GENERATED = "generated"
    TRANSLATED = "translated"
    CHANGELOG = "changelog"
    BUILD = "build"
    PROSE = "prose"
    DATA = "data"


# What shows again what the program has.
COPIES = frozenset((Nature.EXAMPLE, Nature.VENDORED, Nature.GENERATED, Nature.TRANSLATED))
_TEST_FOLDERS = frozenset(
    ("test", "tests", "testing", "__tests__", "spec", "testdata", "benchmarks")
)
# `Shop.Tests/`, `gson-test/`; `CartTest.java`, `CartTests.swift`, `CartSpec.kt`
_FOLDER_WORDS = re.compile(r"[a-z_]+").findall
_TEST_FILE = re.compile(r"[a-z](?:Tests?|Spec)\.\w+$")
# What runs the steps of `checkout.feature`.
_GHERKIN = re.compile(r"(?:^|/)features/(?:step_definitions|steps|support)/")
_LANGUAGE = r"(?:zh|ja|ko|fr|de|es|pt|ru|it|tr|pl|uk|vi|hi|fa|cn|nl|cs|id|ar|bn|az|em|he|hu|ro|sv)"


def _path(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_VENDORED = _path(r"(?:^|/)(?:_?vendor(?:ed)?|third[-_]?party|node_modules|externals?|deps)/")
_TRANSLATED = _path(
    rf"(?:^|/)(?:docs?|locales?|i18n|translations?|lang)/{_LANGUAGE}(?:[-_][a-z]{{2,4}})?/"
    rf"|[._-]{_LANGUAGE}(?:[-_][a-z]{{2,4}})?\.(?:md|rst|txt|html)$|\.(?:po|pot|mo|xlf)$"
)
_GENERATED = _path(
    r"(?:^|/)(?:dist|generated|gen|__generated__|fixtures|snapshots|__snapshots__)/"
    r"|\.(?:min|bundle|generated|g|designer|pb)\.\w+$|_pb2?\.\w+$|-lock\.\w+$|\.(?:lock|snap)$"
)
_EXAMPLE = _path(
    r"(?:^|/)_?(?:examples?|samples?|demos?|docs?_src|snippets?|bench(?:mark)?s?|playground)(?:/|$)"
    r"|[._-](?:example|sample|bench)s?\.\w+$"
)
# Where a program's own source is, and folders that stand beside it elsewhere: below it they are a
# part of it (`src/benchmark/`, `com/example/`), unless they are a set of sources
# (`src/spec/java/`). Those in the plural hold examples there too.
_SOURCE = _path(r"(?:^|/)(?:src|sources|lib|pkg|internal|cmd|app)/")
_INNER = _path(
    r"(?<=/)(?:example|sample|demo|bench|benchmark|spec|build)/(?!(?:java|kotlin|groovy|scala)/)"
)
# A program among the documents is what they show, or what they are made with.
_DOCUMENTED = _path(r"^(?:docs?|documentation)/")
_CHANGELOG = _path(
    r"(?:^|/)(?:change(?:s|log)s?|history|news|release[-_]notes?|whats?[-_]?new)(?:\.\w+)?$"
    r"|(?:^|/)(?:changelog|news|changes|history|release[-_]notes?)[^/]*/"
)
_BUILD = _path(
    r"(?:^|/)(?:(?:gnu)?makefile|justfile|dockerfile[^/]*|cmakelists\.txt|package\.json|cargo\.toml|"
    r"go\.mod|pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|noxfile\.py|build\.gradle(?:\.kts)?|pom\.xml|"
    r"gemfile|rakefile|[^/]*\.(?:gemspec|csproj|props|targets)|requirements[^/]*\.txt|gulpfile\.\w+|"
    r"(?:rollup|webpack|vite)\.config\.\w+|\.goreleaser[^/]*|\.pre-commit-config\.yaml|"
    r"build\.(?:rs|sh|ps1|cake|zig)|\.travis\.yml|appveyor\.yml|azure-pipelines\.yml|\.gitlab-ci\.yml|"
    r"global\.json|rust-toolchain[^/]*|\.(?:python|node|ruby|go)-version)$"
    r"|(?:^|/)(?:\.github/(?:workflows|actions)|\.circleci|\.?ci|scripts?|tools|eng|build)/"
)
_PROSE = _path(
    r"\.(?:md|markdown|mdx|rst|adoc|txt|tex|org|help|man|[1-9])$"
    r"|(?:^|/)(?:readme|contributing|authors|license|copying|notice|install)[^/]*$"
)
_DATA = _path(
    r"\.(?:json|ya?ml|toml|ini|cfg|csv|tsv|xml|svg|html?|s?css|less|properties|golden|out|expected)$"
)
# Documents about tests are no tests.
_ABOUT_TESTS = _path(r"^(?:docs?|documentation)/.*\.(?:md|rst|txt|adoc)$")
# What a machine runs on every change.
_CI = _path(
    r"(?:^|/)(?:\.github/workflows|\.circleci|\.?ci)/|(?:^|/)(?:\.gitlab-ci|\.travis|appveyor|azure-pipelines)\.ya?ml$|(?:^|/)(?:tox\.ini|noxfile\.py|Jenkinsfile)$"
)
# Documents that say how people work on a project.
_GUIDE = _path(
    r"(?:^|/)(?:readme|contributing|develop\w{0,9}|hacking|build|building|install\w{0,9}|releas\w{0,9}|agents|"
    r"claude|maintain\w{0,9}|testing)[^/]*$"
    r"|(?:^|/)(?:contribut\w{0,9}|deploy\w{0,9}|develop\w{0,9}|releas\w{0,9}|install\w{0,9}|getting[-_]started|maint\w{0,9}|testing)"
    r"[^/]*(?:/|\.(?:md|rst|txt|adoc)$)"
)
# Programs beside the program: for shells, for editors, and what only declares.
_ASIDE = _path(r"(?:^|/)(?:completions?|contrib|diagnostics?)/|\.d\.[cm]?ts$|\.in$")
# Where what can be set is declared, with its defaults.
_SETTINGS = _path(
    r"default|config|option|setting|constant|flag|argument|param|(?:^|[/_.-])(?:env|cli|cmd|mode)s?(?:$|[/_.-])"
)
_FAMILIES = {
    **dict.fromkeys((".h", ".hpp", ".hh", ".hxx", ".cc", ".cpp", ".cxx"), ".c"),
    **dict.fromkeys((".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), ".js"),
    ".kt": ".java",
    ".pyi": ".py",
}


# A question on what nearly every file says asks for as many: some ten megabytes.
@lru_cache(32_768)
def nature_of(path: RelPath) -> Nature:
    """What a file is; a test in a vendored folder is vendored."""
    name = _from_outside(path)
    if _TRANSLATED.search(name):
        return Nature.TRANSLATED
    if _VENDORED.search(name):
        return Nature.VENDORED
    if is_test(path) and not _ABOUT_TESTS.search(name):
        return Nature.TEST
    if is_code(path) and _DOCUMENTED.search(name):
        return Nature.EXAMPLE
    for nature, pattern in (
        (Nature.GENERATED, _GENERATED),
        (Nature.EXAMPLE, _EXAMPLE),
        (Nature.CHANGELOG, _CHANGELOG),
        (Nature.BUILD, _BUILD),
        (Nature.PROSE, _PROSE),
        (Nature.DATA, _DATA),
    ):
        if pattern.search(name) and not (nature is Nature.CHANGELOG and is_code(path)):
            return nature
    return Nature.CODE if is_code(path) else Nature.DATA


def is_program(path: RelPath) -> bool:
    """Whether a file is part of what the project is."""
    return nature_of(path) is Nature.CODE


@lru_cache(32_768)
def is_test(path: RelPath) -> bool:
    """Whether a path is that of a test."""
    *folders, name = _from_outside(path).lower().split("/")
    stem = name.partition(".")[0]
    return (
        any(not _TEST_FOLDERS.isdisjoint(_FOLDER_WORDS(folder)) for folder in folders)
        or stem.startswith(("test_", "conftest"))
        or stem.endswith(("_test", "_spec"))
        or _TEST_FILE.search(path.name) is not None
        or ".test." in name
        or ".spec." in name
        or name.endswith(".feature")
        or _GHERKIN.search(path.text) is not None
    )


def _from_outside(path: RelPath) -> str:
    """The path of a program without the folders that say nothing below its source."""
    name = path.text
    source = _SOURCE.search(name) if is_code(path) else None
    if source is None:
        return name
    # The slash that ends the source folder stands before the first folder below it.
    return name[: source.end() - 1] + _INNER.sub("", name[source.end() - 1 :])


def is_guide(path: RelPath) -> bool:
    """Whether a document says how people work on the project."""
    return _GUIDE.search(path.text) is not None


def is_on_ci(path: RelPath) -> bool:
    """Whether a file says what a machine runs on every change."""
    return _CI.search(path.text) is not None


def is_aside(path: RelPath) -> bool:
    """Whether a program stands beside what the project is."""
    return _ASIDE.search(path.text) is not None


def is_on_settings(path: RelPath) -> bool:
    """Whether a file is named for what can be set."""
    return _SETTINGS.search(path.text) is not None


def family_of(path: RelPath) -> str:
    """The language of a program, by the ending of its files."""
    ending = path.suffix
    return _FAMILIES.get(ending, ending)
