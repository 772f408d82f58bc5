"""A memo's file for the tests of what may be wrong with it: its content, and what to ask of it."""

from __future__ import annotations

from contextlib import closing
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from morello.memo.codec import encode
from morello.memo.memo import Memo
from morello.memo.schema import connect
from morello.memo.store import Store
from morello.search.search import solve_goal
from tests.memo.tables import axes_like, collected, page_like
from tests.search.goals import Wanted
from tests.search.machines import context

KEY = b"fingerprint"
FAMILIES = 12


def fill(store: Store, families: int = FAMILIES) -> None:
    """Write every family."""
    for family in range(families):
        store.write(KEY, str(family), page_like(family))


def found(store: Store) -> list[int]:
    """The families that are found; each of them is checked to be right."""
    families = []
    for family in range(FAMILIES):
        page = store.find(KEY, str(family), axes_like((2, 3, 4)))
        if page is not None:
            assert encode(page_like(family)) == encode(page)
            families.append(family)
    return families


@cache
def searched(name: str, wanted: Wanted) -> bytes:
    """The file that a search for a goal leaves; each test works on a copy."""
    known, spec = context(name), wanted.spec(context(name).target)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "memo.sqlite"
        with Store.open(path, warn=pytest.fail) as store:
            Memo(store, fill=True).answers(known, spec, partial(solve_goal, known, spec))
        return path.read_bytes()


def execute(path: Path, statement: str, *values: Any) -> None:
    """Change the file behind the store's back."""
    with closing(connect(path, "rw")) as connection:
        connection.execute(statement, values)


def survives(path: Path) -> list[str]:
    """Whatever the file holds now: nothing wrong is found, and it can be filled and read again."""
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        found(store)
        assert all(record.family.isdigit() for record in store.records())
        assert all(row.pages >= 0 for row in store.stats())
        store.gc(max_bytes=1 << 20)
        if store.writable:
            fill(store)
    with Store.open(path, warn=warn) as store:
        assert not messages or store.path is None or list(range(FAMILIES)) == found(store)
    return messages
