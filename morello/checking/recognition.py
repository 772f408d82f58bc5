"""Which declared operator computes what a statement with subscripts says.

Both are compared as trees, up to names: of dimensions, operands and scalars, the order of inputs,
and that of the terms of sums, the factors of products and the integers of a largest or least one.
Scalars of the declared operator stand for whatever number is in their place.

A statement may also be a declared operator whose operands have their dimensions in another order:
then a rule says so, and the order becomes part of their layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from math import isfinite

from msgspec import Struct

from morello.ir.dtypes import DTYPES
from morello.ir.operators import Operation, Operator, is_whole, sized_dimension
from morello.language import ast
from morello.language.signed_zero import same_number
from morello.language.traverse import children
from morello.records import replace

MOST_INPUTS = 4
"""So many inputs are tried in all orders; of more, in the order that is written."""

MOST_DIMENSIONS = 5
"""Those of an operand of so many are tried in all orders."""

COMMUTATIVE = ("+", "*")

COMMUTATIVE_OF_INTEGERS = ("max", "min")
"""Where one is NaN they give the second one."""

Order = tuple[int, ...]
"""Of the dimensions of a declared operand, which ones of a statement's they are."""


class Recognized(Struct, frozen=True):
    """A declared operation; ``order``: which of the statement's inputs each of its inputs is.

    ``orders``: those of the dimensions of its operands.
    """

    operation: Operation
    order: tuple[int, ...]
    orders: tuple[Order, ...]


def recognized(
    own: Operator,
    sizes: Mapping[str, int],
    dtypes: Sequence[str],
    declared: Iterable[Operator],
) -> Recognized | None:
    """The declared operator that computes the same, with the fewest scalars; none if none does.

    Args:
        own: The statement's operator; it has neither group nor scalars that are given.
        sizes: Of its dimensions.
        dtypes: Of its operands, the output last.
        declared: The operators to compare with.
    """
    # The simplest first, so that the first one that matches is it.
    for operator in sorted(declared, key=lambda known: (len(known.scalars), known.name)):
        found = _matched(own, sizes, dtypes, operator)
        if found is not None:
            return found
    return None


def seen_as(own: Operator, declared: Iterable[Operator]) -> ast.RuleDecl | None:
    """A rule for the operator of a statement: it is a declared one, its operands seen otherwise.

    It does not depend on sizes and element types, which are no part of the operator. So no declared
    operator is looked for that asks for certain ones.

    Args:
        own: The statement's operator, which `recognized` does not know.
        declared: The operators to compare with.
    """
    if own.moves:
        return _merging(own, sorted((o for o in declared if o.copies), key=lambda o: o.name))
    if own.reduction is None or own.sizes or own.stated or own.statement.elsewhere is not None:
        return None
    # A dimension alone stands for all of its steps in a view: what steps is then no part of it.
    single = (i.terms[0] for p in own.parameters for i in p.indices if len(i.terms) == 1)
    if any(factor != 1 for _, factor in single):
        return None
    if max(len(parameter.indices) for parameter in own.parameters) > MOST_DIMENSIONS:
        return None
    known = (o for o in declared if o.reduction == own.reduction and not (o.sizes or o.stated))
    return _seen_as(own, tuple(sorted(known, key=lambda o: (len(o.scalars), o.name))))


def _merging(own: Operator, copying: Sequence[Operator]) -> ast.RuleDecl | None:
    """The rule that copies to rows of the output, seen with a dimension for each of their sums."""
    output = own.output
    read = [index.terms for index in own.inputs[0].indices]
    alone = [
        ((dim, 1),)
        for index in output.indices
        for dim, _ in sorted(index.terms, key=lambda term: -float(term[1]))
    ]
    if not copying or sorted(read) != sorted(alone):
        return None
    indices = [ast.Index(terms, span=output.span) for terms in alone]
    return _rule(own, copying[0], [(own.inputs[0], indices), (output, indices)])


@lru_cache(maxsize=1024)
def _seen_as(own: Operator, declared: tuple[Operator, ...]) -> ast.RuleDecl | None:
    sizes = dict.fromkeys((d for p in own.parameters for i in p.indices for d, _ in i.terms), 2)
    dtypes = [parameter.dtype for parameter in own.parameters]
    for operator in declared:
        found = _matched(own, sizes, dtypes, operator, turned=True)
        if found is not None and all(isfinite(value) for _, value in found.operation.scalars):
            places = (*found.order, len(own.inputs))
            operands = [
                (own.parameters[p], [own.parameters[p].indices[place] for place in order])
                for p, order in zip(places, found.orders, strict=True)
            ]
            return _rule(own, operator, operands, found.operation.scalars)
    return None


