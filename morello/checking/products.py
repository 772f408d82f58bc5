"""Products of two tensors in a statement that says more: what is computed before them.

The value ``0.5 * x[m, k] * mask[m, k] * w[n, k]`` has factors over ``m, k`` and over ``n, k``. The
first ones are one tensor, which is computed element by element. What is left is a product, of which
a declared operator may be known. A sum of such products, ``a[m, k] * b[k] + c[m, k] * d[k]``, is a
sum for each of them.

All is of the result's type, as in the statement itself. Factors are multiplied in another order,
and no more than that: NaN and infinities are where they were, and integers wrap around alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import prod

from msgspec import Struct

from morello.checking.accesses import Access
from morello.ir.dtypes import DType
from morello.ir.goal import GoalTensor
from morello.ir.layout import row_major
from morello.language import ast, spec_ast
from morello.language.source import Span
from morello.language.traverse import children, with_children
from morello.records import replace

_Terms = tuple[tuple[str, int], ...]
"""What a subscript goes through: one dimension, or a sum of several with their factors."""


class Step(Struct, frozen=True):
    """A statement, and the tensor that it computes; none for the statement's own result."""

    statement: spec_ast.Statement
    result: GoalTensor | None = None


class _Factor(Struct, frozen=True):
    """A factor, or what is divided by, and the dimensions that it depends on.

    ``plain``: whether it is a tensor that is there, read without steps.
    """

    expr: ast.Expr
    inverse: bool
    plain: bool
    subscripts: dict[_Terms, None]

    @property
    def dims(self) -> frozenset[str]:
        return frozenset(dim for terms in self.subscripts for dim, _ in terms)


_Group = tuple[_Factor, ...]


def products(
    node: spec_ast.Statement,
    reads: Mapping[int, Access],
    written: Access,
    extents: Mapping[str, int],
    dtype: DType,
) -> Iterator[list[Step]]:
    """Ways to compute a statement as products of two tensors, likely ones first.

    Args:
        node: The statement, which was checked; nothing in it is looked up.
        reads: What is read, by the node that reads it.
        written: The result with its subscripts.
        extents: Sizes of dimensions.
        dtype: The result's type.
    """
    if node.update != "+=":
        return
    terms = list(_terms(node.value))
    for sign in (1, -1):
        apart = _Apart(node, reads, written, extents, dtype, sign)
        if len(terms) == 1:
            value = apart.product(node.value, whole=False)
            last = None if value is None else replace(node, value=value)
        else:
            last = apart.sums(terms)
        if last is None:
            return
        yield [*apart.steps, Step(last)]


