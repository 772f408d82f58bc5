"""What one evaluation of an operator's meaning costs with a target's primitives.

A primitive is how the target writes one arithmetic function on a dtype with some lanes. Which
primitives a meaning needs follows from the declaration alone.
"""

from __future__ import annotations

from collections import Counter

from morello.spec.machine import Primitives, Target
from morello.spec.primitives import PRIMITIVE_OF_OPERATOR, casts, primitives_in
from morello.spec.spec import Family

TYPE = "type"
"""The entry for the C type of a register or an element; it costs nothing."""


def needed_primitives(family: Family) -> Counter[str]:
    """Primitives that the meaning uses, with how often: equal subexpressions count once."""
    operator = family.operation.operator
    conversions = casts(family.operation.names, [o.dtype for o in family.operands])
    needed = Counter(primitives_in(operator.statement.value, conversions))
    if family.operation.accumulating and operator.reduction is not None:
        needed[PRIMITIVE_OF_OPERATOR.get(operator.reduction, operator.reduction)] += 1
    return needed


def lanes_of(family: Family) -> int:
    """Lanes that the meaning is evaluated in: those of the registers, or one."""
    output = family.operands[-1]
    return output.lanes if output.vector else 1


def primitives_of(target: Target, family: Family) -> Primitives | None:
    """The target's primitives for the meaning of this family, if it declares any."""
    return target.primitives.get((family.operands[-1].dtype.name, lanes_of(family)))


def missing_primitives(target: Target, family: Family) -> list[str]:
    """Primitives that the meaning needs and the target does not have."""
    primitives = primitives_of(target, family)
    entries = primitives.entries if primitives else {}
    return sorted(name for name in (*needed_primitives(family), TYPE) if name not in entries)


def arithmetic_cycles(target: Target, family: Family) -> float:
    """Cycles of one evaluation (of all lanes at once)."""
    primitives = primitives_of(target, family)
    if primitives is None:
        return 0.0
    total = 0.0
    for name, count in sorted(needed_primitives(family).items()):
        coefficient = primitives.entries[name][1] if name in primitives.entries else None
        if coefficient is not None:
            total += count * target.coefficients[coefficient].value
    return total
