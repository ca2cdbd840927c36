"""The suite `soak`: it loads a server in every way it says, and tells a leak from a plateau."""

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.harness import part, run

LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@LINUX
@pytest.mark.real("git")
def test_a_dry_run_does_every_act_and_none_fails(tmp_path: Path) -> None:
    """With a real server, a scripted model, compactions, reloads and clients that vanish."""
    done = run("soak", "--dry-run", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "soak.json").read_text())
    assert found["figures"]["failed"] == []
    bars = {bar["figure"]: bar["measured"] for bar in found["bars"]}
    assert [figure for figure, value in bars.items() if value is None] == []
    assert bars["compactions since workspaces were last cleared"] >= 1
    (acts,) = (table["rows"] for table in found["tables"] if table["title"] == "What was done")
    assert {"asks", "asks in a session", "edits", "reads", "visits"} <= {act for act, _ in acts}
    assert found["rows"][-1]["at_s"] > found["rows"][0]["at_s"]
    for name in ("memory", "counts"):
        assert ET.fromstring((tmp_path / f"soak-{name}.svg").read_text()).tag.endswith("svg")
    assert str(tmp_path) not in (tmp_path / "soak.json").read_text()


def samples_of(values: list[float]) -> list[object]:
    """A sample for each value of memory; all else stays."""
    module = part("soak.samples")
    return [module.Sample(float(n), value, 30, 8, 0, 1.0) for n, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "is_flat"),
    [
        ([50, 60, 70, 100, 100, 100, 100, 100, 100], True),  # warming up is no leak
        ([90, 90, 90, 100, 100, 100, 109, 109, 109], True),
        ([90, 90, 90, 100, 100, 100, 111, 111, 111], False),
        ([900, 900, 900, 1_000, 1_000, 1_000, 1_017, 1_017, 1_017], False),  # 16 MB is the most
        ([100, 100, 100, 100, 100, 100, 100, 100, 900], True),  # a peak is no leak either
    ],
)
def test_memory_is_flat_where_the_last_third_is_as_the_middle_one(
    values: list[float], is_flat: bool
) -> None:
    memory, *others = part("soak.samples").bars(samples_of(values))
    assert memory.is_met is is_flat
    assert all(bar.is_met for bar in others)


def test_a_count_may_change_by_a_few_and_not_grow() -> None:
    module = part("soak.samples")

    def grown(counts: tuple[int, int, int]) -> list[object]:
        return [module.Sample(float(n), 100.0, counts[n // 3], 8, 0, 1.0) for n in range(9)]

    assert module.bars(grown((10, 20, 22)))[1].is_met is True
    assert module.bars(grown((10, 20, 23)))[1].is_met is False
    assert module.bars([])[1].is_met is None


@LINUX
def test_a_sample_counts_what_the_kernel_counts(tmp_path: Path) -> None:
    module = part("soak.samples")
    (tmp_path / "file").write_bytes(b"x" * 2**20)
    before = module.sample(os.getpid(), tmp_path, since=0.0)
    with (tmp_path / "file").open(), subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        after = module.sample(os.getpid(), tmp_path, since=0.0)
        child.communicate()
    assert after.descriptors >= before.descriptors + 2
    assert after.children == before.children + 1
    assert before.data_mb == 1.0
    assert before.resident_mb > 1


def test_a_curve_has_a_line_for_each_series_and_keeps_its_peak() -> None:
    curves = part("curves")
    flat = tuple((float(n), 10.0 if n != 500 else 99.0) for n in range(1_000))
    svg = curves.trace(
        curves.Curve("x", "Of <all>", "minutes", (("a", flat), ("b", ((0.0, 1.0),))))
    )
    lines = [one for one in ET.fromstring(svg).iter() if one.tag.endswith("polyline")]
    points = [pair.split(",") for pair in lines[0].attrib["points"].split()]
    heights = sorted({float(y) for _, y in points})
    assert len(lines) == 2
    assert len(points) <= 320
    assert len(heights) == 2
    assert heights[0] < heights[1]  # the peak stands above the rest
