"""Numbers of one Spec or arrays for a box of them: the types of what is computed with both."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any element type."""

Ints = npt.NDArray[np.int64]

Size = int | npt.NDArray[np.integer]
"""A whole number: of one Spec an int, of a box an int64 array that broadcasts over its axes."""

Number = float | npt.NDArray[np.number]
"""The same of any number, as cycles are."""

Truth = bool | npt.NDArray[np.bool_]
"""Whether something holds: of one Spec, or where in a box."""

AnySize = TypeVar("AnySize", int, Size)
"""What is a number wherever it is computed from numbers."""
