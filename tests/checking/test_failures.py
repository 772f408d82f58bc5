"""Every planted error is reported where it is, in the words expected, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from morello.language.codes import CODES, FAMILIES
from tests.checking.fail_cases import DIRECTORY, expected_in, found_in

FILES = sorted(DIRECTORY.iterdir())
PACKAGE = Path(__file__).parents[2] / "morello"

# No text has a number that is negative, or larger than E006 allows.
NOT_PLANTED = {"T011"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_and_only_the_planted_errors(path: Path) -> None:
    """Code, line, column and text of each error are those that the file announces."""
    assert expected_in(path) == found_in(path)


def test_the_table_of_codes_is_complete() -> None:
    """Every code that stands in the sources has its sentence there, and no other has."""
    texts = [p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py") if p.name != "codes.py"]
    used = {code for text in texts for code in re.findall(r'"([EKOPRST]\d{3})"', text)}
    assert used == set(CODES)
    assert {code[0] for code in CODES} == set(FAMILIES)
    assert all(re.fullmatch(r"[A-Z].*\.", sentence) for sentence in CODES.values())


def test_every_code_is_planted() -> None:
    """No check is without a case: each code stands in a file of this directory."""
    planted = {
        message.split()[0]
        for path in FILES
        for messages in expected_in(path).values()
        for message in messages
    }
    assert set(CODES) - NOT_PLANTED == planted


def test_planted_files_are_found() -> None:
    """The parametrised test runs over something."""
    assert {p.stem for p in FILES} >= {"operators", "rules", "progress", "targets", "kernels"}
