"""Rules against the reference: what a rule yields is executed, and must mean what it matched.

The result of one application becomes a partial program whose leaves are operations. It is run by
`morello.reference.interpreter` on operands that are parts of larger tensors, with new buffers full
of poison, and compared with the operation itself: integers exactly, floating-point numbers within
the bound of `morello.reference.compare`. Inputs and what lies around the output must be untouched;
every leaf must work on what its Spec says, and be smaller than the Spec that was matched.

That generated C does the same is not looked at here: see `morello.verify.kernel_executions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from morello.codegen.lower import Names, lower_step
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.ir.layout import Layout, contiguity, panel, panel_of
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.ir.programs.tree import (
    Apply,
    Block,
    KernelCall,
    Lookup,
    Loop,
    Node,
    ParallelLoop,
    View,
)
from morello.ir.rule import Rule
from morello.ir.spec import Spec
from morello.reference.compare import check_close, reference
from morello.reference.inputs import MASKED, for_operation, reduced_axes
from morello.reference.interpreter import Meanings, poisoned, run
from morello.reference.views import part
from morello.rewriting.progress import operator_ranks
from morello.rewriting.steps import Leaf
from morello.search.results.reconstruct import concrete_step, leaf_spec
from morello.verify.families import part_of_larger, region
from morello.verify.measure import decreases
from morello.verify.rule_instances import Instance, rule_instances
from morello.verify.tried import Tried, tally

BUDGET = 200
"""Instances of a rule that are tried at least, unless the caller says otherwise."""

TURNS = 8
"""So many are tried for each operator that the rule may match, if that is more."""

MOST_STEPS = 20_000
"""Operations that instances of a rule execute in all, about."""

SHARE = 8
"""One executes at most this part of those that are left: many rows are looped over a few times."""

FEW_STEPS = 200
"""But so many always."""

FINITE = ("random", "small", "huge")
NONFINITE = (MASKED, "nonfinite")
"""Kinds of inputs, in turn. The first `BUDGET` instances are tried on one of each.

