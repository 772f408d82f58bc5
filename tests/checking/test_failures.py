"""Every planted error is reported where it is, in the words expected, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checking.fail_cases import DIRECTORY, expected_in, found_in

FILES = sorted(DIRECTORY.iterdir())
PACKAGE = Path(__file__).parents[2] / "morello"

# Made by the command line (which spec, which -D), or by a number that no text can have.
TESTED_ELSEWHERE = {"S001", "S003", "T011"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_and_only_the_planted_errors(path: Path) -> None:
    """Code, line, column and text of each error are those that the file announces."""
    assert expected_in(path) == found_in(path)


def test_every_code_is_planted() -> None:
    """No check is without a case: each code of the checkers stands in a file of this directory."""
    texts = [p.read_text(encoding="utf-8") for p in PACKAGE.glob("checking/*.py")]
    for other in ("rewriting/progress.py", "local.py"):
        texts.append((PACKAGE / other).read_text(encoding="utf-8"))
    codes = {code for text in texts for code in re.findall(r'"([KORST]\d{3}|P01\d)"', text)}
    planted = {
        message.split()[0]
        for path in FILES
        for messages in expected_in(path).values()
        for message in messages
    }
    assert codes - TESTED_ELSEWHERE == planted


def test_planted_files_are_found() -> None:
    """The parametrised test runs over something."""
    assert {p.stem for p in FILES} >= {"operators", "rules", "progress", "targets", "kernels"}
