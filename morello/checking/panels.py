"""Checks of panels, which specs and kernels write alike."""

from __future__ import annotations

from morello.ir.layout import PANELS
from morello.language import ast


def wrong_panels(panel: ast.Panel, rank: int) -> tuple[str, str] | None:
    """What is wrong with panels of a tensor of this rank, and what to do; none if nothing is."""
    extents = (panel,) if isinstance(panel, int) else panel
    if rank == 0:
        return "a scalar has no panels", "remove them"
    if rank < len(extents):
        return "panels with a height are for two dimensions, and there is one", "leave it out"
    if any(extent not in PANELS for extent in extents):
        written = " x ".join(map(str, extents))
        help = f"a panel has {PANELS[0]} to {PANELS[-1]} elements along a dimension"
        return f"panels of {written} elements", help
    return None
