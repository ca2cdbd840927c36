"""Flags that a question names, and where they are declared."""

import pytest

from live_memory.core.evidence.places import Candidates, Evidence, Place, RankedFileText, RankedUnit
from live_memory.core.evidence.question import flags_first
from live_memory.core.values import ContentHash, RelPath


def _evidence(*files: tuple[str, str]) -> Evidence:
    opened = {
        RelPath(name): RankedFileText(RelPath(name), ContentHash.of(b""), text.splitlines(), ())
        for name, text in files
    }
    units = tuple(
        RankedUnit(Place(path, 1, len(file.lines)), None, 1.0) for path, file in opened.items()
    )
    return Evidence(Candidates(units=units), opened)


def _leads(question: str, *files: tuple[str, str]) -> str:
    return flags_first(question, _evidence(*files)).units[0].place.path.text


USED = ("src/run.py", 'if config.jobs > 1:\n    linter.set_option("jobs", 1)\n    pool(config)\n')
ASKED = "What is the default of --jobs?"


@pytest.mark.parametrize(
    "declared",
    [
        '"jobs",\n{\n    "type": "int",\n    "default": 1,\n},\n',
        'parser.add_argument("-j", "--jobs", default=1, help="Processes.")\n',
        '.option("-j, --jobs <n>", "processes", 1) // default\n',
        'Arg::new("jobs")\n    .long("jobs")\n    .help("Processes")\n',
        'flags.IntVar(&jobs, "jobs", 1, "processes to use") // usage\n',
    ],
)
def test_the_place_that_declares_a_flag_leads(declared: str) -> None:
    assert _leads(ASKED, USED, ("src/options.py", declared)) == "src/options.py"
    assert _leads(ASKED, USED, ("docs/options.md", declared)) == "src/run.py"


def test_a_flag_in_a_sentence_or_part_of_another_is_not_declared() -> None:
    said = ("src/warn.py", "say(\"use the '--jobs' option\")  # help\n")
    longer = ("src/more.py", 'add("--jobs-limit", help="At most.")\n')
    assert _leads(ASKED, USED, said, longer) == "src/run.py"


def test_without_a_flag_what_ranks_stays_first() -> None:
    assert _leads("What is the default of jobs?", USED, ("a.py", '"jobs",  # default')) == USED[0]
