"""Targets as the search sees them: levels of memory, coefficients, microkernels.

Definitions only; they come from ``.mtarget`` files and say nothing of an instruction set that the
engine would understand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct

from morello.ir.functions import Function
from morello.ir.primitives import (
    ADD,
    EXCHANGES,
    HOLD,
    MULTIPLY,
    MULTIPLY_ADD,
    MULTIPLY_THEN_ADD,
    entry_of,
    exchanges,
)
from morello.language import ast, target_ast
from morello.language.kernel_clauses import KernelClauses
from morello.records import replace


class Coefficient(Struct, frozen=True):
    """A named cost in cycles. ``source`` says where the number is from."""

    name: str
    value: float
    doc: str
    source: str


@dataclass(frozen=True)
class Level:
    """A level of the memory hierarchy.

    ``distance`` counts from the nearest level, 0. Levels with ``arguments`` stand beside the
    farthest, at the same distance: an argument of at most so many bytes is there when a call
    begins, in some cache, and nothing else is placed there. ``capacity`` is in whole units:
    vectors for a level that is not addressable, ``capacity_unit`` bytes each for a cache; none is
    unlimited. ``vectors`` are the vector widths, in bytes, that a register level offers. Rows that
    lie apart are fetched ahead of their use, up to ``streams`` of them at a time; 0 is any number.
    """

    name: str
    distance: int
    capacity: int | None
    capacity_unit: int
    line: int
    cache: bool
    addressable: bool
    vectors: tuple[int, ...]
    arguments: int
    streams: int
    coefficients: Mapping[str, Coefficient] = field(compare=False, repr=False)

    @property
    def bytes(self) -> int:
        """The capacity of a cache."""
        return (self.capacity or 0) * self.capacity_unit

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Definition:
    """A primitive that is made of others, for any number of lanes. ``doc``: its sentence.

    ``value`` is in the parameters, as elements without an index. ``named`` are the parts of it that
    have names, and may be shared.
    """

    name: str
    dtype: str
    parameters: tuple[str, ...]
    value: ast.Expr = field(repr=False)
    named: Mapping[str, ast.Expr] = field(repr=False)
    coefficient: str
    doc: str
    declaration: target_ast.DefinitionDecl = field(compare=False, repr=False)

    def called_in(self, lanes: int) -> str:
        """What the function is called that emitters write for it."""
        return f"{self.dtype}_x{lanes}_{self.name}"


@dataclass(frozen=True)
class Primitives:
    """How one dtype with so many lanes is written in C. Entry -> (text, coefficient name).

    ``definitions`` are of those entries that call a function that the emitter writes. ``lacking``
    has, of functions that are defined but not for these, what entries of which types are missing.
    """

    dtype: str
    lanes: int
    entries: Mapping[str, tuple[str, str | None]]
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fuses(self) -> bool:
        """Whether a product is added by one instruction; by what is only defined it is by two."""
        return MULTIPLY_ADD in self.entries and MULTIPLY_ADD not in self.definitions

    @property
    def in_templates(self) -> frozenset[str]:
        """What templates may ask of these vectors."""
        found = {*self.entries, HOLD}
        if self.fuses or {ADD, MULTIPLY} <= found:
            found.add(MULTIPLY_THEN_ADD)
        if {*exchanges(self.lanes)} <= found:
            found.add(EXCHANGES)
        return frozenset(found)

    def text(self, primitive: str) -> str | None:
        """How a primitive is written, if it is; that of a shift has its number of places in it."""
        entry = entry_of(primitive)
        if entry not in self.entries:
            return None
        text = self.entries[entry][0]
        return text if entry == primitive else text.replace("{1}", primitive.rpartition("_")[2])


@dataclass(frozen=True)
class Microkernel:
    """A microkernel: a checked declaration. Its meaning is the operator that it matches.

    ``streamed``: it is written so that the output is stored past the caches.
    """

    name: str
    doc: str
    target: str
    match: target_ast.KernelMatch
    guards: tuple[ast.Expr, ...]
    cost: ast.Expr
    clauses: KernelClauses
    streamed: bool
    template: str | None
    declaration: target_ast.KernelDecl = field(compare=False, repr=False)

    @classmethod
    def declared(cls, node: target_ast.KernelDecl) -> Microkernel:
        """A declaration that was checked."""
        own = (f.name for f in fields(cls) if f.name != "declaration")
        return cls(**{name: getattr(node, name) for name in own}, declaration=node)


@dataclass(frozen=True)
class Target:
    """A target with everything that it inherits.

    ``levels`` go from the nearest to the farthest. ``features`` are those of a processor that its
    code needs, besides what ``flags`` of the form ``-mFEATURE`` say. A processor that has those has
    what is ``implied``: programs do not ask for it when they run. ``compiler`` and ``runner``
    are the commands that build and run its code where this machine cannot; empty: none. ``passes``
    are those of `morello.ir.passes` that its programs have. ``macros`` are what the templates of
    its kernels may use.
    """

    name: str
    doc: str
    lineage: tuple[str, ...]
    emitter: str
    sizes: tuple[int, ...]
    page: int
    flags: tuple[str, ...]
    headers: tuple[str, ...]
    levels: tuple[Level, ...]
    coefficients: Mapping[str, Coefficient]
    primitives: Mapping[tuple[str, int], Primitives]
    functions: Mapping[str, Function]
    kernels: tuple[Microkernel, ...]
    features: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    compiler: str = ""
    runner: str = ""
    passes: tuple[str, ...] = ()
    macros: Mapping[str, target_ast.MacroDecl] = field(default_factory=dict)

    @cached_property
    def level_by_name(self) -> Mapping[str, Level]:
        """Levels by name."""
        return {level.name: level for level in self.levels}

    @cached_property
    def fetched_ahead(self) -> frozenset[tuple[str, tuple[str, ...], int]]:
        """Operands that kernels fetch ahead: their operator, all element types, their place."""
        found = set()
        for kernel in self.kernels:
            operands = kernel.match.operands
            for place, operand in enumerate(operands):
                if operand.name and operand.name == kernel.clauses.fetched:
                    types = tuple(own.dtype for own in operands)
                    found.add((str(kernel.match.operator), types, place))
        return frozenset(found)

    @cached_property
    def vector_widths(self) -> frozenset[int]:
        """Bytes of all vectors that its registers offer."""
        return frozenset(width for level in self.levels for width in level.vectors)

    @cached_property
    def bounded(self) -> tuple[Level, ...]:
        """Levels with a capacity, nearest first: one coordinate of a Spec each."""
        return tuple(level for level in self.levels if level.capacity is not None)

    @cached_property
    def every_coefficient(self) -> Mapping[str, Coefficient]:
        """By full name: ``NAME``, or ``LEVEL.NAME`` for a coefficient of a level."""
        of_levels = {f"{v.name}.{n}": c for v in self.levels for n, c in v.coefficients.items()}
        return {**self.coefficients, **of_levels}

    def with_coefficients(self, change: Callable[[str, Coefficient], Coefficient]) -> Target:
        """The same target with other coefficients, each from its full name and what it was."""
        levels = tuple(
            replace(
                v,
                coefficients={n: change(f"{v.name}.{n}", c) for n, c in v.coefficients.items()},
            )
            for v in self.levels
        )
        coefficients = {n: change(n, c) for n, c in self.coefficients.items()}
        return replace(self, levels=levels, coefficients=coefficients)

    def one_by_one(self, share: float, step: float) -> Target:
        """The same target with a vector for each coefficient, of as many as there are.

        That is a share of what it was, with a step added to its own element: of all coefficients,
        one at a time is another.
        """
        key = (share, step)
        if key not in self._one_by_one:
            places = {name: place for place, name in enumerate(self.every_coefficient)}

            def given(name: str, coefficient: Coefficient) -> Coefficient:
                values: Any = np.full(len(places), share * coefficient.value)
                values[places[name]] += step
                return replace(coefficient, value=values)

            self._one_by_one[key] = self.with_coefficients(given)
        return self._one_by_one[key]

    @cached_property
    def _one_by_one(self) -> dict[tuple[float, float], Target]:
        return {}

    @cached_property
    def _moves_from(self) -> float:
        """The least distance of a level that lines are moved from."""
        costly = [level.distance for level in self.levels if level.coefficients]
        held = [level.distance + 1 for level in self.levels if level.cache]
        return min((*costly, *held), default=inf)

    def moves_lines_from(self, level: Level) -> bool:
        """Whether anything asks how an operand that is at this level lies in memory.

        Something does where bringing its lines nearer has a cost, or where a nearer cache may hold
        them and they take of its capacity.
        """
        return level.distance >= self._moves_from

    @property
    def farthest(self) -> Level:
        """Memory without a limit."""
        return self.levels[-1]

    def nearer(self, level: Level) -> tuple[Level, ...]:
        """Levels that are nearer than one, from the nearest."""
        return tuple(other for other in self.levels if other.distance < level.distance)

    def home(self, bytes: int) -> Level:
        """Where an argument of this size is when a call begins: the nearest level that keeps it."""
        return next((v for v in self.levels if bytes <= v.arguments), self.farthest)

    def cache_number(self, level: Level) -> int:
        """Which cache a level is, or keeps arguments in: 1 is the nearest; 0 is no cache.

        Arguments of a level are in the nearest cache that holds as much, or in one behind all that
        are declared.
        """
        caches = [v for v in self.levels if v.cache]
        if level.cache:
            return caches.index(level) + 1
        if not level.arguments:
            return 0
        holds = (n for n, c in enumerate(caches, 1) if level.arguments <= c.bytes)
        return next(holds, len(caches) + 1)

    def is_behind_caches(self, level: Level) -> bool:
        """Whether a level keeps arguments in a cache behind all that are declared."""
        caches = [v for v in self.levels if v.cache]
        return self.cache_number(level) > len(caches)

    def between(self, near: Level, far: Level) -> list[Level]:
        """Levels that lines come from on their way: ``far``, and those nearer, but not ``near``.

        With this target's coefficients, also where the levels given have others.
        """
        nearer = (v for v in self.levels if v.distance < far.distance or v.name == far.name)
        return [v for v in nearer if v.distance > near.distance]
