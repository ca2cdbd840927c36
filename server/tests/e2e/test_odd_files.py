"""Files as they really are: huge, generated, and in every encoding (C15, C17)."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.learning import entries, figure, make_project, notify, tool, wait_for
from tests.support.server import RunningServer, running_server

_SLOW = float(os.environ.get("LM_TEST_SLOW", "1"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


def memory_kb(server: RunningServer, field: str = "VmHWM") -> int:
    """Kilobytes of memory that the server holds, or held at most."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1])


def test_huge_and_generated_files_cost_little_and_hide_nothing(
    server: RunningServer, tmp_path: Path
) -> None:
    """C15: a dump, a bundle on one line, a lock file, a body of 30 MB; never more than 300 MB."""
    root = make_project(tmp_path.resolve() / "ws", a__py="RETRY_LIMIT = 3\n")
    row = b"INSERT INTO t VALUES (1, 'RETRY_LIMIT', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx');\n"
    with (root / "dump.sql").open("wb") as dump:
        for _ in range(80):
            dump.write(row * (1024 * 1024 // len(row) + 1))
    (root / "app.min.js").write_bytes(b"var a=function(b){return b.RETRY_LIMIT};" * 131_072)
    (root / "bundle.js").write_bytes(b"var a=function(b){return b.RETRY_LIMIT};" * 131_072)
    (root / "package-lock.json").write_text('{\n  "a": "RETRY_LIMIT",\n' * 20_000 + "}\n")
    names = ("dump.sql", "app.min.js", "bundle.js", "package-lock.json", "a.py")
    looks = [tool(root, "Read", file_path=f"{root}/{name}") for name in names]
    edits = [tool(root, "Write", file_path=f"{root}/{name}") for name in names]
    notify(server, root, *looks, tool(root, "Bash", command=f"head -3 {' '.join(names)}"), *edits)
    wait_for(server, root, "known_files", 1)
    body = b'{"events": [' + b" " * 30_000_000 + b"]}"
    assert server.request("POST", "/notify", body).status == 413
    began = time.monotonic()
    answer = server.ask("Where is RETRY_LIMIT set?", root)["answer"]
    assert time.monotonic() - began < 10 * _SLOW
    assert isinstance(answer, dict)
    assert answer["citations"][0] == {"path": "a.py", "start": 1, "end": 1, "status": "verified"}
    assert "RETRY_LIMIT = 3" in answer["answer"]
    assert len(answer["answer"]) < 8_000  # X3
    assert memory_kb(server) < 300 * 1024
    assert figure(server, root, "window_tokens") < 5_000
    # A line of data hides itself, not the file around it.
    learned = {entry["path"] for entry in entries(server, root) if "path" in entry}
    assert {"a.py"} <= learned <= {"a.py", "bundle.js"}


_LINES = [f"VALUE_{number} = {number}" for number in range(1, 20)]
_MODULE = [*_LINES[:11], "RETRY_LIMIT = 3  # été", *_LINES[12:]]
_ASCII = [line.replace("été", "on") for line in _MODULE]
_ENCODED = {
    "utf-8": "\n".join(_MODULE).encode(),
    "utf-8 with a mark": "\n".join(_MODULE).encode("utf-8-sig"),
    "utf-16 little": b"\xff\xfe" + "\n".join(_MODULE).encode("utf-16-le"),
    "utf-16 big": b"\xfe\xff" + "\n".join(_MODULE).encode("utf-16-be"),
    "latin-1": "\n".join(_MODULE).encode("latin-1"),
    "shift-jis": "\n".join(_ASCII).replace("on", "再試行").encode("shift-jis"),
    "crlf": "\r\n".join(_MODULE).encode(),
    "cr": "\r".join(_ASCII).encode(),
    "mixed": b"\r\n".join(line.encode() for line in _MODULE[:6])
    + b"\n"
    + b"\n".join(line.encode() for line in _MODULE[6:]),
}


@pytest.mark.promise("citations-checked")
@pytest.mark.parametrize("encoding", _ENCODED)
def test_the_line_is_the_editors_whatever_the_encoding(
    server: RunningServer, tmp_path: Path, encoding: str
) -> None:
    """C17: learned and not learned."""
    root = make_project(tmp_path.resolve() / "ws")
    (root / "module.py").write_bytes(_ENCODED[encoding])
    whole = {"path": "module.py", "start": 1, "end": 19, "status": "verified"}
    for question in ("Where is RETRY_LIMIT?", "Where is RETRY_LIMIT set, exactly?"):
        answer = server.ask(question, root)["answer"]
        assert isinstance(answer, dict)
        assert answer["citations"][0] == whole, answer
        assert "\n12|RETRY_LIMIT = 3" in answer["answer"]
        notify(server, root, tool(root, "Read", file_path=f"{root}/module.py"))
        wait_for(server, root, "known_files", 1)
    (entry,) = [entry for entry in entries(server, root) if entry["kind"] == "file"]
    assert (entry["start"], entry["end"]) == (1, 19)
