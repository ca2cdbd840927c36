"""The companion answers from what it has in view and read, is checked, and may fail."""

from functools import partial

import anyio
import pytest

from live_memory.core.answer import Answer, CitationStatus, Grounding, Mode, StopReason
from live_memory.core.companion.chat import (
    Abilities,
    Caps,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolResults,
    UserTurn,
)
from live_memory.core.errors import (
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelUnreachable,
    PromptTooLong,
)
from live_memory.core.memory.ledger import Fact, FactId, Source
from live_memory.core.memory.window import Compacted
from live_memory.core.reading.lookup import Listing
from live_memory.core.values import ContentHash, RelPath
from live_memory.flow.jobs import silent
from tests.flow.test_ask import SlowHouse
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.scripted import Calls, Fails, Says, Scripted, Stalls, Turn
from tests.support.memory import APP, House, a_question, app_house

GOOD = "`RETRY_LIMIT` is 3 (app/config.py:3)."


async def _ask(house: House, text: str = "Where is RETRY_LIMIT set?", **more: float) -> Answer:
    async with house.hub() as hub:
        _, answer = await hub.ask("/app", a_question(text, **more), progress=silent)
        return answer


def _house(*turns: Turn, abilities: Abilities | None = None) -> tuple[House, Scripted]:
    model = Scripted(turns, abilities=abilities) if abilities else Scripted(turns)
    house = app_house()
    house.model = model
    return house, model


def _texts(request: ModelRequest) -> str:
    blocks = [b.text for m in request.messages if isinstance(m, UserTurn) for b in m.blocks]
    results = [r.text for m in request.messages if isinstance(m, ToolResults) for r in m.results]
    return "\n".join([*(b.text for b in request.system), *blocks, *results])


def _front(request: ModelRequest) -> str:
    """All of an opening but its tail."""
    (turn,) = [m for m in request.messages[:1] if isinstance(m, UserTurn)]
    return "".join(b.text for b in (*request.system, *turn.blocks[:-1]))


async def test_a_companion_answers_and_what_it_took_is_told() -> None:
    house, model = _house(Says([GOOD], usage=ModelUsage(1000, 900, 0, 20)))
    answer = await _ask(house)
    assert (answer.mode, answer.grounding, answer.model) == (
        Mode.COMPANION,
        Grounding.VERIFIED,
        "scripted",
    )
    assert answer.text == GOOD
    assert answer.evidence.keys() >= {RelPath("app/config.py")}
    usage = answer.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (1000, 900, 20)
    assert (usage.model_calls, usage.tool_calls) == (1, 0)
    assert "RETRY_LIMIT = 3" in _texts(model.requests[0])  # the evidence is the head start


async def test_what_its_tools_showed_is_known_and_the_next_opening_has_its_lines() -> None:
    house, model = _house(
        Calls([("Read", {"path": "app/client.py"}), ("Grep", {"pattern": "RETRY_LIMIT"})]),
        Says(["It tries again."]),
        Says([GOOD]),
    )
    async with house.hub() as hub:
        _, first = await hub.ask("/app", a_question("How does fetching retry?"), progress=silent)
        assert first.usage.tool_calls == 2
        await hub.ask("/app", a_question(), progress=silent)
        stats = await hub.stats("/app")
    assert "app/config.py:3\n3|RETRY_LIMIT = 3" in _texts(model.requests[1])
    opening = _texts(model.requests[2])
    assert '5|    """Fetch a page, trying again RETRY_LIMIT times."""\n6|    for attempt' in opening
    assert stats.known_files == 1
    assert stats.model_calls == 3


@pytest.mark.promise("append-only")
async def test_all_prompts_begin_alike_and_then_show_what_their_question_needs() -> None:
    """No earlier question, and of earlier answers what was found out and may help."""
    house, model = _house(
        Calls([("Read", {"path": "app/client.py"})]), Says([GOOD]), Says([GOOD]), Says([GOOD])
    )
    asked = ("How does fetching retry?", "Where is RETRY_LIMIT set?", "Who fetches?")
    async with house.hub() as hub:
        for text in asked:
            await hub.ask("/app", a_question(text), progress=silent)
    openings = [model.requests[n] for n in (0, 2, 3)]
    assert len({_front(each) for each in openings}) == 1
    for text, request in zip(asked, openings, strict=True):
        told = _texts(request)
        assert [each for each in asked if f"|{each}" in told] == [text]
        assert told.count(GOOD) <= told.count(f"=== known from earlier work\n|- {GOOD}")
        assert "=== files" not in told


