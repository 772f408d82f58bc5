"""Sizes and times as options take them: ``100MiB``, ``30d``."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}

_QUANTITY = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,15})?) ?(?P<unit>[A-Za-z]*)", re.ASCII)


class Quantity(click.ParamType[float]):
    """A number with a unit, as a number of the smallest unit."""

    def __init__(self, name: str, units: Mapping[str, int], example: str) -> None:
        """``units``: how many of the smallest each is; any case is understood."""
        self.name = name
        self._units = units
        self._example = example

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, not negative; a wrong use where there is none, or no unit."""
        found = _QUANTITY.fullmatch(str(value).strip())
        unit = {name.lower(): n for name, n in self._units.items()}.get(
            found["unit"].lower() if found else ""
        )
        if found is None or unit is None:
            units = ", ".join(self._units)
            self.fail(
                f"'{value}' is no number with one of the units {units}, such as {self._example}",
                param,
                ctx,
            )
        return float(found["number"]) * unit


SIZE = Quantity("size", _BYTES, "100MiB")
"""In bytes."""

AGE = Quantity("age", _SECONDS, "30d")
"""In seconds."""


def bytes_text(size: float) -> str:
    """A number of bytes in the unit that suits it."""
    unit = next((u for u in reversed(_BYTES) if size >= _BYTES[u]), "B")
    return f"{size:,.0f} B" if unit == "B" else f"{size / _BYTES[unit]:,.1f} {unit}"
