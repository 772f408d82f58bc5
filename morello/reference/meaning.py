"""The meaning of an operation, executed with numpy from its declaration alone.

Every operand, scalar and constant is converted to the output's element type, and the value is
computed in it. A floating output is computed in float64 and rounded once, at the end, so that the
reference is the better answer; an integer output is exact modulo 2^bits. Reductions start from
their identity, or from the old output where the operation accumulates; those by ``max`` and ``min``
pass on a NaN.

What it computes with is an `Arithmetic`: numbers alone, or numbers with bounds of their errors.

Two ways lead to the same numbers: sums of products are contracted (`numpy.einsum`); everything else
is evaluated in blocks of the iteration space, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from operator import itemgetter

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.dtypes import DType
from morello.ir.graphs.constants import elsewhere_of, value_of
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.records import replace
from morello.reference.arithmetic import Arithmetic, Numbers, Products, Total
from morello.reference.bounded import Bounded, framed, mapped
from morello.reference.expressions import elements, factors
from morello.reference.views import ElementView, element_view, extents

Tensor = Array | Bounded

BLOCK_CELLS = 1 << 16
"""Cells of the iteration space that are evaluated at once: what a cache holds."""

WIDENED_CELLS = 1 << 22
"""Elements that an operand of a contraction may become."""

SMALL_CELLS = 1 << 15
"""Below so many cells, looking for a good order of contraction takes longer than contracting."""


def execute(
    operation: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Array],
    output_dtype: DType,
    old_output: Array | None = None,
) -> Array:
    """Result of an operation on numpy arrays of any strides.

    Args:
        operation: What to compute.
        sizes: One size per dimension, in the order of ``operation.dims``.
        inputs: Arrays in declared order, each of the shape that the sizes give it.
        output_dtype: Element type of the result.
        old_output: What an accumulating operation adds to; the result's shape.

    Raises:
        MorelloError: A shape or the number of arrays does not fit, or the declaration's indices
            leave an array.
    """
    result: Array = Meaning(operation, output_dtype).execute(sizes, inputs, old_output)
    return result


class Meaning:
    """An operation made ready to be executed many times; without ``arithmetic``, on numbers."""

    def __init__(
        self, operation: Operation, output_dtype: DType, arithmetic: Arithmetic | None = None
    ) -> None:
        self.operation = operation
        self.dtype = output_dtype
        self._arithmetic: Arithmetic = arithmetic or Numbers(output_dtype)
        self._value = _with_constants(value_of(operation, output_dtype), self._arithmetic.constant)
        self._scalars = {n: self._arithmetic.constant(v) for n, v in operation.scalars}
        self._elements = {e: element_view(operation, e) for e in elements(self._value)}
        self._target = element_view(operation, operation.operator.statement.target)
        self._elsewhere = elsewhere_of(operation, output_dtype)
        self._factors = factors(self._value) if operation.operator.reduction == "+" else ()
        self._merges = any(len(index.terms) > 1 for index in self._target.indices)
        self._cases: dict[tuple[int, ...], _Case] = {}
        self._check_declaration()

    def execute(
        self, sizes: Sequence[int], inputs: Sequence[Tensor], old_output: Tensor | None = None
    ) -> Value:
        """The result as the arithmetic stores it; see the function `execute`."""
        return self._arithmetic.stored(self.compute(sizes, inputs, old_output))

    def compute(
        self, sizes: Sequence[int], inputs: Sequence[Tensor], old_output: Tensor | None
    ) -> Value:
        """The result before it is rounded, as the arithmetic has it."""
        case = self._case(sizes)
        self._check_arrays(case, inputs, old_output)
        size, shape = case.size, case.shape
        operands = {e: self._operand(view, inputs, size) for e, view in self._elements.items()}
        with np.errstate(all="ignore"):
            old = None
            if self.operation.accumulating and old_output is not None:
                old = self._arithmetic.operand(mapped(partial(self._in_rows, size), old_output))
            if self._contracts(inputs, operands):
                products = self._products(operands, case.cells, prod(shape))
                result = self._arithmetic.sum_of_products(products, shape, case.terms, old)
                # What is no number is worked out term by term: numpy may multiply a sum by a factor
                # of all terms, which is something else where there are infinities.
                if not isinstance(result, np.ndarray) or np.isfinite(result).all():
                    return self._arranged(result, size)
            total = self._arithmetic.total(
                self.operation.operator.reduction, shape, case.terms, old
            )
            self._evaluate_in_blocks(case, operands, total)
            return self._arranged(total.result(), size)

    def _in_rows(self, size: Mapping[str, int], output: Array) -> Array:
        """An output with an axis for each dimension, also where a sum goes through its rows."""
        return self._target.of(output, size) if self._merges else output

    def _arranged(self, result: Value, size: Mapping[str, int]) -> Value:
        """The output: rows that a sum goes through as one axis, and the elements elsewhere."""
        if self._merges:
            indices = self._target.indices
            slowest_first = [d for i in indices for d, _ in sorted(i.terms, key=lambda t: -t[1])]
            order = [self._target.dims.index(d) for d in slowest_first]
            shape = [index.extent(size) for index in indices]
            result = mapped(lambda array: array.transpose(order).reshape(shape), result)
        if self._elsewhere is None:
            return result
        margins = [(index.low, index.high) for index in self._target.indices]
        return framed(result, margins, self._elsewhere)

    def _check_declaration(self) -> None:
        """The target must name every output element once, and only a reduction may reduce."""
        operation = self.operation
        reached = [d for i in self._target.indices for d, _ in i.terms]
        plain = (replace(i, low=0, high=0).alone or not i.margins for i in self._target.indices)
        if not all(plain) or len(reached) != len(operation.output_dims):
            raise self._scattered()
        if operation.operator.reduction is None and operation.reduced_dims:
            raise MorelloError(
                f"'{operation}' cannot be executed: '=' gives an output element several values "
                f"over {', '.join(operation.reduced_dims)}",
                help="reduce with '+=', 'max=' or 'min='",
            )

    def _scattered(self) -> MorelloError:
        return MorelloError(
            f"'{self.operation}' cannot be executed: its output is not indexed by plain dimensions",
            help="index the output by different dimensions, such as 'Y[i, j]', or by whole rows",
        )

    def _check_arrays(
        self, case: _Case, inputs: Sequence[Tensor], old_output: Tensor | None
    ) -> None:
        operation = self.operation
        names = operation.names
        if len(inputs) != len(names) - 1:
            raise MorelloError(
                f"'{operation}' was given {len(inputs)} inputs; expected {len(names) - 1}"
            )
        arrays = list(zip(names, inputs, case.shapes, strict=False))
        if operation.accumulating:
            if old_output is None:
                raise MorelloError(f"'{operation}' needs the old output '{names[-1]}'")
            arrays.append((names[-1], old_output, case.shapes[-1]))
        for name, array, expected in arrays:
            if array.shape != expected:
                raise MorelloError(
                    f"operand '{name}' of '{operation}' has shape {array.shape}; "
                    f"the sizes {tuple(case.size.values())} make it {expected}"
                )

    def _case(self, sizes: Sequence[int]) -> _Case:
        """What follows from the sizes, which must be as many as there are dimensions."""
        found = self._cases.get(tuple(sizes))
        if found is not None:
            return found
        operation = self.operation
        if len(sizes) != len(operation.dims) or any(n < 1 for n in sizes):
            raise MorelloError(
                f"'{operation}' has sizes {tuple(sizes)}; expected a positive one for each of "
                + ", ".join(operation.dims)
            )
        size = dict(zip(operation.dims, sizes, strict=True))
        sums = (index for index in self._target.indices if len(index.terms) > 1)
        if any(index.extent(size) != prod(size[d] for d in index.dims) for index in sums):
            raise self._scattered()
        shapes = tuple(extents(operation, sizes, p) for p in range(len(operation.operands)))
        shape = tuple(size[d] for d in operation.output_dims)
        case = _Case(size, shapes, shape, prod(size[d] for d in operation.reduced_dims))
        return self._cases.setdefault(tuple(sizes), case)

    def _operand(
        self, view: ElementView, inputs: Sequence[Tensor], size: Mapping[str, int]
    ) -> Tensor:
        if view.position >= len(inputs):
            raise MorelloError(
                f"the meaning of '{self.operation}' reads its own output",
                help="write an accumulation with '+=', 'max=' or 'min='",
            )
        read: Tensor = mapped(lambda array: view.of(array, size), inputs[view.position])
        return read

    # ----------------------------------------------------------------- sums of products

    def _contracts(self, inputs: Sequence[Tensor], operands: Mapping[ast.Element, Tensor]) -> bool:
        """Whether the value is a product over all dimensions whose operands fit in memory.

        One of a single element is none: there is nothing to contract.
        """
        factors = [f for f in self._factors if isinstance(f, ast.Element)]
        covered = {d for f in factors for d in self._elements[f].dims}
        if len(factors) < 2 or len(covered) < len(self.operation.dims):
            return False
        sizes = {f: inputs[self._elements[f].position].size for f in factors}
        return all(operands[f].size <= max(WIDENED_CELLS, sizes[f]) for f in factors)

    def _products(self, operands: Mapping[ast.Element, Tensor], cells: int, size: int) -> Products:
        """The products over so many cells, summed to so many elements."""
        axis = {dim: i for i, dim in enumerate(self.operation.dims)}
        arguments: list[tuple[Value, list[int]]] = []
        for factor in self._factors:
            if isinstance(factor, ast.Element):
                dims = self._elements[factor].dims
                value = self._arithmetic.operand(operands[factor])
                arguments.append((value, [axis[d] for d in dims]))
            else:
                constant = evaluate(factor, _Cell(self._scalars, {}))
                arguments.append((self._arithmetic.value(constant), []))
        outputs = [axis[d] for d in self._target.dims]
        order = ("greedy", max(WIDENED_CELLS, size)) if cells > SMALL_CELLS else False
        return Products(arguments, outputs, order)

    # ----------------------------------------------------------------- everything else

    def _evaluate_in_blocks(
        self, case: _Case, operands: Mapping[ast.Element, Tensor], total: Total
    ) -> None:
        outputs = len(case.shape)
        reduced = tuple(range(outputs, len(case.size)))
        for block in _blocks(tuple(case.size.values())):
            shape = tuple(s.stop - s.start for s in block)
            value = self._cells(block, operands)
            if value.shape != shape:
                value = mapped(partial(np.broadcast_to, shape=shape), value)
            total.put(block[:outputs], value, reduced)

    def _cells(self, block: Sequence[slice], operands: Mapping[ast.Element, Tensor]) -> Value:
        """The value in one block of the iteration space, or what broadcasts to it."""
        cells = {}
        dims = self.operation.dims
        for element, view in self._elements.items():
            own = (s if d in view.dims else np.newaxis for d, s in zip(dims, block, strict=True))
            take = itemgetter((*own, ...))
            cells[element] = self._arithmetic.operand(mapped(take, operands[element]))
        environment = _Cell(self._scalars, cells)
        return self._arithmetic.value(
            evaluate(self._value, environment, self._arithmetic.operations)
        )


def _with_constants(expr: ast.Expr, convert: Callable[[float], Value]) -> ast.Expr:
    """The expression of an operator's meaning with every constant converted."""
    match expr:
        case ast.Number(value=value, span=span):
            return ast.Number(convert(value), span=span)
        case ast.Unary(operator=name, operand=operand, span=span):
            return ast.Unary(name, _with_constants(operand, convert), span=span)
        case ast.Binary(operator=name, left=left, right=right, span=span):
            sides = _with_constants(left, convert), _with_constants(right, convert)
            return ast.Binary(name, *sides, span=span)
        case ast.Call(function=function, args=args, span=span):
            return ast.Call(function, tuple(_with_constants(a, convert) for a in args), span=span)
        case ast.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
            other = None if otherwise is None else _with_constants(otherwise, convert)
            parts = _with_constants(then, convert), _with_constants(condition, convert), other
            return ast.Conditional(*parts, span=span)
        case _:
            return expr


