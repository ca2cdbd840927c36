"""Prints what a file of this folder is locked for: `extras`, or `build`; `make lock` calls it."""

import sys
import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
_WANTED = {
    "extras": [w for group in _PROJECT["project"]["optional-dependencies"].values() for w in group],
    "build": _PROJECT["build-system"]["requires"],
}

print("\n".join(_WANTED[sys.argv[1]]))
