"""What of a reply travels together: a head and the body it announces, and nothing else waits."""

import asyncio
from collections.abc import Callable

import pytest

from live_memory.web.serving import HeadBodyBuffer

HEAD = b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class Line(asyncio.Transport):
    """Keeps what is sent, packet by packet."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.is_open = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.packets.append(bytes(data))

    def close(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open = False

    def is_closing(self) -> bool:
        return not self.is_open


def test_a_head_and_its_body_are_one_packet() -> None:
    line = Line()
    joined = HeadBodyBuffer(line)
    for data in (HEAD, b"{}", b""):
        joined.write(data)
    joined.flush()
    assert [packet for packet in line.packets if packet] == [HEAD + b"{}"]


def test_the_head_of_a_stream_is_sent_at_once_and_so_is_each_part() -> None:
    """A client that opens a stream has to see its head long before anything comes."""
    line = Line()
    joined = HeadBodyBuffer(line)
    joined.writelines([STREAM, b"b\r\n{} HTTP/1.1 content-length: 2\r\n"])
    assert line.packets == [STREAM, b"b\r\n{} HTTP/1.1 content-length: 2\r\n"]


@pytest.mark.parametrize("end", [HeadBodyBuffer.flush, HeadBodyBuffer.close])
def test_a_head_whose_body_is_empty_is_sent_at_the_end(
    end: Callable[[HeadBodyBuffer], None],
) -> None:
    line = Line()
    joined = HeadBodyBuffer(line)
    joined.write(HEAD)
    joined.write(b"")
    end(joined)
    assert b"".join(line.packets) == HEAD
    assert joined.is_closing() == (end is HeadBodyBuffer.close)
