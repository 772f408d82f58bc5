"""Conditions and what they select, in vectors of each width: also what C compilers make of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pytest

import morello
from morello.ir.dtypes import DTYPES

from .kernels import Array, small_machines, to_run

TARGETS = ("x86.avx2", "x86.avx512")
TYPES = ("s32", "s8", "u8", "f32")
SIZES = (4, 7, 8, 16, 20)
"""Parts of vectors, whole ones, and both."""

COMPARISONS: Mapping[str, Callable[[Array, Array | int], Array]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
CONDITIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "{0}": lambda first, second: first,
    "not ({0})": lambda first, second: ~first,
    "{0} and not ({1})": lambda first, second: first & ~second,
    "not ({0}) or {1}": lambda first, second: ~first | second,
}
"""Of a comparison of two elements, and one of an element with a number."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", TARGETS)
def test_conditions(target: str, dtype: str, size: int) -> None:
    """All comparisons, in all conditions, select what they do in numpy."""
    cases = [*product(COMPARISONS, CONDITIONS)]
    lines = [f"input t: {dtype}[{size}]", f"input u: {dtype}[{size}]"]
    for number, (sign, condition) in enumerate(cases):
        text = condition.format(f"t[i] {sign} u[i]", f"u[i] {sign} 2")
        lines += [f"output y{number}: {dtype}[{size}]", f"y{number}[i] = t[i] if {text} else u[i]"]
    spec = "\n".join(["spec conditions() {", *lines, "}"])
    kernel = to_run(morello.compile, spec, target=target, definitions=small_machines())
    rng = np.random.default_rng(3)
    t, u = rng.integers(0, 5, (2, size)).astype(DTYPES[dtype].numpy)
    found = kernel.function.results(t, u)
    for (sign, condition), y in zip(cases, found, strict=True):
        compare = COMPARISONS[sign]
        holds = CONDITIONS[condition](compare(t, u), compare(u, 2))
        np.testing.assert_array_equal(y, np.where(holds, t, u), f"{sign} in {condition}")
