"""Notes: every planted one is given, with its reason, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from morello.cli.main import main
from tests.checking.fail_cases import expected_in

HERE = Path(__file__).parent
DEFINITIONS = (HERE / "planted.mrules", HERE / "planted.mtarget")
PACKAGE = HERE.parents[2] / "morello"

REASONS = {
    "of_stale": "it matches none of the operations that occur",
    "of_huge": "it may be applied to same(X: f32 mem, Y: f32 mem), but at none of the sizes",
    "refused": "'writes(f, X)' does not hold",
    "lost": "nothing implements exponential(X: f32 mem, Y: f32 mem)",
    "dear": "times the cost of what was chosen for same(X: f32 mem, Y: f32 mem) [i0=4] of itself",
    "dear_copy": "it applies to no Spec of a chosen program; it fires most in itself",
    "of_stale_rows": "it is for none of the operations that occur",
    "whole_numbers": "it wants X as s32, which is f32, and it wants Y as s32, which is f32",
    "huge_copy": "it accepts copy(X: f32 near, Y: f32 near), but at none of the sizes",
    "wide_copy": "no rule brings an operand to it in these",
}
"""A part of the advice of each note."""


@cache
def document() -> Mapping[str, Any]:
    """What ``morello check --use`` says of the planted files."""
    files = [str(path) for path in (*DEFINITIONS, HERE / "planted.mspec")]
    result = CliRunner().invoke(main, ["check", "--use", "--json", "--no-memo", *files])
    assert (result.exit_code, result.stderr) == (0, "")
    found: Mapping[str, Any] = json.loads(result.stdout)
    assert found["errors"] == []
    return found


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.name)
def test_all_and_only_the_planted_notes(path: Path) -> None:
    """Code, line, column and text of each note are those that the file announces."""
    found: dict[int, list[str]] = {}
    for note in document()["notes"]:
        assert note["severity"] == "note"
        if note["file"] == str(path):
            text = f"{note['code']} {note['column']} {note['message']}"
            found.setdefault(note["line"], []).append(text)
    assert expected_in(path) == found


@pytest.mark.parametrize("name", REASONS)
def test_a_note_says_why(name: str) -> None:
    """Each has the reason that there is, with its numbers."""
    (note,) = [n for n in document()["notes"] if f"'{name}'" in n["message"]]
    assert REASONS[name] in note["help"]
    assert "2 compiles" in note["label"]


def test_every_code_is_planted() -> None:
    """No note is without a case."""
    codes = set(re.findall(r'"(N\d{3})"', (PACKAGE / "report" / "usage" / "notes.py").read_text()))
    assert codes == {note["code"] for note in document()["notes"]}


def test_numbers_of_what_fires_and_wins() -> None:
    """In how many compiles, in how many families of each, for how many Specs of its program."""
    rules = {rule["name"]: rule for rule in document()["use"]["rules"]}
    cancel, dear, lost = rules["cancel"], rules["dear"], rules["lost"]
    assert (cancel["compiles"], cancel["fired"], cancel["won"]) == (2, 1, 1)
    assert (dear["fired"], dear["won"], lost["fired"], lost["won"]) == (1, 0, 0, 0)
    (where,) = cancel["in"]
    assert (where["spec"], where["target"], where["chosen"]) == ("itself", "planted.tiny", 1)
    assert dear["in"][0]["families"] == where["families"] > 1  # wherever the one applies
    assert dear["closest"]["ratio"] > 1
    assert (cancel["closest"], lost["closest"]) == (None, None)
