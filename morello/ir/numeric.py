"""Numbers of one Spec or arrays for a box of them: the types of what is computed with both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any element type."""

Ints = npt.NDArray[np.int64]
