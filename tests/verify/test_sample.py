"""Large programs: a sample is compared, faults are met, and everything is at least written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.checking.specs import check_spec
from morello.definitions import load_definitions
from morello.errors import MorelloError
from morello.ir.goal import Goal
from morello.ir.numeric import Array
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.reference.bounded import Bounded
from morello.reference.compare import MismatchError
from morello.reference.goals import goal_reference
from morello.reference.inputs import KINDS, make_all
from morello.reference.partial import PartialGoal, Selection, taken
from morello.reference.steps import Steps
from morello.runtime.signature import ArgumentInfo, Signature
from morello.verify.program import VerificationReport, verify_function
from morello.verify.sample import MOST_WORK, Sample, sample_of

SPECS = {
    "product": """spec s() { input a: f32[24, 40] input b: f32[40, 56] output c: f32[24, 56]
      c = matmul(a, b) }""",
    "attention": """spec s() { input q: f32[20, 8] input k: f32[8, 30] input v: f32[30, 8]
      output o: f32[20, 8]  o = matmul(softmax(scale(matmul(q, k), factor = 0.125)), v) }""",
    "windows": """spec s() { input x: f32[1, 12, 11, 4] weight w: f32[3, 3, 4, 6]
      output y: f32[1, 10, 9, 6]  y = relu(conv2d_nhwc(x, w, stride = 1, dilation = 1)) }""",
    "frame": """spec s() { input x: f32[1, 6, 7, 4] output y: f32[1, 8, 9, 4]
      y = relu(pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = 0)) }""",
    "two readers": """spec s() { input x: f32[16, 20] output y: f32[16, 20] output m: f32[16]
      m = row_mean(x)
      y = relu(scale_rows(x, m)) }""",
    "parts": """spec s() { input x: f32[12, 9] input w: f32[9, 7] local h: f32[12, 11]
      output y: f32[2, 4, 11] output z: f32[11]
      h[i, j + 4] += x[i, k] * w[k, j]  h[i, j + 1] = x[i, 3 * j]  h[i, 0] max= x[i, j]
      y[1, i, j] += h[i + r, j] * w[r, 0]  y[0, i, j] = h[3 * i, j]  z[j] += h[i, j] }""",
    "joined": """spec s() { input x: f32[4, 5, 9] weight w: f32[7, 9] output y: f32[4, 5, 7]
      output z: f32[3, 5, 7] y[a, b, n] += x[a, b, k] * w[n, k]
      h[a, b, k] = x[a + 1, b, k]  z[a, b, n] += h[a, b, k] * w[n, k] }""",
    "lookups": """spec s() { input i: s32[12] input x: f32[9, 8] input w: f32[8, 7]
      output y: f32[12, 7]  h[t, k] = x[i[t], k]  y[t, n] += h[t, k] * w[k, n] }""",
    "positions": """spec s() { input x: f32[12, 12] output y: f32[12, 12] output m: f32[12]
      y[i, j] = x[i, j] if j <= i else -9  m[i] += i * x[i, j] }""",
    "integers": """spec s() { input a: s8[9, 33] input b: s8[33, 17] output c: s32[9, 17]
      c = matmul(a, b) }""",
}


def _goal(text: str) -> Goal:
    collector = Collector()
    file = parse_spec(Source("<text>", text))
    goal = check_spec(file, None, {}, load_definitions().operators, collector)
    collector.raise_if_any()
    return goal


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("kind", ["random", "nonfinite"])
def test_some_elements_are_as_of_the_whole(name: str, kind: str) -> None:
    """Values and bounds of selected elements are those that they have among all."""
    goal = _goal(SPECS[name])
    given = _given(goal, kind)
    outputs = goal_reference(goal, given)
    wanted = {t.name: tuple(np.arange(n - 1, -1, -3)[::-1] for n in t.shape) for t in goal.outputs}
    part = PartialGoal.of(Steps.of(goal), wanted)
    found = part.run(given)
    for tensor, right in zip(goal.outputs, outputs, strict=True):
        some, selected = found[tensor.name], _selected(right, part.needed[tensor.name])
        assert some.shape == selected.shape
        errors = [np.broadcast_to(b.error, b.shape) for b in (some, selected)]
        np.testing.assert_allclose(errors[0], errors[1], rtol=1e-6)
        margin = np.where(np.isfinite(errors[1]), errors[1], 0) / 1000
        known = np.isfinite(selected.values)
        assert np.array_equal(known, np.isfinite(some.values))
        off = np.abs(some.values[known] - selected.values[known])
        assert (off <= margin[known]).all()


def _selected(tensor: Bounded, selection: Selection) -> Bounded:
    found = taken(tensor, selection)
    assert isinstance(found, Bounded)
    return found


def _given(goal: Goal, kind: str) -> dict[str, Array]:
    inputs = [t for t in goal.tensors if t.role in ("input", "weight")]
    arrays = make_all(kind, [(t.shape, t.dtype) for t in inputs])
    return {tensor.name: array for tensor, array in zip(inputs, arrays, strict=True)}


# ---------------------------------------------------------------- large programs

ROWS, INNER, COLUMNS = 1500, 1024, 2000

LARGE = f"""spec s() {{ input a: f32[{ROWS}, {INNER}] input b: f32[{INNER}, {COLUMNS}]
  output c: f32[{ROWS}, {COLUMNS}]  c = matmul(a, b) }}"""


class _Product:
    """Stands for a compiled function: a product by numpy, with a fault.

    ``fault`` changes the result, given how often the function has run before.
    """

    def __init__(self, fault: Callable[[Array, int], None]) -> None:
        self._fault = fault
        self._runs = 0

    def results(self, *inputs: Array, out: tuple[Array, ...]) -> tuple[Array, ...]:
        (c,) = out
        with np.errstate(all="ignore"):
            np.matmul(inputs[0], inputs[1], out=c)
        self._fault(c, self._runs)
        self._runs += 1
        return out


def _verify(fault: Callable[[Array, int], None]) -> VerificationReport:
    goal = _goal(LARGE)
    arguments = [ArgumentInfo(t.name, t.role, t.dtype, t.shape, t.layout) for t in goal.tensors]
    function: Any = _Product(fault)
    return verify_function(goal, Signature("s", tuple(arguments)), function)


def test_a_sample_of_what_is_large_is_compared() -> None:
    """The report says of how many elements, and that the rest was only written."""
    report = _verify(lambda c, _: None)
    assert report.total == ROWS * COLUMNS * len(KINDS)
    assert report.sampled
    assert report.total / 100 < report.elements < report.total
    each, every = report.elements // len(KINDS), ROWS * COLUMNS
    assert str(report) == (
        f"{each:,} of {every:,} elements (a sample) equal to the reference, {len(KINDS)} kinds of "
        "inputs; the others were written, the same in two runs, and not compared"
    )


TILES = [
    (slice(0, 4), slice(0, 16)),
    (slice(604, 608), slice(992, 1008)),
    (slice(1499, 1500), slice(1600, 1616)),
    (slice(400, 404), slice(1999, 2000)),
    (slice(1498, 1500), slice(1984, 2000)),
    (slice(700, 706), slice(320, 336)),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("tile", TILES)
def test_a_wrong_tile_of_a_large_program_is_met(tile: tuple[slice, slice]) -> None:
    """Wherever it is, also a remainder of one row or column; the place is that in the output."""

    def fault(c: Array, _: int) -> None:
        c[tile] *= np.float32(1.01)

    with pytest.raises(MismatchError, match=r"^c \(random inputs\)\[") as caught:
        _verify(fault)
    for index, part in zip(caught.value.index, tile, strict=True):
        assert index in range(part.start, part.stop)


def test_an_element_that_is_not_written_is_found() -> None:
    """Any one of all: it holds what was there before."""
    for place in ((3, 5), (777, 1234), (ROWS - 1, COLUMNS - 2)):
        fillings = iter((0xA5, 0x5A))

        def fault(c: Array, _: int) -> None:
            c[place] = np.frombuffer(bytes([next(fillings)] * 4), np.float32)[0]  # noqa: B023

        where = re.escape(str(list(place)))
        message = f"^c{where} is not the same in two runs, or not written \\(1 of {ROWS * COLUMNS}"
        with pytest.raises(MorelloError, match=message):
            _verify(fault)


def test_what_depends_on_earlier_runs_is_found() -> None:
    """As where something is read before it is written."""

    def fault(c: Array, runs: int) -> None:
        c[900, 1001] += np.float32(runs)

    with pytest.raises(MorelloError, match="not the same in two runs"):
        _verify(fault)


def test_the_sample_depends_on_sizes_alone() -> None:
    """It is the same whenever it is drawn, and has no more work than it may have."""
    steps = Steps.of(_goal(LARGE))
    first, second = (sample_of(steps, ["c"], [48, 1488]) for _ in range(2))
    assert [g.needed.keys() for g in first.goals] == [g.needed.keys() for g in second.goals]
    for a, b in zip(first.goals, second.goals, strict=True):
        assert all(
            np.array_equal(x, y)
            for n in a.needed
            for x, y in zip(a.needed[n], b.needed[n], strict=True)
        )
    assert sum(goal.work for goal in first.goals) <= MOST_WORK < steps.work
    rows, columns = first.goals[0].needed["c"]
    assert {0, 47, 48, 1487, 1488, ROWS - 1} <= {*rows.tolist()}
    assert {0, 47, 48, 1487, 1488, COLUMNS - 1} <= {*columns.tolist()}


def test_rows_that_are_normalised_are_sampled_whole() -> None:
    """What is summed over is needed whole; rows are not."""
    text = "spec s() { input x: f32[640, 50000] output y: f32[640, 50000] y = softmax(x) }"
    sample = sample_of(Steps.of(_goal(text)), ["y"])
    (goal,) = sample.goals
    rows, columns = goal.needed["x"]
    assert rows.size < 100
    assert columns.size == 50000


def test_windows_are_sampled_in_blocks() -> None:
    """At both ends and in between, so that little more is read than is needed."""
    text = """spec s() { input x: f32[1, 258, 258, 64] input w: f32[3, 3, 64, 64]
      output y: f32[1, 256, 256, 64]
      y = conv2d_nhwc(x, w, stride = 1, dilation = 1) }"""
    sample = sample_of(Steps.of(_goal(text)), ["y"])
    places = [goal.needed["y"][1] for goal in sample.goals]
    assert sum(goal.work for goal in sample.goals) <= MOST_WORK
    assert (min(p[0] for p in places), max(p[-1] for p in places)) == (0, 255)


def test_what_is_small_is_compared_whole() -> None:
    """Then nothing is left to chance."""
    assert sample_of(Steps.of(_goal(SPECS["product"])), ["c"]) == Sample()
