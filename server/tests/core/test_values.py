"""The small types take what is right and refuse the rest."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.values import ContentHash, RelPath, WorkspaceKey

parts = st.text("ab.é -", min_size=1, max_size=6).filter(lambda part: part not in (".", ".."))


@pytest.mark.promise("inside-the-workspace")
@given(st.text("ab./~\0\\ ", max_size=20))
@example("../out/c")
@example("d/../../out/c")
@example("d//..//..//out/c")
@example("/etc/passwd")
@example("a/../..")
def test_a_name_that_is_taken_never_climbs_above_the_root(text: str) -> None:
    try:
        path = RelPath.parse(text)
    except OutsideWorkspace:
        return
    assert not path.text.startswith("/")
    assert not {"", ".", ".."} & set(path.text.split("/"))
    assert "\0" not in path.text


@given(st.lists(parts, min_size=1, max_size=5))
def test_a_tidy_name_is_kept_as_it_is(names: list[str]) -> None:
    text = "/".join(names)
    if text.startswith("~") or not text.strip():
        return
    assert RelPath.parse(text).text == text
    assert RelPath.parse(f"./{text}/").text == text
    assert RelPath.parse(f"{names[0]}/../{text}").text == text


@pytest.mark.parametrize(
    "text", ["", "  ", "/", "~/c", "a\0b", "x" * 5_000, "/".join("a" * 3_000), "a/" + "b" * 300]
)
def test_names_that_no_file_can_have_are_refused_with_one_text(text: str) -> None:
    with pytest.raises(OutsideWorkspace, match=r"^not a path in this workspace$"):
        RelPath.parse(text)


@pytest.mark.parametrize(
    ("text", "suffix"), [("a.PY", ".py"), ("src/.env", ""), ("Makefile", ""), ("a.tar.gz", ".gz")]
)
def test_a_suffix_is_the_last_ending(text: str, suffix: str) -> None:
    assert RelPath(text).suffix == suffix


def test_a_content_hash_is_the_sha256_of_the_bytes() -> None:
    assert ContentHash.of(b"").hex == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    with pytest.raises(InvalidRequest):
        ContentHash("E3")


def test_a_workspace_key_names_a_root_whatever_its_bytes() -> None:
    assert WorkspaceKey.of_root("/w") == WorkspaceKey.of_root("/w")
    assert WorkspaceKey.of_root("/w") != WorkspaceKey.of_root("/w/")
    assert len(WorkspaceKey.of_root("/\udcff").text) == 32
    with pytest.raises(InvalidRequest):
        WorkspaceKey("../x")
