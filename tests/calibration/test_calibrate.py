"""Programs are drawn, run and fitted."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from morello.calibration.calibrate import calibrate
from morello.calibration.drawing import draw
from morello.calibration.measuring import chain, cycles_of
from morello.checking.specs import check_spec
from morello.compiler import compile_spec
from morello.definitions import Definitions, calibration_specs
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.search.search import Progress
from morello.toolchain.compilers import find_compiler, supports_openmp

SMALL = Source(
    "small.mspec",
    "spec sum_of(N = 500) { input x: f32[N]; input z: f32[N]; output y: f32[N]; y = add(x, z) }\n"
    "spec product(N = 12) { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N];"
    " c = matmul(a, b) }\n",
)
SPECS = [(SMALL, "sum_of"), (SMALL, "product")]


@pytest.mark.slow
def test_programs_differ_and_are_always_the_same(definitions: Definitions) -> None:
    """The specs take turns; counts times coefficients are the predicted cost."""
    target = definitions.targets["x86.scalar"]
    first, again, other = (
        list(islice(draw(definitions, target, SPECS, seed), 4)) for seed in (1, 1, 2)
    )
    sources = [one.kernel.source for one in first]
    assert len(set(sources)) == 4
    assert sources == [one.kernel.source for one in again]
    assert sources != [one.kernel.source for one in other]
    assert {"sum_of", "product"} == {one.name.split(":")[0] for one in first}
    for one in first:
        coefficients = one.kernel.program.target.every_coefficient
        cost = sum(n * coefficients[name].value for name, n in one.counts.items())
        assert cost == pytest.approx(one.kernel.cost)
        one.kernel.verify()


def test_drawing_ends_where_there_is_nothing_new(definitions: Definitions) -> None:
    text = "spec one() { input x: f32[1]; output y: f32[1]; y = relu(x) }"
    target = definitions.targets["x86.scalar"]
    found = list(draw(definitions, target, [(Source("one.mspec", text), "one")], 0))
    assert 1 <= len(found) <= 5


def test_cycles_are_positive_numbers(definitions: Definitions) -> None:
    target = definitions.targets["x86.scalar"]
    one = next(draw(definitions, target, SPECS[1:], 0))
    assert 12**3 / 64 < cycles_of(one.kernel, chain()) < 12**3 * 1000


def test_shipped_specs_are_goals_as_they_stand(definitions: Definitions) -> None:
    """Every parameter has a default."""
    goals = [
        check_spec(tree, spec.name, {}, definitions.operators, Collector())
        for tree in map(parse_spec, calibration_specs(definitions))
        for spec in tree.specs
    ]
    assert len({goal.name for goal in goals}) == len(goals) > 10


@pytest.mark.slow
def test_what_threads_share_is_measured_where_they_have_cores(
    definitions: Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a parallel loop costs is among the coefficients, unless there is one core only."""
    if not supports_openmp(find_compiler()):
        pytest.skip("the C compiler has no OpenMP")
    text = "spec many(N = 9000) threads 2 { input x: f32[N]; output y: f32[N]; y = exp(x) }"
    files = [SMALL, Source("many.mspec", text)]
    target = definitions.targets["x86.scalar"]
    for cores in (2, 1):
        monkeypatch.setattr("morello.calibration.calibrate.available_cores", lambda n=cores: n)
        found = calibrate(definitions, target, files, lambda _: None, programs=3)
        names = {one.name.split(":")[0] for one in found.measured}
        assert ("many" in names) == ("fork_join" in found.profile.coefficients) == (cores == 2)


def test_threads_are_timed_by_the_clock_on_the_wall(
    definitions: Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process used of its processors would count the same time once for each of them."""
    timers = []

    def measured(programs: object, *_: object, timer: object) -> dict[str, tuple[float]]:
        timers.append(timer)
        return {"it": (1.0,)}

    monkeypatch.setattr("morello.calibration.measuring.cycles_by_turns", measured)
    for threads in ("", " threads 2"):
        text = f"spec one(N = 9){threads} {{ input x: f32[N]; output y: f32[N]; y = exp(x) }}"
        kernel = compile_spec(
            Source("one.mspec", text), target="x86.scalar", definitions=definitions
        )
        cycles_of(kernel, lambda _: None)
    assert [time.process_time_ns, time.perf_counter_ns] == timers


def test_a_target_is_fitted(definitions: Definitions) -> None:
    reported: list[Progress] = []
    found = calibrate(
        definitions, definitions.targets["x86.scalar"], [SMALL], reported.append, programs=4
    )
    assert found.profile.programs == 4
    assert len(found.measured) == len(found.errors) == 4
    assert found.profile.coefficients
    assert [4, 4] == [reported[-1].done_cells, reported[-1].total_cells]


def test_what_cannot_be_done_is_said(definitions: Definitions) -> None:
    target = definitions.targets["x86.scalar"]
    with pytest.raises(UsageError, match="cannot fit 1 programs"):
        calibrate(definitions, target, [SMALL], lambda _: None, programs=1)
    with pytest.raises(MorelloError, match="there are no specs to calibrate with"):
        calibrate(definitions, target, [], lambda _: None)
