"""What the page shows of a document: rows, bars, places of marks."""

from __future__ import annotations

from typing import Any

import pytest

from morello.report.explain import charts, view
from morello.report.explain.page import amount, listed, more, next_best, number


def _node(line: int, runs: int, own: float, *children: dict[str, Any]) -> dict[str, Any]:
    cycles = own + sum(child["cycles"] * child["count"] for child in children)
    return {
        "line": line, "count": runs, "runs": runs, "kind": "rule", "name": f"r{line}",
        "operation": "f", "sizes": {"n": line}, "parameters": {}, "cycles": cycles,
        "own_cycles": own, "total_cycles": cycles * runs, "costs": {"a": own * runs, "b": 0.0},
        "memory": [], "placed": [], "decision": line, "children": list(children),
    }  # fmt: skip


def _document() -> dict[str, Any]:
    """Of 100 cycles: two by line 1, eight by line 2, ten by each of nine runs of line 3."""
    root = _node(1, 1, 2.0, _node(2, 1, 8.0), _node(3, 9, 10.0), _node(4, 0, 5.0))
    decisions = [{"lines": [line]} for line in (1, 2, 3, 4)]
    costs = [{"coefficient": "a"}, {"coefficient": "b"}]
    return {
        "plan": root, "cycles": 100.0, "costs": costs, "decisions": decisions, "left_out": ["x"],
    }  # fmt: skip


def test_rows_are_in_order_with_their_places() -> None:
    rows = view.rows(_document())
    assert [(1, 1, 1, 0), (2, 1, 2, 1), (2, 2, 3, 1), (2, 3, 4, 1)] == [
        (row["level"], row["place"], row["line"], row["parent"]) for row in rows
    ]
    assert [1.0, 0.08, 0.9, 0.0] == [pytest.approx(row["share"]) for row in rows]
    assert [90.0, 8.0, 2.0] == [row["own_cycles"] for row in view.dearest(rows)]


def test_bars_are_as_long_as_shares() -> None:
    """Of a line with all below it; what is nothing has no part."""
    rows = view.rows(_document())
    assert [[{"class": "k0", "share": pytest.approx(1.0)}]] == [rows[0]["segments"]]
    assert [{"class": "k0", "share": pytest.approx(0.9)}] == rows[2]["segments"]
    assert [] == rows[3]["segments"]


def test_long_trees_are_cut_where_they_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a line without the one above it; and what is missing is said."""
    assert ["x"] == view.left_out(_document())
    monkeypatch.setattr(view, "MOST_LINES", 2)
    assert [1, 3] == [row["line"] for row in view.rows(_document())]
    assert "2 of 4 lines" in view.left_out(_document())[1]
    kept = view.decisions(_document(), view.rows(_document()))
    assert [[1], [3]] == [decision["lines"] for decision in kept]


def test_rare_coefficients_share_a_class() -> None:
    names = [f"c{i}" for i in range(12)]
    found = view.classes({"costs": [{"coefficient": name} for name in names]})
    assert [f"k{min(i, 7)}" for i in range(12)] == [found[name] for name in names]


def test_a_letter_stands_where_its_box_is_seen() -> None:
    """The first box is under all others: its letter is in the largest square that is left."""
    assert (0, 0, 3, 3) == charts._seen([(0, 0, 3, 3, 0)])
    assert (2, 0, 2, 2) == charts._seen([(0, 0, 4, 2, 0), (0, 0, 2, 2, 1)])
    assert (1, 2, 1, 1) == charts._seen([(0, 0, 2, 3, 0), (0, 0, 2, 2, 1), (0, 2, 1, 1, 2)])
    assert 0 == charts._seen([(0, 0, 1, 1, 0), (0, 0, 1, 1, 1)])[2]


def test_letters_go_on_after_z() -> None:
    assert ["A", "Z", "AA", "AB", "AZ", "BA"] == [
        charts._letter(n) for n in (0, 25, 26, 27, 51, 52)
    ]


def _roofline(**changed: Any) -> dict[str, Any]:
    near = {"level": "near", "intensity": 1.0, "bytes_per_cycle": 64.0, "roof": 32.0}
    far = {"level": "far", "intensity": 4.0, "bytes_per_cycle": 4.0, "roof": 16.0}
    found = {"arithmetic": {"roof": 32.0}, "operations_per_cycle": 16.0, "levels": [near, far]}
    return found | changed


def test_the_roofline_is_logarithmic() -> None:
    """Slopes end where bandwidth times intensity is the peak, at the height of the peak."""
    chart = charts.roofline_chart(_roofline())
    assert chart is not None
    places = {tick["text"]: tick["at"] for tick in chart["x"]}
    assert places["8"] - places["4"] == pytest.approx(places["4"] - places["2"], abs=0.2)
    near, far = chart["roofs"]
    assert (places["1/2"], chart["peak"]["y"]) == near["to"]
    assert (places["8"], chart["peak"]["y"]) == far["to"]
    points = {point["level"]: point for point in chart["points"]}
    assert (places["4"], chart["done"]) == (points["far"]["x"], points["far"]["y"])
    assert points["far"]["roof"] == chart["done"]
    for roof in chart["roofs"]:
        assert all(charts.LEFT <= x <= charts.WIDTH for x, _ in (roof["from"], roof["to"]))


@pytest.mark.parametrize(
    "changed",
    [{"arithmetic": {"roof": None}}, {"operations_per_cycle": 0.0}, {"levels": []}],
    ids=["no roof", "no operations", "no levels"],
)
def test_without_arithmetic_there_is_no_roofline(changed: dict[str, Any]) -> None:
    assert charts.roofline_chart(_roofline(**changed)) is None


def test_numbers_are_short() -> None:
    assert ["-", "12", "0.1234", "12,345,679", "1,000", "99.5"] == [
        number(v) for v in (None, 12.0, 0.123412, 12345678.9, 1000.2, 99.5)
    ]
    assert ["same", "+<0.1%", "+3.8%", "12 times"] == [more(r) for r in (1, 1.0004, 1.038, 12.3)]
    assert ["0", "63 bytes", "2 KiB", "1.5 MiB", "7 vectors"] == [
        amount(0, "bytes"), amount(63, "bytes"), amount(2048, "bytes"), amount(3 << 19, "bytes"),
        amount(7, "vectors"),
    ]  # fmt: skip
    assert "1, 2 and 2 more" == listed([1, 2, 3, 4], 2)


@pytest.mark.parametrize(
    ("equal", "ratio", "text"),
    [(0, None, "none"), (2, None, "2 equal"), (0, 1.05, "+5.0%"), (1, 1.05, "+5.0%, 1 equal")],
)
def test_the_next_best_is_told_with_those_that_are_equal(
    equal: int, ratio: float | None, text: str
) -> None:
    assert text == next_best({"equal": equal, "next_ratio": ratio})
