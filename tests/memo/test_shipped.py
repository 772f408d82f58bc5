"""Memos of packages: they answer where the user's own does not, and are only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import morello
from morello.definitions import Definitions, load_definitions
from morello.memo.memo import Memo
from morello.records import replace

TEXT = "target x86.scalar spec f() { input x: f32[%d] output y: f32[%d] y = relu(x) }"


@pytest.fixture
def shipped(tmp_path: Path) -> Iterator[Path]:
    """A memo with one goal, in a directory that nobody may write."""
    place = tmp_path / "package"
    place.mkdir()
    with Memo.open(tmp_path / "made.sqlite", warn=pytest.fail) as memo:
        morello.compile(TEXT % (6, 6), memo=memo)
        memo.export(place / "shapes.sqlite")
    (place / "shapes.sqlite").chmod(0o444)
    place.chmod(0o555)
    yield place / "shapes.sqlite"
    place.chmod(0o755)


def _with(*paths: Path) -> Definitions:
    return replace(load_definitions(), memos=paths)


def test_the_first_compile_of_what_was_shipped_is_warm(shipped: Path, tmp_path: Path) -> None:
    content = shipped.read_bytes()
    with Memo.open(tmp_path / "own.sqlite", warn=pytest.fail) as memo:
        known = morello.compile(TEXT % (6, 6), memo=memo, definitions=_with(shipped))
        assert known.statistics.from_memo
        other = morello.compile(TEXT % (7, 7), memo=memo, definitions=_with(shipped))
        assert not other.statistics.from_memo
    assert known.source == morello.compile(TEXT % (6, 6), memo=Memo()).source
    assert [shipped] == list(shipped.parent.iterdir())
    assert content == shipped.read_bytes()


def test_a_memo_that_keeps_nothing_asks_none(shipped: Path) -> None:
    kernel = morello.compile(TEXT % (6, 6), memo=Memo(), definitions=_with(shipped))
    assert not kernel.statistics.from_memo


def test_other_definitions_are_not_answered(shipped: Path, tmp_path: Path) -> None:
    definitions = _with(shipped)
    target = definitions.targets["x86.scalar"]
    dearer = target.with_coefficients(lambda _, c: replace(c, value=c.value * 2 + 1))
    changed = replace(definitions, targets={**definitions.targets, "x86.scalar": dearer})
    with Memo.open(tmp_path / "own.sqlite", warn=pytest.fail) as memo:
        kernel = morello.compile(TEXT % (6, 6), memo=memo, definitions=changed)
    assert not kernel.statistics.from_memo


@pytest.mark.parametrize("damage", ["gone", "foreign", "cut", "schema", "pages"])
def test_what_is_wrong_with_a_file_is_a_warning(shipped: Path, tmp_path: Path, damage: str) -> None:
    """Said once; the goal is searched."""
    wrong = tmp_path / "wrong.sqlite"
    content = shipped.read_bytes()
    if damage == "foreign":
        wrong.write_text("a text of somebody, which is longer than a header of a database" * 9)
    elif damage == "cut":
        wrong.write_bytes(content[:5000])
    elif damage != "gone":
        wrong.write_bytes(content)
        changes = {
            "schema": "CREATE VIEW more AS SELECT * FROM pages",
            "pages": "UPDATE pages SET data = zeroblob(40)",
        }
        with closing(sqlite3.connect(wrong)) as connection, connection:
            connection.execute(changes[damage])
    messages: list[str] = []
    with Memo.open(tmp_path / "own.sqlite", warn=messages.append) as memo:
        for size in (6, 6):
            kernel = morello.compile(TEXT % (size, size), memo=memo, definitions=_with(wrong))
    assert kernel.source == morello.compile(TEXT % (6, 6), memo=Memo()).source
    assert messages
    assert len(messages) == len(set(messages))
    assert all(str(wrong) in message for message in messages)


def test_a_choice_that_does_not_apply_is_searched_anew(shipped: Path, tmp_path: Path) -> None:
    """A page under the key of another: the rows of two families are exchanged, sealed as theirs."""
    from morello.memo.records import Record, insertion, record_of, sealed  # noqa: PLC0415

    wrong = tmp_path / "wrong.sqlite"
    wrong.write_bytes(shipped.read_bytes())
    with closing(sqlite3.connect(wrong)) as connection, connection:
        connection.text_factory = bytes
        select = "SELECT fingerprint, family, axes, data FROM pages"
        records = [record_of(row) for row in connection.execute(select).fetchall()]
        connection.execute("DELETE FROM pages")
        for one, other in zip(records, records[1:] + records[:1], strict=True):
            moved = Record(one.fingerprint, one.family, other.page)
            connection.execute(*insertion(sealed(moved), 0))
    messages: list[str] = []
    with Memo.open(tmp_path / "own.sqlite", warn=messages.append) as memo:
        kernel = morello.compile(TEXT % (6, 6), memo=memo, definitions=_with(wrong))
    assert kernel.source == morello.compile(TEXT % (6, 6), memo=Memo()).source
