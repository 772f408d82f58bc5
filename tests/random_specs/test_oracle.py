"""The oracle knows every installed operator, and nothing of the product."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from .bounds import Floats, Integers
from .cases import ORACLE
from .oracle import result_of
from .recipes import RECIPES
from .trial import machines

HERE = Path(__file__).parent
SHARED = (
    *("bounds", "cases", "draw", "elementwise", "formats", "inputs", "oracle", "products"),
    *("recipes", "reductions", "shrink"),
)


def test_every_operator_has_an_oracle() -> None:
    """A new operator is computed by the oracle, and drawn."""
    installed = set(machines().operators)
    lacking = installed - set(ORACLE)
    assert not lacking, f"write what they compute in tests/random_specs (@operator): {lacking}"
    undrawn = installed - set(RECIPES)
    assert not undrawn, f"say in tests/random_specs/recipes.py what to draw them with: {undrawn}"


@pytest.mark.parametrize("module", SHARED)
def test_the_oracle_shares_no_code_with_the_product(module: str) -> None:
    """An error of the product is none of the oracle."""
    tree = ast.parse((HERE / f"{module}.py").read_text())
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else ["." * node.level + (node.module or "")]
        )
    }
    within = {".", *("." + other for other in SHARED)}
    outside = {"__future__", "collections.abc", "dataclasses", "itertools", "math", "random"}
    outside |= {"string", "typing", "numpy", "ml_dtypes"}
    assert imported - within - outside == set()


def test_a_rounding_to_the_next_number_is_right_and_two_are_wrong() -> None:
    """Bounds are as narrow as one rounding."""
    one = Floats.exactly(np.array([1.0]))
    third = result_of("div", [one, Floats.exactly(np.array([3.0]))], {}, "f32", ())
    near = np.float32(1) / np.float32(3)
    assert not third.wrong(np.array([near])).any()
    for direction in (-np.inf, np.inf):
        off = np.nextafter(near, np.float32(direction), dtype=np.float32)
        off = np.nextafter(off, np.float32(direction), dtype=np.float32)
        assert third.wrong(np.array([off])).all()


def test_integers_wrap() -> None:
    """Integers are exact, modulo 2^bits."""
    x = Integers.exactly(np.array([100, -128]), "s8")
    total = result_of("add", [x, x], {}, "s8", ())
    assert list(total.wrong(np.array([-56, 0], np.int8))) == [False, False]
    assert list(total.wrong(np.array([-55, 1], np.int8))) == [True, True]


def test_what_may_be_infinite_times_zero_may_be_zero() -> None:
    """As in a softmax of one huge number, of which the bounds say nothing."""
    unknown = Floats(np.array([-np.inf]), np.array([np.inf]), np.array([True]))
    certain = Floats.exactly(np.array([np.inf]))
    zero = Floats.exactly(np.array([0.0]))
    assert not unknown.times(zero).wrong(np.array([0.0])).any()
    assert not zero.times(unknown).wrong(np.array([np.nan])).any()
    assert certain.times(zero).wrong(np.array([0.0])).all()


def test_undefined_sums_are_nan() -> None:
    """An infinity less another one is NaN and nothing else."""
    x = Floats.exactly(np.array([[np.inf, -np.inf, 1.0]]))
    total = result_of("row_sum", [x], {}, "f32", ())
    assert total.text((0,)) == "NaN"
    assert list(total.wrong(np.array([0.0]))) == [True]
    assert list(total.wrong(np.array([np.nan]))) == [False]
