"""The entry points by which plugins are found. To look at them imports nothing of theirs."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

PROJECT: Final = "morello"
"""The name of this distribution, and of its plugin project."""

GROUP: Final = "morello.plugins"
"""The group of entry points that a plugin's distribution names its module in."""


def installed_points() -> list[EntryPoint]:
    """All plugins that are installed, in no order."""
    return list(entry_points(group=GROUP))


def points_of_others() -> list[EntryPoint]:
    """Those of other distributions. What comes with Morello itself brings no commands."""
    return [p for p in installed_points() if p.dist is None or p.dist.name != PROJECT]