async def test_a_pinned_fact_stands_in_every_prompt_while_it_holds() -> None:
    house, model = _house(*[Says([GOOD])] * 3)
    path, sha = RelPath("app/config.py"), ContentHash.of(APP["app/config.py"])
    fact = Fact(FactId("f1"), "`RETRY_LIMIT` is 3.", (Source(path, sha, 3, 3),))
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        await memory.record(Compacted(frozenset(), (fact,)))
        for n, text in enumerate(("Who fetches?", "Who fetches a page?", "Who fetches pages?")):
            if n == 1:
                await hub.pin("/app", fact.id)
            if n == 2:
                house.sandbox.put("app/config.py", b"RETRY_LIMIT = 5\n")
            await hub.ask("/app", a_question(text), progress=silent)
    told = [
        "=== known from earlier work\n|- `RETRY_LIMIT` is 3. (app/config.py:3" in _texts(one)
        for one in model.requests
    ]
    assert told == [False, True, False]


async def test_the_lines_that_a_question_needs_stand_in_the_tail_and_nowhere_else() -> None:
    house, model = _house(Says([GOOD]), Says([GOOD]))
    async with house.hub() as hub:
        await hub.ask("/app", a_question("Where is RETRY_LIMIT set?"), progress=silent)
        await hub.ask("/app", a_question("Which value has RETRY_LIMIT?"), progress=silent)
    for request in model.requests:
        assert "|RETRY_LIMIT = 3" in _texts(request)
        assert "|RETRY_LIMIT = 3" not in _front(request)


@pytest.mark.promise("citations-checked")
async def test_a_wrong_line_is_corrected_and_an_invented_file_is_marked() -> None:
    house, _ = _house(Says(["`RETRY_LIMIT` is 3 (app/config.py:1). Also app/ghost.py:7."]))
    answer = await _ask(house)
    assert answer.text == (
        "`RETRY_LIMIT` is 3 (app/config.py:3). Also app/ghost.py:7 (not found there)."
    )
    assert [c.status for c in answer.citations] == [
        CitationStatus.CORRECTED,
        CitationStatus.UNSUPPORTED,
    ]
    assert answer.grounding is Grounding.PARTIAL


@pytest.mark.promise("citations-checked")
async def test_a_file_that_was_opened_may_be_named_in_short() -> None:
    house, _ = _house(
        Calls([("Read", {"path": "app/client.py"})]),
        Says(["`fetch_page` tries again (client.py:5-6), up to `RETRY_LIMIT` (config.py:3)."]),
    )
    answer = await _ask(house)
    assert answer.text == (
        "`fetch_page` tries again (app/client.py:5-6), up to `RETRY_LIMIT` (app/config.py:3)."
    )
    assert [f"{c} {c.status}" for c in answer.citations] == [
        "app/client.py:5-6 verified",
        "app/config.py:3 verified",
    ]


@pytest.mark.promise("grounded-or-says-so")
async def test_an_answer_is_given_for_what_holds_though_its_first_claim_does_not() -> None:
    text = "It begins in app/ghost.py:1. `RETRY_LIMIT` is 3 (app/config.py:3)."
    house, _ = _house(Says([text]))
    answer = await _ask(house)
    assert answer.mode is Mode.COMPANION
    assert answer.grounding is Grounding.PARTIAL
    assert answer.text == text.replace("ghost.py:1", "ghost.py:1 (not found there)")


@pytest.mark.promise("grounded-or-says-so")
async def test_an_answer_whose_places_mostly_fail_is_replaced_and_they_are_named() -> None:
    wrong = "".join(f" Also app/ghost.py:{n}." for n in range(1, 6))
    house, _ = _house(Says([f"`RETRY_LIMIT` is 3 (app/config.py:3).{wrong}"]))
    answer = await _ask(house)
    assert (answer.mode, answer.grounding) == (Mode.EVIDENCE, Grounding.VERIFIED)
    assert answer.notice is not None
    assert (
        "(app/ghost.py line 1, app/ghost.py line 2, app/ghost.py line 3 and 2 more)"
        in answer.notice
    )


