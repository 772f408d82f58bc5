"""What a rule or kernel was executed on, in few words: operations, element types, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from morello.ir.spec import Family


class Tried(Struct, frozen=True):
    """A shape that was tried: an operation at some sizes, with the number of instances of it.

    ``dtypes`` are those of the operands, inputs first; ``sizes`` by dimension.
    """

    target: str
    operation: str
    dtypes: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    instances: int


def tally(instances: Iterable[tuple[str, Family, tuple[int, ...]]]) -> tuple[Tried, ...]:
    """Instances that are alike counted together, sorted.

    Args:
        instances: Of each the name of the target, the family, and the sizes of its dimensions.
    """
    counts = Counter(
        (
            target,
            str(family.operation),
            tuple(operand.dtype.name for operand in family.operands),
            tuple(zip(family.operation.dims, sizes, strict=True)),
        )
        for target, family, sizes in instances
    )
    return tuple(Tried(*shape, count) for shape, count in sorted(counts.items()))
