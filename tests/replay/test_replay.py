"""The replay finds what differs, and nothing where nothing does."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from .__main__ import main
from .cases import cases, without_comments

ONE = ["--only", "elementwise on x86.scalar", "--jobs", "1"]


def test_every_case_has_a_name_of_its_own() -> None:
    keys = [case.key for case in cases()]
    assert len(set(keys)) == len(keys) > 300


def test_comments_do_not_count() -> None:
    """Nor do the lines that they are alone in."""
    assert without_comments("/* a\n b */\nint x; // c\n\nint y;") == "int x;\nint y;"


def test_what_differs_is_found(tmp_path: Path) -> None:
    """Here because the saved file says something else."""
    file = tmp_path / "saved.json"
    assert CliRunner().invoke(main, ["save", str(file), *ONE]).exit_code == 0
    same = CliRunner().invoke(main, ["compare", str(file), *ONE])
    assert (same.exit_code, same.stdout.splitlines()[-1]) == (0, "1 cases: 0 differ")
    saved = json.loads(file.read_text())
    saved["found"] = dict.fromkeys(saved["found"], "0" * 64)
    file.write_text(json.dumps(saved))
    other = CliRunner().invoke(main, ["compare", str(file), *ONE])
    assert (other.exit_code, other.stdout.splitlines()[-1]) == (1, "1 cases: 1 differ")
