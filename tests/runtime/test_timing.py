"""The structure of timings; never how long something takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from morello.errors import UsageError
from morello.runtime import timing
from morello.runtime.timing import Timing, contender, repeated, time_alternately, time_functions
from morello.toolchain.compilers import Compiler
from tests.runtime.functions import build_add


@pytest.mark.parametrize("driver", [True, False])
def test_a_function_is_timed(compiler: Compiler, tmp_path: Path, driver: bool) -> None:
    add = build_add(compiler, tmp_path, driver=driver)
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    result = time_functions({"it": add}, [x, x, y], repeats=5, warmup=1, min_seconds=1e-4)["it"]
    assert np.array_equal(2 * x, y)
    assert len(result.runs) == 5
    assert result.batch > 1
    lower, upper = result.quartiles
    assert 0 < min(result.runs) <= lower <= result.median <= upper <= max(result.runs)
    assert isinstance(contender(add, [x, x, y]), type(repeated(list))) != driver


class Clock:
    """A clock that work moves on."""

    def __init__(self) -> None:
        self.now = 0
        self.log: list[tuple[str, int]] = []

    def perf_counter_ns(self) -> int:
        return self.now

    def work(self, name: str, nanoseconds: int) -> timing.Contender:
        def run(count: int) -> None:
            self.log.append((name, count))
            self.now += count * nanoseconds

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing, "time", made)
    return made


def test_batches_are_long_enough_and_divided_out(clock: Clock) -> None:
    contenders = {"quick": clock.work("quick", 50), "slow": clock.work("slow", 5_000_000)}
    result = time_alternately(contenders, repeats=4, warmup=0, min_seconds=0.002)
    assert result["slow"] == Timing((0.005,) * 4, 1)
    assert result["quick"].median == pytest.approx(50e-9)
    assert 40_000 <= result["quick"].batch <= 400_000


def test_contenders_take_turns_in_another_order_each_round(clock: Clock) -> None:
    """Each is in every round, and follows each of the others now and then."""
    contenders = {name: clock.work(name, 10_000_000) for name in "abc"}
    time_alternately(contenders, repeats=11, warmup=1)
    names = "".join(name for name, _ in clock.log[3:])
    rounds = [names[i : i + 3] for i in range(0, len(names), 3)]
    assert len(rounds) == 12
    assert {"abc"} == {"".join(sorted(one)) for one in rounds}
    assert {"ab", "ac", "ba", "bc", "ca", "cb"} == {one[:2] for one in rounds}


def test_warmup_does_not_count(clock: Clock) -> None:
    calls = iter([9_000_000, 9_000_000, 9_000_000, 4_000_000, 2_000_000])

    def run(count: int) -> None:
        clock.now += next(calls)

    result = time_alternately({"x": run}, repeats=2, warmup=2)["x"]
    assert result.runs == pytest.approx((0.004, 0.002))


def test_what_goes_before_a_batch_is_not_timed(clock: Clock) -> None:
    """It is told who comes, and takes as long as it likes; the first batch finds the size."""
    told: list[str] = []

    def before(name: str) -> None:
        told.append(name)
        clock.now += 70_000_000

    result = time_alternately({"x": clock.work("x", 5_000_000)}, repeats=3, warmup=1, before=before)
    assert (["x"] * 5, (0.005,) * 3) == (told, result["x"].runs)


def test_a_python_call_is_repeated() -> None:
    calls: list[int] = []
    repeated(lambda: calls.append(1))(7)
    assert len(calls) == 7


def test_statistics() -> None:
    assert Timing((3.0, 1.0, 2.0, 5.0, 4.0), 1).median == 3.0
    assert Timing((3.0, 1.0, 2.0, 5.0, 4.0), 1).low == pytest.approx(1.4)
    assert Timing((3.0,), 1).low == 3.0
    assert Timing((3.0, 1.0, 2.0, 5.0, 4.0), 1).quartiles == (2.0, 4.0)
    assert Timing((3.0,), 1).quartiles == (3.0, 3.0)


def test_no_contenders_and_no_repeats() -> None:
    assert time_alternately({}) == {}
    with pytest.raises(UsageError, match="cannot time 0 batches"):
        time_alternately({}, repeats=0)