@pytest.mark.promise("citations-checked")
async def test_an_answer_of_which_a_place_was_moved_is_not_given_again() -> None:
    moved = "`RETRY_LIMIT` is 3 (app/config.py:1)."
    house, model = _house(Says([moved]), Says([GOOD]), Says([GOOD]))
    async with house.hub() as hub:
        answers = [(await hub.ask("/app", a_question(), progress=silent))[1] for _ in range(3)]
    assert [answer.mode for answer in answers] == [Mode.COMPANION, Mode.COMPANION, Mode.CACHED]
    assert len(model.requests) == 2


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize("text", ["It is set somewhere.", "See the settings.", "\x1b[2JYes."])
async def test_an_answer_that_names_no_place_is_given_as_ungrounded_and_says_so(text: str) -> None:
    """B11: it was thrown away, with a reason that was not true."""
    house, _ = _house(Says([text]))
    answer = await _ask(house)
    assert (answer.mode, answer.grounding) == (Mode.COMPANION, Grounding.UNGROUNDED)
    assert answer.text == text.replace("\x1b", "\\x1b")
    assert "names no place" in (answer.notice or "")
    assert answer.recipe == ""


@pytest.mark.promise("grounded-or-says-so", "never-falsely-fresh")
@pytest.mark.parametrize(
    "text",
    [
        "`RETRY_LIMIT` is 5 (app/config.py:3).",
        "It is in app/ghost.py:1.",
    ],
)
async def test_an_answer_that_nothing_supports_is_not_given_as_fact(text: str) -> None:
    house, _ = _house(Says([text]))
    answer = await _ask(house)
    assert answer.mode is Mode.EVIDENCE
    assert answer.notice is not None
    assert text not in answer.text
    assert "RETRY_LIMIT = 3" in answer.text
    assert answer.usage.model_calls == 1


@pytest.mark.promise("always-something-true")
@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Fails(ModelRefused("the key is refused: set 'api_key'")), "api_key"),
        (Fails(ModelOverloaded("busy", retry_after_s=3600)), "busy"),
        (Fails(ModelUnreachable("no connection")), "no connection"),
        (Says([""]), "empty"),
        (Says(["half of"], stop=ReplyStop.CUT), "cut off"),
        (Says(["no"], stop=ReplyStop.REFUSED), "declined"),
    ],
)
async def test_whatever_fails_the_evidence_is_given_with_one_line_that_says_why(
    turn: Turn, said: str
) -> None:
    house, _ = _house(turn)
    answer = await _ask(house)
    assert (answer.mode, answer.grounding) == (Mode.EVIDENCE, Grounding.VERIFIED)
    assert answer.notice is not None
    assert said in answer.notice
    assert "\n" not in answer.notice


async def test_a_reply_cut_at_its_limit_says_so_first() -> None:
    house, _ = _house(Says([GOOD], stop=ReplyStop.LENGTH))
    answer = await _ask(house)
    assert answer.notice == "The reply was cut off before its end."


async def test_a_reply_that_was_cut_at_its_limit_is_not_given_again() -> None:
    house, model = _house(Says([GOOD], stop=ReplyStop.LENGTH), Says([GOOD]), Says(["never asked"]))
    async with house.hub() as hub:
        for notice, calls in (("The reply was cut off before its end.", 1), (None, 2), (None, 2)):
            question = a_question("Where is RETRY_LIMIT set?")
            _, answer = await hub.ask("/app", question, progress=silent)
            assert len(model.requests) == calls
            assert (answer.notice or "").startswith(notice or "")


async def test_a_cold_question_is_not_answered_before_something_was_read() -> None:
    house, model = _house(
        Says(["There is a KafkaPool."]),
        Calls([("Grep", {"pattern": "KafkaPool"})]),
        Says(["Nothing here is called KafkaPool."]),
    )
    answer = await _ask(house, "Where is KafkaPool rebalanced?")
    assert len(model.requests) == 3
    assert answer.grounding is Grounding.UNGROUNDED
    assert answer.notice is not None
    assert "Not found in this workspace: `KafkaPool`." in answer.notice


ARGUMENTS = ['{"path": "app/cl', "", "null", "[]", '"x"', '{"path": 5}', "{'path': 'a'}",
             '{"path": "a", "path": "b"}', '{"path": "a",}', '{"first_line": 1}',
             '{"path": "README.md", "lines": true}', '{"path": "README.md", "lines": 1e18}',
             '{"path": "README.md", "lines": -1}', '{"path": "' + "x" * 100_000 + '"}']  # fmt: skip
