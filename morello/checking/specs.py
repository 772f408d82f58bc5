"""From a parsed spec and values for its parameters to a goal: tensors, uses, and what is left over.

Codes ``S...`` are errors of a spec, ``K...`` of an expression in it. What is computed is checked in
`morello.checking.statements`. How the goal is reached is not asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from morello.checking.batches import as_batches
from morello.checking.computations import computations
from morello.checking.cuts import out_of_panels
from morello.checking.kinds import counted
from morello.checking.panels import wrong_panels
from morello.checking.run_time import check_run_time
from morello.checking.seen import with_views
from morello.checking.sizes import MAX_ELEMENTS, MAX_SIZE, Sizes
from morello.checking.statements import StatementsChecker
from morello.errors import MorelloError
from morello.ir.dtypes import DTYPES, DTYPES_ARE
from morello.ir.goal import Goal, GoalTensor
from morello.ir.layout import Layout, panel_of, row_major, strided
from morello.ir.operators import Operator
from morello.language import spec_ast
from morello.language.ast import Expr
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.unparse_spec import unparse_use

_WORD = re.compile(r"\w+")

MAX_THREADS = 1024


def check_spec(
    file: spec_ast.SpecFile,
    name: str | None,
    defines: Mapping[str, int],
    operators: Mapping[str, Operator],
    collector: Collector,
) -> Goal:
    """Check one spec of a file.

    Args:
        file: The parsed file.
        name: Which spec is meant; none if the file has only one.
        defines: Values of parameters, by name; they replace defaults.
        operators: Checked operators by name.
        collector: Takes the errors.

    Raises:
        DiagnosticsError: Something was wrong; all errors are in the collector too.
        MorelloError: The file has no spec at all.
    """
    spec = _chosen(file, name, collector)
    goal = None
    if spec is not None:
        checker = _SpecChecker(spec, defines, operators, collector)
        goal = checker.goal(file.target.id if file.target else None)
    collector.raise_if_any()
    assert goal is not None
    return goal


def _chosen(
    file: spec_ast.SpecFile, name: str | None, collector: Collector
) -> spec_ast.SpecDecl | None:
    if not file.specs:
        raise MorelloError("the file has no spec", help="it begins like: spec name(N = 512) {")
    found: dict[str, spec_ast.SpecDecl] = {}
    for spec in file.specs:
        first = found.setdefault(spec.name, spec)
        if first is not spec:
            message = f"spec '{spec.name}' is declared twice"
            help = f"the first one is at {first.name_span}; rename or remove one of them"
            collector.error("S002", message, spec.name_span, "second declaration", help)
    names = ", ".join(found)
    if name is None and len(found) > 1:
        message = "the file has several specs, and none of them is chosen"
        collector.error("S001", message, file.specs[0].name_span, help=f"choose one of: {names}")
        return None
    if name is not None and name not in found:
        help = collector.suggestion(name, found) or f"it has: {names}"
        message = f"the file has no spec '{name}'"
        collector.error("S001", message, file.specs[0].name_span, help=help)
        return None
    return found[name] if name is not None else file.specs[0]


class _SpecChecker:
    """Checks one spec."""

    def __init__(
        self,
        spec: spec_ast.SpecDecl,
        defines: Mapping[str, int],
        operators: Mapping[str, Operator],
        collector: Collector,
    ) -> None:
        self.spec = spec
        self.operators = operators
        self.collector = collector
        self.sizes = Sizes(spec, defines, collector)
        self.declared: dict[str, spec_ast.TensorDecl] = {}
        self.tensors: dict[str, GoalTensor] = {}

    def goal(self, target: str | None) -> Goal | None:
        """The goal, or none after errors."""
        before = len(self.collector.diagnostics)
        threads = self._threads()
        for node in self.spec.tensors:
            self._tensor(node)
        checker = StatementsChecker(
            self.spec, self.declared, self.tensors, self.operators, self.sizes
        )
        statements = checker.check()
        self._unused_parameters()
        at_run_time = None
        if statements and len(self.collector.diagnostics) == before:
            at_run_time = check_run_time(
                self.spec, self.sizes, self.tensors, statements, checker.lookups.values()
            )
        if not statements or threads is None or self.collector.diagnostics:
            return None  # parameters without a value are errors, too
        known = [self.tensors[name] for name in self.declared]
        arguments = [t for t in known if t.role != "local"]
        wholes = (call.tensors[-1].whole for call in statements)
        in_parts = {*(whole.name for whole in wholes if whole is not None), *checker.lookups}
        plain = out_of_panels(statements, self.operators)
        seen = with_views(plain, in_parts, self.operators)
        calls = as_batches(seen.calls, self.operators, {*in_parts, *seen.kept})
        # What is computed in parts is read when all of them are there.
        results = dict.fromkeys(call.tensors[-1] for call in calls)
        parts = {tensor.name: tensor.whole for tensor in results if tensor.whole is not None}
        outputs = [t.name for t in arguments if t.role == "output" and t not in parts.values()]
        found = computations(calls, [*parts, *seen.kept, *outputs])
        lookups = tuple(checker.lookups.values())
        computed = dict.fromkeys(
            [*(lookup.output for lookup in lookups), *(c.output.whole or c.output for c in found)]
        )
        shared = [tensor for tensor in computed if tensor.role == "local"]
        read = (tensor for computation in found for tensor in computation.inputs)
        positions = dict.fromkeys(tensor for tensor in read if tensor.role == "positions")
        return Goal(
            name=self.spec.name,
            computations=found,
            tensors=(*arguments, *positions, *shared),
            threads=threads,
            target=target,
            declaration=self.spec.span,
            lookups=lookups,
            written=tuple(self._written()),
            at_run_time=at_run_time,
        )

    def _written(self) -> Iterator[str]:
        """The statements, and the values of the parameters in them."""
        lines = [unparse_use(use) for use in self.spec.uses]
        words = set(_WORD.findall(" ".join(lines)))
        named = [f"{n} = {value}" for n, value in self.sizes.values.items() if n in words]
        yield from lines
        if named:
            yield f"where {', '.join(named)}"

    def _threads(self) -> int | None:
        if self.spec.threads is None:
            return 1
        return self.sizes.positive(self.spec.threads, "the number of threads", MAX_THREADS)

    # ------------------------------------------------------------------------- tensors

    def _tensor(self, node: spec_ast.TensorDecl) -> None:
        if node.name in self.declared:
            message = f"tensor '{node.name}' is declared twice"
            place = within(node.span, node.name, after=node.span.start + len(node.role))
            self.collector.error("S002", message, place, "second declaration")
            return
        self.declared[node.name] = node
        if node.dtype is None:
            return  # what computes it says what it is
        dtype = DTYPES.get(node.dtype)
        if dtype is None:
            after = node.span.source.text.find(":", node.span.start)
            place = within(node.span, node.dtype, after=max(after, node.span.start))
            message = f"unknown dtype '{node.dtype}'"
            self.collector.error("S010", message, place, "not a dtype", DTYPES_ARE)
        shape = self._shape(node)
        layout = self._layout(node, shape)
        if dtype is not None and shape is not None:
            self.tensors[node.name] = GoalTensor(node.name, node.role, dtype, shape, layout)

    def _shape(self, node: spec_ast.TensorDecl) -> tuple[int, ...] | None:
        sizes = [
            self.sizes.positive(extent, f"size {i} of '{node.name}'", MAX_SIZE)
            for i, extent in enumerate(node.shape, start=1)
        ]
        shape = tuple(size for size in sizes if size is not None)
        if len(shape) < len(sizes):
            return None
        return shape if self.sizes.few_elements(node.name, shape, node.span) else None

    def _layout(self, node: spec_ast.TensorDecl, shape: tuple[int, ...] | None) -> Layout:
        """The layout that is stated, or C's after an error."""
        rank = len(node.shape)
        if node.role == "local" and (node.order, node.panel, node.strides) != (None, None, None):
            message = f"'{node.name}' is a local, so its layout is the compiler's choice"
            self.collector.error("S011", message, node.span, help="leave the layout out")
        wrong = None if node.panel is None else wrong_panels(node.panel, rank)
        if wrong is not None:
            message, help = wrong
            after = max(node.span.source.text.rfind("panels", 0, node.span.end), node.span.start)
            place = within(node.span, "panels", after=after)
            self.collector.error("S011", f"'{node.name}': {message}", place, help=help)
        if node.strides is not None:
            return self._strided(node, node.strides, shape) or row_major(rank)
        if node.order is None:
            return Layout(row_major(rank).order, panel_of(node.panel or 0))
        if sorted(node.order) == list(range(rank)):
            return Layout(node.order, panel_of(node.panel or 0))
        listed = ", ".join(str(i) for i in range(rank))
        message = f"the layout of '{node.name}' does not order its {counted(rank, 'dimension')}"
        help = f"name each of {listed} once, the slowest first" if rank else "remove it"
        after = max(node.span.source.text.rfind("layout", 0, node.span.end), node.span.start)
        place = within(node.span, "layout", after=after)
        self.collector.error("S011", message, place, f"found {node.order}", help)
        return row_major(rank)

    def _strided(
        self,
        node: spec_ast.TensorDecl,
        stated: tuple[Expr, ...],
        shape: tuple[int, ...] | None,
    ) -> Layout | None:
        """The layout with these strides, or none after an error."""
        after = max(node.span.source.text.rfind("stride", 0, node.span.end), node.span.start)
        place = within(node.span, "stride", after=after)
        rank, name = len(node.shape), node.name
        found = [
            self.sizes.positive(expr, f"stride {i} of '{name}'", MAX_ELEMENTS)
            for i, expr in enumerate(stated, start=1)
        ]
        strides = [stride for stride in found if stride is not None]
        if node.order is not None or node.panel is not None:
            message = f"'{name}' has {'a layout' if node.panel is None else 'panels'} and strides"
            help = "strides tell the order of the dimensions; with panels there are none"
        elif len(stated) != rank:
            counts = counted(rank, "dimension"), counted(len(stated), "stride")
            message = f"'{name}' has {' and '.join(counts)}"
            help = "say the elements between neighbours along each dimension"
        elif len(strides) < rank or shape is None:
            return None
        elif (layout := strided(strides, shape)) is not None:
            few = self.sizes.few_elements(name, (layout.elements(shape),), place)
            return layout if few else None
        elif min(n for n, size in zip(strides, shape, strict=True) if size > 1) > 1:
            message = f"no two elements of '{name}' are next to each other"
            help = "declare the whole rows, and read elements of them: x[i, 2 * j]"
        else:
            message = f"elements of '{name}' lie in each other's place"
            help = "each stride goes beyond what the smaller ones reach"
        self.collector.error("S011", message, place, help=help)
        return None

    def _unused_parameters(self) -> None:
        for parameter in self.spec.parameters:
            if parameter.name not in self.sizes.used:
                message = f"parameter '{parameter.name}' is never used"
                place = within(parameter.span, parameter.name)
                self.collector.error("S026", message, place, "unused", "remove it, or use it")
