"""The token file, and how a client knows its own server (S03, D2, D3)."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.core.errors import InvalidRequest
from live_memory.web.identity import (
    Identity,
    RunningServer,
    ensure_data_dir,
    ensure_token,
    is_ours,
    is_proof,
    new_nonce,
    publish,
    published,
    read_token,
    withdraw,
)

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o777])
def test_the_first_start_makes_a_token_that_stays(tmp_path: Path, mask: int) -> None:
    data = tmp_path / "data"
    with umask(mask):
        # A folder that its owner cannot enter is the one thing a mask can really break.
        if mask == 0o777:
            data.mkdir()
            data.chmod(0o700)
        token = ensure_token(data)
    assert len(token) == 43
    assert (data / "token").read_text() == token == ensure_token(data) == read_token(data)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "token").stat().st_mode) == 0o600
    assert [entry.name for entry in data.iterdir()] == ["token"]
    assert ensure_token(tmp_path / "other") != token


def a_symlink(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    elsewhere.write_text("s" * 43)
    elsewhere.chmod(0o600)
    file.symlink_to(elsewhere)


def a_readable_file(file: Path) -> None:
    file.write_text("s" * 43)
    file.chmod(0o644)


def a_foreign_file(file: Path) -> None:
    file.write_text("s" * 43)
    file.chmod(0o600)
    os.chown(file, 65534, 65534)


def a_fifo(file: Path) -> None:
    os.mkfifo(file, 0o600)


def an_empty_file(file: Path) -> None:
    file.touch(0o600)


def a_text(file: Path) -> None:
    file.touch(0o600)
    file.write_text("s" * 42 + "!")


def a_folder(file: Path) -> None:
    file.mkdir(0o700)


@pytest.mark.parametrize(
    "plant",
    [
        a_symlink,
        a_readable_file,
        pytest.param(a_foreign_file, marks=AS_ROOT),
        a_fifo,
        an_empty_file,
        a_text,
        a_folder,
    ],
)
@pytest.mark.promise("no-overwrite-of-unreadable")
def test_a_planted_token_is_refused_and_left_alone(tmp_path: Path, plant: object) -> None:
    """S03: the text names the file, never what is in it."""
    data = tmp_path / "data"
    data.mkdir(0o700)
    assert callable(plant)
    plant(data / "token")
    before = os.lstat(data / "token")
    for use in (ensure_token, read_token):
        with pytest.raises(InvalidRequest) as refused:
            use(data)
        assert str(data / "token") in str(refused.value)
        assert "sss" not in str(refused.value)
    assert os.lstat(data / "token") == before


def test_a_missing_token_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="start the server"):
        read_token(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_open_folder_of_ours_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    ensure_token(data)
    data.chmod(0o777)
    ensure_data_dir(data)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_a_folder_with_other_things_in_it_is_not_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(InvalidRequest, match="holds other files"):
        ensure_data_dir(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("make", [Path.touch, lambda p: p.symlink_to("/nowhere/x")])
def test_a_data_folder_that_is_none_is_refused(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "data")
    with pytest.raises(InvalidRequest, match="data folder"):
        ensure_data_dir(tmp_path / "data")


@AS_ROOT
def test_a_data_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(InvalidRequest, match="another user"):
        ensure_data_dir(tmp_path)


TOKENS = st.text("abcXYZ019-_", min_size=1, max_size=50)


@given(TOKENS, TOKENS, st.integers(1, 65_535), st.integers(1, 65_535), st.integers(1, 2**22))
def test_a_proof_holds_for_one_token_one_port_and_one_nonce(
    token: str, other: str, port: int, other_port: int, pid: int
) -> None:
    nonce = new_nonce()
    reply = {"pid": pid, "proof": Identity(token, port, pid).proof(nonce)}
    assert is_proof(token, nonce=nonce, port=port, reply=reply)
    assert is_proof(other, nonce=nonce, port=port, reply=reply) == (other == token)
    assert is_proof(token, nonce=nonce, port=other_port, reply=reply) == (other_port == port)
    assert not is_proof(token, nonce=new_nonce(), port=port, reply=reply)
    assert not is_proof(token, nonce=nonce, port=port, reply=reply | {"pid": pid + 1})


@pytest.mark.parametrize(
    "reply",
    [{}, {"pid": 1}, {"proof": "x"}, {"pid": "1", "proof": "x"}, {"pid": True, "proof": "x"}]
    + [{"pid": 1, "proof": proof} for proof in (None, 7, "", "é" * 64, "0" * 64)],
    ids=str,
)
def test_a_reply_without_a_proof_proves_nothing(reply: dict[str, object]) -> None:
    assert not is_proof("t", nonce=new_nonce(), port=1, reply=reply)


def test_an_identity_does_not_show_its_token() -> None:
    assert "secret" not in repr(Identity("secret", 1, 2))


def test_the_key_of_a_start_is_of_that_start_that_token_and_that_address_alone() -> None:
    """S06: a stranger on the other loopback address that passes the proof on gets nothing."""
    here = Identity("t" * 43, 7711, 1)
    assert here.key == Identity("t" * 43, 7711, 2, start=here.start).key
    others = [
        Identity("t" * 43, 7711, 1),
        Identity("u" * 43, 7711, 1, start=here.start),
        Identity("t" * 43, 7712, 1, start=here.start),
        Identity("t" * 43, 7711, 1, host="::1", start=here.start),
    ]
    assert len({here.key, *(other.key for other in others)}) == 5
    assert here.key != here.proof(here.start)


@contextmanager
def stranger(reply: bytes, *, goes_on: bytes = b"") -> Iterator[int]:
    """A listener that is not ours: says something, and perhaps never stops saying it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        enough = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.sendall(reply)
                    while not enough.wait(0.05):
                        connection.sendall(goes_on)
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield port
        finally:
            enough.set()
            thread.join()


