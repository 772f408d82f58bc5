"""Predictions are compared with measurements; what the table says is what the numbers say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from benchmarks import model, model_report
from benchmarks.cases import Case
from benchmarks.model_plot import draw
from morello.compiler import compile_spec
from morello.definitions import Definitions
from morello.memo.memo import Memo

TINY = Case(3, 5, 4)


def _record(case: str, volume: int, *programs: tuple[int | None, float, float]) -> dict[str, Any]:
    """Programs by place, prediction and cycles; both halves of the turns agree."""
    return {
        "case": case,
        "volume": volume,
        "programs": [
            {"place": place, "predicted": predicted, "cycles": cycles, "halves": [cycles, cycles]}
            for place, predicted, cycles in programs
        ],
    }


ORDERED = _record("2x2x2", 8, (1, 10, 20), (2, 11, 22), (None, 30, 45), (None, 40, 50))
REVERSED = _record("4x4x4", 64, (1, 100, 330), (None, 110, 300), (None, 120, 240))

WRONG = _record("2x2x2", 8, (1, 10, 33), (2, 11, 30), (None, 12, 20))


def test_ranks_are_compared_within_a_product_and_over_all() -> None:
    """The larger one is dearer by far; that alone ranks most pairs right."""
    assert model_report.spearman([ORDERED]) == pytest.approx(1)
    assert model_report.spearman([REVERSED]) == pytest.approx(-1)
    assert model_report.spearman([ORDERED, REVERSED]) == pytest.approx(1 - 6 * 8 / (7 * 48))


def test_by_multiplication_a_product_is_not_dear_for_being_large() -> None:
    """Predicted 1.25 to 5 and 1.56 to 1.875; measured 2.5 to 6.25 and 5.16 to 3.75."""
    ranks = [(1, 1), (2, 2), (6, 6), (7, 7), (3, 5), (4, 4), (5, 3)]
    squares = sum((one - other) ** 2 for one, other in ranks)
    expected = 1 - 6 * squares / (7 * 48)
    assert model_report.spearman_by_volume([ORDERED, REVERSED]) == pytest.approx(expected)


def test_regret_is_of_the_first_choice() -> None:
    """Against the others that were best by prediction, and against all."""
    assert model_report.regret(ORDERED) == 0
    assert model_report.regret(REVERSED) == 0
    assert model_report.regret(WRONG) == pytest.approx(0.1)
    assert model_report.regret(REVERSED, among_all=True) == pytest.approx(0.375)


def test_a_measurement_that_contradicts_itself_ranks_nothing() -> None:
    """Whichever half one believes; nor does one of a single program, or of none."""
    record = _record("2x2x2", 8, (1, 1, 1), (2, 2, 2))
    record["programs"][0]["halves"] = [5, 6]
    record["programs"][1]["halves"] = [6, 5]
    assert model_report.repeatable(record) == pytest.approx(-1)
    assert model_report.repeatable(ORDERED) == pytest.approx(1)
    assert model_report.spearman([_record("2x2x2", 8, (1, 1, 1))]) == 0
    assert model_report.spearman([]) == 0


def test_the_table_has_a_row_for_each_product_and_the_medians() -> None:
    lines = model_report.table({"cases": [ORDERED, REVERSED]}).splitlines()
    assert lines[2] == "| 2 x 2 x 2 | 4 | 1.00 | 1.00 | 1.00 | 1.75 | 2.50 | 0.0% | 0.0% |"
    assert lines[-1] == "| median |  | 0.00 | 0.00 | 1.00 | 2.24 | 1.94 | 0.0% | 18.8% |"
    assert {line.count("|") for line in lines} == {len(model_report.HEAD) + 1}
    assert "Over all 7 programs" in model_report.summary({"cases": [ORDERED, REVERSED]})


@pytest.mark.slow
def test_programs_differ_and_are_always_the_same(definitions: Definitions) -> None:
    """The best first; none is there twice, and none is wrong."""
    options = model.Options("x86.scalar", best=3, programs=7)
    found, again = (model.entrants(TINY, definitions, options) for _ in range(2))
    sources = [entrant.kernel.source for entrant in found]
    assert len(set(sources)) == len(sources) == 7
    assert sources == [entrant.kernel.source for entrant in again]
    assert [1, 2, 3, None, None, None, None] == [entrant.place for entrant in found]
    least = min(entrant.kernel.cost for entrant in found)
    assert found[0].kernel.cost == pytest.approx(least, rel=1e-12)
    assert max(entrant.kernel.cost for entrant in found) > 1.02 * found[2].kernel.cost
    for entrant in found:
        entrant.kernel.verify()


@pytest.mark.slow
def test_the_best_are_those_that_are_measured(definitions: Definitions) -> None:
    """By ``morello compile --measure``."""
    options = model.Options("x86.scalar", best=3, programs=3)
    found = model.entrants(TINY, definitions, options)
    spec = model.SPEC.format(m=TINY.m, k=TINY.k, n=TINY.n)
    kernel = compile_spec(spec, target="x86.scalar", memo=Memo(), measure=3)
    expected = [m.predicted_cycles for m in kernel.measurements]
    assert expected == [entrant.kernel.cost for entrant in found]


@pytest.mark.slow
def test_the_command_writes_a_table_and_a_record(tmp_path: Path) -> None:
    """And a picture can be made of it, with a panel for each product."""
    output, picture = tmp_path / "model.json", tmp_path / "model.svg"
    arguments = ["--target", "x86.scalar", "--best", "2", "--programs", "4", "--rounds", "2"]
    arguments += ["--sizes", "3x5x4,2", "--json", str(output)]
    done = CliRunner().invoke(model.main, arguments)
    assert done.exit_code == 0, done.output
    document = json.loads(output.read_text())
    assert ["3x5x4", "2x2x2"] == [record["case"] for record in document["cases"]]
    for record in document["cases"]:
        for program in record["programs"]:
            low, high = program["quartiles"]
            assert 0 < low <= program["cycles"] <= high
    assert "| 3 x 5 x 4 |" in done.output
    draw(document, picture)
    texts = [e.text for e in ElementTree.parse(picture).iter() if e.tag.endswith("}text")]
    assert {"3 x 5 x 4", "2 x 2 x 2"} <= set(texts)


def test_an_unknown_target_is_named() -> None:
    done = CliRunner().invoke(model.main, ["--target", "x86", "--sizes", "2"])
    assert done.exit_code == 1
    assert "there is no target 'x86'" in done.output
