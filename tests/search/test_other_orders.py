"""The same sum of the same numbers in memory costs the same, whatever its operator is called."""

from __future__ import annotations

from math import prod

import pytest

from morello.search.search import search
from tests.search.goals import Wanted
from tests.search.machines import context


def _cost(wanted: Wanted) -> float:
    known = context("x86.avx2")
    spec = wanted.spec(known.target)
    return search(known, spec, single_goal=True).intensity(spec) * prod(wanted.sizes)


@pytest.mark.parametrize("kind", ["sum", "max"])
def test_rows_and_columns(kind: str) -> None:
    """Sums of rows whose elements lie apart are sums of columns: in vectors along the others."""
    rows, columns = f"row_{kind}", f"column_{kind}"
    turned = Wanted(rows, (40, 24), rank=1, layouts=(("X", (1, 0)),))
    assert _cost(turned) == _cost(Wanted(columns, (40, 24), rank=1))
    turned = Wanted(columns, (40, 24), rank=1, layouts=(("X", (1, 0)),))
    assert _cost(turned) == _cost(Wanted(rows, (40, 24), rank=1))
