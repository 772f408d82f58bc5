"""Statements with subscripts, such as ``y[m, n] += x[m, k] * w[n, k]``, as calls of operators.

A statement means the operator that would be declared with its text. Where a declared one computes
the same (`morello.checking.recognition`), that is called, so that all rules and kernels for it
apply; else the statement becomes an operator of its own. Its dimensions and operands have canonical
names: statements that differ in names only are one operator.

A part of a tensor that is read, as by ``x[i + 16]``, is a slice of its own: operators either move
elements or compute with them.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from morello.checking.accesses import (
    LETTERS,
    Access,
    Sum,
    access_of,
    canonical_names,
    check_reach,
    extents_of,
    sizes_to_state,
)
from morello.checking.cuts import Moves
from morello.checking.kinds import Around
from morello.checking.lookups import without_lookups
from morello.checking.meanings import size_asked
from morello.checking.products import Step, products
from morello.checking.sizes import Sizes
from morello.checking.statement_operators import statement_call, statement_operator
from morello.checking.use import Checked, common_dtype
from morello.checking.written import along_rows, as_part
from morello.ir.conversion import convert, holds
from morello.ir.dtypes import DType
from morello.ir.goal import GoalTensor, Lookup
from morello.ir.layout import row_major
from morello.ir.operators import Operator
from morello.language import ast, spec_ast
from morello.language.places import within
from morello.language.traverse import children, names, numbers_in, subexpressions, with_children
from morello.language.unparse import unparse
from morello.records import replace

_Key = tuple[str, tuple[Sum, ...]]

MOST_POSITIONS = 2**16
"""Values of a dimension that is used as a number: each stands in the text of the program."""


class SubscriptsChecker:
    """Checks one statement whose tensors are known."""

    def __init__(
        self,
        node: spec_ast.Statement,
        tensors: Mapping[str, GoalTensor],
        result: GoalTensor | str,
        role: str,
        known: Collection[str],
        operators: Mapping[str, Operator],
        sizes: Sizes,
        *,
        in_parts: bool,
    ) -> None:
        """``result`` is the tensor that takes the value, its name only where it is inferred.

        ``role``: that of a result that is inferred. ``known``: names of all tensors of the spec.
        ``in_parts``: whether other statements compute other parts of it.
        """
        self.node = node
        self.tensors = tensors
        self.result = result
        self.role = role
        self.known = known
        self.operators = operators
        self.sizes = sizes
        self.in_parts = in_parts
        self.lookups: dict[str, Lookup] = {}
        self.moves = Moves(node.span, operators)
        self.before: list[Checked] = []
        self.taken: dict[int, Access] = {}
        self.written: Access | None = None
        self.extents: Mapping[str, int] = {}
        self.collector = sizes.collector

    def check(self) -> list[Checked]:
        """The calls, the statement's own last; none after errors, which are reported."""
        before = len(self.collector.diagnostics)
        value, self.lookups = without_lookups(self.node.value, self.tensors, self.sizes)
        self.node = replace(self.node, value=value)
        self.tensors = {**self.tensors, **{n: x.output for n, x in self.lookups.items()}}
        if self.in_parts:
            self._check_parts()
        if len(self.collector.diagnostics) > before:
            return []
        shape = None if isinstance(self.result, str) else self.result.shape
        target = access_of(
            self.node.target, shape, self.sizes, written=True, in_parts=self.in_parts
        )
        reads = {
            id(e): access_of(e, self.tensors[e.tensor].shape, self.sizes)
            for e in subexpressions(self.node.value)
            if isinstance(e, ast.Subscripted)
        }
        said = self._constants(self.node.value), self._elsewhere()
        if len(self.collector.diagnostics) > before or self.sizes.unknown & _names(self.node):
            return []
        assert target is not None
        found = [access for access in reads.values() if access is not None]
        extents = extents_of([*found, target], self.collector, in_parts=self.in_parts)
        if extents is None:
            return []
        self.taken = {key: access for key, access in reads.items() if access is not None}
        self.written, self.extents = target, extents
        partial = said[1] is not None or self.in_parts
        check_reach([*found, target], target, extents, self.collector, partial=partial)
        dtype = self._dtype([self.tensors[access.tensor] for access in found])
        if dtype is None or len(self.collector.diagnostics) > before:
            return []
        if self.in_parts:
            assert isinstance(self.result, GoalTensor)
            self.result, target, extents = as_part(self.result, target, extents)
        elif isinstance(self.result, str):
            self.result = self._inferred(self.result, target, dtype, extents)
        found = self._elements(reads, found, target, extents)
        value, found = self._positions(said[0], extents, reads, found)
        said = value, said[1]
        assert isinstance(self.result, GoalTensor)
        if len(self.collector.diagnostics) == before:
            written, meant = target, said
            if self._frames_rows(target, said):  # which are computed first
                written, meant = target.without_numbers(), (said[0], None)
            self._declare(written, reads, meant, {d: d for d in extents}, extents)
        self._held(said, self.result.dtype)
        if len(self.collector.diagnostics) > before:
            return []
        element = isinstance(self.node.value, ast.Subscripted)
        if element and said[1] is None and self._is_part(target, *found):
            whole, [read] = self.tensors[found[0].tensor], found
            return [self.moves.cut(whole, self.result, [each.constant for each in read.sums])]
        moves = element and self.node.update == "="
        if shape is not None and not moves and said[1] is None:
            self.result, target = along_rows(self.result, target, extents)
        return self._calls(target, reads, said, extents)

    def products(self) -> Iterator[list[Step]]:
        """Statements with plain products that compute the same as this one, which was checked."""
        assert self.written is not None
        assert isinstance(self.result, GoalTensor)
        return products(self.node, self.taken, self.written, self.extents, self.result.dtype)

    def _inferred(
        self, name: str, target: Access, dtype: DType, extents: Mapping[str, int]
    ) -> GoalTensor:
        """The result, which nothing declares."""
        shape = tuple(each.extent(extents) for each in target.sums)
        if self.role == "output":
            self.sizes.few_elements(name, shape, self.node.target.span)
        return GoalTensor(name, self.role, dtype, shape, row_major(len(shape)))

    def _check_parts(self) -> None:
        """Report where several statements cannot compute the result."""
        place = within(self.node.span, self.node.result)
        message = help = ""
        if isinstance(self.result, str):
            message = f"'{self.result}' is computed twice"
            help = f"where these are parts of it, declare it: local {self.result}: f32[...]"
        elif self.result.layout.panel:
            message = f"'{self.result.name}' has panels, so one statement computes all of it"
        elif self.node.elsewhere is not None:
            message = f"several statements compute '{self.result.name}', and 'elsewhere' all of it"
        if message:
            self.collector.error("S025", message, place, help=help)

    def _calls(
        self,
        target: Access,
        reads: Mapping[int, Access | None],
        said: tuple[ast.Expr, ast.Number | None],
        extents: Mapping[str, int],
    ) -> list[Checked]:
        """What cuts out the parts that are read, and the statement's call.

        What is computed and has a frame around it, or lies in rows one after the other, is computed
        first, and then moved there; so is what is repeated along dimensions that it has not, or
        read in steps or rows.
        """
        assert isinstance(self.result, GoalTensor)
        written, (value, elsewhere) = self.result, said
        found = [access for access in reads.values() if access is not None]
        element = isinstance(value, ast.Subscripted) and self.node.update == "="
        moves = element and target.has_all_of(found) and not self._frames_rows(target, said)
        if elsewhere is not None and not moves:
            inner = target.without_numbers()
            shape = tuple(each.extent(extents) for each in inner.sums)
            calls, first, source = self._first(inner, shape, reads, value, extents)
            sizes = dict(zip(LETTERS, shape, strict=False))
            into = target.in_frame(source, extents, written.shape)
            moved = self.moves.moved(first, source, written, into, sizes, {}, elsewhere)
            return [*calls, moved]
        if not moves and any(len(each.terms) > 1 for each in target.sums):
            apart = [
                (dim, len(each.terms) > 1, each.span)
                for each in target.sums
                for dim, _ in sorted(each.terms, key=lambda term: -term[1])
            ]
            sums = tuple(Sum(((dim, 1),), 0, span) for dim, _, span in apart)
            new = {dim: letter for (dim, _, _), letter in zip(apart, LETTERS, strict=False)}
            shape = tuple(extents[dim] for dim in new)
            inner = replace(target, sums=sums, shape=shape)
            calls, first, source = self._first(inner, shape, reads, value, extents)
            sizes = {new[dim]: extents[dim] for dim in new}
            stated = {new[dim]: extents[dim] for dim, in_rows, _ in apart if in_rows}
            into = target.indices(new)
            return [*calls, self.moves.moved(first, source, written, into, sizes, stated)]
        slices, places = self._slices(found, extents)
        canonical = canonical_names([target, *found])
        operator = self._declare(target, reads, said, canonical, extents, canonical=True)
        operands = [*places.values(), self.result]
        own_sizes = {canonical[d]: size for d, size in extents.items()}
        return [*slices, statement_call(operator, operands, own_sizes, self.operators)]

    def _frames_rows(self, target: Access, said: tuple[ast.Expr, ast.Number | None]) -> bool:
        """Whether rows one after the other stand in a frame."""
        rows = any(len(each.terms) > 1 for each in target.sums)
        return rows and said[1] is not None and self.node.update == "="

    def _first(
        self,
        inner: Access,
        shape: tuple[int, ...],
        reads: Mapping[int, Access | None],
        value: ast.Expr,
        extents: Mapping[str, int],
    ) -> tuple[list[Checked], GoalTensor, list[ast.Index]]:
        """What computes a tensor on the way, that, and how it is then read.

        It is the result now; or, if it is computed in two steps as well, what the first one gives.
        """
        assert isinstance(self.result, GoalTensor)
        self.result = first = self._part(self.result, shape, "apart")
        calls = self._calls(inner, reads, (value, None), extents)
        dims = LETTERS[: len(shape)]
        return calls, first, [ast.Index(((dim, 1),), span=self.node.span) for dim in dims]

    # ------------------------------------------------------------------------- subscripts

    def _constants(self, expr: ast.Expr) -> ast.Expr:
        """The value with numbers in the place of parameters."""
        sized = size_asked(expr)
        if isinstance(expr, ast.Subscripted) or (sized and sized not in self.sizes.values):
            return expr
        if isinstance(expr, ast.Name) and expr.id in self.sizes.values:
            self.sizes.used.add(expr.id)
            return ast.Number(self.sizes.values[expr.id], span=expr.span)
        if isinstance(expr, ast.Name) and expr.id in self.known:
            message = f"'{expr.id}' is a tensor: say which element"
            self.collector.error("S040", message, expr.span, "no subscripts", f"{expr.id}[i, ...]")
        parts = tuple(map(self._constants, children(expr)))
        match expr, parts:
            case ast.Unary(operator="-"), (ast.Number(value=value),) if value != 0:
                # The least number of a type is one of it, and its opposite is not. There is no -0
                # among whole numbers, so that is left as it is.
                return ast.Number(-value, span=expr.span)
        return with_children(expr, parts)

    def _elements(
        self,
        reads: dict[int, Access | None],
        found: Sequence[Access],
        target: Access,
        extents: Mapping[str, int],
    ) -> list[Access]:
        """What is read, where an element by numbers alone is repeated along some dimension.

        In ``reads`` is that, too.
        """
        dims = [dim for each in target.sums for dim, _ in each.terms] or [*extents]
        left: dict[_Key, Access] = {}
        for access in found:
            if not access.sums or any(each.terms for each in access.sums):
                left[access.key] = access
                continue
            if not dims:
                own = ", ".join(str(each.constant) for each in access.sums)
                message = f"'{access.tensor}[{own}]' is one element, and there is no dimension"
                help = "declare a dimension of size 1"
                self.collector.error("S040", message, access.span, "a number", help)
                continue
            tensor, number = self.tensors[access.tensor], len(self.before)
            row = self._part(tensor, (extents[dims[0]],), f"at.{number}")
            lows = [each.constant for each in access.sums]
            self.before += self.moves.repeated(tensor, row, lows)
            self.tensors = {**self.tensors, row.name: row}
            along = Sum(((dims[0], 1),), 0, access.span, alone=True)
            left[access.key] = Access(row.name, (along,), row.shape, access.span)
        for reader, read in reads.items():
            reads[reader] = read and left.get(read.key, read)
        return [*left.values()]

    def _positions(
        self,
        value: ast.Expr,
        extents: Mapping[str, int],
        reads: dict[int, Access | None],
        found: Sequence[Access],
    ) -> tuple[ast.Expr, list[Access]]:
        """The value, and all that it reads, where a dimension is a number of its own.

        That is an element of a row of whole numbers. To ``reads`` is added who reads it. The size
        of a dimension is a number that is known.
        """
        assert isinstance(self.result, GoalTensor)
        dtype, more = self.result.dtype, dict[str, Access]()

        def element(expr: ast.Expr) -> ast.Expr:
            if isinstance(expr, ast.Subscripted):
                return expr
            sized = size_asked(expr)
            if sized is not None and sized in extents:
                return ast.Number(extents[sized], span=expr.span)
            if not isinstance(expr, ast.Name) or expr.id not in extents:
                return with_children(expr, tuple(map(element, children(expr))))
            size = extents[expr.id]
            if expr.id not in more:
                self._counted(expr, size, dtype)
                name = f"positions.{dtype}.{size}"
                row = GoalTensor(name, "positions", dtype, (size,), row_major(1))
                self.tensors = {**self.tensors, name: row}
                own = Sum(((expr.id, 1),), 0, expr.span, alone=True)
                more[expr.id] = Access(name, (own,), row.shape, expr.span)
            read = ast.Subscripted(more[expr.id].tensor, (expr,), span=expr.span)
            reads[id(read)] = more[expr.id]
            return read

        return element(value), [*found, *more.values()]

    def _counted(self, dim: ast.Name, size: int, dtype: DType) -> None:
        """Report where a row of positions is too long, or not of numbers of the type."""
        if size > MOST_POSITIONS:
            message = f"'{dim.id}' is used as a number, and has {size} values"
            help = f"up to {MOST_POSITIONS:,} are possible; pass the numbers as an input"
            self.collector.error("S041", message, dim.span, "too many", help)
        elif not np.array_equal(convert(np.arange(float(size)), dtype), np.arange(size)):
            message = f"'{dim.id}' goes to {size - 1}, and {dtype} does not have all these numbers"
            help = f"for larger ones compute in a local of f32, and copy it to {dtype}"
            self.collector.error("S041", message, dim.span, f"not in {dtype}", help)

    def _elsewhere(self) -> ast.Number | None:
        """The value of what no subscript reaches; none where none is said, or after an error."""
        expr = self.node.elsewhere
        value = None if expr is None else self.sizes.number(expr, "the value elsewhere")
        return None if expr is None or value is None else ast.Number(value, span=expr.span)

    def _dtype(self, inputs: Sequence[GoalTensor]) -> DType | None:
        """The element type of the result; none after an error."""
        if not isinstance(self.result, str):
            return self.result.dtype
        common = common_dtype(inputs)
        if common is not None:
            return common
        message = f"nothing tells the element type of '{self.result}'"
        role = "output" if self.role == "output" else "local"
        help = f"declare it: {role} {self.result}: f32[...]"
        place = within(self.node.span, self.result)
        self.collector.error("S037", message, place, "which type?", help)
        return None

    def _held(self, said: Sequence[ast.Expr | None], dtype: DType) -> None:
        """All numbers are of the type that is computed in, the result's."""
        numbers = (number for expr in said if expr is not None for number in numbers_in(expr))
        for expr in numbers:
            if not holds(dtype, expr.value):
                message = f"{unparse(expr)} is no number of {dtype}, which is computed in"
                help = f"for others compute in a local of f32, and copy it to {dtype}"
                self.collector.error("S039", message, expr.span, f"not in {dtype}", help)

    # ------------------------------------------------------------------------- operators

    def _declare(
        self,
        target: Access,
        reads: Mapping[int, Access | None],
        said: tuple[ast.Expr, ast.Number | None],
        dims: Mapping[str, str],
        sizes: Mapping[str, int],
        *,
        canonical: bool = False,
    ) -> Operator:
        """The operator of the statement; its inputs are in the order in which they are first read.

        Args:
            target: What is written.
            reads: What is read, by the node that reads it.
            said: The value, with numbers in the place of parameters; and the value elsewhere.
            dims: What each dimension is called.
            sizes: Those of dimensions.
            canonical: Whether tensors have canonical names, too. Else they keep theirs, and what is
                wrong is reported.
        """
        assert isinstance(self.result, GoalTensor)
        shape = self.result.shape
        order: dict[_Key, Access] = {}
        called: dict[_Key, str] = {}
        for access in filter(None, reads.values()):
            if access.key not in order:
                again = "'" * sum(tensor == access.tensor for tensor, _ in order)
                order[access.key] = access
                called[access.key] = f"X{len(order)}" if canonical else access.tensor + again
        dtypes = [*(self.tensors[access.tensor].dtype for access in order.values())]
        dtypes.append(self.result.dtype)
        letters = dict(zip(dict.fromkeys(dtypes), string.ascii_uppercase, strict=False))

        value, elsewhere = said

        def parameter(name: str, access: Access, dtype: DType) -> ast.TensorParameter:
            indices = access.indices(dims)
            if access is target and elsewhere is not None:
                indices = access.framed(dims, sizes, shape)
            return ast.TensorParameter(name, letters[dtype], indices, span=access.span)

        def meaning(expr: ast.Expr) -> ast.Expr:
            if isinstance(expr, ast.Subscripted):
                access = reads[id(expr)]
                assert access is not None
                return ast.Element(called[access.key], access.indices(dims), span=access.span)
            return with_children(expr, tuple(map(meaning, children(expr))))

        written_as = "Y" if canonical else target.tensor
        operands = [*called.values(), written_as], [*order.values(), target], dtypes
        *inputs, output = map(parameter, *operands)
        result = ast.Element(output.name, output.indices, span=target.span)
        update, span = self.node.update, self.node.span
        statement = ast.Statement(result, update, meaning(value), elsewhere, span=span)
        stated = {dims[d]: sizes[d] for d in sizes_to_state([*order.values()], target, sizes)}
        if canonical:
            return statement_operator(inputs, output, statement, stated)
        around = Around(self.sizes.values, self.operators)
        return statement_operator(
            inputs, output, statement, stated, target.tensor, self.collector, around
        )

    def _slices(
        self, reads: Sequence[Access], sizes: Mapping[str, int]
    ) -> tuple[list[Checked], dict[_Key, GoalTensor]]:
        """The tensors that the statement reads, and what cuts those out that are parts."""
        calls = [*self.before]
        found: dict[_Key, GoalTensor] = {}
        for access in reads:
            if access.key in found:
                continue
            tensor = self.tensors[access.tensor]
            lows = [each.constant for each in access.sums]
            shape = tuple(each.extent(sizes) - each.constant for each in access.sums)
            if shape != tensor.shape:
                part = self._part(tensor, shape, len(calls))
                calls.append(self.moves.cut(tensor, part, lows))
                tensor = part
            # Numbers leave one element of a dimension, from the last one on.
            numbers = [place for place, each in enumerate(access.sums) if not each.terms]
            for place in reversed(numbers):
                shape = tensor.shape[:place] + tensor.shape[place + 1 :]
                part = self._part(tensor, shape, len(calls))
                calls.append(self.moves.without(tensor, part, place))
                tensor = part
            found[access.key] = tensor
        return calls, found

    def _part(self, tensor: GoalTensor, shape: tuple[int, ...], number: int | str) -> GoalTensor:
        """A tensor on the way, of a name that no text can say."""
        assert isinstance(self.result, GoalTensor)
        name = f"{self.result.name}.{number}"
        return GoalTensor(name, "local", tensor.dtype, shape, row_major(len(shape)))

    def _is_part(self, target: Access, read: Access) -> bool:
        """Whether what is read is the result: a part of a tensor as it is, and nothing else."""
        assert isinstance(self.result, GoalTensor)
        alike = [each.terms for each in read.sums] == [each.terms for each in target.sums]
        whole = self.tensors[read.tensor]
        return alike and self.result.dtype == whole.dtype and self.result.shape != whole.shape


def _names(node: spec_ast.Statement) -> set[str]:
    parts = (*node.target.subscripts, node.value)
    return set[str]().union(*map(names, parts))
