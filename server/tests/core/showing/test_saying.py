"""The sentences around the places."""

from dataclasses import replace

from live_memory.core.evidence.grounding import Sufficiency, Support
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.packet import (
    ending,
    leading,
    nothing_found,
    qualified,
    uses_lead,
    way_lead,
)
from live_memory.core.evidence.places import Place, RankedFileText, RankedUnit
from live_memory.core.evidence.uses import CallStep, Use
from live_memory.core.values import ContentHash, RelPath

PLENTY = 10_000
PATH = RelPath("a.py")
PLACE = Place(PATH, 1, 3)
ENOUGH = Support(Sufficiency.ENOUGH, ())


def _opened(name: str, text: str) -> RankedFileText:
    lines, path = text.splitlines(), RelPath(name)
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


SAVE = _opened("a.py", 'def save():\n    """Save it. Then more."""\n    return send()\n')
SEND = _opened("b.py", "def send():\n    return 1\n")


def _lead(name: str, text: str) -> str:
    file = _opened(name, text)
    return leading(Place(file.path, 1, 3), file.outline[0], file)


def test_the_best_place_leads_with_the_first_sentence_of_its_author() -> None:
    assert leading(PLACE, SAVE.outline[0], SAVE) == "Best fit: a.py:1-3 `save`: Save it."


def test_where_its_author_says_nothing_the_place_leads_alone() -> None:
    assert leading(Place(PATH, 7, 7), None, SAVE) == "Best fit: a.py:7."
    assert _lead("b.py", "def send():\n    return 1\n") == "Best fit: b.py:1-3 `send`."
    prose = _lead("a.md", "# Shop\n\nSells. More.\n")
    assert prose == "Best fit: a.md:1-3 `Shop`."


def test_what_is_said_to_a_tool_is_not_said_to_a_reader() -> None:
    assert _lead("a.py", "# pylint: disable=x\ndef f():\n    pass\n").endswith("`f`.")
    assert _lead("a.py", "# Types are told.\ndef f():\n    pass\n").endswith("`f`: Types are told.")


def _use(line: int, *, is_import: bool = False, is_test: bool = False) -> Use:
    return Use(Place(PATH, line, line), None, is_import, is_test)


def test_uses_are_counted_in_code_and_in_tests() -> None:
    uses = [_use(1), _use(2), _use(3, is_test=True)]
    assert uses_lead("f", uses, unopened=0) == ("`f` is used on 2 lines of code and 1 of tests.")
    assert uses_lead("f", uses[:1], unopened=2) == (
        "`f` is used on 1 line of code. 2 more mentions were not opened."
    )


def test_a_name_that_is_only_imported_or_not_used_is_said_to_be_so() -> None:
    assert uses_lead("f", [_use(1, is_import=True)], unopened=0) == (
        "`f` is imported on 1 line and called on none that was read."
    )
    assert uses_lead("f", (), unopened=0) == "No line of code that was looked at uses `f`."


def test_a_way_is_told_call_by_call_and_says_where_it_is_one_of_several() -> None:
    save, send = SAVE.outline[0], SEND.outline[0]
    first = CallStep(Use(Place(PATH, 3, 3), save, is_import=False), send, among=1)
    assert way_lead([first]).splitlines() == [
        "From `save` to `send` in 1 call:",
        "1. `save` (a.py:3) calls `send`",
    ]
    loose = CallStep(Use(Place(PATH, 9, 9), None, is_import=False), save, among=3)
    assert way_lead([loose, first]).splitlines() == [
        "From a.py:9 to `send` in 2 calls:",
        "1. (a.py:9) calls `save` (may be, one of 3)",
        "2. `save` (a.py:3) calls `send`",
    ]


def test_what_is_not_there_is_named_with_the_nearest_and_what_was_looked_for() -> None:
    near = [RankedUnit(Place(PATH, n, n), None, 1.0) for n in range(1, 6)]
    none = Support(Sufficiency.NONE, ("Kafka",), ("Kafka", "topic"), ("Kafka", "topic", "sent"))
    assert nothing_found(none, near).splitlines() == [
        "Not found in this workspace: `Kafka`.",
        "The nearest, and probably something else: a.py:1; a.py:2; a.py:3.",
        "Looked for: Kafka, topic, sent.",
    ]
    elsewhere = Support(Sufficiency.NONE, (), ("topic",))
    assert nothing_found(elsewhere, ()) == "Not found in this workspace."
    assert nothing_found(Support(Sufficiency.NONE, ()), ()) == "Not found in this workspace."


def test_the_end_says_what_the_places_hold() -> None:
    assert ending(1, ENOUGH, (), room=PLENTY) == (
        "1 place checked just now. They hold all telling words of the question."
    )
    thin = Support(Sufficiency.THIN, ("Kafka",), ("Kafka", "topic"))
    assert ending(2, thin, (), room=PLENTY) == (
        "2 places checked just now. Nowhere here: `Kafka`. Not in these places: `topic`."
    )
    only_unknown = Support(Sufficiency.THIN, ("Kafka",), ("Kafka",))
    assert ending(2, only_unknown, (), room=PLENTY) == (
        "2 places checked just now. Nowhere here: `Kafka`."
    )
    # What stands nowhere is in no place either: that is said once.
    apart = replace(only_unknown, is_scattered=True)
    assert ending(2, apart, (), room=PLENTY) == ending(2, only_unknown, (), room=PLENTY)
    scattered = Support(Sufficiency.THIN, (), is_scattered=True)
    assert ending(2, scattered, (), room=PLENTY) == (
        "2 places checked just now. None of them holds all that the question names."
    )


def test_further_places_are_named_as_far_as_there_is_room() -> None:
    further = [
        RankedUnit(Place(PATH, 1, 3), SAVE.outline[0], 1.0),
        RankedUnit(Place(SEND.path, 2, 2), None, 1.0),
    ]
    said = ending(2, ENOUGH, (), room=PLENTY)
    both = ending(2, ENOUGH, further, room=PLENTY)
    assert both == f"See also: a.py:1 `save`; b.py:2\n{said}"
    assert ending(2, ENOUGH, further, room=len(both) - 5) == f"See also: a.py:1 `save`\n{said}"
    assert ending(2, ENOUGH, further, room=len(said)) == said
    many = ending(2, ENOUGH, further * 20, room=PLENTY)
    assert len(many.partition("\n")[0].split("; ")) < 10


def test_a_lead_says_what_speaks_against_it() -> None:
    lead = "Best fit: a.py:1-9 `f`."
    assert qualified(lead, Support(Sufficiency.ENOUGH, ())) == lead
    lacking = Support(Sufficiency.THIN, (), lacking=("session",))
    assert qualified(lead, lacking) == "Closest: a.py:1-9 `f`. It holds nothing of `session`."
    apart = Support(Sufficiency.APART, (), lacking=("session",))
    assert qualified(lead, apart).splitlines() == [
        "Probably not here: no place that was found holds all that is asked for.",
        "The nearest: a.py:1-9 `f`. It holds nothing of `session`.",
    ]
    assert qualified(lead, Support(Sufficiency.APART, ())).endswith("\nThe nearest: a.py:1-9 `f`.")
    vague = Support(Sufficiency.THIN, (), sought=("slow",), is_vague=True)
    assert qualified(lead, vague) == f"{lead} The question names only `slow`: say what it is about."
