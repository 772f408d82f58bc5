"""Lists of goals: specs with ranges of sizes, in a TOML file, for what works through many.

A file has a table for each spec::

    [[goal]]
    spec = '''
    spec product(M = 64, K = 64, N = 64) {
      input a: f32[M, K]
      input b: f32[K, N]
      output c: f32[M, N]
      c = matmul(a, b)
    }
    '''
    sizes = { M = [1, 100], K = "16..2048", N = "16..2048" }
    draw = 4
    most = 1e7

docs/filling.md has the meaning of each key. Every combination of listed sizes is a goal; where
there are ranges, ``draw`` goals, with sizes at random, of which no product exceeds ``most``.

A file always expands to the same goals.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import exp, log, prod
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from morello.checking.specs import check_spec
from morello.errors import MorelloError
from morello.ir.operators import Operator
from morello.language.diagnostics import Collector, suggestion
from morello.language.load import load_source
from morello.language.parse import parse_spec
from morello.language.source import Source

TABLE = "goal"
KEYS = ("spec", "file", "sizes", "draw", "most", "targets", "held_out")

MOST_GOALS = 100_000
"""Of one file: more is a mistake."""

LARGEST = 1 << 40
"""Of a size."""

TRIES = 1_000
"""Draws of sizes before it is an error that none is small enough."""


class ListedGoal(Struct, frozen=True):
    """One goal of a list: a spec of a text, with values of its parameters."""

    source: Source
    spec: str
    defines: Mapping[str, int]
    targets: tuple[str, ...] = ()
    held_out: bool = False

    def __str__(self) -> str:
        return " ".join([self.spec, *(f"{n}={v}" for n, v in self.defines.items())])


class GoalListError(MorelloError):
    """A list is wrong: which table of which file."""


def read_goal_list(
    name: str, text: str, operators: Mapping[str, Operator], directory: Path | None = None
) -> list[ListedGoal]:
    """The goals of a list, in its order, all checked.

    Args:
        name: What messages call the file.
        text: All of it.
        operators: Those that specs may use.
        directory: What names of files in it are relative to; none where it may name none.

    Raises:
        GoalListError: It is no TOML, or a table is wrong.
        DiagnosticsError: A spec is wrong, for the sizes that it is to have.
    """
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise GoalListError(f"{name} is not TOML: {error}") from error
    tables = found.get(TABLE)
    others = sorted(found.keys() - {TABLE})
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        tables = []
    if others or not tables:
        wrong = f"has '{others[0]}'" if others else "has no goals"
        raise GoalListError(f"{name} {wrong}", help="write a table [[goal]] for each spec")
    goals: list[ListedGoal] = []
    for number, table in enumerate(tables, start=1):
        place = f"{name}, goal {number}"
        for goal in _Table(place, table, operators, directory).goals():
            goals.append(goal)
            if len(goals) > MOST_GOALS:
                raise GoalListError(f"{place}: these are more than {MOST_GOALS:,} goals")
    return goals


class _Table(Struct, frozen=True):
    """One table of a list. ``place`` begins messages."""

    place: str
    table: Mapping[str, Any]
    operators: Mapping[str, Operator]
    directory: Path | None

    def goals(self) -> Iterator[ListedGoal]:
        for key in self.table:
            if key not in KEYS:
                raise self._error(f"there is no '{key}'", suggestion(key, KEYS))
        targets, held_out = self.table.get("targets", []), self.table.get("held_out", 0)
        if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
            raise self._error("'targets' is no list of names")
        if type(held_out) is not int or held_out < 0:
            raise self._error("'held_out' is no whole number", "4 marks every fourth goal")
        source = self._source()
        tree = parse_spec(source)
        number = 0
        for spec in tree.specs:
            parameters = [parameter.name for parameter in spec.parameters]
            for defines in self._sizes(parameters, f"{spec.name}\n{source.text}"):
                collector = Collector()
                check_spec(tree, spec.name, defines, self.operators, collector)
                collector.raise_if_any()
                number += 1
                kept = held_out > 0 and number % held_out == 0
                yield ListedGoal(source, spec.name, defines, tuple(targets), kept)

    def _source(self) -> Source:
        given = {key: self.table[key] for key in ("spec", "file") if key in self.table}
        if len(given) > 1:
            raise self._error("it has both a 'spec' and a 'file'", "leave one of them out")
        if not given or not isinstance(text := next(iter(given.values())), str):
            raise self._error("it has no text", "write either spec = '''...''' or file = '...'")
        if "spec" in given:
            return Source(self.place, text)
        if self.directory is None:
            raise self._error("a list that is no file of its own cannot name a file")
        try:
            return load_source(self.directory / text)
        except MorelloError as error:
            raise self._error(str(error), error.help) from error

    def _sizes(self, parameters: Sequence[str], seed: str) -> Iterator[dict[str, int]]:
        sizes, draw, most = (
            self.table.get(k, d) for k, d in (("sizes", {}), ("draw", 1), ("most", None))
        )
        if not isinstance(sizes, dict):
            raise self._error("'sizes' is no table", "such as sizes = { M = [1, 100] }")
        if type(draw) is not int or not 1 <= draw <= MOST_GOALS:
            raise self._error(f"cannot draw {draw!r} goals", f"draw from 1 to {MOST_GOALS:,}")
        if most is not None and not (type(most) in (int, float) and most > 0):
            raise self._error("'most' is no number")
        for name in sizes:
            if name not in parameters:
                advice = suggestion(name, parameters)
                raise self._error(f"the spec has no parameter '{name}'", advice)
        listed = {n: self._listed(n, v) for n, v in sizes.items() if not isinstance(v, str)}
        ranges = {n: self._range(n, v) for n, v in sizes.items() if isinstance(v, str)}
        random = Random(seed)
        for values in product(*listed.values()):
            given = dict(zip(listed, values, strict=True))
            seen: list[dict[str, int]] = []
            for _ in range(draw if ranges else 1):
                drawn = self._drawn(given, ranges, most, random) if ranges else given
                if drawn not in seen:
                    seen.append(drawn)
            yield from ({n: one[n] for n in sizes} for one in seen)

    def _drawn(
        self,
        given: Mapping[str, int],
        ranges: Mapping[str, tuple[int, int]],
        most: float | None,
        random: Random,
    ) -> dict[str, int]:
        for _ in range(TRIES):
            found = {**given, **{n: _size(random, *ends) for n, ends in ranges.items()}}
            if most is None or prod(found.values()) <= most:
                return found
        raise self._error(f"of {TRIES:,} draws none had sizes whose product is at most {most:g}")

    def _listed(self, name: str, value: object) -> list[int]:
        values: list[Any] = value if isinstance(value, list) else [value]
        if not values or not all(type(v) is int and 1 <= v <= LARGEST for v in values):
            advice = f'such as {name} = [1, 100], or {name} = "16..2048"'
            raise self._error(f"'{name}' is no list of sizes", advice)
        return values

    def _range(self, name: str, value: str) -> tuple[int, int]:
        first, dots, last = value.partition("..")
        if dots and first.isdecimal() and last.isdecimal() and len(value) < 40:
            low, high = int(first), int(last)
            if 1 <= low <= high <= LARGEST:
                return low, high
        raise self._error(f"'{name}' is no range: '{value}'", f'such as {name} = "16..2048"')

    def _error(self, message: str, help: str = "") -> GoalListError:
        return GoalListError(f"{self.place}: {message}", help=help)


def _size(random: Random, low: int, high: int) -> int:
    """Log-uniform; of three, one is a power of two and one a multiple of 8, where there is one."""
    size = round(exp(random.uniform(log(low), log(high))))
    kind = random.randrange(3)
    if kind == 0:
        size = 1 << max(round(log(size, 2)), 0)
    elif kind == 1 and size > 8:
        size = 8 * round(size / 8)
    return min(max(size, low), high)
