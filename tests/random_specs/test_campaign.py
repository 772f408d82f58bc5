"""A fixed budget of random specs, each within seconds of a processor; `docs/verification.md`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .campaign import FAILURES, Plan
from .recipes import random_case

ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = 4
SECONDS = 3
SEED = 4


def test_random_specs_are_right() -> None:
    """Nothing is wrong, nothing ends without a diagnostic, and most are compiled."""
    command = [sys.executable, "-m", "tests.random_specs", "--json", "--count", str(COUNT)]
    command += ["--seed", str(SEED), "--seconds", str(SECONDS)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(found.stdout)
    assert report["failures"] == []
    outcomes = report["outcomes"]
    assert sum(outcomes.values()) == COUNT
    assert sum(outcomes.get(kind, 0) for kind in FAILURES) == 0
    assert outcomes["right"] >= COUNT // 2, outcomes
    assert found.returncode == 0


def test_a_case_is_drawn_from_seed_and_number_alone() -> None:
    """The command of a failure draws it again."""
    assert random_case(5, 17) == random_case(5, 17)
    assert random_case(5, 17) != random_case(6, 17)


def test_shares_look_at_cases_in_every_way() -> None:
    """Some are built under sanitizers, and each variation has its turn."""
    plan = Plan(1, 1000)
    ways = {plan.variation(number) for number in range(plan.count)}
    assert ways == {"", "sanitize", "memo", "rules", "renamed", "threads", "batch"}
