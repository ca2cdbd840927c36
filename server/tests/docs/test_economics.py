"""The simulated provider of the benchmarks bills as real ones do, and its reader is honest."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.harness import BENCHMARK, run

# About 5,000 tokens, and no two of its lines alike.
LONG = "".join(f"line {n} of a file that is long\n" for n in range(600))
# The tools of a request are JSON of any shape.
Json = dict[str, Any]


def economics(name: str) -> ModuleType:
    """A module of the harness, which is no package of the server's."""
    if str(BENCHMARK) not in sys.path:
        sys.path.append(str(BENCHMARK))
    return importlib.import_module(f"bench.economics.{name}")


def part(text: str, *, is_mark: bool = False) -> object:
    return economics("requests").Part(text, "messages", is_mark)


def read_tool(**properties: str) -> Json:
    schema = {"properties": {n: {"type": t} for n, t in properties.items()}, "required": ["path"]}
    return {"name": "look", "input_schema": {"type": "object", **schema}}


def request(text: str, *, system: str = "", tools: list[Json] | None = None) -> Any:
    body = {"system": system, "tools": tools or [], "messages": [{"role": "user", "content": text}]}
    requests = economics("requests")
    return requests.parsed(requests.Protocol.MESSAGES, body)


def quest(tree: Path, *places: tuple[str, int, int]) -> Any:
    scores = importlib.import_module("bench.scores")
    asked = [scores.Place(*place) for place in places]
    return economics("gold").current(tree, "Where is it?", asked)


def test_a_bill_adds_up() -> None:
    prices = economics("prices")
    counted = prices.Counted(input=1_000_000, cached=2_000_000, written=400_000, output=100_000)
    assert counted.prompt == 3_400_000
    assert counted.cost(prices.HAIKU) == pytest.approx(1.0 + 0.2 + 0.5 + 0.5)


def test_an_automatic_cache_finds_the_longest_common_prefix_until_an_hour_has_passed() -> None:
    cache = economics("caching").Automatic()
    assert cache.take([part(LONG + "first?")], 0.0).cached == 0
    again = cache.take([part(LONG + "second?")], 600.0)
    assert again.cached > 0.9 * again.prompt
    assert cache.take([part("other " + LONG)], 700.0).cached == 0
    assert cache.take([part(LONG + "third?")], 5_000.0).cached == 0


def test_an_explicit_cache_writes_up_to_its_last_mark_and_lasts_five_minutes_after_use() -> None:
    cache = economics("caching").Explicit()
    prompt = [part(LONG, is_mark=True), part("first?")]
    first = cache.take(prompt, 0.0)
    assert first.cached == 0
    assert first.written == first.prompt - first.input > 4_096
    assert cache.take(prompt, 290.0).cached == first.written
    assert cache.take(prompt, 580.0).cached == first.written
    assert cache.take(prompt, 1_180.0).written == first.written


def test_an_explicit_cache_finds_a_mark_up_to_twenty_blocks_before_the_new_one() -> None:
    def grown(count: int) -> list[object]:
        added = [part(f"entry {n}\n", is_mark=n == count - 1) for n in range(count)]
        return [part(LONG, is_mark=not count), *added, part("and?")]

    near, far = economics("caching").Explicit(), economics("caching").Explicit()
    near.take(grown(0), 0.0)
    far.take(grown(0), 0.0)
    assert near.take(grown(20), 1.0).cached > 4_096
    assert far.take(grown(21), 1.0).cached == 0


def test_a_short_prefix_is_not_cached() -> None:
    """As Haiku 4.5 has it; a server with a small window pays in full."""
    caching = economics("caching")
    short = [part("a few words\n", is_mark=True), part("and?")]
    for cache in (caching.Automatic(), caching.Explicit()):
        cache.take(short, 0.0)
        counted = cache.take(short, 1.0)
        assert (counted.cached, counted.written) == (0, 0)


def test_both_protocols_are_read_into_one_shape() -> None:
    requests = economics("requests")
    chat = requests.parsed(
        requests.Protocol.CHAT,
        {
            "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "where?"},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]},
                {"role": "tool", "tool_call_id": "1", "content": "there"},
                {"role": "tool", "tool_call_id": "2", "content": "here"},
            ],
        },
    )
    result = {"type": "tool_result", "tool_use_id": "1", "content": "here"}
    said = requests.parsed(
        requests.Protocol.MESSAGES,
        {
            "system": [{"type": "text", "text": "be brief", "cache_control": {}}],
            "tools": [{"name": "look", "input_schema": {}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "where?"}]},
                {"role": "user", "content": [result]},
            ],
        },
    )
    for one in (chat, said):
        assert one.said("system") == "be brief"
        assert one.said("messages").startswith("where?")
        assert one.said("messages").endswith("here")
        assert [tool.name for tool in one.tools] == ["look"]
        assert one.rounds == 1
    assert [one.is_mark for one in said.parts] == [False, True, False, False]


