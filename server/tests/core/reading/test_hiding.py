"""What is kept out of memory by name: globs of a person's, and our own folder."""

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.core.reading import redaction
from live_memory.core.reading.redaction import HiddenFiles
from live_memory.core.values import RelPath


@pytest.mark.parametrize(
    ("glob", "hidden", "kept"),
    [
        ("*.csv", ["a.csv", "deep/er/a.csv", "a.csv/inside.py"], ["a.csv.py", "csv"]),
        ("fixtures", ["fixtures/a.py", "x/fixtures/deep/a.py", "fixtures"], ["fixtures2/a.py"]),
        ("fixtures/**", ["fixtures/a.py", "fixtures/x/y.py"], ["x/fixtures/a.py", "fixtures.py"]),
        ("data/", ["data/a.py"], ["x/data/a.py"]),
        ("src/*.gen.py", ["src/a.gen.py"], ["src/x/a.gen.py", "a.gen.py"]),
        ("{a,b}/[xy].py", ["a/x.py", "b/y.py"], ["c/x.py", "a/z.py"]),
        ("**/tmp/*", ["tmp/a.py", "x/tmp/a.py", "x/tmp/y/a.py"], ["tmpl/a.py"]),
    ],
)
def test_a_glob_hides_what_it_names_and_all_that_lies_in_it(
    glob: str, hidden: list[str], kept: list[str]
) -> None:
    rule = HiddenFiles([glob])
    for _ in range(2):  # the second time from what is at hand
        assert [name for name in (*hidden, *kept) if rule.covers(RelPath(name))] == hidden


def test_without_a_rule_nothing_is_hidden() -> None:
    assert not HiddenFiles().covers(RelPath("a/b.py"))


@pytest.mark.parametrize(
    "name", ["var/live-memory", "VAR/Live-Memory/token", "var/live-memory/w/i"]
)
def test_our_own_folder_is_hidden_however_it_is_spelled(name: str) -> None:
    assert HiddenFiles(private=[RelPath("var/live-memory")]).covers(RelPath(name))


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("place", ["{}.py", "{}/a.py", "deep/{}/a.py", "a/{}"])
def test_a_name_that_is_a_secret_is_hidden(place: str) -> None:
    """C20: names stand in the tree of every prompt, in the index and in citations."""
    rule = HiddenFiles()
    for token in ("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "AKIAQ7Z4M2N8B6V3C1X9"):
        for _ in range(2):
            assert rule.covers(RelPath(place.format(token)))
    for name in ("test_that_a_long_name_of_2026_is_kept", "a" * 60, "x=1", "0" * 40, "sha256:ab"):
        assert not rule.covers(RelPath(place.format(name)))


def test_what_is_beside_our_own_folder_is_not() -> None:
    rule = HiddenFiles(private=[RelPath("var/live-memory")])
    assert not any(map(rule.covers, map(RelPath, ["var/x", "var/live-memory2/x", "live-memory/x"])))


def test_many_folders_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_MOST_KNOWN", 3)
    rule = HiddenFiles(["x"])
    for _ in range(2):
        assert [n for n in range(9) if rule.covers(RelPath(f"d{n}/{'x' if n % 2 else 'y'}/a"))] == [
            1, 3, 5, 7
        ]  # fmt: skip


def test_a_name_that_is_only_made_to_be_slow_is_hidden() -> None:
    rule = HiddenFiles(["x"])
    assert rule.covers(RelPath("/".join("a" * 2_000)))
    assert not HiddenFiles().covers(RelPath("/".join("a" * 2_000)))


@pytest.mark.parametrize("glob", ["", " ", "[", "a{b", "/etc/*", "~x", "!a", "../x", "x" * 2_000])
def test_a_bad_glob_is_refused_by_its_name(glob: str) -> None:
    with pytest.raises(InvalidRequest, match=r"glob|set|braces") as refused:
        HiddenFiles(["ok", glob])
    assert repr(glob[:100]) in str(refused.value)


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("folder", ["", "keys/", "src/main/data/"])
def test_a_name_that_nobody_can_have_chosen_is_a_secret(folder: str) -> None:
    """B2: also without an issuer's beginning, and whatever folder it lies in."""
    assert HiddenFiles().covers(RelPath(folder + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"))
    assert not HiddenFiles().covers(
        RelPath(folder + "HttpClient2ConnectionPoolManagerTest3Factory")
    )
