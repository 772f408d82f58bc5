"""Values of scalars: numbers, or what stands for them in a search."""

from __future__ import annotations

from functools import cached_property


class StandIn(float):
    """A number in the place of a scalar's value: see `morello.ir.stand_ins`.

    Only its place tells it from others. Written ``$1``, ``$2``, ... As a number, it is none that
    operators' declarations are likely to name, and one that every element type has.
    """

    def __new__(cls, place: int) -> StandIn:
        """The stand-in of this place, from 1."""
        return super().__new__(cls, 99 + 2 * place)

    @cached_property
    def place(self) -> int:
        """Which one it is, from 1."""
        return int(float(self) - 99) // 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and self.place == other.place

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((StandIn, self.place))

    def __repr__(self) -> str:
        return f"${self.place}"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def __reduce__(self) -> tuple[type[StandIn], tuple[int]]:
        return StandIn, (self.place,)


Scalars = tuple[tuple[str, float], ...]
"""Values by name."""
