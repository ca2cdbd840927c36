"""Finds given repositories, bare or checked out, and exports them at a commit."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MissingRepository", "Repositories", "Tree", "git"]


class MissingRepository(Exception):
    """A repository, or a commit of it, is not among those given."""


def git(repository: Path, *arguments: str, given: bytes | None = None) -> bytes:
    """Run git without anybody's own configuration; its output."""
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "bench",
        "GIT_AUTHOR_EMAIL": "bench@example.com",
        "GIT_COMMITTER_NAME": "bench",
        "GIT_COMMITTER_EMAIL": "bench@example.com",
    }
    command = ["git", "-c", "safe.directory=*", "-C", str(repository), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, env=environment, check=False)
    if done.returncode:
        raise MissingRepository(
            f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()[:200]}"
        )
    return done.stdout


@dataclass(frozen=True, slots=True)
class Tree:
    """A work tree of our own, that may be switched and changed."""

    path: Path

    def switch(self, commit: str) -> None:
        """Check out a commit, whatever was changed."""
        try:
            git(self.path, "checkout", "-q", "-f", commit)
        except MissingRepository:
            self._switch_without_what_is_absent(commit)
        git(self.path, "clean", "-q", "-fdx")

    def _switch_without_what_is_absent(self, commit: str) -> None:
        """Some copies lack their largest files; those are left out of the tree.

        Raises:
            MissingRepository: the commit itself is not there.
        """
        git(self.path, "update-ref", "--no-deref", "HEAD", f"{commit}^{{commit}}")
        git(self.path, "read-tree", "--reset", "HEAD")
        rows = git(self.path, "ls-files", "-s", "-z").decode("utf-8", "surrogateescape")
        entries = [row.partition("\t") for row in rows.split("\0") if row]
        blobs = {path: meta.split()[1] for meta, _, path in entries}
        asked = "".join(f"{blob}\n" for blob in blobs.values()).encode()
        replies = git(self.path, "cat-file", "--batch-check", given=asked).decode().splitlines()
        absent = {row.split()[0] for row in replies if row.endswith(" missing")}
        for path, blob in blobs.items():
            if blob in absent:
                git(self.path, "update-index", "--force-remove", "--", path)
        git(self.path, "checkout-index", "-q", "-f", "-a")


class Repositories:
    """Those below one folder, named `owner+name`, `name`, or either with `/repo` in it."""

    def __init__(self, folder: Path | None, *, scratch: Path) -> None:
        self._folder = folder
        self._scratch = scratch

    def find(self, name: str) -> Path:
        """Where `owner/name` is.

        Raises:
            MissingRepository: it is not among those given.
        """
        owner, _, short = name.partition("/")
        if self._folder is not None:
            for spelling in (f"{owner}+{short}", short, f"{owner}-{short}", f"{owner}__{short}"):
                for place in (self._folder / spelling / "repo", self._folder / spelling):
                    if (place / "HEAD").is_file() or (place / ".git").exists():
                        return place
        raise MissingRepository(f"repository {name} is not given: name its folder with --repos")

    def export(self, name: str, commit: str, *, label: str) -> Tree:
        """A fresh work tree of `owner/name` at a commit.

        Raises:
            MissingRepository: the repository or the commit is not there.
        """
        target = self._scratch / "trees" / f"{label}-{name.replace('/', '-')}"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source = self.find(name)
            git(source, "clone", "-q", "--no-checkout", "--shared", str(source), str(target))
        tree = Tree(target)
        tree.switch(commit)
        return tree
