"""Numbers that are equal and yet not the same: 0.0 and -0.0."""

from __future__ import annotations

import math


def is_negative_zero(value: float) -> bool:
    """Whether a number is -0.0."""
    return value == 0 and math.copysign(1.0, value) < 0


def same_number(first: float, second: float) -> bool:
    """Whether two numbers are equal, and of one sign where they are 0."""
    return first == second and is_negative_zero(first) == is_negative_zero(second)
