"""The hook repeats rules of the server, because it may import nothing: both hold to one table."""

import importlib.util
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from live_memory.client.discovery import own_token
from live_memory.core.errors import InvalidRequest
from live_memory.web.identity import (
    Identity,
    RunningServer,
    ensure_token,
    is_ours,
    is_proof,
    publish,
    read_token,
)

_HOOK = Path(__file__).parents[2] / "live_memory/client/hook.py"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module; its budget begins when it is loaded."""
    spec = importlib.util.spec_from_file_location("the_hook", _HOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "UNTIL", module.time.monotonic() + 5)
    return module


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


def _replace_by_link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def _replace_by_dangling_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere/token")


def _replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


FILES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "as it was made": (lambda _: None, True),
    "read-only": (lambda file: file.chmod(0o400), True),
    "with a line end": (lambda file: file.write_text(file.read_text() + "\n"), True),
    "readable by the group": (lambda file: file.chmod(0o640), False),
    "readable by all": (lambda file: file.chmod(0o604), False),
    "writable by all": (lambda file: file.chmod(0o602), False),
    "executable by all": (lambda file: file.chmod(0o601), False),
    "a link": (_replace_by_link, False),
    "a dangling link": (_replace_by_dangling_link, False),
    "a folder": (_replace_by_folder, False),
    "a pipe": (_replace_by_pipe, False),
    "gone": (Path.unlink, False),
    "empty": (lambda file: file.write_text(""), False),
    "half": (lambda file: file.write_text(file.read_text()[:20]), False),
    "two lines": (lambda file: file.write_text(file.read_text() * 2), False),
    "other characters": (lambda file: file.write_text("t" * 42 + "é"), False),
    "with a blank": (lambda file: file.write_text("t" * 42 + " "), False),
}


@pytest.mark.parametrize("state", FILES)
def test_both_trust_the_same_token_files(tmp_path: Path, state: str) -> None:
    """D2, S03."""
    token = ensure_token(tmp_path / "data")
    change, is_trusted = FILES[state]
    change(tmp_path / "data/token")
    assert _by_server(tmp_path / "data") == (token if is_trusted else None)
    assert _by_hook(tmp_path / "data") == (token if is_trusted else None)


@AS_ROOT
def test_neither_trusts_a_file_of_another_user(tmp_path: Path) -> None:
    ensure_token(tmp_path / "data")
    os.chown(tmp_path / "data/token", 65534, 65534)
    assert (_by_server(tmp_path / "data"), _by_hook(tmp_path / "data")) == (None, None)


def _by_server(data: Path) -> str | None:
    try:
        return read_token(data)
    except InvalidRequest:
        return None


def _by_hook(data: Path) -> str | None:
    try:
        found = own_token(str(data))
    except (OSError, ValueError):
        return None
    assert isinstance(found, str)
    return found


_TOKEN, _OTHER, _START = "t" * 43, "u" * 43, "s" * 32
Reply = Callable[[str, int], object]


def _right(nonce: str, port: int, *, pid: object = 7, token: str = _TOKEN) -> dict[str, object]:
    shown = pid if isinstance(pid, int) else 7
    proof = Identity(token, port, shown).proof(nonce)
    return {"status": "ok", "pid": pid, "start": _START, "proof": proof}


PROOFS: dict[str, tuple[Reply, bool]] = {
    "right": (_right, True),
    "with more fields": (lambda n, p: {**_right(n, p), "version": "9", "new": [1]}, True),
    "of another token": (lambda n, p: _right(n, p, token=_OTHER), False),
    "of another port": (lambda n, p: _right(n, p + 1), False),
    "of another question": (lambda _, p: _right("n" * 32, p), False),
    "of another process": (lambda n, p: {**_right(n, p), "pid": 8}, False),
    "in capitals": (lambda n, p: {**_right(n, p), "proof": str(_right(n, p)["proof"]).upper()},
                    False),
    "cut": (lambda n, p: {**_right(n, p), "proof": str(_right(n, p)["proof"])[:32]}, False),
    "empty": (lambda n, p: {**_right(n, p), "proof": ""}, False),
    "none": (lambda n, p: {"status": "ok", "pid": 7}, False),
    "null": (lambda n, p: {**_right(n, p), "proof": None}, False),
    "a number": (lambda n, p: {**_right(n, p), "proof": 7}, False),
    "not ASCII": (lambda n, p: {**_right(n, p), "proof": "é" * 64}, False),
    "without a process": (lambda n, p: {"proof": _right(n, p)["proof"]}, False),
    "a list": (lambda n, p: [_right(n, p)], False),
    "a text": (lambda n, p: str(_right(n, p)["proof"]), False),
}  # fmt: skip


@pytest.mark.parametrize("kind", PROOFS)
def test_both_believe_the_same_proofs(hook: ModuleType, tmp_path: Path, kind: str) -> None:
    """D3: over the wire, as each of them asks."""
    make, is_believed = PROOFS[kind]
    data = tmp_path / "data"
    ensure_token(data)
    (data / "token").write_text(_TOKEN)
    with answering(make) as (port, heard):
        publish(data, RunningServer("127.0.0.1", port, 7, "1"))
        assert is_ours("127.0.0.1", port, token=_TOKEN, within_s=5) is is_believed
        asked = len(heard)
        assert _is_told(hook, data) is is_believed
    told = b"".join(heard[asked:])
    assert (b"CANARY" in told) is is_believed
    key = Identity(_TOKEN, port, 7, start=_START).key
    assert (key.encode() in told) is is_believed
    assert _TOKEN.encode() not in told
    reply = make("m" * 32, 7711)
    assert (
        isinstance(reply, dict) and is_proof(_TOKEN, nonce="m" * 32, port=7711, reply=reply)
    ) is (is_believed)


def _is_told(hook: ModuleType, data: Path) -> bool:
    """Whether the hook hands the event over."""
    try:
        return bool(hook.deliver(str(data), "/project", {"file_path": "CANARY"}) == 202)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # as the script's main
        return False


@contextmanager
def answering(make: Reply) -> Iterator[tuple[int, list[bytes]]]:
    """A listener that answers each /health with what `make` says of its nonce."""
    heard: list[bytes] = []

    def reply_to(request: bytes, port: int) -> bytes:
        if not request.startswith(b"GET /health?nonce="):
            return b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}"
        nonce = request.split(b"nonce=", 1)[1].split(b" ", 1)[0].decode()
        body = json.dumps(make(nonce, port)).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)

    def serve(connection: socket.socket, port: int) -> None:
        with connection:
            try:
                while request := connection.recv(65_536):
                    heard.append(request)
                    connection.sendall(reply_to(request, port))
                    if b"Connection: close" in request:
                        return
            except OSError:
                return

    def accept(port: int) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            serve(connection, port)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        thread = threading.Thread(target=accept, args=(port,), daemon=True)
        thread.start()
        yield port, heard
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
