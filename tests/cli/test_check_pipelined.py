"""Pipelined loops whose inner steps are written down: any size of the dimension has to do."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.slow  # half a minute
def test_inner_loops_may_be_of_one_tile(run: Run, tmp_path: Path) -> None:
    """The shipped rule chooses tiles below the dimension; here they are three, and so may it be."""
    text = files("morello_rules").joinpath("normalisation.mrules").read_text("utf-8")
    (rule,) = re.findall(r"^rule softmax_pipelined$.*?(?=^(?:rule|op) )", text, re.M | re.S)
    assert "step t" in rule
    changed = rule.replace("softmax_pipelined", "softmax_by_three").replace("step t", "step 3")
    changed = changed.replace(", t)", ", 3)").replace("t in tile_sizes(f.j), ", "", 1)
    changed = changed.replace("t * bytes(E)", "3 * bytes(E)", 1)
    path = tmp_path / "three.mrules"
    path.write_text(changed)
    done = run("check", path, "--execute")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "executed 1 rule on " in done.stdout
