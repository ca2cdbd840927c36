"""Ways in which a work tree changes behind a server's back."""

import os
from collections.abc import Callable, Mapping

from bench.source.repositories import Tree, git

__all__ = ["WAYS", "differing", "pad"]

# What differs between two commits, by name: the bytes before and after; nothing where it is absent.
Differing = Mapping[str, tuple[bytes | None, bytes | None]]
Way = Callable[[Tree, str, Differing], None]


def differing(tree: Tree, old: str, new: str) -> Differing:
    """The regular files that a switch would touch."""
    listed = git(tree.path, "diff", "--name-only", "--no-renames", "-z", old, new)
    found = {}
    for name in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
        sides = _blob(tree, old, name), _blob(tree, new, name)
        if sides != (None, None):
            found[name] = sides
    return found


def pad(tree: Tree, files: Differing) -> None:
    """Give each shorter old file blank lines at its end, so that its size can be kept."""
    for name, (before, after) in files.items():
        if before is not None and after is not None and len(before) < len(after):
            (tree.path / name).write_bytes(_padded(before, after))


def by_checkout(tree: Tree, commit: str, _: Differing) -> None:
    """As git does it."""
    tree.switch(commit)


def in_place(tree: Tree, _: str, files: Differing) -> None:
    """Other bytes in the same files, with their size and time as they were."""
    _write(tree, files, is_replaced=False)


def by_replacement(tree: Tree, _: str, files: Differing) -> None:
    """New files under the old names, with the old ones' size and time."""
    _write(tree, files, is_replaced=True)


WAYS: Mapping[str, Way] = {
    "checkout": by_checkout,
    "in place, size and time kept": in_place,
    "replaced, size and time kept": by_replacement,
}


def _write(tree: Tree, files: Differing, *, is_replaced: bool) -> None:
    for name, (before, after) in files.items():
        file = tree.path / name
        if after is None:
            file.unlink(missing_ok=True)
            continue
        if before is None or not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(after)
            continue
        state = file.stat()
        data = _padded(after, before)
        if is_replaced:
            new = file.with_name(f"{file.name}.switched")
            new.write_bytes(data)
            os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
            new.replace(file)
        else:
            with file.open("r+b") as out:
                out.write(data)
                out.truncate()
            os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def _padded(data: bytes, other: bytes) -> bytes:
    return data + b"\n" * max(0, len(other) - len(data))


def _blob(tree: Tree, commit: str, name: str) -> bytes | None:
    row = git(tree.path, "ls-tree", "-z", commit, "--", f":(literal){name}")
    if not row.startswith(b"100"):  # absent, a link, or another repository
        return None
    return git(tree.path, "cat-file", "blob", row.split()[2].decode())
