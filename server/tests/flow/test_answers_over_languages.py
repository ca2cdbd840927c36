"""What the answer without a model leads with, over programs as several languages write them."""

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.answer import Answer, Question
from live_memory.core.reading.redaction import DEFAULT
from live_memory.core.values import Instant
from live_memory.flow.answer_from_evidence import answer_from_evidence
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.observing import observed


async def _answer(text: str, world: dict[str, str]) -> Answer:
    index = SqliteIndex.in_memory()
    await index.update([observed(*item) for item in world.items()], textless={}, gone=())
    sandbox = InMemorySandbox({name: each.encode() for name, each in world.items()})
    shelf = FileCache(Reader(sandbox, DEFAULT, 256 * 1024))
    return await answer_from_evidence(
        Question(text, Instant(0.0)), desk=QuestionFiles(shelf, index)
    )


def _lead(answer: Answer) -> str:
    return answer.text.split("`")[1]


LONG = [f"    parcel_{n} = weigh(parcel, {n})" for n in range(20)]
TORN = "\n".join(
    [
        "def fee_of(parcel):",
        "    fee = stamp(parcel)",
        "    return fee",
        "",
        "def send_parcel(parcel):",
        "    stamp(parcel, postage)",
        *LONG,
        *LONG,
        "    stamp(parcel, postage)",
        *LONG,
        "    return stamp(parcel, postage)",
        "",
    ]
)


async def test_a_long_definition_leads_before_its_small_neighbour() -> None:
    answer = await _answer("Where does a parcel get its stamp and postage?", {"post.py": TORN})
    assert _lead(answer) == "send_parcel"


HELP = """
impl Flag for Binary {
    fn doc_long(&self) -> &'static str {
        r"
Searching of a binary file stops as soon as a zero byte is seen in it.
By default the binary file is searched until a zero byte is found there.
When this flag is given, searching a binary file goes on after the zero byte.
"
    }
}
"""
STOPS = """
fn is_binary(byte: u8) -> bool {
    // searching stops at a zero byte
    byte == 0
}
"""


async def test_what_does_it_is_shown_whole_beside_the_help_that_tells_of_it() -> None:
    other = "fn go_on(file: File) {\n    search(file, Some(1))\n}\n"
    world = {"src/flags.rs": HELP, "src/search.rs": STOPS, "src/other.rs": other}
    answer = await _answer("When does searching a binary file stop at a zero byte?", world)
    does, aside = answer.text.index("4|    byte == 0"), answer.text.index("search(file, Some(1))")
    assert does < aside
    assert "Searching of a binary file stops" in answer.text


DOC = """
class Reader {
  /**
   * Reads a document.
   *
   * <p>Nothing is thrown if there is {@code trailing} data after the value.
   */
  public Object read(String text) {
    return parse(text);
  }
}
"""


async def test_the_documentation_leads_and_is_shown_whole_above_its_definition() -> None:
    answer = await _answer("What happens on trailing data after the value?", {"Reader.java": DOC})
    first, shown, _ = answer.text.split("\n\n")
    assert first == "Best fit: Reader.java:3-10 `Reader.read`: Reads a document."
    rows = shown.splitlines()
    assert "6| * <p>Nothing is thrown if there is {@code trailing} data after the value." in rows
    assert rows[-3:] == ["8|public Object read(String text) {", "9|  return parse(text);", "10|}"]


USES = {
    "total.h": "int total(int cart);\n",
    "total.c": "int total(int cart) {\n  return cart;\n}\n",
    "pay.c": "int pay(int cart) {\n  check(cart);\n  return total(cart);\n}\n",
    "other.c": "int total_of_all(int cart) {\n  return cart + 1;\n}\n",
    "tests/t.c": "int paid(void) {\n  return total(1);\n}\n",
}


async def test_an_answer_on_uses_shows_the_callers_and_then_the_definition() -> None:
    answer = await _answer("What calls total?", USES)
    first, *shown, _ = answer.text.split("\n\n")
    assert first == "`total` is used on 1 line of code and 1 of tests."
    assert [each.split(":")[0] for each in shown] == ["pay.c", "total.c"]
    assert "2|  check(cart);" in shown[0]
    assert "tests/t.c:1 `paid`" in answer.text.splitlines()[-2]


CONFIG = """
configEnum max_size_enum[] = {
    {"small", 1},
    {"large", 2},
};
standardConfig configs[] = {
    enumConfig("min-age", NULL, min_age_enum),
    enumConfig("max-size", NULL, max_size_enum),
};
"""
SIZES = "int sizes(void) {\n  if (server.max_size == 2) return parse_max(server.max_size);\n}\n"


async def test_a_setting_is_shown_where_it_is_written_out_with_its_values() -> None:
    world = {"src/config.c": CONFIG, "src/sizes.c": SIZES}
    answer = await _answer("Where is max-size parsed and which values does it accept?", world)
    rows = answer.text.splitlines()
    for row in ('3|    {"small", 1},', '8|    enumConfig("max-size", NULL, max_size_enum),'):
        assert row in rows
    assert any("parse_max(server.max_size)" in row for row in rows)


COMMENT = "\n".join(
    [
        "def other(): return 1",
        "",
        "# Parcels are stamped here before the postage is paid, in the order they came.",
        *["# More is said of it."] * 30,
        "def send(each):",
        "    return deliver(each)",
        "",
    ]
)


async def test_a_long_comment_speaks_for_the_definition_below() -> None:
    answer = await _answer("Where are parcels stamped before postage is paid?", {"a.py": COMMENT})
    assert _lead(answer) == "send"
    assert "Parcels are stamped here before the postage is paid" in answer.text.splitlines()[0]
    assert "35|    return deliver(each)" in answer.text


async def test_what_is_brought_in_or_only_named_does_not_lead() -> None:
    world = {
        "src/lib.rs": "mod pattern;\npub use crate::pattern::{\n    pattern_of_flags,\n};\n",
        "src/pattern.rs": "pub fn pattern_of_flags(flags: &Flags) -> Pattern {\n    x(flags)\n}\n",
    }
    answer = await _answer("How is the pattern of the flags made?", world)
    assert _lead(answer) == "pattern_of_flags"


async def test_a_long_comment_on_a_class_is_shown_itself() -> None:
    text = COMMENT.replace("def send(each):", "class Sender:")
    world = {"a.py": f"{text}\n\ndef stamp(parcels):\n    return parcels\n"}
    answer = await _answer("Where are parcels stamped before postage is paid?", world)
    assert "3|# Parcels are stamped here" in answer.text