class _Case(Struct, frozen=True):
    """What follows from the sizes. ``terms`` are summed to each element of an output of ``shape``.

    ``shapes`` are those of the operands, where dimensions of the output may lie in one another.
    """

    size: Mapping[str, int]
    shapes: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]
    terms: int

    @property
    def cells(self) -> int:
        """Points of the iteration space."""
        return self.terms * prod(self.shape)


class _Cell(Struct, frozen=True):
    """The environment of an operator's meaning: scalars and elements."""

    scalars: Mapping[str, Value]
    elements: Mapping[ast.Element, Value]

    def name(self, node: ast.Name) -> Value:
        if node.id not in self.scalars:
            raise MorelloError(f"scalar '{node.id}' has no value", help="give it in the Spec")
        return self.scalars[node.id]

    def element(self, node: ast.Element) -> Value:
        return self.elements[node]

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise MorelloError(f"'.{node.name}' has no meaning in an operator's declaration")

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise MorelloError(f"'{node.function}' is not arithmetic: an operator cannot use it")


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """The iteration space in blocks of at most `BLOCK_CELLS`, the last dimensions kept whole."""
    if prod(sizes) <= BLOCK_CELLS:
        yield tuple(slice(0, size) for size in sizes)
        return
    steps: list[int] = []
    inner = 1
    for size in reversed(sizes):
        steps.insert(0, min(size, max(1, BLOCK_CELLS // inner)))
        inner *= steps[0]
    ranges = [range(0, n, step) for n, step in zip(sizes, steps, strict=True)]
    for starts in product(*ranges):
        ends = (min(a + s, n) for a, s, n in zip(starts, steps, sizes, strict=True))
        yield tuple(slice(a, e) for a, e in zip(starts, ends, strict=True))
