"""Rounds measure what the last one lets expect to be fast, and compare with the best known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from morello.runtime.autotune import Measurement, Place, Result
from morello.runtime.rounds import Rounds, rounds_of

TIMES = [5.0, 4.0, 3.0, 6.0, 2.0, 7.0, 1.0, 8.0, 9.0, 0.5]
"""Of plans by place: each second one has the text of the one before."""


@dataclass(frozen=True)
class Program:
    """What a contestant has, as far as rounds look."""

    source: str
    place: int


class Held:
    """Contests whose unit of time is another one each time."""

    def __init__(self) -> None:
        self.held: list[list[int]] = []

    def __call__(self, programs: Sequence[Program]) -> Result[str]:
        self.held.append([program.place for program in programs])
        unit = float(len(self.held))
        rows = [
            Measurement(
                number,
                100.0 - program.place,
                11,
                TIMES[program.place] * unit,
                (unit, unit),
                None,
                program.source,
                False,
            )
            for number, program in enumerate(programs, 1)
        ]
        winner = min(range(len(rows)), key=lambda n: rows[n].seconds)
        return Result(winner, tuple(rows), Place(None, None, "cc"), programs[winner].source)


def run(count: int, texts: Sequence[str]) -> tuple[Any, Result[str], Held, list[dict[int, float]]]:
    held, asked = Held(), []

    def order(measured: Mapping[int, float]) -> list[int]:
        asked.append(dict(measured))
        return [place for place in range(len(texts)) if place not in measured]

    rounds: Rounds[Any, str] = Rounds(order, lambda n: Program(texts[n], n), held)
    kernel, result = rounds.run(count)
    return kernel, result, held, asked


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(1, [1]), (2, [2]), (3, [3]), (4, [2, 1, 1]), (8, [4, 2, 2]), (24, [12, 6, 6])],
)
def test_half_is_measured_first(count: int, wanted: list[int]) -> None:
    assert rounds_of(count) == wanted
    assert sum(wanted) == count


def test_the_fastest_is_measured_in_all_rounds() -> None:
    """Its time there is the unit in which all are told; rows are by predicted cost."""
    kernel, result, held, asked = run(8, "abcdefghij")
    assert held.held == [[0, 1, 2, 3], [2, 4, 5], [4, 6, 7]]
    assert kernel.place == 6
    assert result.verification == "g"
    assert asked[1] == {0: 5.0, 1: 4.0, 2: 3.0, 3: 6.0}
    assert asked[2] == pytest.approx({**asked[1], 4: 2.0, 5: 7.0})
    assert [row.description for row in result.measurements] == list("ahgfedcb")
    assert [row.rank for row in result.measurements] == list(range(1, 9))
    assert [row.description for row in result.measurements if row.chosen] == ["g"]
    assert result.winner == 2
    assert result.measurements[2].seconds == pytest.approx(1.0)


def test_programs_are_measured_once_whatever_plans_they_are_of() -> None:
    """What is known of a program is known of all plans that it is of."""
    kernel, result, held, asked = run(8, "aabbccddee")
    assert held.held == [[0, 2, 4, 6], [6, 8]]
    assert kernel.place == 6
    assert asked[1] == {0: 5.0, 1: 5.0, 2: 3.0, 3: 3.0, 4: 2.0, 5: 2.0, 6: 1.0}
    assert len(result.measurements) == 5


def test_there_may_be_fewer_programs_than_are_wanted() -> None:
    kernel, result, held, _ = run(8, "aaaa")
    assert (held.held, kernel.place, len(result.measurements)) == ([[0]], 0, 1)
