"""Commands on a spec with several outputs, for each of which there is a search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SPEC = """target x86.scalar

spec two(N = 6) {
  input  x: f32[N]
  output y: f32[N]
  output s: s32[N]
  y = relu(x)
  s = copy(y)
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "two.mspec"
    path.write_text(SPEC)
    return path


def test_all_trees_are_explained(run: Run, spec: Path) -> None:
    """Any line may be asked about; the first is the first computation's goal."""
    text = run("explain", spec).stdout
    assert "line 1: relu(" in text
    (second,) = [int(line.split()[0]) for line in text.splitlines() if " s = copy" in line]
    assert f"line {second}: copy(" in run("explain", spec, "--why", str(second)).stdout
    document = json.loads(run("explain", spec, "--why", str(second), "--json").stdout)
    assert document["why"].startswith("copy(")
    plan = document["plan"]
    assert [child["computes"] for child in plan["children"]] == ["y", "s"]
    assert document["cycles"] == plan["cycles"]
    assert sum(cost["cycles"] for cost in document["costs"]) == pytest.approx(plan["cycles"])


def test_it_is_written_and_recalled(run: Run, spec: Path) -> None:
    """Searches add up; the memo answers both. The header lists outputs in order."""
    first = json.loads(run("compile", spec, "--memo", "m.sqlite", "--verify", "--json").stdout)
    assert first["verified"]
    assert first["families"] > 0
    again = json.loads(run("compile", spec, "--memo", "m.sqlite", "--json").stdout)
    assert (again["from_memo"], again["cells"], again["cycles"]) == (True, 0, first["cycles"])
    header = Path("two.h").read_text()
    assert header.index(" x  input") < header.index(" y  output") < header.index(" s  output")
    assert " *   y = relu(x)\n *   s = copy(y)\n" in header


def test_operations_are_those_of_all(run: Run, spec: Path) -> None:
    """A copy computes nothing."""
    assert json.loads(run("bench", spec, "--json").stdout)["operations"] == 6


def test_families_of_all_are_listed(run: Run, spec: Path) -> None:
    """Those of the spec itself first, in the order in which it is computed."""
    listed = run("memo", "picture", spec, "--list", "--json").stdout
    families = [row["family"] for row in json.loads(listed)["families"]]
    assert families[0].startswith("relu(")
    assert families[1].startswith("copy(X: f32 in_l2 [0] packing 2, Y: s32 in_l2")
    assert len(set(families)) == len(families)
    drawn = run(
        "memo", "picture", spec, "--family", "2", "-o", "p.svg", "--axes", "i0,l1", "--json"
    )
    assert json.loads(drawn.stdout)["family"] == families[1]
