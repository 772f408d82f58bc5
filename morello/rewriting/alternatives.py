"""Everything that can be done with a family: rules with their choices made, and kernels.

Structure only, no sizes: which families an alternative leads to, and which levels' capacity it
asks for. What a rule's tile size may be is left open: it is one more axis of the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from morello.ir.dtypes import DType
from morello.ir.layout import Packing
from morello.ir.numeric import Size
from morello.ir.operators import Operation, Operator
from morello.ir.pruning import prunes
from morello.ir.rule import Rule
from morello.ir.spec import Family, Spec, Variant
from morello.ir.stand_ins import with_stand_ins
from morello.ir.target import Level, Microkernel, Target
from morello.ir.views import ViewMap
from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.language.sized import levels_asked
from morello.language.unparse import unparse
from morello.rewriting.deciding_scalars import DecidingScalars
from morello.rewriting.functions import Scope
from morello.rewriting.instantiate import Instantiation, instantiate
from morello.rewriting.kernel_requests import requests
from morello.rewriting.layout_requests import LayoutRequests
from morello.rewriting.lifetimes import read_too_late
from morello.rewriting.matching import KernelMatch, match_kernel, operation_refusal
from morello.rewriting.references import Point, SpecRef, TensorRef, Variables, spec_ref
from morello.rewriting.renaming import is_renaming
from morello.rewriting.steps import Leaf, Step, flatten


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rule or kernel did not apply: the clause, and the values that made it fail."""

    name: str
    choices: tuple[tuple[str, str], ...]
    reason: str

    def __str__(self) -> str:
        chosen = ", ".join(f"{n} = {v}" for n, v in self.choices)
        return f"{self.name}({chosen}): {self.reason}" if chosen else f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class RuleAlternative:
    """A rule with its structural choices made.

    ``axis`` names the tile size that is still open. ``children`` are the families it leads to, as
    they are searched (`Context.searched`);
    ``below`` has that of each step of the rule's result that yields a Spec, or none where nothing
    is yielded. ``consumes`` are the levels whose capacity it needs to know. ``renames``: its result
    is the same operation under another name, all of its operands seen in another order. ``divides``
    is the dimension that the open tile size is of.
    """

    rule: Rule
    choices: tuple[tuple[str, Value], ...]
    axis: str | None
    children: tuple[Family, ...]
    consumes: frozenset[str]
    below: tuple[Family | None, ...] = field(compare=False, repr=False)
    renames: bool = False
    divides: str = ""

    def shape_on(self, operation: Operation) -> tuple[object, ...]:
        """The rule and its choices, of an operation's dimensions and operands their places."""
        # A place is in a tuple, so that no chosen number is taken for one.
        place: dict[object, object] = {dim: (dim_at,) for dim_at, dim in enumerate(operation.dims)}
        chosen = tuple(
            value.key if isinstance(value, TensorRef) else place.get(value, value)
            for _, value in self.choices
        )
        return (self.rule.name, chosen, place.get(self.divides))

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Place in the total order that breaks ties: rule name, then parameters."""
        return ("rule", self.rule.name, tuple(choice_text(v) for _, v in self.choices))


@dataclass(frozen=True)
class KernelAlternative:
    """A kernel that accepts the family."""

    match: KernelMatch
    consumes: frozenset[str]
    children: tuple[Family, ...] = ()
    axis: None = field(default=None, repr=False)

    def shape_on(self, operation: Operation) -> tuple[object, ...]:
        """The kernel, and how its patterns match an operation of this structure."""
        match = self.match
        # These objects are the kernel's own, which outlive the search.
        patterns = tuple(map(id, match.patterns.of))
        return (match.kernel.name, patterns, match.patterns.rows, match.fixed, match.variables)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Kernels come before rules."""
        return ("kernel", self.match.kernel.name, ())


Alternative = RuleAlternative | KernelAlternative


def tiles_below(
    target: Target, alternative: Alternative, sizes: Mapping[str, int]
) -> tuple[int, ...] | None:
    """Tile sizes to try, smaller than the dimension that they are of.

    Empty where the alternative leaves no tile size open; none where it does and no size is smaller.
    """
    if isinstance(alternative, KernelAlternative) or alternative.axis is None:
        return ()
    size = sizes[alternative.divides]
    return tuple(t for t in target.sizes if t < size) or None


