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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain

from morello.checking.kinds import counted
from morello.checking.operators import check_operator
from morello.checking.recognition import recognized
from morello.checking.sizes import Sizes
from morello.checking.use import Checked
from morello.ir.dtypes import DType
from morello.ir.goal import GoalTensor
from morello.ir.layout import row_major
from morello.ir.operators import Operation, Operator, size_name
from morello.language import ast, spec_ast
from morello.language.diagnostics import Collector
from morello.language.indices import written
from morello.language.places import within
from morello.language.source import Span
from morello.language.traverse import children, names, subexpressions, with_children
from morello.language.unparse import unparse

DIGEST = 6
"""Bytes that tell operators of statements apart, beside what they are checked for when used."""

LETTERS = "ijklmnopqrstuvwabcdefgh"
"""Canonical names of dimensions."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """A subscript: a sum of dimensions, each with a factor, and a number."""

    terms: tuple[tuple[str, int], ...]
    constant: int
    span: Span = field(compare=False)
    alone: bool = field(default=False, compare=False)
    """Whether it is written as a dimension and nothing else, which then spans all there is."""

    def extent(self, sizes: Mapping[str, int]) -> int:
        """One more than the largest value."""
        return 1 + self.constant + sum(f * (sizes[d] - 1) for d, f in self.terms)


@dataclass(frozen=True, slots=True)
class _Access:
    """A tensor as it is read, or written: ``shape`` is none where nothing declares it."""

    tensor: str
    sums: tuple[_Sum, ...]
    shape: tuple[int, ...] | None
    span: Span = field(compare=False)

    def named(self, new: Mapping[str, str]) -> tuple[ast.Index, ...]:
        """Its indices without margins, dimensions under other names."""
        return tuple(
            ast.Index(tuple((new[d], f) for d, f in each.terms), span=each.span)
            for each in self.sums
        )


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
    ) -> None:
        """``result`` is the tensor that takes the value, its name only where it is inferred.

        ``role``: that of a result that is inferred. ``known``: names of all tensors of the spec.
        """
        self.node = node
        self.tensors = tensors
        self.result = result
        self.role = role
        self.known = known
        self.operators = operators
        self.sizes = sizes
        self.collector = sizes.collector

    def check(self) -> list[Checked]:
        """The calls, the statement's own last; none after errors, which are reported."""
        before = len(self.collector.diagnostics)
        shape = None if isinstance(self.result, str) else self.result.shape
        target = self._access(self.node.target, shape)
        reads = {
            id(e): self._access(e, self.tensors[e.tensor].shape)
            for e in subexpressions(self.node.value)
            if isinstance(e, ast.Subscripted)
        }
        value = self._constants(self.node.value)
        if len(self.collector.diagnostics) > before or self.sizes.unknown & _names(self.node):
            return []
        found = [access for access in reads.values() if access is not None]
        assert target is not None
        extents = self._extents([*found, target])
        if extents is None:
            return []
        self._reach([*found, target], target, extents)
        if len(self.collector.diagnostics) > before:
            return []
        dtype = self._dtype([self.tensors[access.tensor] for access in found])
        if dtype is None:
            return []
        if isinstance(self.result, str):
            own = tuple(each.extent(extents) for each in target.sums)
            self.result = GoalTensor(self.result, self.role, dtype, own, row_major(len(own)))
        self._declare(target, reads, value, dict.fromkeys(extents), self.collector, extents)
        if len(self.collector.diagnostics) > before:
            return []
        if isinstance(self.node.value, ast.Subscripted) and self._is_part(target, *found):
            whole, [read] = self.tensors[found[0].tensor], found
            return [self._cut(whole, self.result, [each.constant for each in read.sums])]
        slices, places = self._slices(found, extents)
        canonical = _canonical([target, *found])
        operator, order = self._declare(target, reads, value, canonical, Collector(), extents)
        operands = [*(places[access.tensor, access.sums] for access in order), self.result]
        own_sizes = {canonical[d]: size for d, size in extents.items()}
        return [*slices, self._call(operator, operands, own_sizes)]

    def _call(
        self, operator: Operator, tensors: Sequence[GoalTensor], sizes: Mapping[str, int]
    ) -> Checked:
        """A declared operator that computes the same, or the statement's own."""
        dtypes = [tensor.dtype.name for tensor in tensors]
        same = recognized(operator, sizes, dtypes, self.operators.values())
        if same is not None:
            *inputs, output = tensors
            return Checked(same.operation, (*(inputs[place] for place in same.order), output))
        asked = tuple((size_name(d), float(sizes[d])) for d in operator.sizes)
        return Checked(Operation(operator, 0, scalars=asked), tuple(tensors))

    # ------------------------------------------------------------------------- subscripts

    def _access(self, node: ast.Subscripted, shape: tuple[int, ...] | None) -> _Access | None:
        """The subscripts of a tensor as sums; none after errors."""
        if shape is not None and len(shape) != len(node.subscripts):
            given, wanted = len(node.subscripts), len(shape)
            message = f"'{node.tensor}' has {counted(wanted, 'dimension')}, but {given} are written"
            help = f"its shape is {list(shape)}"
            self.collector.error("S035", message, node.span, counted(given, "subscript"), help)
            return None
        sums = [self._sum(subscript) for subscript in node.subscripts]
        whole = tuple(each for each in sums if each is not None)
        return _Access(node.tensor, whole, shape, node.span) if len(whole) == len(sums) else None

    def _sum(self, expr: ast.Expr) -> _Sum | None:
        """A subscript as a sum; none after an error."""
        found = self._affine(expr)
        if found is None:
            return None
        terms, constant = found
        wrong = [f"the factor of '{d}' is {factor}" for d, factor in terms.items() if factor < 1]
        if wrong or constant < 0:
            what = [*wrong, "it begins before the first element"]
            message = f"'{unparse(expr)}' is no subscript: {what[0]}"
            help = "factors are at least 1, and what is added is at least 0"
            self.collector.error("S040", message, expr.span, "not possible", help)
            return None
        if not terms:
            message = f"'{unparse(expr)}' is no subscript: it has no dimension"
            help = f"write one of size 1: {constant} + i, where 'i' indexes the result, too"
            self.collector.error("S040", message, expr.span, "one element", help)
            return None
        return _Sum(tuple(terms.items()), constant, expr.span, isinstance(expr, ast.Name))

    def _affine(self, expr: ast.Expr) -> tuple[dict[str, int], int] | None:
        """Factors of dimensions, and a number; none after an error."""
        known = self.sizes.values.keys() | self.sizes.unknown
        if not names(expr) - known and not any(_reads(e) for e in subexpressions(expr)):
            value = self.sizes.integer(expr, "this number in a subscript")
            return None if value is None else ({}, value)
        match expr:
            case ast.Name(id=name):
                return {name: 1}, 0
            case ast.Binary(operator="+" | "-" as sign, left=left, right=right):
                first, second = self._affine(left), self._affine(right)
                if first is None or second is None:
                    return None
                times = 1 if sign == "+" else -1
                terms = dict(first[0])
                for dim, factor in second[0].items():
                    terms[dim] = terms.get(dim, 0) + times * factor
                return terms, first[1] + times * second[1]
            case ast.Binary(operator="*", left=left, right=right):
                first, second = self._affine(left), self._affine(right)
                if first is None or second is None:
                    return None
                if second[0]:
                    first, second = second, first
                if not second[0]:
                    return {d: f * second[1] for d, f in first[0].items()}, first[1] * second[1]
        message = f"'{unparse(expr)}' is no sum of dimensions"
        help = "dimensions times numbers, and numbers: 2 * i + r + 1"
        self.collector.error("S040", message, expr.span, "not a subscript", help)
        return None

    def _constants(self, expr: ast.Expr) -> ast.Expr:
        """The value with numbers in the place of parameters."""
        if isinstance(expr, ast.Subscripted):
            return expr
        if isinstance(expr, ast.Name) and expr.id in self.sizes.values:
            self.sizes.used.add(expr.id)
            return ast.Number(self.sizes.values[expr.id], span=expr.span)
        if isinstance(expr, ast.Name) and expr.id in self.known:
            message = f"'{expr.id}' is a tensor: say which element"
            self.collector.error("S040", message, expr.span, "no subscripts", f"{expr.id}[i, ...]")
        return with_children(expr, tuple(map(self._constants, children(expr))))

    # ------------------------------------------------------------------------- sizes

    def _extents(self, accesses: Sequence[_Access]) -> dict[str, int] | None:
        """The size of each dimension, or none after an error."""
        found: dict[str, tuple[int, str]] = {}
        before = len(self.collector.diagnostics)
        for access, position, each in _subscripts(accesses):
            if each.alone and access.shape is not None:
                [(dim, _)] = each.terms
                size = access.shape[position]
                here = f"dimension {position + 1} of '{access.tensor}'"
                first, where = found.setdefault(dim, (size, here))
                if first != size:
                    message = f"'{dim}' is {first} in {where} but {size} in {here}"
                    label, help = f"{size} here", f"a part is read by a sum: {dim} + 0"
                    self.collector.error("S036", message, each.span, label, help)
        sizes = {dim: size for dim, (size, _) in found.items()}
        known = -1
        while len(sizes) > known:
            known = len(sizes)
            for access, position, each in _subscripts(accesses):
                open_ = [(d, f) for d, f in each.terms if d not in sizes]
                if len(open_) == 1 and access.shape is not None:
                    [(dim, factor)] = open_
                    least = each.extent({**sizes, dim: 1})
                    sizes[dim] = max(1, 1 + (access.shape[position] - least) // factor)
        every = ((each, dim) for _, _, each in _subscripts(accesses) for dim, _ in each.terms)
        for each, dim in every:
            if dim not in sizes:
                message = f"nothing tells the size of dimension '{dim}'"
                help = f"declare what is computed: local {accesses[-1].tensor}: f32[...]"
                self.collector.error("S036", message, each.span, help=help)
                break
        return None if len(self.collector.diagnostics) > before else sizes

    def _reach(
        self, accesses: Sequence[_Access], target: _Access, sizes: Mapping[str, int]
    ) -> None:
        """No subscript reaches beyond its tensor; those of the result reach all of it."""
        for access, position, each in _subscripts(accesses):
            extent = each.extent(sizes)
            size = extent if access.shape is None else access.shape[position]
            written_ = access is target
            if extent > size or (written_ and (extent < size or each.constant)):
                message = (
                    f"this reaches {extent} elements where dimension {position + 1} of "
                    f"'{access.tensor}' has {size}"
                )
                if written_ and each.constant:
                    message = f"nothing gives '{access.tensor}' its first elements a value"
                help = ", ".join(f"'{d}' is {sizes[d]}" for d, _ in each.terms)
                self.collector.error("S036", message, each.span, f"{extent} elements", help)

    def _dtype(self, inputs: Sequence[GoalTensor]) -> DType | None:
        """The element type of the result; none after an error."""
        if not isinstance(self.result, str):
            return self.result.dtype
        given = {tensor.dtype for tensor in inputs}
        if len(given) == 1 and all(own.floating for own in given):
            return given.pop()
        message = f"nothing tells the element type of '{self.result}'"
        role = "output" if self.role == "output" else "local"
        help = f"declare it: {role} {self.result}: f32[...]"
        place = within(self.node.span, self.result)
        self.collector.error("S037", message, place, "which type?", help)
        return None

    # ------------------------------------------------------------------------- operators

    def _declare(
        self,
        target: _Access,
        reads: Mapping[int, _Access | None],
        value: ast.Expr,
        dims: Mapping[str, str | None],
        collector: Collector,
        sizes: Mapping[str, int],
    ) -> tuple[Operator, list[_Access]]:
        """The operator of the statement, and what its inputs are.

        Args:
            target: What is written.
            reads: What is read, by the node that reads it.
            value: The value, with numbers in the place of parameters.
            dims: New names of dimensions. Without any, all keep their names, as do tensors.
            collector: Takes the errors.
            sizes: Those of dimensions.
        """
        canonical = all(dims.values())
        new = {dim: name or dim for dim, name in dims.items()}
        order: dict[tuple[str, tuple[_Sum, ...]], _Access] = {}
        for access in reads.values():
            if access is not None:
                order.setdefault((access.tensor, access.sums), access)
        kinds = {t: k for k, t in enumerate(dict.fromkeys(self._types([*order.values()])))}
        called: dict[tuple[str, tuple[_Sum, ...]], str] = {}
        for key, access in order.items():
            again = "'" * sum(tensor == access.tensor for tensor, _ in called)
            called[key] = f"X{len(called) + 1}" if canonical else access.tensor + again
        own = "Y" if canonical else target.tensor

        def element(name: str, access: _Access) -> ast.Element:
            return ast.Element(name, access.named(new), span=access.span)

        def meaning(expr: ast.Expr) -> ast.Expr:
            if isinstance(expr, ast.Subscripted):
                access = reads[id(expr)]
                assert access is not None
                return element(called[access.tensor, access.sums], access)
            return with_children(expr, tuple(map(meaning, children(expr))))

        def parameter(name: str, access: _Access, type_: str) -> ast.TensorParameter:
            letter = string.ascii_uppercase[kinds[type_]]
            return ast.TensorParameter(name, letter, access.named(new), span=access.span)

        inputs = [
            parameter(called[key], access, self.tensors[access.tensor].dtype.name)
            for key, access in order.items()
        ]
        output = parameter(own, target, self._types([])[-1])
        # New nodes are looked up by the identity of what they come from: constants stay in place.
        statement = ast.Statement(
            element(own, target), self.node.update, meaning(value), span=self.node.span
        )
        stated = tuple(
            ast.Binary(
                "==",
                ast.Call("size", (ast.Name(new[d], span=self.node.span),), span=self.node.span),
                ast.Number(sizes[d], span=self.node.span),
                span=self.node.span,
            )
            for d in _to_state([*order.values()], target)
        )
        text = f"{unparse(statement.target)} {statement.update} {unparse(statement.value)}"
        heads = [f"{p.name}: {p.dtype}[{written(p.indices)}]" for p in (*inputs, output)]
        exact = "; ".join([text, *heads, *map(unparse, stated)])
        digest = blake2b(exact.encode(), digest_size=DIGEST).hexdigest()
        declaration = ast.OperatorDecl(
            name=f"statement_{digest}" if canonical else target.tensor,
            name_span=target.span,
            doc=text,
            inputs=tuple(inputs),
            scalars=(),
            output=output,
            statements=(statement,),
            sizes=stated,
            span=self.node.span,
        )
        return replace(check_operator(declaration, collector), text=text), [*order.values()]

    def _types(self, accesses: Iterable[_Access]) -> list[str]:
        """The element types of what is read, then of the result."""
        types = [self.tensors[access.tensor].dtype.name for access in accesses]
        result = self.result
        return [*types, "" if isinstance(result, str) else result.dtype.name]

    def _slices(
        self, reads: Sequence[_Access], sizes: Mapping[str, int]
    ) -> tuple[list[Checked], dict[tuple[str, tuple[_Sum, ...]], GoalTensor]]:
        """The tensors that the statement reads, and what cuts those out that are parts."""
        calls: list[Checked] = []
        found: dict[tuple[str, tuple[_Sum, ...]], GoalTensor] = {}
        for access in reads:
            tensor = self.tensors[access.tensor]
            lows = [each.constant for each in access.sums]
            shape = tuple(each.extent(sizes) - each.constant for each in access.sums)
            if shape != tensor.shape and (access.tensor, access.sums) not in found:
                name = f"{self._name()}.{access.tensor}{len(calls) + 1}"
                part = GoalTensor(name, "local", tensor.dtype, shape, row_major(len(shape)))
                calls.append(self._cut(tensor, part, lows))
                found[access.tensor, access.sums] = part
            found.setdefault((access.tensor, access.sums), tensor)
        return calls, found

    def _is_part(self, target: _Access, read: _Access) -> bool:
        """Whether what is read is the result: a part of a tensor as it is, and nothing else."""
        assert isinstance(self.result, GoalTensor)
        alike = [each.terms for each in read.sums] == [each.terms for each in target.sums]
        whole = self.tensors[read.tensor]
        return alike and self.result.dtype == whole.dtype and self.result.shape != whole.shape

    def _name(self) -> str:
        return self.result if isinstance(self.result, str) else self.result.name

    def _cut(self, whole: GoalTensor, part: GoalTensor, lows: Sequence[int]) -> Checked:
        """What cuts a part out of a tensor."""
        span = self.node.span
        dims = LETTERS[: len(part.shape)]
        source, result = [], []
        for dim, low, size, extent in zip(dims, lows, part.shape, whole.shape, strict=True):
            high = extent - low - size
            margins = [((n, 1),) if n else () for n in (low, high)]
            source.append(ast.Index(((dim, 1),), low=margins[0], high=margins[1], span=span))
            result.append(ast.Index(((dim, 1),), span=span))
        value = ast.Element("X1", tuple(source), span=span)
        target = ast.Element("Y", tuple(result), span=span)
        text = f"{unparse(target)} = {unparse(value)}"
        digest = blake2b(text.encode(), digest_size=DIGEST).hexdigest()
        declaration = ast.OperatorDecl(
            name=f"statement_{digest}",
            name_span=span,
            doc=text,
            inputs=(ast.TensorParameter("X1", "A", tuple(source), span=span),),
            scalars=(),
            output=ast.TensorParameter("Y", "A", tuple(result), span=span),
            statements=(ast.Statement(target, "=", value, span=span),),
            span=span,
        )
        operator = replace(check_operator(declaration, Collector()), text=text)
        return self._call(operator, [whole, part], dict(zip(dims, part.shape, strict=True)))


def _subscripts(accesses: Iterable[_Access]) -> Iterator[tuple[_Access, int, _Sum]]:
    for access in accesses:
        for position, each in enumerate(access.sums):
            yield access, position, each


def _reads(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Subscripted | ast.Element)


def _names(node: spec_ast.Statement) -> set[str]:
    parts = (*node.target.subscripts, node.value)
    return set[str]().union(*map(names, parts))


def _canonical(accesses: Iterable[_Access]) -> dict[str, str]:
    """Canonical names of dimensions, by their own: letters in the order in which they come."""
    dims = dict.fromkeys(d for _, _, each in _subscripts(accesses) for d, _ in each.terms)
    more = (f"d{number}" for number in range(len(dims)))
    return dict(zip(dims, chain(LETTERS, more), strict=False))


def _to_state(reads: Sequence[_Access], target: _Access) -> list[str]:
    """Dimensions whose size has to be stated.

    Those that stand nowhere alone, or only in the result; and those that go through its rows.
    """
    every = [*reads, target]
    single = {each.terms[0][0] for _, _, each in _subscripts(every) if _is_single(each)}
    needed = dict.fromkeys(d for _, _, each in _subscripts(every) for d, _ in each.terms)
    inner = {
        d
        for each in target.sums
        for d, factor in each.terms
        if factor < max(f for _, f in each.terms)
    }
    read = {d for access in reads for each in access.sums for d, _ in each.terms}
    return [d for d in needed if d not in single or d in inner or (reads and d not in read)]


def _is_single(each: _Sum) -> bool:
    return len(each.terms) == 1 and each.terms[0][1] == 1
