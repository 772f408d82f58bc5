"""Verification: it agrees with what a search has left, and finds what no search would leave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from morello.ir.spec import Spec
from morello.memo.compression import compress
from morello.memo.installed import Installed
from morello.memo.memo import Memo
from morello.memo.names import variant_text
from morello.memo.page import UNSOLVABLE, Choice, Page, page_of
from morello.memo.pages import Pages
from morello.memo.records import Record
from morello.memo.store import Store
from morello.memo.verify import Verification, verify
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.search import solve_goal
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context

CACHED = context("tiny.cached")
FLAT = context("tiny.flat")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memo.sqlite", warn=pytest.fail) as opened:
        yield opened


def _solve(store: Store, known: Context, wanted: Wanted) -> Spec:
    spec = wanted.spec(known.target)
    Memo(store, fill=True).answers(known, spec, partial(solve_goal, known, spec))
    return spec


@pytest.mark.parametrize(
    ("known", "wanted"),
    [(CACHED, matmul(5, 4, 3, threads=3)), (FLAT, elementwise("add", 5, 3, Z=(1, 0)))],
    ids=["cached", "flat"],
)
def test_what_a_search_leaves_is_right(known: Context, wanted: Wanted, store: Store) -> None:
    _solve(store, known, wanted)
    found = verify(store, [known], cells=300, seed=1)
    pages = len(store.stats())
    assert Verification(pages, 0, 300, 0, ()) == found


def test_the_sample_depends_on_the_seed_only(store: Store) -> None:
    """Seen by what it finds in a memo that is wrong everywhere."""
    _solve(store, FLAT, copy(3, 5, X=(1, 0)))
    for record in list(store.records()):
        _rewrite(store, record, np.full(record.page.shape, UNSOLVABLE, np.int32))
    first, other = (verify(store, [FLAT], cells=20, seed=seed) for seed in (1, 2))
    assert first == verify(store, [FLAT], cells=20, seed=1)
    assert first.differences
    assert first != other


def _rewrite(
    store: Store, record: Record, table: np.ndarray[tuple[int, ...], np.dtype[np.int32]]
) -> None:
    page = Page(record.page.axes, record.page.choices, compress(table))
    assert store.write(record.fingerprint, record.family, page)


def test_every_wrong_choice_is_found_where_it_is_drawn(store: Store) -> None:
    """The goal's own page has one box too much; what differs is exactly its cells."""
    spec = _solve(store, FLAT, copy(3, 5, X=(1, 0)))
    (record,) = [r for r in store.records() if r.family == variant_text(spec.variant)]
    table = np.array(record.page.table())
    other = (table.reshape(-1)[-1] + 1) % len(record.page.choices)
    assert len(record.page.choices) > 1
    table.reshape(-1)[-1] = other
    _rewrite(store, record, table)
    found = verify(store, [FLAT], cells=4000, seed=0)
    (own,) = [d for d in found.differences if d.family == record.family]
    assert tuple(axis[-1] for axis in record.page.axes) == own.coordinates
    assert own.recorded.startswith(record.page.choices[other].name)


def test_a_choice_that_does_not_apply_is_a_difference(store: Store) -> None:
    """Also for the Specs above it: they cannot be priced."""
    _solve(store, FLAT, matmul(4, 3, 2))
    for record in list(store.records()):
        for value in range(len(record.page.choices)):
            _rewrite(store, record, np.full(record.page.shape, value, np.int32))
    found = verify(store, [FLAT], cells=300, seed=3)
    assert any("does not apply" in d.derived for d in found.differences)


def test_what_is_missing_below_is_not_searched(store: Store) -> None:
    spec = _solve(store, FLAT, matmul(4, 3, 2))
    for record in list(store.records()):
        if record.family != variant_text(spec.variant):
            store.delete(record.fingerprint, record.family, record.page.axes)
    found = verify(store, [FLAT], cells=50, seed=0)
    assert (1, 0, ()) == (found.pages, found.unknown, found.differences)
    assert 50 == found.checked + found.uncheckable
    assert found.uncheckable > 0


def test_a_page_with_other_axes_is_none_of_ours(store: Store) -> None:
    """Nobody is answered from it, so that it cannot be wrong."""
    spec = _solve(store, FLAT, matmul(4, 3, 2))
    pages = Pages(store)
    key = (pages.fingerprint(FLAT, spec.variant), variant_text(spec.variant))
    store.write(*key, page_of(((1,),), [Choice("any")], np.zeros(1, np.int32)))
    assert 1 == len(list(pages.all(FLAT, spec.variant)))
    assert 1 == verify(store, [FLAT], cells=20, seed=0).unknown


def test_an_empty_memo_is_right(store: Store) -> None:
    assert Verification(0, 0, 0, 0, ()) == verify(store, [FLAT], cells=9, seed=0)


def test_pages_are_found_for_the_definitions_that_they_are_of(store: Store) -> None:
    """The same text under another fingerprint, or with other names, is of others."""
    spec = _solve(store, FLAT, matmul(4, 3, 2))
    own = next(row for row in store.stats() if row.family == variant_text(spec.variant))
    installed = Installed([CACHED, FLAT])
    assert (FLAT, spec.variant) == installed.find(own.fingerprint, own.family)
    assert installed.find(b"another", own.family) is None
    assert installed.find(own.fingerprint, own.family.replace("matmul", "unheard_of")) is None
    dearer = {n: replace(c, value=2 * c.value) for n, c in FLAT.target.coefficients.items()}
    other = replace(FLAT, target=replace(FLAT.target, coefficients=dearer))
    assert Installed([other]).find(own.fingerprint, own.family) is None
    assert len(store.stats()) == verify(store, [other], cells=5, seed=0).unknown
