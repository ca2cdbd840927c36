"""Reading streams and texts that arrive in any pieces: properties first."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import pairwise

import anthropic
import anyio
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.endpoint import Endpoints, Target
from live_memory.adapters.llm.prices import Prices, context_tokens, cost_usd
from live_memory.adapters.llm.quirks import ProviderError, SpokenText, error_of
from live_memory.adapters.llm.reply_assembly import readable_events
from live_memory.adapters.llm.reply_check import calls_in
from live_memory.core.companion.chat import ModelUsage
from live_memory.core.errors import ModelOverloaded, ModelRefused

STREAM = (
    'event: a\r\ndata: {"é": "😀"}\r\n\r\n: note\n\nid: 1\n\ndata: [\ndata: 1]\r\rid: 1\ndata:2\n\n'
    "retry: 5\n\nodd\n\n\n\n: end"
).encode()
VALUES: list[object] = [{"é": "😀"}, [1], 2]


def _readable(pieces: Sequence[bytes]) -> bytes:
    async def given_out() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> bytes:
        return b"".join([event async for event in readable_events(given_out())])

    return anyio.run(read)


async def _values(raw: bytes) -> list[list[object]]:
    """What each SDK reads."""
    chat = openai.AsyncOpenAI(api_key="none")
    stream = openai.AsyncStream[object](
        cast_to=object, response=httpx2.Response(200, content=raw), client=chat
    )
    named = anthropic.AsyncStream.raw_events(httpx2.Response(200, content=raw))
    return [[value async for value in stream], [json.loads(event.data) async for event in named]]


@given(st.lists(st.integers(0, len(STREAM))).map(sorted))
def test_a_stream_reads_the_same_in_any_pieces(cuts: list[int]) -> None:
    edges = [0, *cuts, len(STREAM)]
    raw = _readable([STREAM[start:end] for start, end in pairwise(edges)])
    assert raw == _readable([STREAM])


async def test_each_sdk_reads_every_event_that_has_data() -> None:
    raw = await anyio.to_thread.run_sync(_readable, [STREAM])
    assert await _values(raw) == [VALUES, VALUES]


@given(st.binary(max_size=200))
def test_any_bytes_become_text_or_are_refused(data: bytes) -> None:
    with suppress(httpx2.DecodingError):
        _readable([data]).decode()


@given(st.text(max_size=60), st.lists(st.integers(0, 60)))
def test_spoken_text_is_the_same_in_any_pieces(text: str, cuts: list[int]) -> None:
    """C18: what is shown never holds half a character, and is never more than was said."""
    halves = text.encode("utf-16-le", "surrogatepass")
    units = [
        halves[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(halves), 2)
    ]
    edges = [0, *sorted(cut for cut in cuts if cut < len(units)), len(units)]
    spoken, shown = SpokenText(longest=1_000), ""
    for start, end in pairwise(edges):
        shown += spoken.add("".join(units[start:end]))
    whole = SpokenText(longest=1_000)
    whole.add(text)
    assert spoken.text == whole.text
    assert spoken.text.lstrip().startswith(shown.lstrip())
    shown.encode()


def test_thoughts_and_calls_are_not_shown() -> None:
    for text, expected in (
        ("<think>hm</think>\nIt is.", "It is."),
        ("<think>hm", ""),
        ('{"name": 1}', ""),
        ("```json\n{}", ""),
        ("```python\nx", "```python\nx"),
        ("<tool_call>{}", ""),
        ("a < b", "a < b"),
    ):
        spoken = SpokenText(longest=1_000)
        assert "".join(spoken.add(piece) for piece in text) == expected


@given(st.text(max_size=80))
def test_any_text_can_be_searched_for_calls(text: str) -> None:
    for call in calls_in(text, {"Read"}).calls:
        assert call.name == "Read"


def test_several_written_calls_are_numbered_apart() -> None:
    call = json.dumps({"name": "Read", "arguments": {}})
    for text in (f"<tool_call>{call}</tool_call>" * 2, f"{call}\n{call}", f"[{call}, {call}]"):
        assert [c.id for c in calls_in(text, {"Read"}).calls] == ["written_1", "written_2"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0.5"}, 0.5),
        (
            {
                "retry-after": "Sun, 29 Nov 2026 16:00:30 GMT",
                "date": "Sun, 29 Nov 2026 16:00:00 GMT",
            },
            30.0,
        ),
        ({"retry-after": "Sun, 29 Nov 2026 16:00:30 GMT"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e9"}, 1e9),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], expected: float | None) -> None:
    """S37."""
    error = error_of(ProviderError(429, "slow down", headers))
    assert isinstance(error, ModelOverloaded)
    assert error.retry_after_s == expected


def test_a_quota_is_told_from_a_burst() -> None:
    """C34: waiting does not fill an account."""
    body = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded it"}})
    assert isinstance(error_of(ProviderError(429, body, {})), ModelRefused)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(values, st.sampled_from([0, 400, 404, 413, 429, 500]))
def test_a_complaint_of_any_shape_is_an_error_that_can_be_shown(value: object, status: int) -> None:
    for body in (json.dumps(value), json.dumps({"error": value}), json.dumps([{"error": value}])):
        said = str(error_of(ProviderError(status, body, {})))
        assert len(said) < 500
        said.encode()


@given(values)
def test_a_field_of_any_type_is_of_the_wanted_type(value: object) -> None:
    assert isinstance(quirks.string(value), str)
    assert quirks.count(value) >= 0
    assert isinstance(quirks.mapping_in(value, "a", "b"), dict)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("anthropic/claude-3-5-haiku-latest", 200_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1-nano", 1_000_000),
        ("gpt-5-mini", 400_000),
        ("gpt-5.4-mini", 400_000),
        ("gpt-6-luna", 1_000_000),
        ("deepseek-chat", 64_000),
        ("deepseek-v4-flash", 1_000_000),
        ("qwen2.5-coder:1.5b", 8_192),
    ],
)
def test_window_sizes_go_by_name(model: str, tokens: int) -> None:
    assert context_tokens(model) == tokens


def test_a_price_is_known_for_the_makers_endpoint_and_never_invented() -> None:
    usage = ModelUsage(1_000_000, cache_read=400_000, cache_write=100_000, output=10_000)
    maker = "https://api.anthropic.com"
    assert cost_usd(usage, "claude-haiku-4-5", base_url=maker) == pytest.approx(0.715)
    assert cost_usd(usage, "unheard-of", base_url=maker) is None
    assert cost_usd(usage, "claude-haiku-4-5", base_url="http://127.0.0.1:4000") is None


def test_a_persons_own_prices_count_the_cache_by_its_multipliers() -> None:
    prices = Prices(2.0, 10.0, cache_read_multiplier=0.5, cache_write_multiplier=2.0)
    usage = ModelUsage(1_000_000, cache_read=400_000, cache_write=100_000, output=10_000)
    assert prices.cost_usd(usage) == pytest.approx(1.0 + 0.4 + 0.4 + 0.1)


def test_lessons_outlive_the_model_that_learnt_them() -> None:
    endpoints = Endpoints()
    first = endpoints.lessons(Target("http://127.0.0.1:1/v1", "m"))
    assert endpoints.lessons(Target("http://127.0.0.1:1/v1/", "m")) is first
    assert endpoints.lessons(Target("http://127.0.0.1:1/v1", "other")) is not first
