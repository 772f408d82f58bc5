"""Element types: their sizes, how numpy holds them, and what they can hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

FLOATING_KINDS = "fV"
"""Kinds of numpy's floating types; to numpy, a type of `ml_dtypes` is of kind V."""

NumpyType = np.dtype[Any]
"""What holds elements in numpy; of which scalars is known when a program runs."""


class DType(Struct, frozen=True):
    """An element type. ``bytes`` is its size."""

    name: str
    bytes: int
    floating: bool

    @property
    def numpy(self) -> NumpyType:
        """The dtype that holds it in numpy."""
        return _numpy_dtype(self.name)

    @property
    def python(self) -> str:
        """What it is called in Python, for advice: ``np.float32``."""
        dtype = self.numpy
        return f"{'np' if dtype.isbuiltin == 1 else 'ml_dtypes'}.{dtype}"

    def __str__(self) -> str:
        return self.name


F32 = DType("f32", 4, True)
F16 = DType("f16", 2, True)
BF16 = DType("bf16", 2, True)
S32 = DType("s32", 4, False)
S8 = DType("s8", 1, False)
U8 = DType("u8", 1, False)

DTYPES: dict[str, DType] = {d.name: d for d in (F32, F16, BF16, S32, S8, U8)}

DTYPES_ARE = "element types are " + ", ".join(DTYPES)
"""Advice where a name is none of them: what is meant has seldom a similar name."""


class FloatingLimits(Struct, frozen=True):
    """Of a floating type: spacing at 1, the largest, the smallest normal and subnormal number."""

    eps: float
    max: float
    smallest_normal: float
    smallest_subnormal: float


@cache
def floating_limits(dtype: DType) -> FloatingLimits:
    """Range and spacing of a floating type."""
    finfo: Any = np.finfo
    if dtype.numpy.kind != "f":
        from ml_dtypes import finfo  # noqa: PLC0415
    info = finfo(dtype.numpy)
    return FloatingLimits(
        float(info.eps),
        float(info.max),
        float(info.smallest_normal),
        float(info.smallest_subnormal),
    )


_STANDARD: dict[str, NumpyType] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "s32": np.dtype(np.int32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}


@cache
def _numpy_dtype(name: str) -> NumpyType:
    if name == "bf16":
        import ml_dtypes  # noqa: PLC0415  (the start most often does without)

        bfloat16: NumpyType = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return _STANDARD[name]
