"""Prints every line of given folders that redaction touches: `touched.py FOLDER...`.

The one measurement that looks inside the package: what is touched has to be read by a person, who
alone can say what of it is no secret. Processor time a megabyte stands beside it.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

from live_memory.core.reading.observation import decode, lines_of, refusal_of_name
from live_memory.core.reading.redaction import redact
from live_memory.core.values import RelPath


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each file that may be read."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            file = Path(here, name)
            path = file.relative_to(folder).as_posix()
            if file.is_symlink() or refusal_of_name(RelPath(path)) is not None:
                continue
            text = decode(file.read_bytes())
            if text is not None:
                yield path, text.text


def main() -> None:
    """Go through the folders, and end with the share of lines that were touched."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    lines = touched = size = 0
    spent_s = 0.0
    for folder in parser.parse_args().folders:
        for path, text in texts(folder):
            began_s = time.process_time()
            shown = redact(text).text.text
            spent_s += time.process_time() - began_s
            pairs = list(zip(lines_of(text), lines_of(shown), strict=True))
            changed = [(n, a, b) for n, (a, b) in enumerate(pairs, 1) if a != b]
            for number, before, after in changed:
                print(f"{folder.name}/{path}:{number}\n  - {before[:200]}\n  + {after[:200]}")
            lines, touched, size = lines + len(pairs), touched + len(changed), size + len(text)
    rate = lines / touched if touched else lines
    print(f"{touched} of {lines:,} lines, 1 in {rate:,.0f}; {spent_s / size * 1e9:.1f} ms a MB")


if __name__ == "__main__":
    main()
