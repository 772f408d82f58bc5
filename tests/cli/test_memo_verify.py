"""``morello memo verify``: what it reports, and with which status."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from morello.memo.page import Page
from morello.memo.store import Store
from tests.cli.conftest import Run


def test_a_memo_that_is_right(run: Run, solved_memo: Path) -> None:
    result = run("memo", "verify", "--memo", solved_memo, "--cells", "30")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "derived 30 Specs again: all right\n" in result.stdout
    arguments = ("--memo", solved_memo, "--cells", "10", "--json")
    document = json.loads(run("memo", "verify", *arguments).stdout)
    assert (document["checked"], document["uncheckable"], document["unknown_pages"]) == (10, 0, 0)
    assert document["pages"] > 10
    assert document["differences"] == document["damages"] == []


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_wrong_choice_is_found(arguments: tuple[str, ...], run: Run, solved_memo: Path) -> None:
    """Pages with choices exchanged, checksums and all, as only a wrong program writes them."""
    _exchange_choices(solved_memo)
    result = run("memo", "verify", "--memo", solved_memo, "--cells", "50", *arguments)
    assert result.exit_code == 1
    assert "the memo says " in result.stderr
    if arguments:
        first = json.loads(result.stdout)["differences"][0]
        assert first["recorded"] != first["derived"]
        assert len(first["coordinates"]) > 3
    else:
        assert " wrong\n" in result.stdout


def _exchange_choices(path: Path) -> None:
    with Store.open(path, warn=pytest.fail) as store:
        for record in list(store.records()):
            page, first, last = record.page, record.page.choices[:1], record.page.choices[-1:]
            wrong = Page(page.axes, (*last, *page.choices[1:-1], *first), page.boxes)
            if len(page.choices) > 1:
                store.write(record.fingerprint, record.family, wrong)


def test_a_damaged_page_is_an_error(run: Run, solved_memo: Path) -> None:
    with closing(sqlite3.connect(solved_memo)) as connection, connection:
        connection.execute("UPDATE pages SET data = x'00' || data WHERE rowid = 1")
    result = run("memo", "verify", "--memo", solved_memo, "--cells", "5", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["damages"]) == 1
    assert "warning: a page of the memo cannot be read" in result.stderr
    assert run("memo", "verify", "--memo", solved_memo, "--cells", "0").exit_code == 0


def test_pages_of_other_definitions_are_counted(run: Run, solved_memo: Path) -> None:
    with Store.open(solved_memo, warn=pytest.fail) as store:
        record = next(store.records())
        store.write(b"another fingerprint", record.family, record.page)
        store.write(record.fingerprint, "not a family", record.page)
    result = run("memo", "verify", "--memo", solved_memo, "--cells", "10")
    assert result.exit_code == 0
    assert "not looked at: 2 of definitions that are not installed\n" in result.stdout


def test_specs_above_what_is_missing_are_counted(run: Run, solved_memo: Path) -> None:
    """They are no error: what is missing is solved when it is needed."""
    run("memo", "gc", "--max-size", "2KiB", "--memo", solved_memo)
    result = run("memo", "verify", "--memo", solved_memo)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "not checkable: " in result.stdout


@pytest.mark.parametrize("arguments", [("--cells", "-1"), ("--cells", "x"), ("--seed", "x")])
def test_numbers_that_make_no_sense_are_usage_errors(
    arguments: tuple[str, str], run: Run, solved_memo: Path
) -> None:
    assert run("memo", "verify", *arguments, "--memo", solved_memo).exit_code == 2