NAMES = [
    "Bash",
    "Write",
    "_run",
    "__class__",
    "execute",
    "Read\n",
    "read",
    "",
    "x" * 10_000,
    "Rеad",
]


@pytest.mark.promise("read-only")
@pytest.mark.parametrize("call", [("Read", a) for a in ARGUMENTS] + [(n, "{}") for n in NAMES])
async def test_a_call_that_is_wrong_is_explained_to_the_model_once(call: tuple[str, str]) -> None:
    """C36, S40."""
    house, model = _house(Calls([call]), Says([GOOD]))
    answer = await _ask(house)
    assert answer.mode is Mode.COMPANION
    (results,) = [m for m in model.requests[1].messages if isinstance(m, ToolResults)]
    assert results.results[0].is_error
    assert len(results.results[0].text) < 1_000
    assert answer.usage.tool_calls == 0


async def test_a_flood_of_calls_and_a_loop_of_the_same_call_are_bounded() -> None:
    """S40: 500 calls in one reply, the same call repeated, tool calls for ever."""
    flood = Calls([("Read", {"path": "README.md", "first_line": n + 1}) for n in range(500)])
    house, model = _house(flood, *[Calls([("Read", {"path": "README.md"})])] * 7, Says([GOOD]))
    answer = await _ask(house)
    assert answer.stop is StopReason.STEPS
    assert answer.usage.tool_calls <= 17
    assert len(model.requests) == 9


@pytest.mark.parametrize("limit", [None, 8_000])
async def test_a_prompt_that_is_too_long_is_made_smaller_once(limit: int | None) -> None:
    """C32, S42."""
    too_long = Fails(PromptTooLong("prompt is too long", limit_tokens=limit))
    house, model = _house(too_long, Says([GOOD]))
    assert (await _ask(house)).mode is Mode.COMPANION
    house, model = _house(*[too_long] * 5)
    answer = await _ask(house)
    assert answer.mode is Mode.EVIDENCE
    assert len(model.requests) == 2


async def test_a_model_that_turns_out_to_take_no_tools_answers_in_one_go() -> None:
    """C38."""
    house, model = _house(Fails(ModelLacksTools("does not support tools")), Says([GOOD]))
    answer = await _ask(house)
    assert answer.mode is Mode.SINGLE_SHOT
    assert model.requests[1].tools == ()


async def test_a_small_model_phrases_the_evidence_in_a_fixed_shape() -> None:
    small = Abilities("tiny", context_tokens=8_192, has_tools=False, enforces_schema=True)
    house, model = _house(
        Says(['{"answer": "`RETRY_LIMIT` is 3 (app/config.py:3)."}']), abilities=small
    )
    answer = await _ask(house)
    assert (answer.mode, answer.text) == (Mode.SINGLE_SHOT, GOOD)
    assert model.requests[0].reply_schema is not None


@pytest.mark.promise("spend-capped")
async def test_at_a_cap_the_evidence_answers_and_no_call_is_made() -> None:
    """C31: never exceeded by more than one call."""
    model = Scripted(lambda _request: Says([GOOD], usage=ModelUsage(6_000, 0, 0, 10)))
    house = app_house()
    house.model, house.caps = model, Caps(tokens_an_hour=10_000)
    async with house.hub() as hub:
        asked = [a_question(f"Where is RETRY_LIMIT set, try {n}?") for n in range(20)]
        answers = [(await hub.ask("/app", one, progress=silent))[1] for one in asked]
    assert len(model.requests) == 2
    assert [a.mode for a in answers[:3]] == [Mode.COMPANION, Mode.COMPANION, Mode.EVIDENCE]
    assert "cap of 10000 tokens" in (answers[-1].notice or "")


@pytest.mark.promise("nothing-lost")
async def test_of_many_callers_at_once_every_answer_is_kept() -> None:
    model = Scripted(lambda _request: Says([GOOD], pause_s=0.05))
    house = app_house()
    house.model = model
    async with house.hub() as hub:
        async with anyio.create_task_group() as tasks:
            for n in range(16):
                asked = a_question(f"Where is RETRY_LIMIT set, caller {n}?")
                tasks.start_soon(partial(hub.ask, "/app", asked, progress=silent))
        _, kept = await hub.answers("/app")
    assert [k.answer.mode for k in kept] == [Mode.COMPANION] * 16


