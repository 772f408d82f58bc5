"""Templates that operators of several kinds of files have in common."""

from __future__ import annotations

from collections.abc import Mapping

SIGMOID = "exp(min(20, {0})) / (1 + exp(min(20, {0})))"

TRUNCATED = "{0} // {1} + (1 if ({0} % {1} > 0 and {0} < 0) or ({0} % {1} < 0 and {0} > 0))"
"""A quotient of whole numbers without what is left: `//` rounds down."""

NORMS: Mapping[int, tuple[str, str]] = {
    1: ("abs({0})", ""),
    2: ("{0} * {0}", "sqrt({0})"),
}
"""What is summed, and what is made of the sum: by the exponent."""

POWERS: Mapping[float, str] = {
    -1.0: "1 / {0}",
    -0.5: "1 / sqrt({0})",
    0.5: "sqrt({0})",
    1.0: "{0}",
    2.0: "{0} * {0}",
    3.0: "{0} * {0} * {0}",
}
"""What is written as arithmetic: by its exponent."""