def scope_at(
    target: Target, family: Family, alternative: Alternative, at: Point, tile: Size | None = None
) -> Scope:
    """What the expressions of an alternative stand for at these coordinates."""
    if isinstance(alternative, KernelAlternative):
        match = alternative.match.on(family)
        return Scope(target, match.scope_variables(at), at.sizes, at.used, match)
    f = _matched(alternative.rule, family, at.packing)
    own = {t.key: t for t in f.tensors}

    def packed_here(tensor: TensorRef) -> TensorRef:
        return f.local(tensor.name, target) if tensor.intermediate else own[tensor.key]

    variables = {
        name: packed_here(value) if isinstance(value, TensorRef) else value
        for name, value in alternative.choices
    }
    variables[alternative.rule.declaration.match.variable] = f
    if alternative.axis is not None:
        variables[alternative.axis] = tile
    return Scope(target, variables, at.sizes, at.used)


def result_in(context: Context, alternative: RuleAlternative, scope: Scope) -> Step:
    """What a rule's result becomes in the alternative's scope."""
    declaration = alternative.rule.declaration
    f: SpecRef = scope.variables[declaration.match.variable]
    target, operators = context.target, context.operators
    return instantiate(
        target, operators, f, declaration.result, scope.variables, scope.sizes, scope.used
    )


def choice_text(value: Value) -> str:
    """A chosen value as it is recorded and shown."""
    return value.name if isinstance(value, TensorRef | Level) else str(value)


