"""The polynomials that the vector functions use are those that are derived."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest

from benchmarks.polynomials import literal, minimax, points, tables

NUMBER = re.compile(r"(-?(?:0x[0-9a-f.]+p[+-]?\d+|\d+\.\d+))f\b")


def test_the_files_have_the_coefficients_that_are_derived() -> None:
    """`python -m benchmarks.polynomials` prints them."""
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("they are derived in extended precision")
    own = files("morello_c").joinpath("functions.mtarget").read_text("utf-8")
    written = {float(np.float32(number)) for number in re.findall(r"-?\d+\.\d+(?:e-\d+)?", own)}
    names = ("avx2_functions.mtarget", "avx512_functions.mtarget")
    text = "".join(files("morello_x86").joinpath(name).read_text("utf-8") for name in names)
    written |= {float.fromhex(n) if "x" in n else float(n) for n in NUMBER.findall(text)}
    lost = {
        what: [literal(v) for v in values if v not in written] for what, values in tables().items()
    }
    assert {what: values for what, values in lost.items() if values} == {}


def test_minimax() -> None:
    """Of x^3 on [-1, 1], by a parabola: 3/4 x, off by 1/4 at four places (Chebyshev)."""
    x = points(-1.0, 1.0)
    found = minimax(x, x**3, np.ones_like(x), 2)
    np.testing.assert_allclose(found.astype(np.float64), [0, 0.75, 0], atol=1e-5)
