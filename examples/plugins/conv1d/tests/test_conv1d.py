"""The operator means what numpy computes, the rule keeps its meaning, and the rule is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import morello
from morello.definitions import calibration_specs, load_definitions
from morello.verify.rules import verify_rule

SPEC = Path(__file__).parent.parent / "signal.mspec"


def test_the_rule_keeps_the_meaning() -> None:
    """Both sides, executed on small sizes."""
    definitions = load_definitions()
    (rule,) = [rule for rule in definitions.rules if rule.name == "conv1d_as_products"]
    assert verify_rule(definitions, rule).instances > 10


def test_a_signal_is_convolved() -> None:
    """By products, and equal to what is written down here once more."""
    kernel = morello.compile(SPEC)
    assert "conv1d_as_products" in kernel.plan.render()
    random = np.random.default_rng(0)
    x = random.integers(-4, 5, (61, 4)).astype(np.float32)
    w = random.integers(-4, 5, (3, 4, 8)).astype(np.float32)
    windows = np.stack([x[r : r + 2 * 30 - 1 : 2] for r in range(3)])
    assert np.array_equal(np.einsum("rti,rio->to", windows, w), kernel(x, w))


def test_it_is_measured_for_calibration() -> None:
    """Its spec is among those of all plugins."""
    names = {source.name for source in calibration_specs(load_definitions())}
    assert "morello_conv1d/calibration.mspec" in names