OK = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("reply", "goes_on"),
    [
        (b"", b""),
        (b"hello\r\n", b""),
        (OK, b"x"),
        (OK + b"{}", b""),
        (OK + b'{"status": "ok"}', b" "),
        (OK + b"[" * 10_000, b""),
        (OK + b"\xff", b"x" * 65_536),
        (b"HTTP/1.1 500 No\r\n\r\n{}", b""),
    ],
)
def test_a_stranger_on_the_port_is_not_ours(reply: bytes, goes_on: bytes) -> None:
    """C03: silent, dripping or endless, it is given up in time."""
    with stranger(reply, goes_on=goes_on) as port:
        assert not is_ours("127.0.0.1", port, token="t" * 43, within_s=0.3)


def test_nobody_on_the_port_is_not_ours() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        assert not is_ours("127.0.0.1", held.getsockname()[1], token="t" * 43)


def test_where_the_server_is_can_be_read_back_until_it_is_taken_back(tmp_path: Path) -> None:
    there = RunningServer("127.0.0.1", 7711, 42, "0.1.0")
    with umask(0):
        publish(tmp_path, there)
        publish(tmp_path, there)
    assert published(tmp_path) == there
    assert stat.S_IMODE((tmp_path / "server.json").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["server.json"]
    withdraw(tmp_path)
    withdraw(tmp_path)
    assert published(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"host": 1}', '{"host": "h", "port": true, "pid": 1, "version": "v"}'],
)
def test_a_discovery_file_of_another_shape_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    assert published(tmp_path) is None


def test_what_the_command_line_needs_imports_nothing_heavy() -> None:
    """The plugin waits for it at every session start."""
    code = (
        "import json, sys, live_memory.web.identity, live_memory.web.identity;"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    heavy = {"mcp", "starlette", "uvicorn", "pydantic", "anyio", "asyncio", "httpx2", "click"}
    assert heavy & set(json.loads(done.stdout)) == set()


def test_the_server_is_there_before_mcp_is_imported() -> None:
    code = "import sys, live_memory.cli.serve; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