@dataclass(frozen=True)
class Context:
    """What the search may use."""

    target: Target
    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    _requests: dict[tuple[object, ...], LayoutRequests] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _rules: dict[tuple[Operation, int], tuple[Rule, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _kernels: dict[tuple[Operation, int], tuple[Microkernel, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _families: dict[Family, Family] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _asked: dict[str, frozenset[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _sights: dict[tuple[Operation, str], tuple[ViewMap, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _searched: dict[Operation, Operation] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def interned(self, family: Family) -> Family:
        """The one object for all equal families: these are compared most quickly."""
        return self._families.setdefault(family, family)

    @cached_property
    def _deciding(self) -> DecidingScalars:
        return DecidingScalars(self.rules, self.target.kernels, self.operators)

    def searched(self, family: Family) -> Family:
        """The family that is searched for this one: without values of scalars that decide nothing.

        Rules and kernels apply to both alike, at the same costs.
        """
        operation = family.operation
        if operation not in self._searched:
            self._searched[operation] = with_stand_ins(operation, self._deciding.of)
        found = self._searched[operation]
        if found is operation:
            return self.interned(family)
        return self.interned(Family(found, family.operands, family.threads))

    def searched_variant(self, variant: Variant) -> Variant:
        """The same of a variant."""
        return self.searched(variant.family).variant(variant.packing)

    def searched_spec(self, spec: Spec) -> Spec:
        """The same of a Spec."""
        return replace(spec, family=self.searched(spec.family))

    def asked(self, kernel: Microkernel) -> frozenset[str]:
        """Levels whose free capacity a kernel of the target asks for."""
        if kernel.name not in self._asked:
            found = map(levels_asked, (*kernel.guards, kernel.cost))
            self._asked[kernel.name] = frozenset[str]().union(*found)
        return self._asked[kernel.name]

    def rules_for(self, family: Family) -> tuple[Rule, ...]:
        """Rules that match a family: its operation and threads decide."""
        key = (family.operation, family.threads)
        if key not in self._rules:
            self._rules[key] = tuple(rule for rule in self.rules if matches(rule, family))
        return self._rules[key]

    def kernels_for(self, family: Family) -> tuple[Microkernel, ...]:
        """Kernels that do not refuse a family for its operation or threads."""
        key = (family.operation, family.threads)
        if key not in self._kernels:
            self._kernels[key] = tuple(
                kernel for kernel in self.target.kernels if not operation_refusal(kernel, family)
            )
        return self._kernels[key]

    def applied_to_views(self, f: SpecRef) -> Iterator[Leaf]:
        """What rules for this operator apply to views of its operands, whatever the sizes are."""
        name = f.family.operation.operator.name
        for rule in (r for r in self.rules if r.declaration.match.operator == name):
            for step in rule.applied_to_views:
                making = Instantiation(self.target, self.operators, f, None, None)
                yield making.applied(step, {rule.declaration.match.variable: f})

    def view_maps(self, f: SpecRef, tensor: TensorRef) -> tuple[ViewMap, ...]:
        """The views of an operand that rules for this operator apply others to.

        They are the same wherever the operands are, and are asked for in every family.
        """
        key = (f.family.operation, tensor.key)
        if key not in self._sights:
            self._sights[key] = tuple(
                seen.view.view_map
                for leaf in self.applied_to_views(f)
                for seen in leaf.tensors
                if seen.view is not None and seen.key == tensor.key
            )
        return self._sights[key]

    def requests(self, f: SpecRef, tensor: TensorRef, dtype: DType) -> LayoutRequests:
        """What kernels want of a tensor of an operation, in an element type.

        That is the same at whatever levels the operands are, and is asked for every family.
        """
        operands = tuple((own.operand.dtype, own.operand.order) for own in f.tensors)
        key = (f.family.operation, operands, tensor.key, dtype)
        if key not in self._requests:
            found = requests(self.target, self.applied_to_views, f, tensor, dtype)
            self._requests[key] = LayoutRequests(tuple(found))
        return self._requests[key]

    def same_definitions(self, other: Context) -> bool:
        """Whether both use the very same target, operators and rules."""
        return (
            self.target is other.target
            and self.operators is other.operators
            and self.rules is other.rules
        )


class _Enumeration:
    """Makes the choices of one rule for one family."""

    def __init__(self, context: Context, rule: Rule, f: SpecRef, refusals: list[Refusal] | None):
        self.context = context
        self.rule = rule
        self.f = f
        self.refusals = refusals
        self.bounded = {level.name for level in context.target.bounded}

    def run(self) -> Iterator[RuleAlternative]:
        """All alternatives of the rule."""
        variables: Variables = {self.rule.declaration.match.variable: self.f}
        if self._allowed(0, variables):
            yield from self._operands(0, variables)

    def _allowed(self, bound: int, variables: Variables) -> bool:
        """Whether the guards hold that the variables bound so far decide."""
        scope = Scope(self.context.target, variables, {}, {}, view_maps=self.context.view_maps)
        for guard in self.rule.decided[bound]:
            if not evaluate(guard, scope):
                self._refuse(variables, f"'{unparse(guard)}' does not hold")
                return False
        return True

    def _operands(self, position: int, variables: Variables) -> Iterator[RuleAlternative]:
        operands = self.rule.declaration.operands
        if position == len(operands):
            yield from self._choices(0, variables, None)
            return
        for tensor in self._candidates(operands[position]):
            bound = {**variables, operands[position].variable: tensor}
            if self._allowed(position + 1, bound):
                yield from self._operands(position + 1, bound)

    def _candidates(self, operand: ast.MatchOperand) -> Iterator[TensorRef]:
        """What an operand of the match can stand for."""
        match operand.kind:
            case "intermediate":
                yield from self.f.intermediates(self.context.target)
            case "member":
                found = self.f.member(operand.member, self.context.target)
                assert isinstance(found, TensorRef)
                yield found
            case kind:
                yield from (t for t in self.f.tensors if kind != "weight" or t.operand.weight)

    def _choices(
        self, position: int, variables: Variables, axis: str | None
    ) -> Iterator[RuleAlternative]:
        choices = self.rule.declaration.choices
        if position == len(choices):
            yield from self._finish(variables, axis)
            return
        choice = choices[position]
        # One tile size is an axis of the box. Of a second one each value is an alternative.
        if choice.variable in self.rule.size_variables and axis is None:
            yield from self._choices(position + 1, variables, choice.variable)
            return
        depth = 1 + len(self.rule.declaration.operands) + position
        scope = Scope(self.context.target, variables, {}, {}, requests=self.context.requests)
        for value in evaluate(choice.domain, scope):
            bound = {**variables, choice.variable: value}
            if self._allowed(depth, bound):
                yield from self._choices(position + 1, bound, axis)

    def _finish(self, variables: Variables, axis: str | None) -> Iterator[RuleAlternative]:
        context = self.context
        step = instantiate(
            context.target,
            context.operators,
            self.f,
            self.rule.declaration.result,
            variables,
        )
        flat = flatten(step)
        if any(required is False for required in flat.required):
            self._refuse(variables, "an operand cannot be seen like this, or a scalar not be given")
            return
        late = read_too_late(self.f, step)
        if late is not None:
            self._refuse(variables, f"'{late}' lies where the output does, and is read too late")
            return
        uses = flat.uses
        places = self.rule.places
        below: list[Family | None] = [None] * len(places)
        for use in uses:
            below[places[id(use.leaf.node)]] = context.searched(use.leaf.family)
        children = tuple(dict.fromkeys(f for f in below if f is not None))
        consumed = self.rule.asked.union(*(u.consumed for u in uses)) & self.bounded
        # What costs something, or holds for some sizes only, is more than another name.
        free = self.rule.declaration.cost is None and not self.rule.sized_guards
        renames = free and is_renaming(self.f, step)
        yield RuleAlternative(
            self.rule,
            self._chosen(variables),
            axis,
            children,
            consumed,
            tuple(below),
            renames=renames,
            divides="" if axis is None else self._divided(axis, variables),
        )

    def _divided(self, axis: str, variables: Variables) -> str:
        """The dimension that a tile size is of."""
        domain = self.rule.domain(axis)
        assert isinstance(domain, ast.Call)
        scope = Scope(self.context.target, variables, {}, {})
        return str(evaluate(domain.args[0], scope))

    def _chosen(self, variables: Variables) -> tuple[tuple[str, Value], ...]:
        order = (*self.rule.operand_variables, *self.rule.choice_variables)
        return tuple((n, variables[n]) for n in order if n in variables)

    def _refuse(self, variables: Variables, reason: str) -> None:
        if self.refusals is not None:
            shown = tuple((n, choice_text(v)) for n, v in self._chosen(variables))
            self.refusals.append(Refusal(self.rule.name, shown, reason))


def _matched(rule: Rule, family: Family, packing: Sequence[Packing] | None = None) -> SpecRef:
    """``f``, for a family that a rule may match, its operands packed like this."""
    match = None if rule.pattern is None else rule.match_in(family.operation.operator)
    return spec_ref(family, packing, match)


def matches(rule: Rule, family: Family) -> bool:
    """Whether a family is one that a rule is for, by its pattern alone."""
    match = rule.declaration.match
    if not rule.may_match(family.operation.operator):
        return False
    if match.accumulating and not family.operation.accumulating:
        return False
    return not match.parallel or family.threads > 1


def rule_alternatives(
    context: Context, rule: Rule, family: Family, refusals: list[Refusal] | None = None
) -> list[RuleAlternative]:
    """One rule with every choice that its guards leave, on a family; none if it does not match."""
    if not matches(rule, family):
        return []
    return list(_Enumeration(context, rule, _matched(rule, family), refusals).run())


def alternatives(
    context: Context, family: Family, refusals: list[Refusal] | None = None
) -> list[Alternative]:
    """All alternatives of a family in the order that breaks ties.

    Where a rule says that the operation is another one under a new name, all that can be done with
    any operation is done with that one; what is left is that, and what is for this operator alone.
    Where a rule takes a batch apart, nothing comes before it but what is done ahead of all calls.
    """
    found: list[Alternative] = []
    for rule in context.rules_for(family):
        found += _Enumeration(context, rule, _matched(rule, family), refusals).run()
    # Kernels that cannot match are asked only where somebody wants to know why.
    kernels = context.kernels_for(family) if refusals is None else context.target.kernels
    for kernel in kernels:
        match = match_kernel(kernel, context.target, family)
        if isinstance(match, KernelMatch):
            found.append(KernelAlternative(match, context.asked(kernel)))
        elif refusals is not None:
            refusals.append(Refusal(kernel.name, (), match))
    if any(map(_leaves_out_batch, found)) and prunes("batches"):
        found = [a for a in found if _leaves_out_batch(a) or _packs_ahead(a)]
    if any(map(_renames, found)) and prunes("renamed"):
        found = [a for a in found if _is_named(a) or _renames(a)]
    return sorted(found, key=lambda a: a.key)


def _renames(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.renames


def _leaves_out_batch(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.rule.leaves_out_batch


def _packs_ahead(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.rule.packs_ahead


def _is_named(alternative: Alternative) -> bool:
    """Whether an alternative is for an operator by its name."""
    if isinstance(alternative, RuleAlternative):
        return alternative.rule.declaration.match.kind == "named"
    return alternative.match.kernel.match.kind == "named"
