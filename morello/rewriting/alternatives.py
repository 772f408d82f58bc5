"""What can be done with a family: a rule with its choices made, or a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from morello.ir.layout import Packing
from morello.ir.numeric import Size
from morello.ir.operators import Operation
from morello.ir.rule import Rule
from morello.ir.spec import Family
from morello.ir.target import Level, Target
from morello.language.evaluate import Value
from morello.rewriting.functions import Scope
from morello.rewriting.matching import KernelMatch
from morello.rewriting.references import Point, SpecRef, TensorRef, spec_ref


class Refusal(Struct, frozen=True):
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
        found = (match.patterns.rows, match.fixed, match.variables, match.joined)
        return (match.kernel.name, patterns, *found)

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
    f = matched(alternative.rule, family, at.packing)
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


def choice_text(value: Value) -> str:
    """A chosen value as it is recorded and shown."""
    return value.name if isinstance(value, TensorRef | Level) else str(value)


def matched(rule: Rule, family: Family, packing: Sequence[Packing] | None = None) -> SpecRef:
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
