"""A checked rewrite rule: its declaration, and the questions that more than one part asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from morello.ir.graphs.batches import may_have_batch
from morello.ir.graphs.data_movement import rearranged
from morello.ir.graphs.subgraphs import Match, match_of
from morello.ir.operators import IDENTITIES, Operator
from morello.language import ast
from morello.language.canonical import nodes
from morello.language.folding import conjuncts, truth
from morello.language.functions import FUNCTIONS
from morello.language.sized import is_sized, levels_asked
from morello.language.traverse import (
    Leaf,
    children,
    leaves,
    names,
    subexpressions,
    with_children,
)


@dataclass(frozen=True)
class Rule:
    """A rewrite rule. ``doc`` is its sentence; ``declaration`` has passed every check.

    ``pattern``: the operator of several statements that it matches by name, if it is for one.
    """

    name: str
    doc: str
    declaration: ast.RuleDecl
    pattern: Operator | None = field(default=None, repr=False)
    _matches: dict[str, Match | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def operand_variables(self) -> tuple[str, ...]:
        """Variables that stand for an operand of the matched operation, in order."""
        return tuple(o.variable for o in self.declaration.operands)

    @cached_property
    def intermediates(self) -> frozenset[str]:
        """Those of them that stand for what is computed on the way, or may be."""
        operands = self.declaration.operands
        inside = {"intermediate"} if self.pattern is None else {"intermediate", "member"}
        return frozenset(o.variable for o in operands if o.kind in inside)

    @cached_property
    def nowhere(self) -> frozenset[str]:
        """Those of them that are always computed on the way: no operand holds them."""
        given = () if self.pattern is None else tuple(p.name for p in self.pattern.parameters)
        operands = self.declaration.operands
        inputs = {o.variable for o in operands if o.kind == "member" and o.member in given}
        return self.intermediates - inputs

    @cached_property
    def looped(self) -> frozenset[str]:
        """Dimensions of the matched operator that the result divides by their names."""
        steps = (n for n in nodes(self.declaration.result) if isinstance(n, ast.ForLoop))
        return frozenset(s.dimension.name for s in steps if isinstance(s.dimension, ast.Attribute))

    def match_in(self, operator: Operator) -> Match | None:
        """What of a graph stands for the operator of several statements that the rule matches."""
        if self.pattern is None:
            return None
        if operator.name not in self._matches:
            self._matches[operator.name] = match_of(self.pattern, operator, self.looped)
        return self._matches[operator.name]

    @cached_property
    def choice_variables(self) -> tuple[str, ...]:
        """Variables that are chosen, in order."""
        return tuple(c.variable for c in self.declaration.choices)

    @cached_property
    def size_variables(self) -> frozenset[str]:
        """Choice variables that stand for a tile size."""
        calls = [(c.variable, c.domain) for c in self.declaration.choices]
        return frozenset(
            variable
            for variable, domain in calls
            if isinstance(domain, ast.Call) and FUNCTIONS[domain.function].result == "list of size"
        )

    @cached_property
    def sized_guards(self) -> tuple[ast.Expr, ...]:
        """Guards that cannot be decided without sizes."""
        return tuple(g for g in self.declaration.guards if is_sized(g, self.size_variables))

    @cached_property
    def decided(self) -> tuple[tuple[ast.Expr, ...], ...]:
        """The other guards: for every number of variables that are bound, those decided then."""
        order = (self.declaration.match.variable, *self.operand_variables, *self.choice_variables)
        found: list[list[ast.Expr]] = [[] for _ in order]
        for guard in self.declaration.guards:
            if guard not in self.sized_guards:
                last = max((order.index(n) for n in names(guard) if n in order), default=0)
                found[last].append(guard)
        return tuple(map(tuple, found))

    @cached_property
    def asked(self) -> frozenset[str]:
        """Levels whose free capacity the rule asks for."""
        cost = self.declaration.cost
        expressions = (*self.declaration.guards, *([] if cost is None else [cost]))
        return frozenset[str]().union(*map(levels_asked, expressions))

    def domain(self, variable: str) -> ast.Expr | None:
        """What a variable is chosen from; none if it is not a choice variable."""
        choices = self.declaration.choices
        return next((c.domain for c in choices if c.variable == variable), None)

    @cached_property
    def conditions(self) -> tuple[ast.Expr, ...]:
        """The guards, cut at every ``and``, in the normal form of `morello.language.folding`."""
        return tuple(conjuncts(self.declaration.guards))

    def leaves(self) -> Iterator[Leaf]:
        """Every step of the result that yields a Spec, in order."""
        return leaves(self.declaration.result)

    @cached_property
    def members(self) -> Mapping[str, str]:
        """For each variable that the match says to be a tensor by its name, that name."""
        return {o.variable: o.member for o in self.declaration.operands if o.member}

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Of every step of the result that yields a Spec, by its identity: which one it is."""
        return {id(leaf.step): place for place, leaf in enumerate(self.leaves())}

    @cached_property
    def applied_to_views(self) -> tuple[ast.Apply, ...]:
        """Steps of the result that apply an operator to views, and to no buffer."""
        variable = self.declaration.match.variable
        steps = (leaf.step for leaf in self.leaves())
        return tuple(
            step
            for step in steps
            if isinstance(step, ast.Apply)
            and any(isinstance(a, ast.View) for a in step.arguments)
            and all(
                names(a.operand if isinstance(a, ast.View) else a) <= {variable}
                for a in step.arguments
            )
        )

    def may_match(self, operator: Operator) -> bool:
        """Whether some Spec of this operator can be matched: false is certain, true is not."""
        match = self.declaration.match
        if operator.name in {e.id for e in match.exceptions}:
            return False
        if match.kind == "named" and operator.name != match.operator:
            return self.match_in(operator) is not None
        if match.kind == "elementwise" and not operator.elementwise:
            return False
        if self.requires_conversion and not any(
            p.dtype != operator.output.dtype for p in operator.inputs
        ):
            return False
        some = any(o.kind == "intermediate" for o in self.declaration.operands)
        if some and not operator.intermediates:
            return False
        if self.rearranges and not self._rearranged_in(operator):
            return False
        if self.requires_slice and not operator.slices:
            return False
        if self.requires_frame and not operator.frames:
            return False
        if self.requires_batch and not may_have_batch(operator):
            return False
        if self.requires_partly_tileable and not operator.partly_tileable:
            return False
        if match.accumulating or self.requires_reduction:
            if operator.reduction is None:
                return False
            return self.may_begin_with(IDENTITIES[operator.reduction])
        return True

    @cached_property
    def leaves_out_batch(self) -> bool:
        """Whether it yields the matched operation without a dimension of a batch."""
        steps = (leaf.step for leaf in self.leaves())
        return any(isinstance(s, ast.Reapply) and s.without is not None for s in steps)

    @cached_property
    def packs_ahead(self) -> bool:
        """Whether some of what it yields is done ahead of all calls."""
        steps = (leaf.step for leaf in self.leaves())
        return any(isinstance(s, ast.Apply) and s.prepack for s in steps)

    @cached_property
    def rearranges(self) -> frozenset[str]:
        """Operands that a guard says something on the way is, its elements in other places."""
        calls = (c for c in self.conditions if isinstance(c, ast.Call))
        found = (c.args[-1] for c in calls if c.function == "rearranged")
        return frozenset(operand.id for operand in found if isinstance(operand, ast.Name))

    def _rearranged_in(self, operator: Operator) -> bool:
        """Whether an operator has such an operand: the output only where that is demanded."""
        written = any(
            isinstance(c, ast.Call) and c.function == "writes" and self.rearranges & names(c)
            for c in self.conditions
        )
        operands = (operator.output,) if written else operator.inputs
        return any(
            rearranged(operator, tensor, operand.name) is not None
            for tensor in operator.intermediates
            for operand in operands
        )

    @cached_property
    def requires_conversion(self) -> bool:
        """Whether a guard says ``X.dtype != f.out.dtype``: an operand of another type."""
        operands = self.operand_variables
        return any(
            isinstance(c, ast.Binary)
            and c.operator == "!="
            and {_dtype_of(c.left), _dtype_of(c.right)} in ({"out", v} for v in operands)
            for c in self.conditions
        )

    def may_begin_with(self, identity: float) -> bool:
        """Whether guards such as ``identity(f) == 0`` let accumulation begin with this number."""
        known = (truth(_with_identity(c, identity)) for c in self.conditions)
        return False not in known

    @cached_property
    def requires_slice(self) -> bool:
        """Whether a guard says ``slices(f)``: the operation only takes a part of its input."""
        return self._requires("slices")

    @cached_property
    def requires_partly_tileable(self) -> bool:
        """Whether a guard says ``partly_tileable(f)``: loops divide some dimensions only."""
        return self._requires("partly_tileable")

    @cached_property
    def requires_frame(self) -> bool:
        """Whether a guard says ``frames(f)``: the operation only writes between margins."""
        return self._requires("frames")

    @cached_property
    def requires_batch(self) -> bool:
        """Whether a dimension is chosen from ``batch_dims(f)``."""
        domains = (choice.domain for choice in self.declaration.choices)
        return any(isinstance(d, ast.Call) and d.function == "batch_dims" for d in domains)

    def _requires(self, function: str) -> bool:
        return any(isinstance(c, ast.Call) and c.function == function for c in self.conditions)

    @cached_property
    def asks_others(self) -> bool:
        """Whether a guard says ``visible(f, X)``: what other rules see decides."""
        asked = (e for guard in self.declaration.guards for e in subexpressions(guard))
        return any(isinstance(e, ast.Call) and e.function == "visible" for e in asked)

    @cached_property
    def requires_reduction(self) -> bool:
        """Whether a guard says ``reduces(f)``: a reduction that is not yet started."""
        variable = self.declaration.match.variable
        return any(
            isinstance(c, ast.Call)
            and c.function == "reduces"
            and [a.id for a in c.args if isinstance(a, ast.Name)] == [variable]
            for c in self.conditions
        )


def _with_identity(expr: ast.Expr, identity: float) -> ast.Expr:
    """An expression with a number for ``identity(f)``."""
    if isinstance(expr, ast.Call) and expr.function == "identity":
        return ast.Number(identity, span=expr.span)
    return with_children(expr, [_with_identity(inner, identity) for inner in children(expr)])


def _dtype_of(expr: ast.Expr) -> str:
    """Whose element type an expression is: a variable, or ``out`` for ``f.out``; else nothing."""
    match expr:
        case ast.Attribute(base=ast.Attribute(name="out"), name="dtype"):
            return "out"
        case ast.Attribute(base=ast.Name(id=variable), name="dtype"):
            return variable
    return ""
