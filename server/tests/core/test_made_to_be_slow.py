"""No text that is made for it is slow to read: not by a pattern, nor by what is done around it."""

import ast
import re
from dataclasses import replace

import pytest

from tests.support.pumping import (
    PACKAGE,
    Found,
    every_pattern,
    grows,
    slow_inputs,
    takes_long,
)
from tests.support.reading_made_text import READERS, UNITS

PATTERNS = every_pattern()
# Patterns that see no more characters than this, whatever comes: what calls them says so.
SEEN_AT_MOST = {
    # `statement` refuses what is longer, and everything else is asked of statements alone.
    "core/compaction/fact_wording.py:_IS_ORDERED": 800,
    "core/compaction/fact_wording.py:_IS_REFUSED": 800,
    "core/compaction/fact_wording.py:_GIVEN": 800,
}
# Tables whose patterns are only ever matched where a beginning of theirs was found.
ONLY_MATCHED = frozenset(
    {"core/reading/secret_shapes.py:AFTER", "core/reading/secret_names.py:AFTER"}
)
# Patterns that are made of a name, in the module where they are: all are matched as these are.
MADE_OF_A_NAME = (
    r"(?<![\w$])NAME(?![\w$])",
    r"(?<!\w)NAME(?!\w)",
    r"(?<![\w.])NAME[\"']?(?:\s*:[^=,]{1,40})?\s*[:=]\s*(\w+)(?=\s*(?:[,;)}#]|$))",
    r"(?<![\w$])NAME(?![\w$])(?!\s*(?:=(?!=)|:(?!:)))",
)


@pytest.mark.parametrize("found", PATTERNS, ids=lambda found: found.where)
def test_no_input_takes_a_pattern_more_than_linear_time(found: Found) -> None:
    """By processor time at two sizes, with inputs made from the pattern itself."""
    where = found.where.removeprefix("server/live_memory/")
    at_most = SEEN_AT_MOST.get(where)
    found = replace(found, ways=("match",)) if where in ONLY_MATCHED else found
    if at_most is None:
        assert list(slow_inputs(found)) == []
    else:
        assert not takes_long(found, at_most)


def test_every_pattern_is_found() -> None:
    """Each `re.compile` and each pattern that is written out where it is used is among them."""
    written = {found.where for found in PATTERNS}
    assert len(PATTERNS) > 300
    for folder in (
        "server/live_memory/core",
        "server/live_memory/client",
        "server/live_memory/adapters",
    ):
        assert any(where.startswith(folder) for where in written)
    assert {"finditer", "match", "fullmatch", "search"} == {w for f in PATTERNS for w in f.ways}


def test_a_pattern_that_is_slow_is_seen() -> None:
    """The check itself: kinds of slowness, and a safe form of each."""
    for slow, safe in (
        (r"\d+\.\d+", r"(?<!\d)\d++\.\d+"),
        (r"(?:a|b|ab)*c", r"(?<![ab])[ab]*+c"),
        (r"x\s*\s*$", r"x\s*+$"),
        (r"<[^>]*>", r"<[^<>]*+>"),
        (r"(\w+\.)*\w+\(", r"(?<![\w.])(?:\w++\.)*\w++\("),
    ):
        assert list(slow_inputs(Found("slow", re.compile(slow), ("finditer",))))
        assert not list(slow_inputs(Found("safe", re.compile(safe), ("finditer",))))


@pytest.mark.parametrize("form", MADE_OF_A_NAME)
def test_patterns_that_are_made_of_a_name_are_linear(form: str) -> None:
    for name in ("a", "aaaa", "a.a", "$", "a" * 80):
        made = re.compile(form.replace("NAME", re.escape(name)))
        assert not list(slow_inputs(Found(form, made, ("finditer",))))


def test_patterns_are_made_where_they_are_used_only_of_names() -> None:
    """One of other text is the grep tool's or a glob's, and theirs is matched elsewhere."""
    made = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        for function in ast.walk(ast.parse(source)) if "re.compile" in source else ():
            if isinstance(function, ast.FunctionDef) and "re.compile" in ast.unparse(function):
                made.add(f"{path.relative_to(PACKAGE)}:{function.name}")
    assert made == {
        # Of patterns that are written out at the call: they are module-level ones.
        *("core/evidence/words.py:_says", "core/evidence/file_kinds.py:_path"),
        *("core/evidence/outline.py:_shape", "core/reading/secret_shapes.py:_pattern"),
        "core/reading/secret_names.py:_flag",
        # Of a name.
        *("core/evidence/absence.py:at", "core/checking/claim_check.py:_values_of"),
        *("core/evidence/question.py:flags_first", "core/evidence/uses.py:uses_of"),
        *("flow/find_uses.py:_is_brought_in", "cli/config_edit.py:take"),
        # Of a glob, without backtracking; of an expression, matched in a process that is ended.
        *("core/reading/redaction.py:_segments", "core/reading/redaction.py:_set_expression"),
        *(
            "adapters/workspace/patterns.py:compile_expression",
            "adapters/workspace/patterns.py:_class",
        ),
        "adapters/workspace/matcher.py:matching_lines",
    }


@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_more_than_linear_time_to_be_read(reader: str) -> None:
    """S34, S35: questions, answers, replies, complaints, files, commands of one thing repeated."""
    slow = [unit for unit in UNITS if grows(READERS[reader], unit)]
    assert slow == []
