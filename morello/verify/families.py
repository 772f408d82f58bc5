"""What rules and kernels are tried on: operations, element types, operands inside larger memory.

Small and exhaustive where that is cheap; which of it is tried is chosen by those who use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from morello.codegen.lower import whole
from morello.ir.dtypes import DTYPES, DType
from morello.ir.layout import Layout, contiguity, packed, panel
from morello.ir.operators import Operation, Operator, size_name
from morello.ir.programs.tree import Affine, Tensor, View
from morello.ir.spec import Operand
from morello.records import replace

SCALARS = (0.0, -2.5, float("inf"))
"""Values of operators' scalars; each is converted to the output's element type."""

WHOLE = 100.0
"""What a meaning is told is the size of a dimension: it may be applied to parts of that."""

WHOLE_SCALARS = 3
"""How many values are tried of a scalar that is a whole number: the least ones."""

MARGIN = 2
"""Elements around the part of a larger tensor that an operand is."""


def group_ranks(operator: Operator) -> tuple[int, ...]:
    """Ranks of the operator's group to try: batches of none and one, elementwise up to three."""
    if operator.group is None:
        return (0,)
    alone = any(len(p.indices) == 1 and p.indices[0].group for p in operator.parameters)
    return (1, 2, 3) if alone else (0, 1)


def operations(operator: Operator) -> Iterator[Operation]:
    """The operator at every such rank, plain and accumulating, with every value of its scalars."""
    forms = (False, True) if operator.reduction else (False,)
    asked = tuple((size_name(dim), WHOLE) for dim in operator.sizes)
    for rank, accumulating, given in product(group_ranks(operator), forms, _scalars(operator)):
        yield Operation(operator, rank, accumulating, (*given, *asked))


def _scalars(operator: Operator) -> Iterator[tuple[tuple[str, float], ...]]:
    """Values of an operator's scalars.

    Of several that are whole numbers, no two are alike, or all but the first are the least ones:
    kernels for windows may be for those that are not dilated.
    """
    if not operator.given_scalars:
        yield ()
        return
    places = range(len(operator.least))
    turns = [tuple((turn + p) % WHOLE_SCALARS for p in places) for turn in range(len(SCALARS))]
    turns += [(turn[0], *(0 for _ in turn[1:])) for turn in turns if any(turn[1:])]
    for number, turn in enumerate(turns):
        least = zip(operator.least.items(), turn, strict=True)
        whole = {name: float(value + more) for (name, value), more in least}
        every = dict.fromkeys(operator.given_scalars, SCALARS[number % len(SCALARS)])
        yield tuple({**every, **whole}.items())


@lru_cache(maxsize=256)
def dtype_choices(operator: Operator) -> tuple[tuple[DType, ...], ...]:
    """Element types of the operands, inputs first: every value of every type variable."""
    declared = [p.dtype for p in operator.parameters]
    variables = [name for name in dict.fromkeys(declared) if name not in DTYPES]
    choices = []
    for values in product(DTYPES.values(), repeat=len(variables)):
        known = {**DTYPES, **dict(zip(variables, values, strict=True))}
        choices.append(tuple(known[name] for name in declared))
    return tuple(choices)


def tensor_for(
    operand: Operand, shape: Sequence[int], name: str, role: str, panels: int = 0
) -> Tensor:
    """A tensor where an operand is, in these panels."""
    return Tensor(
        name,
        operand.dtype,
        tuple(shape),
        Layout(operand.order, panels),
        operand.level.name,
        operand.vector,
        role,
    )


def part_of_larger(
    operand: Operand, packing: int, shape: Sequence[int], name: str, role: str
) -> View:
    """A view that is packed like this: of a tensor that is larger where it is not.

    A part of a tensor begins one element from its border, and leaves one at the other; along panels
    it begins and leaves one panel.
    """
    panels = panel(packing)
    split = contiguity(packed(len(operand.order), panels)) - contiguity(packing)
    if split == 0:
        return whole(tensor_for(operand, shape, name, role, panels))
    cut = [*Layout(operand.order, panels).cuts][::-1]
    in_memory = (*cut, *(d for d in operand.order if d not in cut))
    return inside(operand, shape, name, role, in_memory[: split + 1], panels)


def inside(
    operand: Operand,
    shape: Sequence[int],
    name: str,
    role: str,
    dimensions: Sequence[int],
    panels: int = 0,
) -> View:
    """A view of a tensor, in these panels, that is larger along these dimensions."""
    before = [MARGIN // 2 * (d in dimensions) for d in range(len(shape))]
    for dimension, extent in Layout(operand.order, panels).cuts.items():
        before[dimension] *= extent
    outer = [n + 2 * margin for n, margin in zip(shape, before, strict=True)]
    view = whole(tensor_for(operand, outer, name, role, panels))
    return replace(view, offsets=tuple(map(Affine, before)), sizes=tuple(shape))


def region(view: View) -> tuple[slice, ...]:
    """Where a view with constant offsets is in its tensor's array."""
    starts = [offset.constant for offset in view.offsets]
    return tuple(slice(a, a + n) for a, n in zip(starts, view.sizes, strict=True))
