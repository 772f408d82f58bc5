"""Fingerprints: what the solved table of a family can depend on, in sixteen bytes.

Two contexts with the same fingerprint of a family have the same table of it, cell by cell. So a
memo may answer from a table whose fingerprint is that of the question, whatever else was added to
the definitions meanwhile. What goes in, and nothing else:

* the operators that the family can lead to: its own, and what rules that may match one of those
  yield, and so on (*reach*);
* the rules that may match one of these; those for parallel work only where there are threads;
* the kernels that implement one of these for element types of the family's operands. No rule makes
  an operand of a type that none of them has: a buffer is of some operand's type. Of a kernel for
  other types its patterns of single operands count, where they have one of the family's types:
  `layouts` and `vectors` offer what such patterns want;
* of the target: levels with their coefficients, tile sizes, the page, the coefficients that these
  rules and kernels name, which registers have a C type, and which primitives there are, at which
  coefficient, for the operators' meanings where one is asked for;
* the version of the engine, and which of its prunings are switched off.

Left out are sentences, places, the C text of kernels, macros, primitives and functions, a target's
name, flags and what builds and runs its code, and every order. The names of rules and kernels are
in it, since they break ties.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Protocol, TypeVar

from msgspec import Struct

from morello.ir.dtypes import DTYPES
from morello.ir.graphs.composition import composition_of
from morello.ir.operators import Operator
from morello.ir.primitives import (
    ADD,
    MULTIPLY,
    MULTIPLY_ADD,
    ROW_PRIMITIVES,
    TYPE,
    exchanges,
    primitives_in,
    update_primitive,
)
from morello.ir.pruning import switched_off
from morello.ir.rule import Rule
from morello.ir.spec import Family
from morello.ir.target import Level, Microkernel
from morello.ir.vector_axis import ROW_KINDS
from morello.language import ast, target_ast
from morello.language.canonical import Canonical, canonical, nodes
from morello.language.target_ast import ANY
from morello.rewriting.context import Context
from morello.rewriting.patterns import implements

ENGINE = 25
"""Raise it with every change of the engine after which some table has other numbers.

That is a change of what rules, kernels, guards, layouts, coordinates or a function of the languages
mean, of how costs are rounded, or of how ties are broken. Whatever is only faster leaves it.
"""

BYTES = 16
"""Length of a fingerprint: two different ones of 2^40 agree with a chance below 2^-48."""


class FingerprintsOf:
    """Fingerprints of any contexts, those of each kept. It may be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[tuple[Context, Fingerprints]] = []

    def __call__(self, context: Context) -> Fingerprints:
        """Those of one context."""
        with self._lock:
            known = next((f for c, f in self._known if c.same_definitions(context)), None)
            if known is None:
                known = Fingerprints(context)
                self._known.append((context, known))
            return known


