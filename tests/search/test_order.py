"""Results do not depend on the order of rules, kernels and operators, nor on hash seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.records import replace
from morello.rewriting.context import Context
from morello.search import search as search_module
from morello.search.results.reconstruct import candidates, reconstruct
from morello.search.search import search
from morello.search.solving.workers import Work, run_in_order
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import TINY, context
from tests.search.solved import one_tree, plan_of, solved

GOALS = (
    matmul(3, 2, 2, threads=2),
    elementwise("add", 5, 3, Z=(1, 0)),
    copy(3, 5, X=(1, 0)),
)


def _reversed(known: Context) -> Context:
    target = replace(known.target, kernels=known.target.kernels[::-1])
    operators = {name: known.operators[name] for name in reversed(list(known.operators))}
    return Context(target, operators, known.rules[::-1])


def _shuffled(known: Context) -> Context:
    random = Random(0)
    kernels, rules = list(known.target.kernels), list(known.rules)
    random.shuffle(kernels)
    random.shuffle(rules)
    target = replace(known.target, kernels=tuple(kernels))
    return Context(target, known.operators, tuple(rules))


@pytest.mark.sample(5)
@pytest.mark.parametrize("change", [_reversed, _shuffled])
@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize("name", TINY)
def test_order_changes_nothing(
    name: str, goal: Wanted, change: Callable[[Context], Context]
) -> None:
    """The same families, the same boxes, the same values to the last bit, the same plan."""
    known = solved(name, goal)
    other = change(context(name))
    spec = goal.spec(other.target)
    found = search(other, spec)
    assert known.tables.keys() == found.tables.keys()
    for family, table in known.tables.items():
        for expected, actual in zip(
            known.boxes[family].axes, found.boxes[family].axes, strict=True
        ):
            np.testing.assert_array_equal(expected, actual)
        np.testing.assert_array_equal(table, found.tables[family])
    expected_plan = one_tree(plan_of(name, goal), known).to_json()
    assert expected_plan == one_tree(reconstruct(found, spec), found).to_json()


def test_there_are_ties_to_break() -> None:
    """A square has plans of equal cost, or the above shows little."""
    name, goal = "tiny.flat", copy(4, 4)
    solution = solved(name, goal)
    found = sorted(d.intensity for d in candidates(solution, goal.spec(context(name).target)))
    assert found[0] == found[1]


PROGRAM = """
import json, sys
import morello
from morello.memo.memo import Memo
found = []
for text in json.load(sys.stdin):
    kernel = morello.compile(text, memo=Memo())
    found.append([kernel.source, kernel.header, kernel.plan.to_json()])
json.dump(found, sys.stdout)
"""

SPECS = (
    """target x86.scalar
    spec product() threads 2 {
      input  a: f32[3, 1]
      input  b: f32[1, 4] layout (1, 0)
      output c: f32[3, 4]
      c = matmul(a, b)
    }""",
    """target x86.avx512
    spec positive() {
      input  x: f32[37]
      output y: f32[37]
      y = relu(x)
    }""",
)


@pytest.mark.slow
def test_hash_seeds_change_nothing(project: Path) -> None:
    """Other processes with other seeds write the same C, byte for byte."""
    found = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(SPECS),
            cwd=project,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    ]
    assert len(SPECS) == len(json.loads(found[0]))
    assert found[0] == found[1] == found[2]


def test_the_number_of_workers_does_not_matter() -> None:
    """Nor which thread solves what."""
    wanted = matmul(5, 4, 3)
    known = context("tiny.cached")
    spec = wanted.spec(known.target)
    alone, together = (search(known, spec, workers=count) for count in (1, 4))
    for family, expected in alone.solved.items():
        np.testing.assert_array_equal(expected.costs, together.solved[family].costs)
        np.testing.assert_array_equal(expected.choices, together.solved[family].choices)


@pytest.mark.parametrize(("worth", "expected"), [(0, [3]), (1 << 60, [1])])
def test_large_searches_take_a_thread_for_each_core(
    worth: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others take this one alone."""
    seen: list[int] = []

    def run(waits: Sequence[Set[int]], work: Work, finished: Work, workers: int) -> None:
        seen.append(workers)
        run_in_order(waits, work, finished, 1)

    monkeypatch.setattr(search_module, "available_cores", lambda: 3)
    monkeypatch.setattr(search_module, "WORTH_WORKERS", worth)
    monkeypatch.setattr(search_module, "run_in_order", run)
    known = context("tiny.flat")
    search(known, elementwise("relu", 2).spec(known.target))
    assert expected == seen
