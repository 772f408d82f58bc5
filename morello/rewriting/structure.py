"""What rules ask of an operation's structure, wherever its sizes are."""

from __future__ import annotations

from itertools import islice

from morello.ir.graphs.batches import batch_dims
from morello.ir.graphs.composition import composition_of
from morello.ir.pruning import prunes
from morello.ir.target import Level
from morello.rewriting.references import SpecRef, TensorRef

FEW_OPERANDS = 3
"""Elementwise operations with fewer may have any of them nearer than the others, and sums with as
many."""


def divisible(f: SpecRef, dims: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some dimensions that loops may divide."""
    return tuple(d for d in dims if d in f.family.operation.divisible_dims)


def first_batch(f: SpecRef) -> tuple[str, ...]:
    """The first dimension that is a batch, if any.

    In which order loops go over several makes no difference to a cost. Vectors lie along the
    fastest dimension of an operand, so that is none.
    """
    operation = f.family.operation
    fastest = {
        access[own.operand.order[-1]].alone
        for own, access in zip(f.tensors, operation.operands, strict=True)
        if access
    }
    return tuple(islice((dim for dim in batch_dims(operation) if dim not in fastest), 1))


def operand_position(f: SpecRef, tensor: TensorRef) -> int:
    """The place of an operand among those of the operation."""
    return next(p for p, own in enumerate(f.tensors) if own.key == tensor.key)


def is_reused(f: SpecRef, tensor: TensorRef) -> bool:
    """Whether some loop reads it again; by a graph, in some sum.

    What a graph's elementwise operations read is small beside that, and is theirs to bring nearer.
    """
    operation = f.family.operation
    again = any(not tensor.indexed_by(dim) for dim in operation.divisible_dims)
    composition = composition_of(operation.operator)
    if composition is not None and not composition.complete:
        node, *others = composition.occurrences(tensor.name)
        again = bool(others) or (again and node.operation.operator.reduction is not None)
    return again or not prunes("read_once")


def parts_first(f: SpecRef) -> bool:
    """Whether parts bring nearer what they read: where loops divide some dimensions only."""
    return f.family.operation.operator.partly_tileable and prunes("parts_first")


def turns(f: SpecRef) -> bool:
    """Whether neighbours in the output are none in the first input."""
    tensors = f.tensors[0], f.out
    fastest = [t.indices[t.operand.order[-1]] if t.operand.order else None for t in tensors]
    return fastest[0] != fastest[1]


def may_be_in_place(f: SpecRef, tensor: TensorRef) -> bool:
    """Whether what is left of a graph may write its output over an intermediate."""
    composition = composition_of(f.family.operation.operator)
    assert composition is not None
    alike = (tensor.indices, tensor.operand.dtype) == (f.out.indices, f.out.operand.dtype)
    return (
        alike
        and not f.family.operation.accumulating
        and composition.may_be_overwritten(tensor.name)
    )


def is_first_to_move(f: SpecRef, tensor: TensorRef, level: Level) -> bool:
    """Whether it is this operation's turn to bring a tensor to a level.

    In an elementwise operation nothing is summed that would be read again, so that it is enough to
    try one order of its operands. In a sum of many, an input that fewer dimensions index is for
    more loops to read again: it comes before inputs that they and others index. Of operands that
    the same ones index, the first one comes first. A graph of several sums leaves it to its parts
    to bring to the nearest cache what only one of them reads.
    """
    operation = f.family.operation
    if operation.operator.composite:
        composition = composition_of(operation.operator)
        assert composition is not None
        shared = level.distance > 1 or len(composition.occurrences(tensor.name)) > 1
        return composition.sums < 2 or shared or not prunes("sums_bring")
    if len(f.tensors) < FEW_OPERANDS + bool(operation.reduced_dims):
        return True
    before = f.tensors[: operand_position(f, tensor)]
    if not operation.reduced_dims:
        turn = all(other.operand.level.distance <= level.distance for other in before)
        return turn or not prunes("elementwise_order")
    first = [other for other in before if other.dims == tensor.dims]
    if tensor is not f.out:
        first += [other for other in f.tensors[:-1] if other.dims < tensor.dims]
    turn = all(other.operand.level.distance <= level.distance for other in first)
    return turn or not prunes("reuse_order")


def reduces(f: SpecRef) -> bool:
    """Whether it is a reduction that is not yet started."""
    operation = f.family.operation
    return operation.operator.reduction is not None and not operation.accumulating


def splits(f: SpecRef) -> bool:
    """A graph has to be taken apart first where its last sum needs all that comes before."""
    operation = f.family.operation
    divides = bool(divisible(f, operation.reduced_dims))
    return divides or not operation.operator.composite


def is_unrolled(f: SpecRef, dim: str) -> bool:
    """Whether a loop over ``dim`` selects registers, which C cannot index at run time."""
    return any(t.indexed_by(dim) and not t.operand.addressable for t in f.tensors)