class Fingerprints:
    """Fingerprints of the families of one context, each kind of family worked out once.

    It may be used from several threads: at worst one fingerprint is worked out twice.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rule = _by_name(_said_by_rule)
        self._kernel = _by_name(_said_by_kernel)
        self._operator = _by_name(_said_by_operator)
        self._known: dict[tuple[str, frozenset[str], bool], bytes] = {}
        self._matching: dict[str, tuple[Rule, ...]] = {}

    def of(self, family: Family) -> bytes:
        """The fingerprint of what a family's table depends on; the family itself is not in it.

        Families of one operator with the same element types share theirs, apart from those that
        may use threads.
        """
        operator = family.operation.operator
        dtypes = frozenset(o.dtype.name for o in family.operands)
        composition = composition_of(operator)
        if composition is not None:
            dtypes |= {dtype.name for _, dtype in composition.graph.dtypes}
        key = (operator.name, dtypes, family.threads > 1)
        if key not in self._known:
            reach = self._reach(operator, dtypes, family.threads > 1)
            text = repr((ENGINE, *sorted(switched_off()), *self._parts(reach)))
            self._known[key] = blake2b(text.encode(), digest_size=BYTES).digest()
        return self._known[key]

    def _reach(self, operator: Operator, dtypes: frozenset[str], parallel: bool) -> _Reach:
        context = self._context
        found: dict[str, Operator] = {}
        pending = [operator]
        composition = composition_of(operator)
        derived = composition is not None
        reached: dict[str, Rule] = {}
        if composition is not None:
            pending += [node.operation.operator for node in composition.graph.nodes]
            # Which graphs arise below one is not known here: a pattern may be of any.
            patterns = [rule for rule in context.rules if rule.pattern is not None]
            reached = {rule.name: rule for rule in context.rules if _for_graphs(rule)}
            pending += self._yielded(patterns, parallel)
        while pending:
            own = pending.pop()
            if own.name in found:
                continue
            found[own.name] = own = context.operators.get(own.name, own)
            matching = self._may_match(own)
            reached |= {rule.name: rule for rule in matching}
            pending += self._yielded(matching, parallel)
            if own.seen_as is not None:
                pending += map(context.operators.__getitem__, _yielded(own.seen_as))
        operators = tuple(found[name] for name in sorted(found))
        near = _implementing(context.target.kernels, operators, derived)
        return _Reach(
            derived,
            dtypes,
            operators,
            tuple(r for r in reached.values() if _usable(r, parallel)),
            tuple(k for k in near if all(_occurs(p, dtypes) for p in _certain(k.match))),
            near,
        )

    def _may_match(self, operator: Operator) -> tuple[Rule, ...]:
        """The rules that may match an operator: one that a definition gives, or a graph's."""
        if operator.name not in self._matching:
            rules = self._context.rules
            self._matching[operator.name] = tuple(r for r in rules if r.may_match(operator))
        return self._matching[operator.name]

    def _yielded(self, rules: Iterable[Rule], parallel: bool) -> Iterator[Operator]:
        """Operators that results of these rules apply."""
        for rule in rules:
            if _usable(rule, parallel):
                for name in self._rule(rule).yielded:
                    yield self._context.operators[name]

    def _parts(self, reach: _Reach) -> Iterator[object]:
        """Everything that counts, in an order that depends on names only."""
        target = self._context.target
        rules = {rule.name: self._rule(rule) for rule in reach.rules}
        kernels = {kernel.name: self._kernel(kernel) for kernel in reach.kernels}
        primitives = self._primitives(reach)
        named = {coefficient for *_, coefficient in primitives if coefficient is not None}
        named.update(*(said.names for said in (*rules.values(), *kernels.values())))
        yield tuple(self._operator(operator).text for operator in reach.operators)
        yield tuple((name, rules[name].text) for name in sorted(rules))
        yield tuple(kernels[name].text for name in sorted(kernels))
        yield _sorted(_wanted(reach))
        yield tuple(map(_level, target.levels))
        yield (target.page, *target.sizes)
        yield _sorted((n, c.value) for n, c in target.coefficients.items() if n in named)
        yield _sorted(primitives)

    def _primitives(self, reach: _Reach) -> set[tuple[str, int, str, str | None]]:
        """(dtype, lanes, primitive, coefficient) of what meanings can need and the target has."""
        target = self._context.target
        needed: set[tuple[int, str]] = set()
        for kernel in reach.kernels:
            if kernel.template is None or self._kernel(kernel).asks_meaning:
                every = _lanes(kernel, reach.dtypes)
                needed |= self._needed(reach, _implemented(kernel, reach), every)
                if kernel.match.kind in ROW_KINDS:
                    needed |= {(n, p) for n in every for p in (*ROW_PRIMITIVES, *exchanges(n))}
        for rule in reach.rules:
            if self._rule(rule).asks_meaning:
                every = {lanes for _, lanes in target.primitives}
                needed |= self._needed(reach, filter(rule.may_match, reach.operators), every)
        known = {k: p for k, p in target.primitives.items() if k[0] in reach.dtypes}
        needed |= {(lanes, TYPE) for _, lanes in known}
        return {
            (dtype, lanes, name, primitives.entries[name][1])
            for (dtype, lanes), primitives in known.items()
            for wanted, name in needed
            if wanted == lanes and name in primitives.entries
        }

    def _needed(
        self, reach: _Reach, operators: Iterable[Operator], lanes: Iterable[int]
    ) -> set[tuple[int, str]]:
        """(lanes, primitive) for the operators' meanings, whatever may be reduced or cast."""
        names = {f"cast_{dtype}" for dtype in reach.dtypes} if len(reach.dtypes) > 1 else set()
        for operator in operators:
            names |= self._operator(operator).primitives
        return {(count, name) for count in lanes for name in names}


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Definition = TypeVar("_Definition", bound=_Named)
_Result = TypeVar("_Result")


def _by_name(say: Callable[[_Definition], _Result]) -> Callable[[_Definition], _Result]:
    """What is said by definitions of one kind, worked out where it is first asked for."""
    known: dict[str, _Result] = {}

    def said(definition: _Definition) -> _Result:
        if definition.name not in known:
            known[definition.name] = say(definition)
        return known[definition.name]

    return said


class _Reach(Struct, frozen=True):
    """Definitions that a family can lead to. ``near`` are kernels for other types as well.

    ``derived``: operators may arise that stand for graphs of those here.
    """

    derived: bool
    dtypes: frozenset[str]
    operators: tuple[Operator, ...]
    rules: tuple[Rule, ...]
    kernels: tuple[Microkernel, ...]
    near: tuple[Microkernel, ...]


class _Text:
    """A canonical form that is written once, however many fingerprints it is part of."""

    def __init__(self, form: Canonical) -> None:
        self._text = repr(form)

    def __repr__(self) -> str:
        return self._text


class _Said(Struct, frozen=True):
    """What a rule or a kernel says.

    Attributes:
        text: What of it counts.
        names: Those in its expressions, of coefficients among others.
        yielded: Operators that a rule's result applies, beside the matched one.
        asks_meaning: Whether an expression asks what one evaluation of the meaning costs.
    """

    text: _Text
    names: frozenset[str]
    yielded: tuple[str, ...]
    asks_meaning: bool


