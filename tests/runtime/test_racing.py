"""Who is given up in a race, and when; time is what a clock of the test says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from morello.runtime.racing import race
from morello.runtime.timing import Contender, Timing

MILLISECOND = 1_000_000


class Course:
    """A clock that contenders move on, each by the times that it is given, by turns."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def contender(self, *milliseconds: float) -> Contender:
        times: Iterator[float] = cycle(milliseconds)

        def run(count: int) -> None:
            for _ in range(count):
                self.now += round(next(times) * MILLISECOND)

        return run


def _race(course: Course, contenders: dict[str, Contender]) -> dict[str, Timing]:
    return race(contenders, clock=course, rounds=(3, 4, 5), warmup=0, min_seconds=0.001)


def test_the_slower_half_is_given_up_after_each_round() -> None:
    """Of eight, four go on, then two; the order is that of those who take part."""
    course = Course()
    found = _race(course, {str(n): course.contender(n) for n in (5, 3, 8, 2, 7, 4, 9, 6)})
    assert list(found) == ["5", "3", "8", "2", "7", "4", "9", "6"]
    runs = {name: len(timing.runs) for name, timing in found.items()}
    assert runs == {"2": 12, "3": 12, "4": 7, "5": 7, "6": 3, "7": 3, "8": 3, "9": 3}


def test_nobody_is_given_up_who_may_be_the_fastest() -> None:
    """Whose quick batches are no slower than the ordinary ones of the best."""
    course = Course()
    unsteady = (2, 2.4, 2.6)
    known = {name: course.contender(*unsteady) for name in "abcd"}
    found = _race(course, {**known, "slow": course.contender(5)})
    assert {12} == {len(found[name].runs) for name in known}
    assert 3 == len(found["slow"].runs)


def test_a_disturbance_does_not_count() -> None:
    """Most batches of the faster one are disturbed, so that its median is the larger."""
    course = Course()
    contenders = {"disturbed": course.contender(9, 2, 2, 9, 9), "steady": course.contender(3)}
    found = _race(course, contenders)
    assert found["disturbed"].median > found["steady"].median
    assert found["disturbed"].low < found["steady"].low
    assert 12 == len(found["disturbed"].runs)


def test_one_alone_has_all_rounds() -> None:
    course = Course()
    assert 12 == len(_race(course, {"it": course.contender(2)})["it"].runs)
    assert {} == _race(course, {})
