"""How much a search may do: a number of Specs, seconds or bytes, each as one limit in Specs.

Seconds and bytes are converted with the fixed rates below and not by a clock or a meter, so that
the same budget gives the same program on every machine. What is done past a budget is in
`morello.search.planning.within_budget`.
"""

from __future__ import annotations

import math
import re
from typing import Self

from msgspec import Struct

from morello.errors import UsageError

SPECS_A_SECOND = 3_000_000
"""Specs planned and solved in a second, what families take left out.

With `SECONDS_A_FAMILY`, on a Zen 5: attention, feed_forward, convolutions and products take between
0.6 and 1.2 times what they say.
"""

SECONDS_A_FAMILY = 0.005
"""For each family: applying the rules to it, planning and solving its variants however small."""

SPECS_A_FAMILY = SECONDS_A_FAMILY * SPECS_A_SECOND
"""Specs that are solved in the time for a family."""

PLANS = 2
"""Plans for coarser targets that are made where the one that was asked for has too many Specs, at
least: for the coarsest, and for one in between."""

BYTES_A_SPEC = 16
"""Memory for each Spec. 6 are measured for large goals: 4 of the tables, and what planning keeps;
the rest is for the arrays of the family at hand, which may be one of few."""

BYTES_A_FAMILY = 1 << 20
"""Memory for each family with its alternatives and variants: less than twice what is measured."""

_UNITS = {
    "specs": ("specs", 1),
    "cells": ("specs", 1),
    "s": ("seconds", 1),
    "seconds": ("seconds", 1),
    "KiB": ("bytes", 1 << 10),
    "MiB": ("bytes", 1 << 20),
    "GiB": ("bytes", 1 << 30),
}
_FORM = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?(?:e\+?\d+)?)\s*(?P<unit>[A-Za-z]*)\s*", re.ASCII)
_LARGEST = 1e18


class Budget(Struct, frozen=True):
    """What a search may do; of several limits the smallest holds, and none is no limit.

    ``searches``: how many searches share it. Each has an equal part, so that what one finds does
    not depend on what another one, or a memo, has left over.
    """

    specs: int | None = None
    seconds: float | None = None
    bytes: int | None = None
    searches: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """A budget from a number with a unit: ``2e6 specs``, ``10 s``, ``500 MiB``.

        Raises:
            UsageError: It has another form, another unit, or allows nothing.
        """
        found = _FORM.fullmatch(text)
        if found is None or found["unit"] not in _UNITS:
            raise UsageError(
                f"'{text}' is no budget: a number and one of the units {', '.join(_UNITS)}",
                help="such as '2e6 specs', '10 s' or '500 MiB'",
            )
        kind, factor = _UNITS[found["unit"]]
        amount = float(found["number"]) * factor
        if not 0 < amount <= _LARGEST:
            bound = "more than 0" if amount == 0 else f"at most {_LARGEST:g}"
            raise UsageError(f"the budget '{text}' must be {bound}")
        if kind == "seconds":
            return cls(seconds=amount)
        whole = math.ceil(amount)
        return cls(specs=whole) if kind == "specs" else cls(bytes=whole)

    def limit(self, families: int, *, finest: bool = False) -> int | None:
        """Specs that a search may solve if it has so many families; it may be 0.

        Args:
            families: How many it has.
            finest: Whether its target is the one that was asked for. To plan a coarser one takes
                seconds for each family once more, and saves some of the Specs. So of a budget in
                seconds as many Specs are allowed as those seconds would solve; of one in Specs, as
                many as the plans for the coarsest target and for another one would.
        """
        limits = []
        if self.specs is not None:
            plans = math.floor(PLANS * families * SPECS_A_FAMILY) if finest else 0
            limits.append(max(self.specs // self.searches, plans))
        if self.seconds is not None:
            planning = families * SECONDS_A_FAMILY
            left = self.seconds / self.searches - planning
            if finest and left > 0:
                left = max(left, planning)
            limits.append(math.floor(left * SPECS_A_SECOND))
        if self.bytes is not None:
            left_bytes = self.bytes // self.searches - families * BYTES_A_FAMILY
            limits.append(left_bytes // BYTES_A_SPEC)
        return max(0, min(limits)) if limits else None

    def most_families(self) -> int | None:
        """Of how many families it leaves nothing for Specs; none if it never does."""
        limits = []
        if self.seconds is not None:
            limits.append(self.seconds / self.searches / SECONDS_A_FAMILY)
        if self.bytes is not None:
            limits.append(self.bytes / self.searches / BYTES_A_FAMILY)
        return math.ceil(min(limits)) if limits else None

    def enough(self, families: int, specs: int) -> str:
        """The smallest budget of the same kinds for so many Specs, as it can be written.

        Where several searches share it, that is enough for as many of this size.
        """
        parts = []
        if self.specs is not None:
            parts.append(f"{specs * self.searches} specs")
        if self.seconds is not None:
            seconds = (families * SECONDS_A_FAMILY + specs / SPECS_A_SECOND) * self.searches
            parts.append(f"{(math.ceil(seconds * 100) + 1) / 100} s")  # more, as rounding may lose
        if self.bytes is not None:
            size = (families * BYTES_A_FAMILY + specs * BYTES_A_SPEC) * self.searches
            parts.append(f"{math.ceil(size / (1 << 20))} MiB")
        return " and ".join(parts)

    def __str__(self) -> str:
        parts = []
        if self.specs is not None:
            parts.append(f"{self.specs:,} Specs")
        if self.seconds is not None:
            parts.append(f"{self.seconds:g} s")
        if self.bytes is not None:
            parts.append(f"{self.bytes / (1 << 20):,.4g} MiB")
        shared = f" for {self.searches} searches" if self.searches > 1 and parts else ""
        return (" and ".join(parts) or "no limit") + shared
