"""Programs whose costs tell coefficients apart.

The best programs under one set of coefficients are much alike. So each program is the best one
under coefficients that are distorted at random, on a machine with some of its tile sizes: what one
distortion makes dear, its program avoids. A program's cost is linear in the true coefficients
whatever it was drawn with; its *counts* say how often it uses each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from math import exp
from random import Random

from msgspec import Struct

from morello.compiler import compile_spec
from morello.definitions import Definitions
from morello.ir.dtypes import DTYPES
from morello.ir.target import Coefficient, Target
from morello.kernel import Kernel
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.records import replace
from morello.search.planning.coarsening import indispensable_sizes

SPREAD = 0.7
"""Standard deviation of the logarithm of a distortion: two of three are within a factor of 2."""

SIZES_KEPT = 0.6
"""Chance of every tile size that may go to stay."""

MISSES = 40
"""After so many draws that gave no new program, one after the other, there are no more."""


class Drawn(Struct, frozen=True):
    """A program. ``name`` says what it computes; ``counts`` is by the coefficients' full names."""

    name: str
    kernel: Kernel
    counts: Mapping[str, float]


def draw(
    definitions: Definitions, target: Target, specs: Sequence[tuple[Source, str]], seed: int
) -> Iterator[Drawn]:
    """Different programs for one target, the specs taking turns, always the same for one seed.

    Args:
        definitions: Operators, rules, emitters.
        target: The target; its coefficients are where distortions begin.
        specs: Files with the name of one of their specs; parameters have their defaults.
        seed: Of the random numbers.

    Raises:
        MorelloError: A spec is wrong, or nothing implements it.
    """
    random = Random(seed)
    seen: set[str] = set()
    misses = 0
    for file, spec in cycle(specs):
        distorted = _distorted(target, random)
        kernel = compile_spec(
            file,
            spec=spec,
            target=target.name,
            definitions=replace(definitions, targets={target.name: distorted}),
            memo=Memo(),
        )
        misses += 1
        if kernel.source not in seen:
            seen.add(kernel.source)
            misses = 0
            counts = {share.coefficient: share.count for share in kernel.plan.costs()}
            yield Drawn(f"{spec}: {kernel.plan.summary()}", kernel, counts)
        if misses == MISSES:
            return


def _distorted(target: Target, random: Random) -> Target:
    def distort(_: str, coefficient: Coefficient) -> Coefficient:
        return replace(coefficient, value=coefficient.value * exp(random.gauss(0, SPREAD)))

    needed = indispensable_sizes(target, DTYPES.values())
    sizes = tuple(s for s in target.sizes if s in needed or random.random() < SIZES_KEPT)
    return replace(target.with_coefficients(distort), sizes=sizes)