What reduces nothing has nothing to mask.
"""


class RuleReport(Struct, frozen=True):
    """What a rule was tried on. ``operators`` by name; no instances: nothing was verified.

    ``graphs``: how many graphs of several operators are beside those. ``tried``: all shapes.
    """

    rule: str
    operators: tuple[str, ...]
    graphs: int
    instances: int
    families: int
    shapes: int
    tried: tuple[Tried, ...] = ()


class WrongRuleError(MorelloError):
    """A rule yields something else than it matched, or nothing smaller. ``instance``: where."""

    def __init__(self, rule: Rule, instance: Instance, what: str) -> None:
        self.rule, self.instance = rule, instance
        place = rule.declaration.name_span
        super().__init__(
            f"rule '{rule.name}' ({place}) is wrong: {what}\n  for {instance}",
            help="what a rule yields must compute what it matched, for every Spec that it matches",
        )


def verify_rule(definitions: Definitions, rule: Rule, *, budget: int | None = None) -> RuleReport:
    """Execute both sides of a rule on many small Specs of targets that differ in more than costs.

    Args:
        definitions: Operators and targets to try it on, and the rules beside it.
        rule: A rule, one of ``definitions.rules``.
        budget: The most instances that are tried; by default `BUDGET`, or `TURNS` an operator.

    Returns:
        What was tried; nothing at all if no Spec that was drawn passes the guards.

    Raises:
        WrongRuleError: Both sides differ, or the result makes no progress.
    """
    ranks = operator_ranks(definitions.operators, definitions.rules)
    if budget is None:
        matched = sum(rule.may_match(operator) for operator in definitions.operators.values())
        budget = max(BUDGET, TURNS * matched)
    tried: list[Instance] = []
    trial = _Trial(rule, ranks)
    for number, instance in enumerate(rule_instances(definitions, rule, budget, trial.admits)):
        for kind in _kinds(number, instance.spec.family.operation):
            trial.check(kind)
        tried.append(instance)
    specs = [instance.spec for instance in tried]
    tried_on = {o.name: o for o in (spec.family.operation.operator for spec in specs)}
    operators = sorted(name for name, o in tried_on.items() if o.composition is None)
    graphs = len(tried_on) - len(operators)
    families = {spec.family for spec in specs}
    shapes = {(spec.family.operation.operator.name, spec.sizes) for spec in specs}
    return RuleReport(
        rule.name,
        tuple(operators),
        graphs,
        len(tried),
        len(families),
        len(shapes),
        tally((i.context.target.name, i.spec.family, i.spec.sizes) for i in tried),
    )


def _kinds(number: int, operation: Operation) -> tuple[str, ...]:
    """Kinds of inputs for an instance, by its number."""
    nonfinite = NONFINITE if reduced_axes(operation) else NONFINITE[1:]
    if number >= BUDGET:
        every = (*FINITE, *nonfinite)
        return (every[number % len(every)],)
    return (FINITE[number % len(FINITE)], nonfinite[number % len(nonfinite)])


class _Trial:
    """Executes instances of a rule, one after the other."""

    def __init__(self, rule: Rule, ranks: Mapping[str, int]) -> None:
        self._rule = rule
        self._ranks = ranks
        self._meanings: Meanings = {}
        self._left = MOST_STEPS
        self._admitted = 0
        self._execution: _Execution | None = None

    def admits(self, instance: Instance) -> bool:
        """Whether executing an instance takes no more than its share; if so, it is the next.

        Raises:
            WrongRuleError: It makes no progress, or what it yields is not what it says.
        """
        try:
            execution = _Execution(instance, self._ranks, self._meanings, self._admitted)
        except MorelloError as error:
            raise WrongRuleError(self._rule, instance, str(error)) from error
        steps = _steps(execution.node)
        if steps > max(FEW_STEPS, self._left // SHARE):
            return False
        self._left = max(0, self._left - steps)
        self._admitted += 1
        self._execution = execution
        return True

    def check(self, kind: str) -> None:
        """Run the instance that was admitted last on one kind of inputs and compare.

        Raises:
            WrongRuleError: Both sides differ.
        """
        assert self._execution is not None
        try:
            self._execution.check(kind)
        except MorelloError as error:
            raise WrongRuleError(self._rule, self._execution.instance, str(error)) from error


def _steps(node: Node) -> int:
    """How many operations running a node executes."""
    match node:
        case Block(steps=steps):
            return sum(map(_steps, steps))
        case ParallelLoop(count=count, body=body, tail=tail):
            return count * _steps(body) + (0 if tail is None else _steps(tail))
        case Loop(count=count, body=body):
            return count * _steps(body)
        case KernelCall() | Lookup() | Apply():
            return 1
        case _:
            return _steps(node.body)


class _Execution:
    """One instance, executed."""

    def __init__(
        self, instance: Instance, ranks: Mapping[str, int], meanings: Meanings, seed: int
    ) -> None:
        self.instance = instance
        self.meanings = meanings
        self.spec = instance.spec
        self.ranks = ranks
        self.seed = seed
        self.views = self._views()
        self.node = self._lowered()

    def check(self, kind: str) -> None:
        """Run the result on one kind of inputs and compare.

        Raises:
            MorelloError: What is wrong.
        """
        operation = self.spec.family.operation
        dtypes = [operand.dtype for operand in self.spec.family.operands]
        values = for_operation(kind, operation, self.spec.sizes, dtypes, self.seed)
        arrays = [_array(view, value) for view, value in self._paired(values)]
        for position, operand in enumerate(self.spec.family.operands):
            if operand.aliased:
                arrays[-1] = arrays[position]
        before = [array.copy() for array in arrays]
        named = {v.tensor.name: a for v, a in zip(self.views, arrays, strict=True)}
        run(self.node, named, seed=self.seed, meanings=self.meanings)
        inputs = len(self.views) - 1
        old = values[inputs] if operation.accumulating else None
        expected = reference(operation, self.spec.sizes, values[:inputs], dtypes[-1], old)
        output = part(arrays[-1], region(self.views[-1]))
        check_close(output, expected, name=f"{operation.names[-1]} ({kind} inputs)")
        part(before[-1], region(self.views[-1]))[...] = output
        self._check_untouched(before, arrays)

    def _views(self) -> tuple[View, ...]:
        family = self.spec.family
        last = len(family.operands) - 1
        views = [
            part_of_larger(
                o,
                self.spec.packing[p],
                self.spec.extents(p),
                name,
                "output" if p == last else "input",
            )
            for p, (o, name) in enumerate(zip(family.operands, family.operation.names, strict=True))
        ]
        shown = zip(views, family.operands, strict=True)
        return tuple(views[-1] if operand.aliased else view for view, operand in shown)

    def _paired(self, values: Sequence[Array]) -> list[tuple[View, Array | None]]:
        """Every view with what it holds at first; a plain output holds nothing yet."""
        missing = [None] * (len(self.views) - len(values))
        return list(zip(self.views, [*values, *missing], strict=True))

    def _lowered(self) -> Node:
        instance = self.instance
        step = concrete_step(instance.context, self.spec, instance.alternative, instance.tile)
        names = Names({view.tensor.name: 1 for view in self.views})
        page = instance.context.target.page
        return lower_step(step, instance.alternative, self.views, names, page, self._leaf)

    def _leaf(self, leaf: Leaf, views: tuple[View, ...]) -> Node:
        spec = leaf_spec(leaf)
        if not decreases(self.spec, spec, self.ranks):
            raise MorelloError(f"it yields {spec}, which is not smaller")
        for level, used in zip(self.instance.context.target.bounded, spec.used, strict=True):
            if level.capacity is not None and used > level.capacity:
                raise MorelloError(f"it yields {spec} with {used} of {level.capacity} in {level}")
        for position, view in enumerate(views):
            _check_operand(spec, position, view)
            if spec.family.operands[position].moves_lines(self.instance.context.target):
                _check_packing(spec, position, view)
        if views[-1].tensor.role == "input":
            raise MorelloError(f"it writes to its input '{views[-1].tensor.name}'")
        return Apply(spec.family.operation, spec.sizes, views)

    def _check_untouched(self, before: Sequence[Array], after: Sequence[Array]) -> None:
        operands = self.spec.family.operands
        for operand, view, old, new in zip(operands, self.views, before, after, strict=True):
            if operand.aliased:  # it ends where the output is written
                continue
            if old.tobytes() != new.tobytes():
                name = view.tensor.name
                around = "" if view.tensor.role == "input" else "what lies around "
                raise MorelloError(f"it changes {around}its operand '{name}'")


def _array(view: View, value: Array | None) -> Array:
    """The memory of a tensor: poison, and the value where the view is."""
    array = poisoned(view.tensor.shape, view.tensor.dtype)
    if value is not None:
        part(array, region(view))[...] = value
    return array


def _check_operand(spec: Spec, position: int, view: View) -> None:
    """Demand that a leaf's operand is what its Spec says."""
    operand = spec.family.operands[position]
    tensor = view.tensor
    layout = Layout(operand.order, panel(spec.packing[position]))
    found = _layout_of(view)
    actual = (view.sizes, tensor.dtype, view.level, found, tensor.vector)
    stated = (
        spec.extents(position),
        operand.dtype,
        operand.level.name,
        layout,
        operand.vector,
    )
    if actual != stated:
        name = spec.family.operation.names[position]
        raise MorelloError(
            f"'{name}' of {spec} is to be {_told(*stated)}; the program gives it {_told(*actual)}"
        )
    if not operand.level.addressable and not operand.vector:
        raise MorelloError(f"{spec} has an operand at {operand.level} that is in no register")