class _SaidByOperator(Struct, frozen=True):
    """What of an operator counts, and the primitives of its meaning."""

    text: _Text
    primitives: frozenset[str]


def _said_by_operator(operator: Operator) -> _SaidByOperator:
    parts = (operator.inputs, operator.output, operator.scalars, operator.statement)
    said = canonical((*parts, operator.seen_as))
    text = _Text((operator.name, operator.tileable, operator.stated, said))
    primitives = {name for _, name in primitives_in(operator.statement.value)}
    if update := update_primitive(operator):
        primitives.add(update)
        primitives |= {MULTIPLY_ADD} if update == ADD and MULTIPLY in primitives else set()
    return _SaidByOperator(text, frozenset(primitives))


def _said_by_rule(rule: Rule) -> _Said:
    declaration = rule.declaration
    return _Said(
        _Text(canonical(declaration)),
        _names(declaration),
        _yielded(declaration),
        _asks_meaning(declaration),
    )


def _yielded(rule: ast.RuleDecl) -> tuple[str, ...]:
    """Operators that a rule's result applies by name."""
    return tuple(n.operator for n in nodes(rule.result) if isinstance(n, ast.Apply))


def _said_by_kernel(kernel: Microkernel) -> _Said:
    """Whether it is written from the meaning counts, for then it needs primitives."""
    said = canonical((kernel.match, kernel.guards, kernel.cost, *kernel.clauses.searched))
    text = (kernel.name, said, kernel.template is None, kernel.streamed)
    names = _names((kernel.guards, kernel.cost, *kernel.clauses.searched))
    return _Said(_Text(text), names, (), _asks_meaning((kernel.guards, kernel.cost)))


def _names(value: object) -> frozenset[str]:
    return frozenset(n.id for n in nodes(value) if isinstance(n, ast.Name))


def _usable(rule: Rule, parallel: bool) -> bool:
    """Whether a rule may be applied, as far as that depends on whether there are threads."""
    return parallel or not rule.declaration.match.parallel


def _for_graphs(rule: Rule) -> bool:
    """Whether a rule may be for graphs."""
    return rule.declaration.match.kind != "named" or rule.pattern is not None


def _implementing(
    kernels: Iterable[Microkernel], operators: tuple[Operator, ...], derived: bool
) -> tuple[Microkernel, ...]:
    return tuple(
        k
        for k in kernels
        if any(implements(k, o) for o in operators) or (derived and k.match.kind != "named")
    )


def _certain(match: target_ast.KernelMatch) -> tuple[target_ast.KernelOperand, ...]:
    """Patterns that some operand must have: of one for rows only the first."""
    return match.operands[:1] if match.kind in ROW_KINDS else match.operands


def _occurs(pattern: target_ast.KernelOperand, dtypes: frozenset[str]) -> bool:
    return pattern.dtype == ANY or pattern.dtype in dtypes


def _sorted(parts: Iterable[Canonical]) -> Canonical:
    return tuple(sorted(set(parts), key=repr))


def _wanted(reach: _Reach) -> Iterator[Canonical]:
    """What patterns ask of single operands, whatever the other operands are."""
    for kernel in reach.near:
        for position, p in enumerate(kernel.match.operands):
            if _occurs(p, reach.dtypes):
                which = p.name or position
                wants = (p.levels, len(p.shape), p.order, p.panels, p.vector, p.lanes, p.already)
                yield (kernel.match.kind, kernel.match.operator, which, *wants)


def _level(level: Level) -> Canonical:
    return (
        level.name,
        level.distance,
        level.capacity,
        level.capacity_unit,
        level.line,
        level.cache,
        level.addressable,
        level.vectors,
        level.streams,
        _sorted((name, c.value) for name, c in level.coefficients.items()),
    )


# ------------------------------------------------------------------------- primitives


def _asks_meaning(value: object) -> bool:
    """Whether an expression asks what one evaluation of the meaning costs."""
    return any(isinstance(n, ast.Call) and n.function == "arithmetic" for n in nodes(value))


def _implemented(kernel: Microkernel, reach: _Reach) -> Iterator[Operator]:
    every = reach.derived and kernel.match.kind != "named"
    return (o for o in reach.operators if every or implements(kernel, o))


def _lanes(kernel: Microkernel, dtypes: frozenset[str]) -> set[int]:
    """Lanes in which a kernel's meaning may be evaluated: one, or those of its registers."""
    operands = kernel.match.operands
    vectors = {p.vector for p in operands if p.vector}
    lanes = {p.lanes for p in operands if isinstance(p.lanes, int)}
    if kernel.declaration.vectors:
        lanes.add(kernel.declaration.vectors[1])
    return {1, *lanes, *(v // DTYPES[d].bytes for v in vectors for d in dtypes)}
