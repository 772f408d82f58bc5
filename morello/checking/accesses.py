"""Tensors with subscripts, as statements of a spec have them: sums of dimensions, and their sizes.

A subscript is an expression of dimensions and of parameters. Read, it is a sum of dimensions with
factors, and a number (`access_of`). From all subscripts of a statement follow the sizes of its
dimensions (`extents_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter

from morello.checking.kinds import counted
from morello.checking.sizes import Sizes
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.source import Span
from morello.language.traverse import names, subexpressions
from morello.language.unparse import unparse
from morello.records import replace

LETTERS = "ijklmnopqrstuvwabcdefgh"
"""Canonical names of dimensions."""


@dataclass(frozen=True, slots=True)
class Sum:
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
class Access:
    """A tensor as it is read, or written: ``shape`` is none where nothing declares it."""

    tensor: str
    sums: tuple[Sum, ...]
    shape: tuple[int, ...] | None
    span: Span = field(compare=False)

    @property
    def key(self) -> tuple[str, tuple[Sum, ...]]:
        """What is read, wherever that is written."""
        return self.tensor, self.sums

    def indices(self, new: Mapping[str, str]) -> tuple[ast.Index, ...]:
        """Its indices without margins and numbers, dimensions under other names."""
        return tuple(
            ast.Index(tuple((new[d], f) for d, f in each.terms), span=each.span)
            for each in self.sums
            if each.terms
        )

    def without_numbers(self) -> Access:
        """It from the first element on: nothing is added in its subscripts."""
        return replace(self, sums=tuple(replace(each, constant=0) for each in self.sums))

    def has_all_of(self, reads: Iterable[Access]) -> bool:
        """Whether what is read has its dimensions, no others, and by themselves."""
        terms = [each.terms for read in reads for each in read.sums]
        alone = all(len(own) <= 1 and all(factor == 1 for _, factor in own) for own in terms)
        written = {d for each in self.sums for d, _ in each.terms}
        return alone and {d for own in terms for d, _ in own} == written

    def framed(
        self, new: Mapping[str, str], sizes: Mapping[str, int], shape: Sequence[int]
    ) -> tuple[ast.Index, ...]:
        """Its indices with what they do not reach of a tensor."""
        return self.in_frame(self.indices(new), sizes, shape)

    def in_frame(
        self, indices: Sequence[ast.Index], sizes: Mapping[str, int], shape: Sequence[int]
    ) -> tuple[ast.Index, ...]:
        """Indices with what this access does not reach of a tensor: before them, and after."""
        return tuple(
            replace(index, low=margin(each.constant), high=margin(size - each.extent(sizes)))
            for index, each, size in zip(indices, self.sums, shape, strict=True)
        )


def margin(width: int) -> tuple[tuple[int, int], ...]:
    """So many elements before or after what an index reaches."""
    return ((width, 1),) if width else ()


def canonical_names(accesses: Iterable[Access]) -> dict[str, str]:
    """Canonical names of dimensions, by their own: letters in the order in which they come."""
    dims = dict.fromkeys(d for _, _, each in _subscripts(accesses) for d, _ in each.terms)
    more = (f"d{number}" for number in range(len(dims)))
    return dict(zip(dims, chain(LETTERS, more), strict=False))


def sizes_to_state(reads: Sequence[Access], target: Access, sizes: Mapping[str, int]) -> list[str]:
    """Dimensions whose size has to be stated.

    Those that stand nowhere alone, or only in the result; and those that go through its rows, in
    which a dimension of size 1 is the inner one of two with one factor.
    """
    every = [*reads, target]
    single = {each.terms[0][0] for _, _, each in _subscripts(every) if _is_single(each)}
    needed = dict.fromkeys(d for _, _, each in _subscripts(every) for d, _ in each.terms)
    inner = {
        d
        for each in target.sums
        for d, _ in sorted(each.terms, key=lambda term: (-term[1], sizes[term[0]] == 1))[1:]
    }
    read = {d for access in reads for each in access.sums for d, _ in each.terms}
    return [d for d in needed if d not in single or d in inner or (reads and d not in read)]


def _is_single(each: Sum) -> bool:
    return len(each.terms) == 1 and each.terms[0][1] == 1


def access_of(
    node: ast.Subscripted,
    shape: tuple[int, ...] | None,
    sizes: Sizes,
    *,
    written: bool = False,
    in_parts: bool = False,
) -> Access | None:
    """The subscripts of a tensor as sums; none after errors.

    Args:
        node: The tensor with its subscripts.
        shape: Its shape, if that is known.
        sizes: Evaluates numbers, and takes the errors.
        written: Whether it is the result.
        in_parts: Whether it is a part of the result.
    """
    if shape is not None and len(shape) != len(node.subscripts):
        given, wanted = len(node.subscripts), len(shape)
        message = f"'{node.tensor}' has {counted(wanted, 'dimension')}, but {given} are written"
        help = f"its shape is {list(shape)}"
        sizes.collector.error("S035", message, node.span, counted(given, "subscript"), help)
        return None
    sums = [_sum(subscript, sizes) for subscript in node.subscripts]
    whole = tuple(each for each in sums if each is not None)
    constant = [each for each in whole if not each.terms]
    if constant and written and not in_parts:
        message = f"'{unparse(node)}' leaves elements without a value"
        help = "declare a dimension of size 1"
        sizes.collector.error("S040", message, constant[0].span, "a number", help)
        return None
    return Access(node.tensor, whole, shape, node.span) if len(whole) == len(sums) else None


def _sum(expr: ast.Expr, sizes: Sizes) -> Sum | None:
    """A subscript as a sum; none after an error."""
    found = _affine(expr, sizes)
    if found is None:
        return None
    terms, constant = found
    wrong = [f"the factor of '{d}' is {factor}" for d, factor in terms.items() if factor < 1]
    if wrong or constant < 0:
        what = [*wrong, "it begins before the first element"]
        message = f"'{unparse(expr)}' is no subscript: {what[0]}"
        help = "factors are at least 1, and what is added is at least 0"
        sizes.collector.error("S040", message, expr.span, "not possible", help)
        return None
    alone = bool(terms) and isinstance(expr, ast.Name)
    return Sum(tuple(terms.items()), constant, expr.span, alone)


def _affine(expr: ast.Expr, sizes: Sizes) -> tuple[dict[str, int], int] | None:
    """Factors of dimensions, and a number; none after an error."""
    known = sizes.values.keys() | sizes.unknown
    reads = any(isinstance(e, ast.Subscripted) for e in subexpressions(expr))
    if not reads and not names(expr) - known:
        value = sizes.integer(expr, "this number in a subscript")
        return None if value is None else ({}, value)
    match expr:
        case ast.Name(id=name):
            return {name: 1}, 0
        case ast.Binary(operator="+" | "-" as sign, left=left, right=right):
            first, second = _affine(left, sizes), _affine(right, sizes)
            if first is None or second is None:
                return None
            times = 1 if sign == "+" else -1
            terms = dict(first[0])
            for dim, factor in second[0].items():
                terms[dim] = terms.get(dim, 0) + times * factor
            return terms, first[1] + times * second[1]
        case ast.Binary(operator="*", left=left, right=right):
            first, second = _affine(left, sizes), _affine(right, sizes)
            if first is None or second is None:
                return None
            if second[0]:
                first, second = second, first
            if not second[0]:
                return {d: f * second[1] for d, f in first[0].items()}, first[1] * second[1]
    message = f"'{unparse(expr)}' is no sum of dimensions"
    help = "dimensions times numbers, and numbers: 2 * i + r + 1"
    sizes.collector.error("S040", message, expr.span, "not a subscript", help)
    return None


def extents_of(
    accesses: Sequence[Access], collector: Collector, *, in_parts: bool
) -> dict[str, int] | None:
    """The size of each dimension, or none after an error.

    Args:
        accesses: What is read, then the result.
        collector: Takes the errors.
        in_parts: Whether the result may be a part of a tensor: it goes through all that there is
            only along dimensions that go through nothing else.
    """
    found: dict[str, tuple[int, str]] = {}
    before = len(collector.diagnostics)
    for access, position, each in _subscripts(accesses):
        if each.alone and access.shape is not None:
            [(dim, _)] = each.terms
            size = access.shape[position]
            here = f"dimension {position + 1} of '{access.tensor}'"
            first, where = found.setdefault(dim, (size, here))
            if first != size and not (in_parts and access is accesses[-1]):
                message = f"'{dim}' is {first} in {where} but {size} in {here}"
                label, help = f"{size} here", f"a part is read by a sum: {dim} + 0"
                collector.error("S036", message, each.span, label, help)
    sizes = {dim: size for dim, (size, _) in found.items()}
    _follow_sums(accesses, sizes)
    for dim, size in _rows_of(accesses[-1]):
        if dim not in sizes:
            sizes[dim] = size
            _follow_sums(accesses, sizes)
    every = ((each, dim) for _, _, each in _subscripts(accesses) for dim, _ in each.terms)
    for each, dim in every:
        if dim not in sizes:
            message = f"nothing tells the size of dimension '{dim}'"
            help = f"declare what is computed: local {accesses[-1].tensor}: f32[...]"
            collector.error("S036", message, each.span, help=help)
            break
    return None if len(collector.diagnostics) > before else sizes


def _follow_sums(accesses: Sequence[Access], sizes: dict[str, int]) -> None:
    """Add the sizes of what is the only unknown dimension of a sum."""
    known = -1
    while len(sizes) > known:
        known = len(sizes)
        for access, position, each in _subscripts(accesses):
            unknown = [(d, f) for d, f in each.terms if d not in sizes]
            if len(unknown) == 1 and access.shape is not None:
                [(dim, factor)] = unknown
                least = each.extent({**sizes, dim: 1})
                sizes[dim] = max(1, 1 + (access.shape[position] - least) // factor)


def _rows_of(result: Access) -> Iterator[tuple[str, int]]:
    """Dimensions of sums such as ``14 * a + b``, which goes through rows of 14: the size of b.

    Since a result has each of its elements once, each term steps over all that are before it.
    """
    for each in result.sums:
        terms = sorted(each.terms, key=itemgetter(1))
        for (dim, factor), (_, above) in pairwise(terms):
            if above % factor == 0:
                yield dim, above // factor


def check_reach(
    accesses: Sequence[Access],
    target: Access,
    sizes: Mapping[str, int],
    collector: Collector,
    *,
    partial: bool,
) -> None:
    """No subscript reaches beyond its tensor; those of the result reach all, if not ``partial``."""
    for access, position, each in _subscripts(accesses):
        extent = each.extent(sizes)
        size = extent if access.shape is None else access.shape[position]
        is_result = access is target and not partial
        if extent > size or (is_result and (extent < size or each.constant)):
            message = (
                f"this reaches {extent} elements where dimension {position + 1} of "
                f"'{access.tensor}' has {size}"
            )
            if is_result and each.constant:
                message = f"nothing gives '{access.tensor}' its first elements a value"
            help = ", ".join(f"'{d}' is {sizes[d]}" for d, _ in each.terms)
            if is_result and extent <= size:
                help = f"say what the others are: {access.tensor}[...] = ... elsewhere 0"
            collector.error("S036", message, each.span, f"{extent} elements", help)


def _subscripts(accesses: Iterable[Access]) -> Iterator[tuple[Access, int, Sum]]:
    for access in accesses:
        for position, each in enumerate(access.sums):
            yield access, position, each