def test_a_place_is_present_when_most_of_its_current_lines_are(tmp_path: Path) -> None:
    gold = economics("gold")
    (tmp_path / "a.py").write_text("".join(f"value_{n} = {n}\n\n" for n in range(5)))
    asked = quest(tmp_path, ("a.py", 1, 9))
    rendered = [f"{2 * n + 1:5}| value_{n} = {n}" for n in range(5)]
    for text, is_there in (
        ("\n".join(rendered), True),
        ("\n".join(rendered[:4]), True),
        ("\n".join(rendered[:3]), False),
        ("\n".join([*rendered[:3], "    7| value_3 = 4"]), False),
        ("".join(f"a.py:{n}:value_{n} = {n}\n" for n in range(5)), True),
        ("".join(f"value_{n}  =  {n}\n" for n in range(5)), True),
    ):
        assert (gold.missing(asked, text) == []) is is_there, text


def test_cited_names_are_resolved_where_one_file_has_them(tmp_path: Path) -> None:
    gold, views = economics("gold"), importlib.import_module("bench.views")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.ts").write_text("x\n" * 300)
    names = ["src/a.ts", "src/b.ts", "lib/b.ts"]
    cited = [["a.ts", 3, 4], ["src/a.ts", 10, 290], ["b.ts", 1, 1], ["src/a.ts", 301, 301]]
    found = gold.resolved(views.Lines(tmp_path), cited, names)
    assert [(one.path, one.start, one.end) for one in found] == [
        ("src/a.ts", 3, 4),
        ("src/a.ts", 10, 14),
    ]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (read_tool(path="string", first_line="integer", lines="integer"), (2, "first_line", 3)),
        (read_tool(path="string", start="integer", end="integer"), (2, "start", None)),
        (read_tool(path="string"), (None, None, None)),
    ],
)
def test_the_reader_finds_the_tool_by_its_schema_and_asks_for_what_is_missing(
    tmp_path: Path, tool: Json, arguments: tuple[int | None, str | None, int | None]
) -> None:
    reader = economics("reader")
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\nfour = 4\n")
    other = {"name": "grep", "input_schema": {"properties": {"path": {"type": "string"}}}}
    search = {
        "name": "find",
        "input_schema": {
            "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
            "required": ["pattern"],
        },
    }
    asked = quest(tmp_path, ("a.py", 2, 4))
    spoken = reader.answer(request("Where is it?", tools=[other, search, tool]), asked)
    assert [call.name for call in spoken.calls] == ["look"]
    given = spoken.calls[0].arguments
    first, name, count = arguments
    assert given["path"] == "a.py"
    assert given.get(name or "start") == first
    assert given.get("lines") == count
    assert given.get("end") == (4 if name == "start" else None)


def test_the_reader_cites_what_is_there_and_quotes_it(tmp_path: Path) -> None:
    reader = economics("reader")
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\n")
    asked = quest(tmp_path, ("a.py", 2, 2))
    spoken = reader.answer(request("    2| two = 2\nWhere is it?", tools=[]), asked)
    assert spoken.text == "`two` stands at a.py:2, which reads `two = 2`."
    assert reader.answer(request("nothing"), asked).calls == ()


def test_the_question_that_is_asked_is_the_last_one_in_the_request(tmp_path: Path) -> None:
    """Earlier questions stand in the window, quoted behind bars."""
    reader = economics("reader")
    quests = {"Where is it?": 1, "And\nwhere is that?": 2}
    text = "=== question\n     | Where is it?\n=== question\n     | And\n     | where is that?\n"
    assert reader.quest_of(request(text), quests) == 2
    assert reader.quest_of(request(text.replace("that", "this")), quests) == 1
    assert reader.quest_of(request("hello"), quests) is None


SHOWN = "=== file a/b.py, lines 1-3\n    1| LIMIT = 7\n    2| \n    3| def open_it(x):\n"


