"""What a plan does in a call: operations of its kernels, and bytes that move between levels.

Both follow from declarations and from where operands are, not from costs: a line that a kernel's
cost says is hidden beside arithmetic is counted like any other.

*Operations* are the primitives that a kernel's meaning is made of, once for each iteration, an
``exp`` as one; conversions between element types are none. *Bytes of a level* are the lines that
are brought from it to the next nearer one, or written back to it; those of the nearest level of
memory are what kernels read and write there, each element once a call of the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from morello.ir.primitives import CAST, CONSTANT
from morello.ir.spec import Family
from morello.ir.target import Level, Target
from morello.records import replace
from morello.report.plan import Line
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.meaning_cost import needed_primitives
from morello.rewriting.references import Point, TensorRef, elements, lines, point, spec_ref
from morello.rewriting.steps import Leaf, Placed, Step, Tiled

Kind = tuple[str, tuple[str, ...]]
"""What kernels compute, as far as a roof is concerned: an operator's name and element types."""


@dataclass(slots=True)
class Traffic:
    """Operations and bytes of a call, as the slowest thread does them.

    ``operations``: by what is computed; ``labels``: how people call that. ``moved``: by level.
    """

    operations: Counter[Kind] = field(default_factory=Counter)
    labels: dict[Kind, str] = field(default_factory=dict)
    moved: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        """What a line does itself, in all of its runs."""
        target, spec = line.tree.target, line.node.spec
        alternative = line.node.option.alternative
        at = point(target, spec.variant, spec.coordinates)
        if isinstance(alternative, KernelAlternative):
            streamed = alternative.match.kernel.streamed
            self._add_kernel(target, spec.family, at, line.runs, streamed)
        else:
            for step, inside, times in _held(line.node.step, at, line.runs):
                self._add_held(target, spec.family, inside, step, times)

    def _add_kernel(
        self, target: Target, family: Family, at: Point, runs: int, streamed: bool
    ) -> None:
        kind = kind_of(family)
        count = operations_of(family) * prod(int(at.sizes[d]) for d in family.operation.dims)
        self.labels.setdefault(kind, label_of(family))
        self.operations[kind] += count * runs
        near = nearest_memory(target)
        for position, tensor in _in_memory(family, at):
            passes = _passes(family, position)
            size = int(elements(tensor, at.sizes)) * tensor.operand.dtype.bytes
            self.moved[near.name] += size * passes * runs
            past = streamed and family.operation.writes(position)
            self._move(target, tensor, at, passes * runs, near, past=past)

    def _add_held(
        self, target: Target, family: Family, at: Point, step: Placed, times: int
    ) -> None:
        """A cache that holds an operand: the hardware brings it there, and takes it back."""
        source = step.source
        passes = _passes(family, int(source.key)) if source.key.isdecimal() else 1
        self._move(target, source, at, passes * times, step.tensor.operand.level)

    def _move(
        self, target: Target, tensor: TensorRef, at: Point, times: int, near: Level, *,
        past: bool = False,
    ) -> None:  # fmt: skip
        far = tensor.operand.level
        hops = [far] if past else target.between(near, far)
        for hop in hops:
            self.moved[hop.name] += int(lines(tensor, at.sizes)) * far.line * times


def traffic_of(all_lines: list[Line]) -> Traffic:
    """That of all lines of a plan."""
    traffic = Traffic()
    for line in all_lines:
        if line.runs:
            traffic.add(line)
    return traffic


def kind_of(family: Family) -> Kind:
    """What a family's kernels compute."""
    return family.operation.operator.name, tuple(o.dtype.name for o in family.operands)


def label_of(family: Family) -> str:
    """The same for people: the operator, and the element types, of equal ones once."""
    dtypes = dict.fromkeys(o.dtype.name for o in family.operands)
    return f"{family.operation.operator.label} ({', '.join(dtypes)})"


def operations_of(family: Family) -> int:
    """Of one iteration."""
    needed = needed_primitives(family).items()
    return sum(n for (_, p), n in needed if p != CONSTANT and not p.startswith(CAST))


def nearest_memory(target: Target) -> Level:
    """The nearest level that has addresses."""
    return next(level for level in target.levels if level.addressable)


def _in_memory(family: Family, at: Point) -> Iterator[tuple[int, TensorRef]]:
    tensors = spec_ref(family, at.packing).tensors
    return ((p, t) for p, t in enumerate(tensors) if t.operand.level.addressable)


def _passes(family: Family, position: int) -> int:
    """How often an operand moves: it is read, or written, or both."""
    operation = family.operation
    return operation.reads(position) + operation.writes(position)


def _held(step: Step | None, at: Point, times: int) -> Iterator[tuple[Placed, Point, int]]:
    """What is held by hardware in a rule's result: at which sizes, how often it comes there."""
    match step:
        case None | Leaf():
            return
        case Placed(body=body):
            if not step.copied:
                yield step, at, times
            yield from _held(body, at, times)
        case Tiled(dim=dim):
            full, tail = ({**at.sizes, dim: size} for size in (step.step, step.remainder))
            yield from _held(step.full, replace(at, sizes=full), times * int(step.runs))
            if step.remainder and not step.idle:
                yield from _held(step.tail, replace(at, sizes=tail), times)
        case _:
            for inner in step.steps:
                yield from _held(inner, at, times)