def _check_packing(spec: Spec, position: int, view: View) -> None:
    """Demand that what a leaf's Spec says is packed together is, apart from panels.

    Rows that follow each other may be read as one.
    """
    packing, tensor = spec.packing[position], view.tensor
    if tensor.layout.panel or panel(packing):
        return
    strides = tensor.layout.strides(tensor.shape)
    length = 1
    for dimension in view.order[::-1][: contiguity(packing)]:
        axis, size = view.axis(dimension), view.sizes[dimension]
        if size > 1 and strides[axis.dimension] * axis.step != length:
            name = spec.family.operation.names[position]
            raise MorelloError(
                f"'{name}' of {spec} is to lie together along {contiguity(packing)} dimensions; "
                f"along dimension {dimension} it does not"
            )
        length *= size


def _layout_of(view: View) -> Layout:
    """The layout of a view; along what lies within a panel it is not cut."""
    layout = view.tensor.layout
    longest = dict.fromkeys(layout.order, 1)
    for position, size in enumerate(view.sizes):
        dimension = view.axis(position).dimension
        longest[dimension] = max(longest[dimension], size)
    cut = {d: n for d, n in layout.cuts.items() if longest[d] > n}
    width, height = (*(cut.get(d, 0) for d in layout.order[::-1]), 0, 0)[:2]
    return Layout(view.order, panel_of((height, width)))


def _told(sizes: tuple[int, ...], *rest: object) -> str:
    shape = " x ".join(map(str, sizes)) or "one element"
    return f"{shape} ({', '.join(map(str, rest))})"
