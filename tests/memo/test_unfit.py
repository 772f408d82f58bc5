"""Pages that are well-formed and say what cannot be: solved anew, and no compile ends for them.

A development version, or a hand, may leave such pages under the right key. What a search would have
written is compared with what it answers from a memo in which every page was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from morello.errors import MorelloError
from morello.memo.memo import Memo
from morello.memo.names import variant_text
from morello.memo.page import ANY, UNSOLVABLE, Choice, Page, page_of
from morello.memo.store import Store
from morello.memo.verify import verify
from morello.records import replace
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.results.reconstruct import reconstruct
from morello.search.results.solution import Solution
from morello.search.search import solve_goal
from tests.memo.files import searched
from tests.memo.tables import Table, collected
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context, with_capacities
from tests.search.solved import one_tree, plan_of, solved

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", copy(3, 5, X=(1, 0))),
    ("tiny.buffered", elementwise("relu", 5, 3)),
)

Change = Callable[[Page, int], Page]
"""A page, and how many of its axes are of sizes, to another one."""


def _rebuilt(page: Page, axes: list[tuple[int, ...]], table: Table) -> Page:
    return page_of(tuple(axes), page.choices, table)


def _axis(page: Page, place: int, axis: tuple[int, ...]) -> Page:
    """With other values along an axis; at new ones is what was at its first."""
    old = page.axes[place]
    axes = [axis if number == place else own for number, own in enumerate(page.axes)]
    ranks = [old.index(n) if n in old else 0 for n in axis]
    return _rebuilt(page, axes, np.take(page.table(), ranks, place))


def _any_size(page: Page, _: int) -> Page:
    return _axis(page, 0, (ANY,))


def _any_level(page: Page, dims: int) -> Page:
    for place in range(dims, len(page.axes)):
        page = _axis(page, place, (ANY,))
    return page


def _every_level(page: Page, dims: int) -> Page:
    for place in range(dims, len(page.axes)):
        page = _axis(page, place, (ANY, 0, 1, 2, 3, 4))
    return page


def _one_axis_less(page: Page, _: int) -> Page:
    return _rebuilt(page, list(page.axes[1:]), page.table()[0])


def _one_axis_more(page: Page, _: int) -> Page:
    return _rebuilt(page, [*page.axes, (0,)], page.table()[..., np.newaxis])


def _far_levels(page: Page, dims: int) -> Page:
    return page if dims == len(page.axes) else _axis(page, dims, (0, 1 << 61))


def _no_sizes(page: Page, _: int) -> Page:
    first = page.axes[0]
    return _rebuilt(page, [tuple(n - max(first) for n in first), *page.axes[1:]], page.table())


def _huge_sizes(page: Page, dims: int) -> Page:
    for place in range(dims):
        page = _axis(page, place, (*page.axes[place], 1 << 40, 1 << 61))
    return page


def _all(*choices: Choice) -> Change:
    """The same choices everywhere, by turns."""

    def change(page: Page, _: int) -> Page:
        table = np.arange(page.cells).reshape(page.shape) % len(choices)
        return page_of(page.axes, choices, table)

    return change


def _unsolvable(page: Page, _: int) -> Page:
    return _rebuilt(page, list(page.axes), np.full(page.shape, UNSOLVABLE))


def _tile(text: str) -> Change:
    """A tile size that there is not."""

    def change(page: Page, _: int) -> Page:
        return replace(page, choices=tuple(replace(c, parameters=swapped(c)) for c in page.choices))

    def swapped(choice: Choice) -> tuple[tuple[str, str], ...]:
        return tuple((n, text if n == "t" else v) for n, v in choice.parameters)

    return change


CHANGES: dict[str, Change] = {
    "a size that is any": _any_size,
    "a level that is any": _any_level,
    "a level that is any and some": _every_level,
    "an axis less": _one_axis_less,
    "an axis more": _one_axis_more,
    "levels that hold too much": _far_levels,
    "sizes that are none": _no_sizes,
    "sizes beyond all": _huge_sizes,
    "unheard of": _all(Choice("unheard_of"), Choice("")),
    "an axis that is none": _all(Choice("tile_output", (("d", "q"), ("t", "2")))),
    "too many parameters": _all(Choice("tile_output", (("d", "m"), ("t", "2"), ("t", "2")))),
    "no parameters": _all(Choice("tile_output")),
    "nothing implements it": _unsolvable,
    "tiles of nothing": _tile("0"),
    "tiles of less": _tile("-2"),
    "tiles of no tile size": _tile("5"),
    "tiles beyond all": _tile("9" * 5000),
    "tiles in other digits": _tile("\u0662"),
}


@contextmanager
def _changed(
    path: Path, name: str, wanted: Wanted, change: Change, *, goal: bool
) -> Iterator[Store]:
    """A store with every page changed; ``goal``: that of the goal, too, or else it is gone."""
    path = path / "memo.sqlite"
    path.write_bytes(searched(name, wanted))
    own = variant_text(wanted.spec(context(name).target).variant)
    levels = len(context(name).target.bounded)
    with Store.open(path, warn=lambda message: None) as store:
        for record in list(store.records()):
            store.delete(record.fingerprint, record.family, record.page.axes)
            if goal or record.family != own:
                page = change(record.page, len(record.page.axes) - levels)
                store.write(record.fingerprint, record.family, page)
    with Store.open(path, warn=lambda message: None) as store:
        yield store


def _never(**_: object) -> Solution:
    raise AssertionError("there was no need to search")


def _program(name: str, wanted: Wanted, store: Store, *, searches: bool = True) -> object:
    known, spec = context(name), wanted.spec(context(name).target)
    found = Memo(store).answers(
        known, spec, (partial(solve_goal, known, spec)) if searches else _never
    )
    return one_tree(reconstruct(found, spec), found).to_json()


@pytest.mark.sample(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "wanted", "goal"),
    [(*CASES[0], True), (*CASES[0], False), (*CASES[1], False)],
    ids=["cached, all", "cached, but the goal", "buffered, but the goal"],
)
def test_a_page_that_says_what_cannot_be_is_solved_anew(
    name: str, wanted: Wanted, change: str, tmp_path: Path, *, goal: bool
) -> None:
    """The same program, once after a search, and then from pages that are right again."""
    expected = one_tree(plan_of(name, wanted), solved(name, wanted)).to_json()
    with _changed(tmp_path, name, wanted, CHANGES[change], goal=goal) as store:
        assert expected == _program(name, wanted, store)
        assert expected == _program(name, wanted, store, searches=False)
    with Store.open(tmp_path / "memo.sqlite", warn=pytest.fail) as store:
        assert expected == _program(name, wanted, store, searches=False)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "wanted", "seed"),
    [
        *((*case, seed) for case in CASES for seed in range(4)),
        *(("tiny.flat", matmul(2, 2, 2), seed) for seed in range(3)),
    ],
)
def test_choices_that_are_shuffled_cost_no_more_than_time(
    name: str, wanted: Wanted, seed: int, tmp_path: Path
) -> None:
    """Some of them apply where they come to be, and are believed: then the program is another."""
    random = Random(seed)

    def shuffle(page: Page, _: int) -> Page:
        table = page.table()
        cells = table.reshape(-1)
        for _ in range(random.choice((1, 3, len(cells)))):
            cells[random.randrange(len(cells))] = random.randrange(-1, len(page.choices))
        return _rebuilt(page, list(page.axes), table)

    known, spec = context(name), wanted.spec(context(name).target)
    with _changed(tmp_path, name, wanted, shuffle, goal=random.random() < 0.5) as store:
        memo = Memo(store)
        found = memo.answers(known, spec, partial(solve_goal, known, spec))
        plan = reconstruct(found, spec)
        assert plan.cycles >= 0.999 * plan_of(name, wanted).cycles
        assert one_tree(plan, found).to_json() == _program(name, wanted, store, searches=False)


@pytest.mark.sample(3)
@pytest.mark.parametrize("change", CHANGES)
def test_verification_says_so_or_has_no_use_for_it(change: str, tmp_path: Path) -> None:
    name, wanted = CASES[0]
    with _changed(tmp_path, name, wanted, CHANGES[change], goal=True) as store:
        found = verify(store, [context(name)], cells=200, seed=0)
    assert found.differences or found.unknown or found.uncheckable


def test_a_page_that_cannot_be_deleted_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, wanted = CASES[0]
    messages, warn = collected()
    with _changed(tmp_path, name, wanted, CHANGES["a level that is any"], goal=True) as store:
        store._warn = warn
        monkeypatch.setattr(store._database, "write", lambda _: False)
        expected = one_tree(plan_of(name, wanted), solved(name, wanted)).to_json()
        assert expected == _program(name, wanted, store)
    assert messages
    assert len(set(messages)) == len(messages)
    assert all("a page of the memo is wrong: " in message for message in messages)


def test_that_nothing_implements_a_goal_is_found_again(tmp_path: Path) -> None:
    """Pages say so, and they are right: the error is that of a search, and they stay."""
    known, wanted = context("tiny.flat"), elementwise("relu", 1)
    few = with_capacities(known.target, {"reg": 1})
    kernels = tuple(kernel for kernel in few.kernels if kernel.name != "element")
    poor, spec = (
        replace(known, target=replace(few, kernels=kernels)),
        wanted.spec(known.target),
    )
    with Store.open(tmp_path / "memo.sqlite", warn=pytest.fail) as store:
        errors = []
        for _ in range(2):
            with pytest.raises(MorelloError) as caught:
                Memo(store).answers(poor, spec, partial(solve_goal, poor, spec))
            errors.append((str(caught.value), len(store.stats())))
        assert errors[0] == errors[1]
        assert store.stats()
    memo = Memo()
    with pytest.raises(NoImplementationError):
        memo.answers(poor, spec, partial(solve_goal, poor, spec))
    assert 0 == memo.solutions
