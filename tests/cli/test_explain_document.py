"""The JSON document of ``morello explain``: its parts agree with each other and with the search."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.table import Table

from morello.cli.explain_text import _TreeLine
from morello.cli.main import main
from tests.cli.conftest import SMALL, Run

FUSED = """target x86.scalar

spec fused(M = 3, K = 4, N = 5) {
  input  x: f32[M, K]
  weight w: f32[K, N]
  output y: f32[M, N]
  output s: f32[M]
  y = relu(matmul(x, w))
  s = row_sum(y)
}
"""

Document = dict[str, Any]


@pytest.fixture(scope="module", params=["product", "fused"])
def document(request: pytest.FixtureRequest, _solved_memo: Path) -> Document:
    """Of one computation, and of two that are fused or share."""
    if request.param == "fused":
        arguments, text = ["--no-memo"], FUSED
    else:
        arguments, text = ["--memo", str(_solved_memo)], SMALL.format(target="x86.scalar")
    result = CliRunner().invoke(main, ["explain", "-", "--json", *arguments], input=text)
    assert (result.exit_code, result.stderr) == (0, "")
    found: Document = json.loads(result.stdout)
    return found


def _paths(node: Document, above: tuple[Document, ...] = ()) -> Iterator[tuple[Document, ...]]:
    """Nodes with those above them, the root first; in program order."""
    path = (*above, node)
    if node["kind"] != "sequence":
        yield path
    for child in node["children"]:
        yield from _paths(child, path if node["kind"] != "sequence" else ())


@pytest.mark.sample(1)
def test_lines_are_numbered_and_runs_multiply(document: Document) -> None:
    paths = list(_paths(document["plan"]))
    assert list(range(1, len(paths) + 1)) == [path[-1]["line"] for path in paths]
    for path in paths:
        assert path[-1]["runs"] == np.prod([node["count"] for node in path])
        assert path[-1]["total_cycles"] == path[-1]["cycles"] * path[-1]["runs"]


def test_costs_of_lines_are_those_of_the_program(document: Document) -> None:
    """By coefficient, and in all."""
    totals: dict[str, float] = {}
    for path in _paths(document["plan"]):
        for name, cycles in path[-1]["costs"].items():
            totals[name] = totals.get(name, 0.0) + cycles
        own = path[-1]["own_cycles"] * path[-1]["runs"]
        assert sum(path[-1]["costs"].values()) == pytest.approx(own)
    expected = {row["coefficient"]: row["cycles"] for row in document["costs"]}
    assert totals == pytest.approx(expected)
    assert sum(totals.values()) == pytest.approx(document["cycles"])
    assert sum(row["share"] for row in document["costs"]) == pytest.approx(1)


def test_memory_is_what_the_lines_above_hold(document: Document) -> None:
    """And never more than there is; the most of it stands in the summary."""
    most: dict[str, int] = {}
    for path in _paths(document["plan"]):
        held: dict[str, int] = {}
        for node in path:
            for placed in node["placed"]:
                held[placed["level"]] = held.get(placed["level"], 0) + (placed["size"] or 0)
        for usage in path[-1]["memory"]:
            assert usage["in_use"] == held.get(usage["level"], 0)
            assert usage["in_use"] <= usage["limit"]
            most[usage["level"]] = max(most.get(usage["level"], 0), usage["in_use"])
    assert most == {usage["level"]: usage["in_use"] for usage in document["memory"]}
    assert max(most.values()) > 0


def test_every_line_has_its_decision(document: Document) -> None:
    nodes = {path[-1]["line"]: path[-1] for path in _paths(document["plan"])}
    told = sorted(line for decision in document["decisions"] for line in decision["lines"])
    assert sorted(nodes) == told
    for number, decision in enumerate(document["decisions"], 1):
        assert number == decision["number"]
        assert decision["runs"] == sum(nodes[line]["runs"] for line in decision["lines"])
        for line in decision["lines"]:
            node = nodes[line]
            assert number == node["decision"]
            assert (node["name"], node["parameters"]) == (decision["step"], decision["parameters"])
            assert decision["cycles"] == pytest.approx(node["cycles"])


def test_alternatives_cost_what_they_would_change(document: Document) -> None:
    """The cheapest first, none cheaper than the choice, none of them told twice."""
    for decision in document["decisions"]:
        cycles = [a["cycles"] for a in decision["alternatives"]]
        assert cycles == sorted(cycles)
        assert all(c >= decision["cycles"] for c in cycles)
        steps = [(a["step"], str(a["parameters"])) for a in decision["alternatives"]]
        assert len(steps) == len({*steps, (decision["step"], str(decision["parameters"]))}) - 1
        for a in decision["alternatives"]:
            more = (a["cycles"] - decision["cycles"]) * decision["runs"]
            assert a["program_cycles"] == pytest.approx(document["cycles"] + more)
            assert a["ratio"] == pytest.approx(a["cycles"] / decision["cycles"])
        dearer = [a["ratio"] for a in decision["alternatives"] if a["ratio"] > 1 + 1e-6]
        assert decision["next_ratio"] == (dearer[0] if dearer else None)
        equal = len(cycles) - len(dearer)
        assert equal <= decision["equal"] <= equal + decision["more_alternatives"]


def test_refusals_have_reasons(document: Document) -> None:
    """Each once; of what applies with some parameters, others may be refused."""
    for decision in document["decisions"]:
        reasons = [refused["reason"] for refused in decision["refused"]]
        assert len(reasons) == len(set(reasons))
        assert all(refused["steps"] for refused in decision["refused"])
    told = [r["reason"] for d in document["decisions"] for r in d["refused"]]
    assert any("are free" in reason for reason in told)  # a limit, with its numbers


def test_boxes_say_what_was_chosen(document: Document) -> None:
    """Painted, rectangles cover the slice; the place of the Spec has the choice of its line."""
    nodes = {path[-1]["line"]: path[-1] for path in _paths(document["plan"])}
    roots = [path[-1]["line"] for path in _paths(document["plan"]) if len(path) == 1]
    assert roots == [boxes["line"] for boxes in document["boxes"][: len(roots)]]
    for boxes in document["boxes"]:
        shape = [len(axis["values"]) for axis in boxes["axes"]]
        cells = np.full(shape, -1)
        for x, y, width, height, choice in boxes["rectangles"]:
            cells[x : x + width, y : y + height] = choice
        counts = np.bincount(cells.ravel(), minlength=len(boxes["choices"]))
        assert counts.tolist() == [choice["cells"] for choice in boxes["choices"]]
        here = boxes["choices"][cells[tuple(boxes["here"])]]
        node = nodes[boxes["line"]]
        assert (node["name"], node["parameters"]) == (here["step"], here["parameters"])


def test_why_has_all_of_one_line(run: Run, small_spec: Path, solved_memo: Path) -> None:
    """What is told of every decision is a part of that."""
    arguments = ("explain", small_spec, "--memo", solved_memo, "--json")
    found = json.loads(run(*arguments, "--why", "5").stdout)
    decision = next(d for d in found["decisions"] if 5 in d["lines"])
    assert found["why"] == decision["spec"]
    told = len(decision["alternatives"]) + decision["more_alternatives"]
    assert len(found["alternatives"]) == told + 1
    assert sum(1 + s["more"] for r in decision["refused"] for s in r["steps"]) == len(
        found["refused"]
    )


def test_folded_lines_stay_beside_their_branches() -> None:
    """A line of the tree that does not fit goes on below itself, and the branches go on too."""
    stream = io.StringIO()
    grid = Table.grid()
    grid.add_row(_TreeLine("│   ├── copy [i0=6 i1=16]: tile_output"))
    grid.add_row(_TreeLine("│   └── copy [i0=6]: vector"))
    Console(file=stream, width=34).print(grid)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        "│   ├── copy [i0=6 i1=16]:",
        "│   │     tile_output",
        "│   └── copy [i0=6]: vector",
    ]
