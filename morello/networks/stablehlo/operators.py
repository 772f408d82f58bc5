"""What is known of the operations of StableHLO."""

from __future__ import annotations

from morello.networks.stablehlo import elementwise, moves, sums
from morello.networks.translate import Operators

OPERATORS = Operators(
    {**elementwise.REWRITES, **moves.REWRITES, **sums.REWRITES},
    cast="convert",
    weights={"dot_general": 1},
    indices={"gather": 1},
)
