"""A second process answers from the file: the same plans, without a search, or with less of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from morello.ir.spec import Spec, Variant
from morello.memo.memo import Memo
from morello.memo.names import variant_text
from morello.memo.page import Choice, page_of
from morello.memo.pages import Pages
from morello.memo.recall import Recalled
from morello.memo.store import Store
from morello.records import replace
from morello.report.alternatives import Why
from morello.rewriting.context import Context
from morello.search.results.reconstruct import reconstruct
from morello.search.results.solution import Solution
from morello.search.search import Progress, search, solve_goal
from morello.search.tables.memo_backend import MemoBackend
from tests.memo.files import searched
from tests.memo.tables import collected
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import cells, nodes, one_tree, plan_of, solved

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(5, 4, 3, threads=3)),
    ("tiny.buffered", elementwise("add", 5, 3, Z=(1, 0))),
    ("tiny.flat", copy(3, 5, X=(1, 0))),
    ("x86.avx512", matmul(17, 41, 12)),
    ("x86.scalar", matmul(4, 5, 3)),  # has families that lead nowhere
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]


def _store(path: Path) -> Store:
    return Store.open(path / "memo.sqlite", warn=pytest.fail)


@contextmanager
def _filled(
    path: Path, name: str, wanted: Wanted, warn: Callable[[str], None] = pytest.fail
) -> Iterator[Store]:
    """A store that a search for a goal has filled."""
    path = path / "memo.sqlite"
    path.write_bytes(searched(name, wanted))
    with Store.open(path, warn=warn) as store:
        yield store


class _Spy:
    """A search, and the variants of which it solved something."""

    def __init__(self, known: Context, spec: Spec) -> None:
        self._search = partial(solve_goal, known, spec)
        self.solved: set[Variant] = set()

    def __call__(self, *, memo: MemoBackend, single_goal: bool) -> Solution:
        found = self._search(memo=memo, single_goal=single_goal)
        self.solved |= found.solved.keys() - found.recalled
        return found


def _never(**_: object) -> Solution:
    raise AssertionError("there was no need to search")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_a_solved_goal_is_answered_without_a_search(
    name: str, wanted: Wanted, tmp_path: Path
) -> None:
    """The same plan, alternatives with the same costs to the last bit, and for the goals below."""
    known, spec = context(name), wanted.spec(context(name).target)
    expected = solved(name, wanted)
    with _filled(tmp_path, name, wanted) as store:
        found = Memo(store).answers(known, spec, _never)
        assert isinstance(found, Recalled)
        assert one_tree(plan_of(name, wanted), expected).to_json() == (
            one_tree(reconstruct(found, spec), found).to_json()
        )
        assert Why(expected, spec).beginnings == Why(found, spec).beginnings


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "wanted"), CASES[:3], ids=IDS[:3])
def test_every_cell_is_recalled(name: str, wanted: Wanted, tmp_path: Path) -> None:
    """Choices and costs are those of the tables, for every Spec of every family."""
    known = context(name)
    expected = solved(name, wanted)
    with _filled(tmp_path, name, wanted) as store:
        found = Recalled(known, Pages(store), _never)
        for cell in cells(expected):
            assert expected.choice(cell) == found.choice(cell)
            assert expected.intensity(cell) == found.intensity(cell)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_what_is_missing_is_solved_from_what_is_there(
    name: str, wanted: Wanted, tmp_path: Path
) -> None:
    """Without the goal's own pages, the rest is recalled, and every table is the same."""
    known, spec = context(name), wanted.spec(context(name).target)
    expected = solved(name, wanted)
    with _filled(tmp_path, name, wanted) as store:
        pages = Pages(store)
        families = sorted(expected.solved, key=lambda f: f.key)
        lost = {variant_text(family) for family in families[::2]}
        for record in list(store.records()):
            if record.family in lost:
                store.delete(record.fingerprint, record.family, record.page.axes)
        found = search(known, spec, memo=pages)
    assert not found.complete
    for family, actual in found.solved.items():
        wanted_box = expected.solved[family]
        picked = np.ix_(
            *(
                np.searchsorted(own, part)
                for own, part in zip(wanted_box.box.axes, actual.box.axes, strict=True)
            )
        )
        np.testing.assert_array_equal(wanted_box.costs[picked], actual.costs)
        for place, option in enumerate(actual.options):
            chosen = actual.choices == place
            same = [i for i, o in enumerate(wanted_box.options) if o == option]
            np.testing.assert_array_equal(chosen, wanted_box.choices[picked] == same[0])


