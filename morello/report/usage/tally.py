"""Counts of rules and kernels over a set of compiled specs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from morello.ir.rule import Rule
from morello.ir.target import Microkernel
from morello.report.usage.closest import Closest
from morello.report.usage.counts import Key, Use


@dataclass(frozen=True, eq=False)
class Compile:
    """A spec of a file that was compiled for a target, and what that used."""

    spec: str
    file: str
    target: str
    cycles: float
    use: Use

    @cached_property
    def kernels(self) -> frozenset[str]:
        """Names of the kernels that it could use."""
        return frozenset(k.name for s in self.use.searches for k in s.context.target.kernels)

    def __str__(self) -> str:
        return f"{self.spec} for {self.target}"


@dataclass(frozen=True, eq=False)
class Tally:
    """One rule or kernel over the compiles that could use it.

    ``closest``: if it is never chosen, where it would have cost least more, unless it applies
    nowhere in the programs.
    """

    item: Rule | Microkernel
    compiles: tuple[Compile, ...]
    closest: tuple[Compile, Closest] | None = None

    @property
    def key(self) -> Key:
        """What counts know it by."""
        return key_of_item(self.item)

    @cached_property
    def fired(self) -> tuple[tuple[Compile, int], ...]:
        """Compiles in which it fires, each with the number of families in which it does."""
        pairs = ((c, len(c.use.fired.get(self.key, ()))) for c in self.compiles)
        return tuple((compile, families) for compile, families in pairs if families)

    @cached_property
    def won(self) -> tuple[tuple[Compile, int], ...]:
        """Compiles whose program has it, each with the number of Specs that it was chosen for."""
        pairs = ((c, len(c.use.won.get(self.key, ()))) for c in self.compiles)
        return tuple((compile, specs) for compile, specs in pairs if specs)


def key_of_item(item: Rule | Microkernel) -> Key:
    """What counts know a rule or kernel by."""
    return ("rule" if isinstance(item, Rule) else "kernel", item.name)


def compiles_with(item: Rule | Microkernel, compiles: Iterable[Compile]) -> tuple[Compile, ...]:
    """Those that could use a rule or kernel: a kernel, those for targets that have it."""
    if isinstance(item, Rule):
        return tuple(compiles)
    return tuple(c for c in compiles if item.name in c.kernels)


def in_words(tallies: Sequence[Tally]) -> str:
    """How many rules and kernels there are, fire and win: ``2 rules: 1 fired, 1 won``."""
    parts: list[str] = []
    for word in ("rule", "kernel"):
        some = [tally for tally in tallies if tally.key[0] == word]
        if some:
            fired = sum(bool(tally.fired) for tally in some)
            won = sum(bool(tally.won) for tally in some)
            counted = f"{len(some)} {word}{'' if len(some) == 1 else 's'}"
            parts.append(f"{counted}: {fired} fired, {won} won")
    return "; ".join(parts)