class _Apart:
    """One way to take a statement apart.

    ``sign``: a factor of two groups goes to the smaller one where it is 1, to the larger where -1.
    """

    def __init__(
        self,
        node: spec_ast.Statement,
        reads: Mapping[int, Access],
        written: Access,
        extents: Mapping[str, int],
        dtype: DType,
        sign: int,
    ) -> None:
        self.node = node
        self.reads = reads
        self.extents = extents
        self.dtype = dtype
        self.sign = sign
        self.kept = dict.fromkeys(dim for each in written.sums for dim, _ in each.terms)
        self.steps: list[Step] = []

    def sums(self, terms: Sequence[tuple[str, ast.Expr]]) -> spec_ast.Statement | None:
        """The sum of sums; none where one of them is no product."""
        total: ast.Expr | None = None
        for sign, term in terms:
            product = self.product(term, whole=True)
            dims = {dim for terms in self._subscripts(term) for dim, _ in terms}
            if product is None or {*self.extents} - {*self.kept} - dims:
                return None  # what lacks a dimension is added once for each of its values
            kept = [dim for dim in self.kept if dim in dims]
            sum_ = self._first(tuple(((d, 1),) for d in kept), product, "+=")
            if total is None:
                total = sum_ if sign == "+" else ast.Unary("-", sum_, span=term.span)
            else:
                total = ast.Binary(sign, total, sum_, span=term.span)
        assert total is not None
        return replace(self.node, value=total, update="=")

    def product(self, expr: ast.Expr, *, whole: bool) -> ast.Expr | None:
        """A product of two tensors, computed or there; none where that is not what it is.

        ``whole``: whether both may be there already.
        """
        found = [
            _Factor(factor, inverse, not inverse and self._plain(factor), self._subscripts(factor))
            for inverse, factor in _factors(expr, inverses=self.dtype.floating)
        ]
        groups = self._groups(found)
        if groups is None:
            return None
        plain = [len(group) == 1 and group[0].plain for group in groups]
        if not whole and all(plain):
            return None
        parts = [
            group[0].expr if there else self._computed(group)
            for group, there in zip(groups, plain, strict=True)
        ]
        if parts[0] is None or parts[1] is None:
            return None
        return ast.Binary("*", parts[0], parts[1], span=expr.span)

    def _plain(self, expr: ast.Expr) -> bool:
        if not isinstance(expr, ast.Subscripted):
            return False
        single = (each.terms[0] for each in self.reads[id(expr)].sums if len(each.terms) == 1)
        return all(factor == 1 for _, factor in single)

    def _groups(self, factors: Sequence[_Factor]) -> list[_Group] | None:
        """Factors over two sets of dimensions; none if there are not two, or if one is the other's.

        A tensor that is there, and has all dimensions, is one by itself: nothing is copied that is
        as large as all that is computed.
        """
        sets = dict.fromkeys(factor.dims for factor in factors)
        largest = [own for own in sets if not any(own < other for other in sets)]
        if len(largest) == 1:
            all_of = [factor for factor in factors if factor.dims == largest[0]]
            others = tuple(factor for factor in factors if factor.dims != largest[0])
            if len(all_of) > 1 or not all_of[0].plain or not any(x.dims for x in others):
                return None
            return [tuple(all_of), others]
        if len(largest) != 2:
            return None
        groups = [[factor for factor in factors if factor.dims == own] for own in largest]
        for factor in sorted(factors, key=lambda own: -len(own.dims)):
            if factor.dims not in largest:
                fitting = [g for g, own in zip(groups, largest, strict=True) if factor.dims <= own]
                min(fitting, key=self._work).append(factor)
        place = {id(factor): position for position, factor in enumerate(factors)}
        return [tuple(sorted(group, key=lambda own: place[id(own)])) for group in groups]

    def _work(self, group: Sequence[_Factor]) -> tuple[bool, int]:
        """The least is the group for one more factor: one that is computed anyway, or by size."""
        there = len(group) == 1 and group[0].plain
        return there, self.sign * prod(map(self._extent, _together(group)))

    def _computed(self, group: _Group) -> ast.Expr | None:
        """The product of some factors as a tensor.

        None where its subscripts have a dimension twice, or where all is divided by.
        """
        subscripts = _together(group)
        dims = [dim for terms in subscripts for dim, _ in terms]
        first, *others = sorted(group, key=lambda own: own.inverse)
        if len(dims) > len({*dims}) or first.inverse:
            return None
        value = first.expr
        for factor in others:
            sign = "/" if factor.inverse else "*"
            value = ast.Binary(sign, value, factor.expr, span=self.node.span)
        return self._first(tuple(subscripts), value, "=")

    def _first(self, subscripts: Sequence[_Terms], value: ast.Expr, update: str) -> ast.Expr:
        """A tensor that is computed first, as what is left of the statement reads it.

        Where a subscript is a sum, the tensor has one dimension for it.
        """
        span, number = self.node.span, len(self.steps)
        name = f"{self.node.result}.first.{number}"
        called = {
            terms: terms[0][0] if len(terms) == 1 else f"{name}.{place}"
            for place, terms in enumerate(subscripts)
        }
        shape = tuple(map(self._extent, subscripts))
        target = ast.Subscripted(
            name, tuple(ast.Name(called[terms], span=span) for terms in subscripts), span=span
        )
        statement = replace(
            self.node,
            target=target,
            update=update,
            value=self._renamed(value, called) if update == "=" else value,
            elsewhere=None,
        )
        result = GoalTensor(name, "local", self.dtype, shape, row_major(len(shape)))
        self.steps.append(Step(statement, result))
        read = tuple(_written(terms, span) for terms in subscripts)
        return ast.Subscripted(name, read, span=span)

    def _renamed(self, expr: ast.Expr, called: Mapping[_Terms, str]) -> ast.Expr:
        """With a dimension in the place of each sum of several."""
        if not isinstance(expr, ast.Subscripted):
            return with_children(expr, [self._renamed(part, called) for part in children(expr)])
        subscripts = [
            _sum(ast.Name(called[key], span=own.span), ast.Number(each.constant, span=own.span))
            if len(key := _key(each.terms)) > 1
            else own
            for own, each in zip(expr.subscripts, self.reads[id(expr)].sums, strict=True)
        ]
        return replace(expr, subscripts=tuple(subscripts))

    def _extent(self, terms: _Terms) -> int:
        """How far a subscript goes; what is one dimension goes through all of it, in any steps."""
        if len(terms) == 1:
            return self.extents[terms[0][0]]
        return 1 + sum(factor * (self.extents[dim] - 1) for dim, factor in terms)

    def _subscripts(self, expr: ast.Expr) -> dict[_Terms, None]:
        """What an expression depends on."""
        if isinstance(expr, ast.Subscripted):
            sums = self.reads[id(expr)].sums
            return dict.fromkeys(_key(each.terms) for each in sums if each.terms)
        if isinstance(expr, ast.Name):
            return {((expr.id, 1),): None} if expr.id in self.extents else {}
        own = (self._subscripts(part) for part in children(expr))
        return reduce(lambda found, more: found | more, own, dict[_Terms, None]())


