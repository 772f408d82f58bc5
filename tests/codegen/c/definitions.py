"""The targets and operators of the project, read from their files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from morello.checking.operators import check_operators
from morello.checking.targets import check_targets
from morello.ir.operators import Operation, Operator
from morello.ir.passes import PASSES
from morello.ir.target import Microkernel, Target
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules, parse_target
from morello.language.source import Source
from morello.plugins import definitions_in
from morello.records import replace

# What the shipped operators do not exercise in kernels that are written from a declaration.
MORE_OPERATORS = """
op mixed(X: T[i...], Z: T[i...]) -> Y: T[i...]
  "Every primitive of both dtypes; the sum inside 'abs' is used twice."
{
  Y[i...] = max(abs(X[i...] - 3 * Z[i...]), min(-X[i...], Z[i...] + 2))
}

op quotient(X: T[i...], Z: T[i...]) -> Y: T[i...]
  "Division and a square root: no s32."
{
  Y[i...] = sqrt(abs(X[i...])) / Z[i...]
}

op convert(X: T[i...]) -> Y: U[i...]
  "A copy with arithmetic, computed in the output's dtype."
{
  Y[i...] = X[i...] + 1
}

op every_second(X: T[2 * i + j], Z: T[j]) -> Y: T[i]
  "Products of every second element."
{
  Y[i] += X[2 * i + j] * Z[j]
}

op row_largest(X: T[i, j]) -> Y: T[i]
  "The largest of each row."
{
  Y[i] max= X[i, j]
}
"""


@cache
def operators() -> dict[str, Operator]:
    """All operators of the project, and `MORE_OPERATORS`."""
    resources = [r for r in definitions_in(files("morello_rules")) if r.name.endswith(".mrules")]
    sources = [Source(r.name, r.read_text("utf-8")) for r in resources]
    sources.append(Source("more.mrules", MORE_OPERATORS))
    collector = Collector()
    found = check_operators([parse_rules(source) for source in sources], collector)
    collector.raise_if_any()
    return found


@cache
def targets() -> dict[str, Target]:
    """All targets of the project."""
    resources = [r for name in ("morello_c", "morello_x86") for r in definitions_in(files(name))]
    sources = [Source(r.name, r.read_text("utf-8")) for r in resources]
    collector = Collector()
    found = check_targets([parse_target(s) for s in sources], operators(), collector)
    collector.raise_if_any()
    return found


def with_passes(name: str, *passes: str) -> Target:
    """A target of the project whose programs have these passes, or all where none is named."""
    return replace(targets()[name], passes=passes or tuple(PASSES))


def kernel(target: Target, name: str) -> Microkernel:
    """A kernel of a target by name."""
    return next(k for k in target.kernels if k.name == name)


def operation(
    name: str, rank: int = 0, *, accumulating: bool = False, **scalars: float
) -> Operation:
    """An operator at a rank of its group of dimensions."""
    return Operation(operators()[name], rank, accumulating, tuple(scalars.items()))


def runnable() -> tuple[str, ...]:
    """Names of the targets whose instructions this machine has."""
    needs = {
        "x86.scalar": set(),
        "x86.avx2": {"avx2", "fma"},
        "x86.avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
    }
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    has = {word for line in lines if line.startswith("flags") for word in line.split()}
    return tuple(name for name, flags in needs.items() if flags <= has)
