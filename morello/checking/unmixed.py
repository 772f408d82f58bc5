"""Statements that move elements and compute with them, taken apart: to move is then no work.

``Y[i] = X[low + i + high] * 2`` becomes ``Z[i] = X[low + i + high]`` and ``Y[i] = Z[i] * 2``. The
first one is a slice, which the other reads where it lies (`morello.ir.graphs.data_movement`). What
is read in steps, as ``2 * i + high``, is a slice that is read in steps. What is written to rows one
after the other, or between margins, is computed first, and then only moved.

An operator that a rule or a kernel names is left as it is: that says how it is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from morello.checking.extents import reaches_each_once
from morello.ir.operators import Operator
from morello.language import ast, target_ast
from morello.language.traverse import children, leaves, names, with_children
from morello.records import replace


def named_in(
    rules: Collection[ast.RulesFile], targets: Collection[target_ast.TargetFile]
) -> set[str]:
    """The operators that rules match or apply, and that kernels are for."""
    declared = [*chain.from_iterable(file.rules for file in rules)]
    found = {rule.match.operator for rule in declared}
    found |= {
        leaf.step.operator
        for rule in declared
        for leaf in leaves(rule.result)
        if isinstance(leaf.step, ast.Apply)
    }
    found |= {kernel.match.operator for file in targets for kernel in file.kernels}
    return {name for name in found if name is not None}


def unmixed(operators: Mapping[str, Operator], named: Collection[str]) -> dict[str, Operator]:
    """Operators, each of whose statements moves elements or computes, but for those named.

    Args:
        operators: Checked operators by name, without errors.
        named: Those that stay as they are.
    """
    return {
        name: operator if name in named else _unmixed(operator)
        for name, operator in operators.items()
    }


def _unmixed(operator: Operator) -> Operator:
    before = operator.parts or (operator,)
    tensors = (p for part in before for p in part.parameters)
    separation = _Separation(operator, {p.name for p in tensors}.union(operator.scalars))
    parts = tuple(each for part in before for each in separation.of(part))
    if len(parts) == len(before):
        return operator
    scalars = dict.fromkeys((*operator.scalars, *(s for part in parts for s in part.scalars)))
    return replace(operator, parts=parts, scalars=tuple(scalars))


Indices = tuple[ast.Index, ...]


class _Separation(Struct, frozen=True):
    """Takes the statements of one operator apart. ``taken``: names that are in use."""

    whole: Operator
    taken: set[str]

    def of(self, part: Operator) -> Iterator[Operator]:
        """A statement, after what it reads is moved and before its result is."""
        output = part.output
        apart = _only_moves(part) is False and not all(map(_is_plain, output.indices))
        rest = part
        for own in part.inputs:
            if any(map(_has_margins, own.indices)) and not _is_slice(part):
                outer, inner = self._sliced(own.indices)
                read = tuple(replace(index, low=(), high=()) for index in own.indices)
            elif apart and any(self._is_rows(index) for index in own.indices):
                outer, inner = own.indices, _each_alone(own.indices)
                read = inner
            else:
                continue
            moved = replace(own, name=self._new(f"{own.name}_seen"), indices=inner)
            yield self._moving(replace(own, indices=outer), moved)
            rest = _reading(rest, own.name, replace(moved, indices=read))
        if apart:
            computed = replace(
                output, name=self._new(f"{output.name}_inside"), indices=_each_alone(output.indices)
            )
            yield self._part(_computing(rest, computed))
            rest = self._moving(computed, output, part.statement.elsewhere)
        yield part if rest is part else self._part(rest)

    def _new(self, wanted: str) -> str:
        """A name that nothing has, as much like this one as can be."""
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted

    def _is_rows(self, index: ast.Index) -> bool:
        """Whether it goes through rows one after the other, of a stated size."""
        return len(index.terms) > 1 and reaches_each_once(index, dict(self.whole.stated))

    def _sliced(self, indices: Indices) -> tuple[Indices, Indices]:
        """Indices between margins, by one dimension each, and what is seen between them."""
        outer: list[ast.Index] = []
        inner: list[ast.Index] = []
        for index in indices:
            terms = index.terms
            if not index.group and (len(terms) > 1 or terms[0][1] != 1 or _in(terms, inner)):
                terms = ((self._new(f"{terms[0][0]}_seen"), 1),)
            outer.append(replace(index, terms=terms))
            inner.append(replace(index, terms=terms, low=(), high=()))
        return tuple(outer), tuple(inner)

    def _moving(
        self,
        source: ast.TensorParameter,
        target: ast.TensorParameter,
        elsewhere: ast.Expr | None = None,
    ) -> Operator:
        """What only moves the elements of one tensor to another."""
        span = self.whole.statement.span
        statement = ast.Statement(
            ast.Element(target.name, target.indices, span=span),
            "=",
            ast.Element(source.name, source.indices, span=span),
            elsewhere,
            span=span,
        )
        made = replace(self.whole, inputs=(source,), output=target, statement=statement, parts=())
        return self._part(made)

    def _part(self, part: Operator) -> Operator:
        """One of several statements: its name, and what it needs of what is stated."""
        dims = {d for p in part.parameters for index in p.indices for d, _ in index.terms}
        statement = part.statement
        used = names(statement.value).union(part.least)
        used |= set() if statement.elsewhere is None else names(statement.elsewhere)
        scalars = (*self.whole.scalars, *part.scalars)
        return replace(
            part,
            name=f"{self.whole.name}.{part.output.name}",
            scalars=tuple(dict.fromkeys(s for s in scalars if s in used)),
            stated=tuple(pair for pair in part.stated if pair[0] in dims),
            tileable=tuple(name for name in part.tileable if name in dims),
        )


def _only_moves(part: Operator) -> bool:
    """Whether it assigns elements of its one input, where that is indexed by dimensions alone."""
    return (
        len(part.inputs) == 1
        and part.reduction is None
        and isinstance(part.statement.value, ast.Element)
        and (part.moves or all(map(_is_plain, part.inputs[0].indices)))
    )


def _is_slice(part: Operator) -> bool:
    """Whether it only moves what is between margins, element by element."""
    return (
        part.moves
        and all(len(i.terms) == 1 and i.terms[0][1] == 1 for i in part.inputs[0].indices)
        and len({i.terms for i in part.inputs[0].indices}) == len(part.inputs[0].indices)
        and all(map(_is_plain, part.output.indices))
    )


def _is_plain(index: ast.Index) -> bool:
    """Whether it is a dimension alone, or a group."""
    return len(index.terms) == 1 and index.terms[0][1] == 1 and not _has_margins(index)


def _has_margins(index: ast.Index) -> bool:
    return bool(index.low or index.high)


def _in(terms: Sequence[tuple[str, ast.Factor]], indices: Sequence[ast.Index]) -> bool:
    return any(index.terms == tuple(terms) for index in indices)


def _each_alone(indices: Indices) -> Indices:
    """The dimensions of some indices, each for itself; those of rows before what is in them."""
    return tuple(
        index if index.group else replace(index, terms=((dim, 1),), low=(), high=())
        for index in indices
        for dim, _ in sorted(index.terms, key=lambda term: term[1] == 1)
    )


def _reading(part: Operator, name: str, other: ast.TensorParameter) -> Operator:
    """The statement, reading another tensor in the place of one."""

    def renamed(expr: ast.Expr) -> ast.Expr:
        if isinstance(expr, ast.Element) and expr.tensor == name:
            return ast.Element(other.name, other.indices, span=expr.span)
        return with_children(expr, tuple(map(renamed, children(expr))))

    inputs = tuple(other if own.name == name else own for own in part.inputs)
    statement = replace(part.statement, value=renamed(part.statement.value))
    return replace(part, inputs=inputs, statement=statement)


def _computing(part: Operator, output: ast.TensorParameter) -> Operator:
    """The statement with another output, all of which it reaches."""
    target = ast.Element(output.name, output.indices, span=part.statement.target.span)
    statement = replace(part.statement, target=target, elsewhere=None)
    return replace(part, output=output, statement=statement)