def _rule(
    own: Operator,
    declared: Operator,
    operands: Iterable[tuple[ast.TensorParameter, Sequence[ast.Index]]],
    scalars: Sequence[tuple[str, float]] = (),
) -> ast.RuleDecl:
    """The rule that applies a declared operator to views of a statement's operands.

    Its place is that of the declared operator: it is the same, whichever text has the statement.
    """
    name, span = declared.name, declared.declaration.span
    f = ast.Name("f", span=span)

    def view(parameter: ast.TensorParameter, indices: Sequence[ast.Index]) -> ast.Expr | ast.View:
        operand = ast.Attribute(f, parameter.name, span=span)
        return ast.View(operand, tuple(indices), span=span) if indices else operand

    views = (view(*operand) for operand in operands)
    numbers = (ast.Number(value, span=span) for _, value in scalars)
    step = ast.Apply(False, False, False, name, span, (*views, *numbers), None, span=span)
    return ast.RuleDecl(
        name=f"seen_as_{name}",
        name_span=span,
        doc=f"What it computes is {name}, of operands that are seen otherwise.",
        match=ast.MatchOperator("f", "named", own.name, False, False, (), span=span),
        operands=(),
        choices=(),
        guards=() if own.reduction is None else (ast.Call("reduces", (f,), span=span),),
        cost=None,
        result=ast.Block((step,), span=span),
        span=span,
    )


def _matched(
    own: Operator,
    sizes: Mapping[str, int],
    dtypes: Sequence[str],
    operator: Operator,
    *,
    turned: bool = False,
) -> Recognized | None:
    """A way in which an operator is that of a statement; none if there is none.

    ``turned``: dimensions of operands may be in another order.
    """
    count = len(own.inputs)
    if operator.parts or len(operator.inputs) != count or operator.reduction != own.reduction:
        return None
    orders = permutations(range(count)) if count <= MOST_INPUTS else [tuple(range(count))]
    for order in orders:
        places = (*order, count)
        if not _types_fit(operator, [dtypes[place] for place in places]):
            continue
        ranks = tuple(len(own.parameters[place].indices) for place in places)
        rank = operator.group_rank(ranks)
        if rank is None:
            continue
        computed = DTYPES.get(dtypes[-1])  # unknown where only letters stand for types
        integers = computed is not None and not computed.floating
        matching = _Matching(operator, own, rank, sizes, turned, integers)
        found = matching.complete(places)
        if found is not None:
            scalars = tuple((name, matching.scalars[name]) for name in operator.scalars)
            return Recognized(Operation(operator, rank, scalars=scalars), order, found)
    return None


def _types_fit(operator: Operator, dtypes: Sequence[str]) -> bool:
    variables: dict[str, str] = {}
    for parameter, dtype in zip(operator.parameters, dtypes, strict=True):
        wanted = parameter.dtype
        if wanted not in DTYPES:
            wanted = variables.setdefault(wanted, dtype)
        if wanted != dtype:
            return False
    return True