def test_a_compaction_gives_facts_with_sources_as_json_lines() -> None:
    compactor = economics("compactor")
    asked = request(f"{SHOWN}=== task\nWrite at most 9 facts", system="Write JSON lines")
    assert compactor.is_compaction(asked)
    facts = [json.loads(line) for line in compactor.compacted(asked).text.splitlines()]
    assert facts == [
        {
            "text": "`LIMIT` is defined by `LIMIT = 7`.",
            "kind": "value",
            "sources": [{"path": "a/b.py", "start": 1, "end": 1}],
        },
        {
            "text": "`open_it` is defined by `def open_it(x):`.",
            "kind": "definition",
            "sources": [{"path": "a/b.py", "start": 3, "end": 3}],
        },
    ]
    fewer = request(f"{SHOWN}Write at most 1 facts", system="Write JSON lines")
    assert len(compactor.compacted(fewer).text.splitlines()) == 1


def test_another_servers_compaction_gets_a_plain_summary() -> None:
    compactor = economics("compactor")
    asked = request(SHOWN, system="Summarise what was learned.")
    assert compactor.compacted(asked).text == (
        "`LIMIT` stands at a/b.py:1.\n`open_it` stands at a/b.py:3."
    )
    assert not compactor.is_compaction(request(SHOWN, system="You answer questions."))


@pytest.mark.parametrize("protocol", ["CHAT", "MESSAGES"])
def test_replies_are_streamed_and_whole_in_both_protocols(protocol: str) -> None:
    replies, prices = economics("replies"), economics("prices")
    spoken = replies.Spoken("hello", (replies.Call("look", {"path": "a.py"}),))
    counted = prices.Counted(input=10, cached=20, written=3, output=4)
    speaks = economics("requests").Protocol[protocol]
    _, streamed = replies.written(speaks, spoken, counted, is_streamed=True)
    rows = [row[6:] for row in streamed.decode().splitlines() if row.startswith("data: ")]
    if protocol == "CHAT":
        assert rows[-1] == "[DONE]"
        usage = json.loads(rows[-2])["usage"]
        assert (usage["prompt_tokens"], usage["prompt_tokens_details"]) == (
            33,
            {"cached_tokens": 20},
        )
    else:
        usage = json.loads(rows[0])["message"]["usage"]
        assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (10, 20)
    whole = json.loads(replies.written(speaks, spoken, counted, is_streamed=False)[1])
    assert "look" in json.dumps(whole)


def test_a_request_extends_the_one_before_when_only_its_tail_is_another() -> None:
    measuring, provider = economics("measuring"), economics("provider")

    def made(*texts: str) -> object:
        parts = [part(text, is_mark=n == 1) for n, text in enumerate(texts)]
        counted = economics("prices").Counted()
        return provider.Made("ask", "?", tuple(parts), 0, counted, has_tool_calls=False)

    before = made("tools", "stable", "entry 1", "tail 1")
    assert measuring.is_extension(before, made("tools", "stable", "entry 1", "entry 2", "tail 2"))
    assert not measuring.is_extension(before, made("tools", "stable", "entry 2", "tail 2"))
    assert measuring.is_extension(None, before) is None


def test_an_answer_that_quotes_a_line_as_it_was_is_stale(tmp_path: Path) -> None:
    measuring = economics("measuring")
    server = importlib.import_module("bench.talk.server")
    (tmp_path / "a.py").write_text("one = 1  # edit 1\n")
    asked = quest(tmp_path, ("a.py", 1, 1))
    for quoted, is_stale in (("one = 1", True), ("one = 1 # edit 1", False), ("two", False)):
        answer = server.Answer(f"It reads `{quoted}`.", (), (), 0.1, mode="cached")
        row = measuring.measured(asked, answer, [], before=None, old={"one = 1"})
        assert row["is_stale"] is is_stale
        assert row["model_calls"] == 0


@pytest.mark.real("git")
def test_a_dry_run_of_the_recordings_bills_every_question(tmp_path: Path) -> None:
    """With real servers, both protocols, learning, edits, and settings that are swept."""
    file = tmp_path / "found.json"
    only = ["--only", "replay with edits", "--set", "max_context_tokens=9000", "--limit", "1"]
    where = ["--json", str(file), "--out", str(tmp_path)]
    done = run("economics", "--dry-run", *only, *where)
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert {row["protocol"] for row in found["rows"]} == {"chat completions", "messages"}
    assert all(row["prompt_tokens"] > 0 and row["usd_haiku"] > 0 for row in found["rows"][:1])
    assert all(not row["is_stale"] for row in found["rows"])
    assert found["figures"]["settings"] == {"LIVE_MEMORY_MAX_CONTEXT_TOKENS": "9000"}
    assert str(tmp_path) not in file.read_text()


def test_without_its_data_the_suite_says_so_and_is_no_failure(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    command = [sys.executable, str(BENCHMARK / "run.py"), "economics", "--only", "replay"]
    where = ["--data", nowhere, "--repos", nowhere, "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, *where], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "Skipped: " in done.stdout
