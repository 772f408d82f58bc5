"""A plan as people and tools read it: tree, costs by coefficient, alternatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.answers import Answers
from morello.search.reconstruct import PlanNode, own_features
from morello.spec.machine import Kernel as Microkernel
from morello.spec.machine import Target


@dataclass(frozen=True, slots=True)
class CostShare:
    """How much of a program's cost one coefficient makes: ``count`` times ``value`` cycles."""

    coefficient: str
    count: float
    value: float

    @property
    def cycles(self) -> float:
        """The product."""
        return self.count * self.value


@dataclass(frozen=True)
class Plan:
    """What was chosen for a solved Spec and for those below it."""

    root: PlanNode
    answers: Answers = field(repr=False)

    @property
    def target(self) -> Target:
        """Where it runs."""
        return self.answers.context.target

    @property
    def lines(self) -> list[tuple[PlanNode, int, int]]:
        """Every use of a node in program order, with its depth and how often it runs."""
        found: list[tuple[PlanNode, int, int]] = []
        pending: list[tuple[PlanNode, int, int]] = [(self.root, 0, 1)]
        while pending:
            node, depth, count = pending.pop()
            found.append((node, depth, count))
            below = list(zip(node.children, node.counts, strict=True))
            pending += [(child, depth + 1, n) for child, n in reversed(below)]
        return found

    @property
    def kernels(self) -> tuple[Microkernel, ...]:
        """The microkernels that it calls, each once, by name."""
        options = (node.option.alternative for node, _ in _occurrences(self.root))
        found = {a.match.kernel for a in options if isinstance(a, KernelAlternative)}
        return tuple(sorted(found, key=lambda kernel: kernel.name))

    def render(self) -> str:
        """A numbered, indented tree: option, parameters, sizes, cycles; one line a node."""
        lines = self.lines
        width = len(str(len(lines)))
        return "\n".join(
            f"{number:>{width}}  {'  ' * depth}{_line(node, count)}"
            for number, (node, depth, count) in enumerate(lines, start=1)
        )

    def summary(self) -> str:
        """What most of the cycles are spent in, in a line: tiles, buffers, and the kernel."""
        parts: list[str] = []
        node = self.root
        while node.step is not None:
            parts += _marks(node.step)
            shares = [n * c.cycles for n, c in zip(node.counts, node.children, strict=True)]
            node = node.children[shares.index(max(shares))]
        return ", ".join([*parts, node.option.name])

    def to_json(self) -> dict[str, Any]:
        """The tree as nested dictionaries."""
        return _json(self.root, 1)

    def costs(self) -> list[CostShare]:
        """Shares of all coefficients, the largest first. They add up to the plan's cycles."""
        return shares(self.target, self.root)


def shares(target: Target, root: PlanNode) -> list[CostShare]:
    """What each coefficient makes of a plan's cycles, the largest share first."""
    totals: dict[str, float] = {}
    for node, count in _occurrences(root):
        for name, own in own_features(target, node.spec, node.option).items():
            totals[name] = totals.get(name, 0.0) + own * count
    values = target.every_coefficient
    found = [CostShare(n, c, values[n].value) for n, c in totals.items() if c]
    return sorted(found, key=lambda s: (-s.cycles, s.coefficient))


def _marks(step: Step) -> list[str]:
    """Loops and buffers of a rule's result that have code of their own."""
    match step:
        case Placed(copied=copied, body=body):
            level = step.tensor.operand.level
            ahead = level == step.source.operand.level
            mark = f"{step.source.name} {'packed ahead' if ahead else f'to {level.name}'}"
            return ([mark] if copied else []) + _marks(body)
        case Tiled(unrolled=unrolled, full=full):
            return ([] if unrolled else [f"{step.dim} {int(step.step)}"]) + _marks(full)
        case Sequence() | Leaf():
            return []


def _occurrences(root: PlanNode) -> list[tuple[PlanNode, float]]:
    """Every distinct node with how often it runs in all.

    Nodes are shared between places; each is visited once, after all places that lead to it.
    """
    order: list[PlanNode] = []
    seen: set[int] = set()
    stack: list[tuple[PlanNode, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(child, False) for child in node.children]
    counts: dict[int, float] = {id(root): 1.0}
    for node in reversed(order):
        for child, count in zip(node.children, node.counts, strict=True):
            counts[id(child)] = counts.get(id(child), 0.0) + counts[id(node)] * count
    return [(node, counts[id(node)]) for node in reversed(order)]


def _line(node: PlanNode, count: int) -> str:
    option = node.option
    parameters = ", ".join(f"{n} = {v}" for n, v in option.parameters)
    name = f"{option.name}({parameters})" if parameters else option.name
    dims = zip(node.spec.family.operation.dims, node.spec.sizes, strict=True)
    sizes = " ".join(f"{d}={n}" for d, n in dims)
    times = "ahead: " if count == 0 else f"{count:,} x " if count > 1 else ""
    return f"{times}{node.spec.family.operation} [{sizes}]: {name}  # {node.cycles:,.0f} cycles"


def _json(node: PlanNode, count: int) -> dict[str, Any]:
    operation = node.spec.family.operation
    return {
        "operation": str(operation),
        "sizes": dict(zip(operation.dims, node.spec.sizes, strict=True)),
        "operands": {
            name: node.spec.variant.operand_text(position)
            for position, name in enumerate(operation.names)
        },
        "kind": "kernel" if isinstance(node.option.alternative, KernelAlternative) else "rule",
        "name": node.option.name,
        "parameters": dict(node.option.parameters),
        "count": count,
        "cycles": node.cycles,
        "own_cycles": node.own,
        "children": [_json(c, n) for c, n in zip(node.children, node.counts, strict=True)],
    }