@dataclass(slots=True)
class _Matching:
    """What the names of a declared operator stand for in a statement's.

    ``free`` are factors of dimensions of size 1, which may be anything. ``integers``: whether what
    is computed certainly is such.
    """

    operator: Operator
    own: Operator
    rank: int
    sizes: Mapping[str, int]
    turned: bool
    integers: bool
    dims: dict[str, str] = field(default_factory=dict)
    tensors: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    free: dict[str, float] = field(default_factory=dict)

    def complete(self, places: Sequence[int]) -> tuple[Order, ...] | None:
        """Orders of dimensions in which both are the same, operands in this order; none if in none.

        Fills in what the names stand for.
        """
        # The output first: there, dimensions mostly stand alone.
        pairs = list(zip(self.operator.parameters, places, strict=True))
        found = self._operands([pairs[-1], *pairs[:-1]])
        return None if found is None else (*found[1:], found[0])

    def _operands(
        self, pairs: Sequence[tuple[ast.TensorParameter, int]]
    ) -> tuple[Order, ...] | None:
        """Orders of the dimensions of these operands, and all that is behind them is the same."""
        if not pairs:
            return () if self._means_the_same() else None
        (parameter, place), *others = pairs
        theirs = self.own.parameters[place]
        self.tensors[parameter.name] = theirs.name
        declared = self._expanded(parameter.indices)
        if len(declared) != len(theirs.indices):
            return None
        plain = tuple(range(len(declared)))
        for order in permutations(plain) if self.turned else (plain,):
            before = dict(self.dims), dict(self.scalars), dict(self.free)
            if all(map(self._index, declared, [theirs.indices[p] for p in order])):
                found = self._operands(others)
                if found is not None:
                    return (order, *found)
            self.dims, self.scalars, self.free = before
        return None

    def _means_the_same(self) -> bool:
        """Whether values are the same, where subscripts are."""
        statement, theirs_ = self.operator.statement, self.own.statement
        values = [(statement.value, theirs_.value)]
        if statement.elsewhere is not None and theirs_.elsewhere is not None:
            values.append((statement.elsewhere, theirs_.elsewhere))
        elif statement.elsewhere is not theirs_.elsewhere:
            return False
        if not self._stated() or not all(self._same(*pair) for pair in values):
            return False
        self.scalars = {**self.free, **self.scalars}
        least = self.operator.least
        whole = (is_whole(self.scalars.get(name, least[name]), least[name]) for name in least)
        return self.scalars.keys() == set(self.operator.scalars) and all(whole)

    def _stated(self) -> bool:
        """Sizes that the declaration states: each is a scalar's value, or that number."""
        return all(
            self._number(size, self.sizes[self.dims[dim]]) for dim, size in self.operator.stated
        )

    def _expanded(self, declared: Sequence[ast.Index]) -> list[ast.Index]:
        """Subscripts with each dimension of the group."""
        expanded: list[ast.Index] = []
        for index in declared:
            if index.group:
                name = index.terms[0][0]
                expanded += [replace(index, terms=((f"{name}{i}", 1),)) for i in range(self.rank)]
            else:
                expanded.append(index)
        return expanded

    def _index(self, declared: ast.Index, own: ast.Index) -> bool:
        if len(declared.terms) != len(own.terms):
            return False
        margins = zip((declared.low, declared.high), (own.low, own.high), strict=True)
        if not all(self._margin(a, b) for a, b in margins):
            return False
        for terms in permutations(own.terms):
            before = dict(self.dims), dict(self.scalars), dict(self.free)
            if all(map(self._term, declared.terms, terms)):
                return True
            self.dims, self.scalars, self.free = before
        return False

    def _margin(
        self,
        declared: Sequence[tuple[ast.Factor, ast.Factor]],
        own: Sequence[tuple[ast.Factor, ast.Factor]],
    ) -> bool:
        width = sum(int(n) * int(factor) for n, factor in own)
        match declared:
            case []:
                return width == 0
            case [(name, 1)]:
                return self._number(name, width)
        return False

    def _term(self, declared: tuple[str, ast.Factor], own: tuple[str, ast.Factor]) -> bool:
        (dim, factor), (theirs, number) = declared, own
        if self.dims.setdefault(dim, theirs) != theirs:
            return False
        if sum(other == theirs for other in self.dims.values()) > 1:
            return False
        if self.sizes[theirs] == 1:
            if isinstance(factor, str):
                self.free.setdefault(factor, float(number))
            return True
        return self._number(factor, float(number))

    def _number(self, declared: ast.Factor, value: float) -> bool:
        """Whether a number, or a scalar, can be this one."""
        if isinstance(declared, str):
            return same_number(self.scalars.setdefault(declared, float(value)), value)
        return declared == value

    def _same(self, declared: ast.Expr, own: ast.Expr) -> bool:
        """Whether two expressions are the same."""
        match declared, own:
            case ast.Name(id=name), ast.Number(value=value):
                dim = sized_dimension(name)
                if dim is not None and self.sizes[self.dims[dim]] != value:
                    return False
                return self._number(name, float(value))
            case ast.Name(id=name), ast.Name(id=theirs):
                dim, other = sized_dimension(name), sized_dimension(theirs)
                if dim is None or other is None or self.dims[dim] != other:
                    return False
                return self._number(name, float(self.sizes[other]))
            case ast.Element(tensor=tensor), ast.Element(tensor=theirs):
                return self.tensors[tensor] == theirs
            case ast.Number(), ast.Number():
                return declared == own
        if type(declared) is not type(own) or _head(declared) != _head(own):
            return False
        return self._all(children(declared), children(own), _head(declared))

    def _all(self, declared: Sequence[ast.Expr], own: Sequence[ast.Expr], head: str) -> bool:
        """Whether all of these are the same, in some order if that does not matter."""
        if len(declared) != len(own):
            return False
        commutes = head in COMMUTATIVE or (self.integers and head in COMMUTATIVE_OF_INTEGERS)
        turned = commutes and len(own) == 2
        for parts in (own, own[::-1]) if turned else (own,):
            before = dict(self.scalars)
            if all(map(self._same, declared, parts)):
                return True
            self.scalars = before
        return False


def _head(expr: ast.Expr) -> str:
    """The operator or the function of an expression."""
    match expr:
        case ast.Binary(operator=head) | ast.Unary(operator=head) | ast.Call(function=head):
            return head
    return ""