def _key(terms: Sequence[tuple[str, int]]) -> _Terms:
    """What a subscript goes through, in one order; the steps of one dimension do not matter."""
    return ((terms[0][0], 1),) if len(terms) == 1 else tuple(sorted(terms))


def _together(group: Sequence[_Factor]) -> dict[_Terms, None]:
    """The subscripts of all factors, those of the one that has most first."""
    first = max(group, key=lambda factor: len(factor.subscripts))
    return reduce(lambda found, own: found | own.subscripts, group, dict(first.subscripts))


def _terms(expr: ast.Expr, sign: str = "+") -> Iterator[tuple[str, ast.Expr]]:
    """The terms of a sum, each with its sign."""
    match expr:
        case ast.Binary(operator="+" | "-" as own, left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if own == "+" else "-+"[sign == "-"])
        case _:
            yield sign, expr


def _factors(expr: ast.Expr, *, inverses: bool) -> Iterator[tuple[bool, ast.Expr]]:
    """The factors of a product, each with whether it is divided by; one has the sign of all."""
    match expr:
        case ast.Binary(operator="*", left=left, right=right):
            yield from _factors(left, inverses=inverses)
            yield from _factors(right, inverses=inverses)
        case ast.Binary(operator="/", left=left, right=right) if inverses:
            yield from _factors(left, inverses=inverses)
            yield True, right
        case ast.Unary(operator="-", operand=operand):
            (inverse, first), *others = _factors(operand, inverses=inverses)
            yield inverse, ast.Unary("-", first, span=expr.span)
            yield from others
        case _:
            yield False, expr


def _written(terms: _Terms, span: Span) -> ast.Expr:
    """A subscript that goes through this."""
    if len(terms) == 1:
        return ast.Name(terms[0][0], span=span)
    parts: list[ast.Expr] = [
        ast.Binary("*", ast.Number(factor, span=span), ast.Name(dim, span=span), span=span)
        for dim, factor in terms
    ]
    return reduce(_sum, parts)


def _sum(left: ast.Expr, right: ast.Expr) -> ast.Expr:
    return ast.Binary("+", left, right, span=left.span)
