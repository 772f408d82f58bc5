"""Element types: their sizes and how numpy holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. ``bytes`` is its size; ``numpy`` the dtype that holds it in numpy."""

    name: str
    bytes: int
    numpy: np.dtype[Any]
    floating: bool

    def __str__(self) -> str:
        return self.name


F32 = DType("f32", 4, np.dtype(np.float32), True)
S32 = DType("s32", 4, np.dtype(np.int32), False)

DTYPES: dict[str, DType] = {d.name: d for d in (F32, S32)}
