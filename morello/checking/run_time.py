"""A size that each call brings: whether rows along it are computed apart from each other.

Then a function for a few of its values is one for all: it goes through the rows in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from morello.checking.sizes import Sizes
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor, Lookup, RowsOf, RunTimeSize
from morello.ir.graphs.graph import Node, expanded
from morello.ir.operators import OperandIndex
from morello.ir.sizes import sizes_from
from morello.language import ast, spec_ast
from morello.language.places import within
from morello.language.source import Span
from morello.language.traverse import subexpressions

HELP = "each row along it has to be computed from the same row of every operand; or fix it with -D"


def check_run_time(
    spec: spec_ast.SpecDecl,
    sizes: Sizes,
    tensors: Mapping[str, GoalTensor],
    calls: Sequence[Checked],
    lookups: Iterable[Lookup],
) -> RunTimeSize | None:
    """What is known of the size that calls bring; none without one, or after errors.

    Args:
        spec: The spec.
        sizes: Its parameters.
        tensors: What is declared, by name.
        calls: All calls, in order.
        lookups: What is looked up before them.
    """
    if sizes.at_run_time is None:
        return None
    name, before = sizes.at_run_time.name, len(sizes.collector.diagnostics)
    checker = _Checker(name, sizes)
    checker.declared(spec, tensors)
    for lookup in lookups:
        checker.look_up(lookup)
    for call in calls:
        checker.call(call)
    arguments = [n for n in spec.tensors if n.role != "local"]
    for node in arguments:
        if node.role == "output" and node.name not in checker.axes:
            place = within(node.span, node.name, after=node.span.start + len(node.role))
            checker.refuse(f"output '{node.name}' has no dimension '{name}'", place)
    if len(sizes.collector.diagnostics) > before:
        return None
    rows = []
    for tensor in (tensors[n.name] for n in arguments if n.name in checker.axes):
        axis = checker.axes[tensor.name]
        apart = tensor.layout.strides(tensor.shape)[axis]
        rows.append(RowsOf(tensor.name, axis, apart))
    return RunTimeSize(name, sizes.values[name], tuple(rows))


class _Checker:
    """Follows the dimension from tensor to tensor. ``axes``: which dimension of each it is."""

    def __init__(self, size: str, sizes: Sizes) -> None:
        self.size = size
        self.collector = sizes.collector
        self.axes: dict[str, int] = {}
        self.places: dict[str, Span] = {}
        self.wrong: set[str] = set()

    def refuse(self, message: str, place: Span) -> None:
        """Report that calls cannot bring the size."""
        self.collector.error("S043", f"{message}: calls bring '{self.size}'", place, help=HELP)

    def declared(self, spec: spec_ast.SpecDecl, tensors: Mapping[str, GoalTensor]) -> None:
        """The size is all of a tensor's slowest dimension, and stands nowhere else."""
        others = [p.default for p in spec.parameters] + [p.limit for p in spec.parameters]
        others.append(spec.threads)
        for node in spec.tensors:
            others += node.strides or ()
            whole = [isinstance(e, ast.Name) and e.id == self.size for e in node.shape]
            others += [e for e, own in zip(node.shape, whole, strict=True) if not own]
            if any(whole):
                self._declared(node, tensors[node.name], whole)
        others += [e for use in spec.uses for e in _expressions(use)]
        for expression in (e for e in others if e is not None):
            for part in subexpressions(expression):
                if isinstance(part, ast.Name) and part.id == self.size:
                    self.refuse("it may only be all of a tensor's size", part.span)
        self.places = {use.result: within(use.span, use.result) for use in spec.uses}

    def _declared(
        self, node: spec_ast.TensorDecl, tensor: GoalTensor, whole: Sequence[bool]
    ) -> None:
        axis, layout = whole.index(True), tensor.layout
        place = within(node.span, node.name, after=node.span.start + len(node.role))
        if node.role == "weight":
            self.refuse(f"weight '{node.name}' is packed before", place)
        elif sum(whole) > 1:
            self.refuse(f"two dimensions of '{node.name}' are of this size", place)
        elif node.role != "local" and (layout.order[0] != axis or layout.panel):
            self.refuse(f"rows of '{node.name}' do not follow each other in memory", place)
        self.axes[node.name] = axis

    def look_up(self, lookup: Lookup) -> None:
        """Rows of a table, an index for each."""
        if lookup.table.name in self.axes:
            self.refuse(f"'{lookup.table.name}' is looked up", self._place(lookup.output.name))
        elif lookup.indices.name in self.axes:
            self.axes[lookup.output.name] = lookup.axis + self.axes[lookup.indices.name]

    def call(self, call: Checked) -> None:
        """Each statement of the operator, and which dimension of its result it is."""
        result = call.tensors[-1]
        shapes = {tensor.name: tensor.shape for tensor in call.tensors}
        for node in expanded(Node(call.operation, tuple(tensor.name for tensor in call.tensors))):
            known = [*node.inputs, *([node.output] if node.output in shapes else [])]
            sizes = sizes_from(node.operation, [shapes[name] for name in known])
            extents = (index.extent(sizes) for index in node.operation.operands[-1])
            shapes.setdefault(node.output, tuple(extents))
            if self.wrong.isdisjoint(node.inputs):
                self._follow(node, sizes)
            else:
                self.wrong.add(node.output)
        axis = self.axes.get(result.name)
        if axis is None or result.whole is None or result.name in self.wrong:
            return
        along = result.along[axis]
        if (along.dimension, along.step) != (self.axes.get(result.whole.name), 1):
            self._refuse_result(result.whole.name, "is no part of each row")

    def _follow(self, node: Node, sizes: Mapping[str, int]) -> None:
        *read, written = node.operation.operands
        operands = list(zip(node.inputs, read, strict=True))
        along = [indices[self.axes[name]] for name, indices in operands if name in self.axes]
        dims = {_alone(index, sizes) for index in along}
        if not dims:
            if node.output in self.axes:
                self._refuse_result(node.output, "is computed from nothing of this size")
            return
        dim, *more = dims
        found = [axis for axis, index in enumerate(written) if dim in index.dims]
        if dim is None or more or [_alone(written[axis], sizes) for axis in found] != [dim]:
            self._refuse_result(node.output, "is computed from several rows at once")
            return
        for name, indices in operands:
            own = [axis for axis, index in enumerate(indices) if dim in index.dims]
            if own and own != [self.axes.get(name)]:
                self._refuse_result(node.output, "depends on which row it is of")
                return
        if self.axes.setdefault(node.output, found[0]) != found[0]:
            self._refuse_result(node.output, "has this size along another dimension")

    def _refuse_result(self, name: str, why: str) -> None:
        """Report a statement once, by what it computes."""
        self.wrong.add(name)
        result = name.partition(".")[0]  # what is computed on the way has a number behind it
        self.refuse(f"'{result}' {why}", self._place(result))

    def _place(self, result: str) -> Span:
        return self.places.get(result) or next(iter(self.places.values()))


def _alone(index: OperandIndex, sizes: Mapping[str, int]) -> str | None:
    """The dimension that an index is, beside some of size 1; none if it is none."""
    terms = [term for term in index.terms if sizes.get(term[0]) != 1]
    return terms[0][0] if len(terms) == 1 and terms[0][1] == 1 and not index.margins else None


def _expressions(use: spec_ast.OperatorUse | spec_ast.Statement) -> Iterable[ast.Expr]:
    """What of a statement may name a parameter."""
    if isinstance(use, spec_ast.Statement):
        return [use.value, *use.target.subscripts, *([use.elsewhere] if use.elsewhere else [])]
    return list(_scalars(use.call))


def _scalars(call: spec_ast.OperatorCall) -> Iterable[ast.Expr]:
    yield from (value for _, value in call.scalars)
    for argument in call.arguments:
        if isinstance(argument, spec_ast.OperatorCall):
            yield from _scalars(argument)
