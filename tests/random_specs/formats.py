"""Floating formats of the oracle, and rounding to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: bits of precision, and the exponent of its smallest subnormal number."""

    digits: int
    least: int
    largest: float

    @property
    def unit(self) -> float:
        """Largest relative error of a rounding to nearest."""
        return 2.0**-self.digits

    @property
    def tiny(self) -> float:
        """The smallest positive number."""
        return 2.0**self.least


F32 = Format(24, -149, (2 - 2.0**-23) * 2.0**127)
BF16 = Format(8, -133, (2 - 2.0**-7) * 2.0**127)
F16 = Format(11, -24, 65504.0)
FORMATS = {"f32": F32, "f16": F16, "bf16": BF16}
INTEGERS = {"s32": (-(1 << 31), (1 << 31) - 1), "s8": (-128, 127), "u8": (0, 255)}


def rounded(values: Array, to: Format) -> Array:
    """Float64 values rounded once, to nearest, ties to even; beyond the range they are infinite."""
    with np.errstate(all="ignore"):
        _, exponents = np.frexp(values)
        spacing = np.ldexp(1.0, np.maximum(exponents - to.digits, to.least))
        near = np.rint(values / spacing) * spacing
        near = np.where(np.abs(near) > to.largest, np.copysign(np.inf, values), near)
        result: Array = np.where(np.isfinite(values), near, values)
    return result