@pytest.mark.parametrize("ask", [Memo.answers, Memo.solution])
def test_what_is_solved_before_an_interrupt_is_kept(
    ask: Callable[..., Solution | Recalled], tmp_path: Path
) -> None:
    name, wanted = CASES[0]
    known, spec = context(name), wanted.spec(context(name).target)

    def interrupt(progress: Progress) -> None:
        if progress.phase == "searching" and progress.done_cells > progress.total_cells // 2:
            raise KeyboardInterrupt

    with _store(tmp_path) as store:
        search = partial(solve_goal, known, spec, progress=interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(Memo(store), known, spec, search)
        assert 0 < len(store.stats()) < len(solved(name, wanted).solved)
        spy = _Spy(known, spec)
        found = Memo(store).answers(known, spec, spy)
        assert found.counts.recalled
        again = reconstruct(found, spec)
    assert one_tree(plan_of(name, wanted), solved(name, wanted)).to_json() == (
        one_tree(again, found).to_json()
    )
    assert spy.solved < solved(name, wanted).solved.keys()


def test_a_lost_page_is_searched_for_again(tmp_path: Path) -> None:
    """The goal's page is there, another one of its plan is not: the same plan, later."""
    name, wanted = CASES[0]
    known, spec = context(name), wanted.spec(context(name).target)
    plan, spy = plan_of(name, wanted), _Spy(known, spec)
    lost = plan.children[0].spec.variant
    with _filled(tmp_path, name, wanted) as store:
        for record in list(store.records()):
            if record.family == variant_text(lost):
                store.delete(record.fingerprint, record.family, record.page.axes)
        found = Memo(store).answers(known, spec, spy)
        again = reconstruct(found, spec)
    assert one_tree(plan, solved(name, wanted)).to_json() == one_tree(again, found).to_json()
    assert spy.solved


def test_other_coefficients_are_not_answered_from(tmp_path: Path) -> None:
    name, wanted = CASES[0]
    known = context(name)
    dearer = {n: replace(c, value=2 * c.value) for n, c in known.target.coefficients.items()}
    other = replace(known, target=replace(known.target, coefficients=dearer))
    with (
        _filled(tmp_path, name, wanted) as store,
        pytest.raises(AssertionError, match="no need to search"),
    ):
        Memo(store).answers(other, wanted.spec(other.target), _never)


def test_a_choice_that_does_not_apply_is_not_believed(tmp_path: Path) -> None:
    """A page that says of every Spec what holds for the goal only: its family is solved again."""
    name, wanted = CASES[0]
    known, spec = context(name), wanted.spec(context(name).target)
    plan, spy = plan_of(name, wanted), _Spy(known, spec)
    children = [node for node in nodes(plan) if node.spec.variant != spec.variant]
    forged = max(children, key=lambda node: node.spec.sizes).spec.variant
    messages, warn = collected()
    with _filled(tmp_path, name, wanted, warn) as store:
        for record in list(store.records()):
            if record.family == variant_text(forged):
                page = page_of(
                    record.page.axes,
                    (Choice("tile_output", (("d", "m"), ("t", "2"))),),
                    np.zeros(record.page.shape, dtype=np.int32),
                )
                store.delete(record.fingerprint, record.family, record.page.axes)
                store.write(record.fingerprint, record.family, page)
        found = Memo(store).answers(known, spec, spy)
        again = reconstruct(found, spec)
    assert isinstance(found, Recalled)
    assert {forged} == spy.solved
    (message,) = messages
    assert "a choice of it does not apply; it is deleted" in message
    assert variant_text(forged) in message
    assert one_tree(plan, solved(name, wanted)).to_json() == one_tree(again, found).to_json()