@pytest.mark.promise("nothing-lost", "never-falsely-fresh")
async def test_a_change_and_a_deletion_during_a_question_are_seen_by_the_next() -> None:
    house = app_house()

    def rule(request: ModelRequest) -> Turn:
        if len(model.requests) == 1:
            return Calls([("Read", {"path": "app/config.py"}), ("Read", {"path": "README.md"})])
        if len(model.requests) == 2:
            house.sandbox.put("app/config.py", b"RETRY_LIMIT = 7\n")
            house.sandbox.remove("README.md")
            return Says(["`RETRY_LIMIT` is 3 (app/config.py:3)."])
        return Says(["`RETRY_LIMIT` is 7 (app/config.py:1)."])

    house.model = model = Scripted(rule)
    async with house.hub() as hub:
        _, first = await hub.ask("/app", a_question(), progress=silent)
        assert "RETRY_LIMIT` is 3" not in first.text  # it changed under the answer
        _, second = await hub.ask("/app", a_question(), progress=silent)
    assert second.text == "`RETRY_LIMIT` is 7 (app/config.py:1)."
    opening = _texts(model.requests[2])
    assert "Fetches pages." not in opening
    assert "1|RETRY_LIMIT = 7" in opening


class Unlisted(InMemorySandbox):
    """Has files to read and none to index, which would take a thread that no clock waits for."""

    async def list(self) -> Listing:
        return Listing(())


virtual_time = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)


@virtual_time
@pytest.mark.promise("deadline-kept", "always-something-true")
@pytest.mark.parametrize("timeout_s", [5, 60, 1800])
@pytest.mark.parametrize(
    "turn",
    [
        Stalls(),
        Stalls("Some text that goes on for a while. " * 20),
        # Short enough to be checked without a thread, for which no clock waits.
        Says(["."] * 100_000, pause_s=0.5),
        Calls([("Glob", {"pattern": "**"})]),
    ],
    ids=["silent", "half", "drip", "loop"],
)
async def test_a_model_that_does_not_come_to_an_end_costs_no_more_than_the_deadline(
    turn: Turn, timeout_s: float
) -> None:
    house = SlowHouse({"/app": Unlisted(APP)})
    house.model = Scripted(lambda _request: turn)
    async with house.hub() as hub:
        started = anyio.current_time()
        _, answer = await hub.ask("/app", a_question(timeout_s=timeout_s), progress=silent)
        assert anyio.current_time() - started <= timeout_s + 2
    assert answer.text


@virtual_time
async def test_serial_questions_wait_their_turn_and_the_last_gets_evidence_in_time() -> None:
    house = SlowHouse({"/app": Unlisted(APP)}, at_once=1)
    house.model = Scripted(lambda _request: Says([GOOD], pause_s=20))
    modes: list[Mode] = []
    async with house.hub() as hub:

        async def one(n: int) -> None:
            started = anyio.current_time()
            asked = a_question(f"Where is RETRY_LIMIT set, caller {n}?", timeout_s=50)
            _, answer = await hub.ask("/app", asked, progress=silent)
            assert anyio.current_time() - started <= 52
            modes.append(answer.mode)

        async with anyio.create_task_group() as tasks:
            for n in range(4):
                tasks.start_soon(one, n)
    assert sorted(modes) == [Mode.COMPANION, Mode.COMPANION, Mode.EVIDENCE, Mode.EVIDENCE]


async def test_what_asks_nothing_is_told_how_to_ask_and_costs_no_call() -> None:
    house, model = _house(Says([GOOD]))
    async with house.hub() as hub:
        for text in ("hi", "x", "?"):
            _, answer = await hub.ask("/app", a_question(text), progress=silent)
            assert (answer.mode, answer.grounding) == (Mode.EVIDENCE, Grounding.UNGROUNDED)
            assert "Ask in a sentence" in answer.text
            assert not answer.citations
        stats = await hub.stats("/app")
    assert not model.requests
    assert stats.questions == 0


async def test_a_tool_that_a_model_makes_up_is_told_of_as_text() -> None:
    """F6 of security-2: who watches the progress is a terminal."""
    house, _ = _house(Calls([("\x1b]0;x\x07\u202e\n" + "x" * 500, {})] * 20), Says([GOOD]))
    told: list[str] = []

    async def progress(message: str, *, done: int = 0, total: int = 0) -> None:
        told.append(message)

    async with house.hub() as hub:
        await hub.ask("/app", a_question(), progress=progress)
    assert any(each.startswith("reading: ") for each in told)
    assert all(len(each) < 400 and each.replace("\ufffd", "").isprintable() for each in told)
