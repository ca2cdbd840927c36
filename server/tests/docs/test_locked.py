"""What is installed unattended is listed to the byte, wherever it is fetched from (F8)."""

import re
import tomllib
from pathlib import Path

import pytest

_SERVER = Path(__file__).parents[2]
_LOCKED = _SERVER / "locked"
_PROJECT = tomllib.loads((_SERVER / "pyproject.toml").read_text())
_EXTRAS = [
    wanted for group in _PROJECT["project"]["optional-dependencies"].values() for wanted in group
]
_WANTED = {
    "server": _PROJECT["project"]["dependencies"],
    "extras": _EXTRAS,
    "build": _PROJECT["build-system"]["requires"],
}
_ENTRY = re.compile(r"([a-z0-9-]+)==([0-9][0-9A-Za-z.]*)(?: ; [^\\]+)?")


def _entries(name: str) -> dict[str, str]:
    """Each package with its version; every line is one of these or a hash of it."""
    found: dict[str, str] = {}
    hashes = 0
    for line in (_LOCKED / f"{name}.txt").read_text().splitlines():
        text = line.strip().removesuffix("\\").rstrip()
        if re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text):
            hashes += 1
            continue
        entry = _ENTRY.fullmatch(text)
        assert entry is not None, line
        assert hashes or not found, f"{list(found)[-1]} has no hash"
        found[entry[1]] = entry[2]
        hashes = 0
    assert hashes
    return found


@pytest.mark.parametrize("name", _WANTED)
def test_every_package_is_pinned_with_hashes_and_no_index_is_named(name: str) -> None:
    entries = _entries(name)
    for wanted in _WANTED[name]:
        package = re.split(r"[<>=]", wanted)[0]
        least = re.search(r"[>=]=([0-9.]+)", wanted)
        assert least is not None
        assert _numbers(entries[package]) >= _numbers(least[1]), wanted


def test_native_code_of_others_is_exactly_what_was_looked_at() -> None:
    assert sorted(_EXTRAS) == sorted(f"{k}=={v}" for k, v in _entries("extras").items())


def test_what_the_lock_leaves_open_no_installer_may_choose() -> None:
    """The plugin, `make` and the container give the same words."""
    words = "--require-hashes", "--only-binary", ":all:", "--no-deps"
    root = _SERVER.parent
    for file in ("bin/install_env.py", "Makefile", "deploy/Containerfile"):
        text = (root / file).read_text()
        assert all(word in text for word in words), file
        assert not re.search(r"pip install (?!.*locked)[^|\n]*server\[", text), file


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".") if number.isdigit()]
