"""A plan as people and tools read it: tree, costs by coefficient, alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from msgspec import Struct

from morello.ir.target import Microkernel, Target
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import PlanNode, leaves, own_features
from morello.search.results.solved_view import SolvedView


class CostShare(Struct, frozen=True):
    """How much of a program's cost one coefficient makes: ``count`` times ``value`` cycles."""

    coefficient: str
    count: float
    value: float

    @property
    def cycles(self) -> float:
        """The product."""
        return self.count * self.value


@dataclass(frozen=True)
class Tree:
    """What was chosen for one solved Spec and for those below it.

    ``computes``: the tensor of the goal that it is for.
    """

    computes: str
    root: PlanNode
    solved: SolvedView = field(repr=False)

    @property
    def target(self) -> Target:
        """Where it runs, as the search saw it."""
        return self.solved.context.target

    def summary(self) -> str:
        """What most of the cycles are spent in, in a line: tiles, buffers, and the kernel."""
        parts: list[str] = []
        node = self.root
        while node.step is not None:
            parts += _marks(node.step)
            shares = [n * c.cycles for n, c in zip(node.counts, node.children, strict=True)]
            node = node.children[shares.index(max(shares))]
        return ", ".join([*parts, node.option.name])


class Line(Struct, frozen=True):
    """A use of a node: in which tree, and how deep.

    ``count``: how often it runs each time that the node above it does; ``runs``: in a whole call.
    ``used``: capacity units in use of every bounded level when it begins, nearest first.
    """

    tree: Tree
    node: PlanNode
    depth: int
    count: int
    runs: int
    used: tuple[int, ...]

    @property
    def below(self) -> tuple[Line, ...]:
        """The lines of its sub-Specs, in program order."""
        if self.node.step is None:
            return ()
        pairs = zip(leaves(self.node.step), self.node.children, strict=True)
        return tuple(
            Line(self.tree, child, self.depth + 1, n, self.runs * n, self._used_in(leaf))
            for (leaf, n), child in pairs
        )

    def _used_in(self, leaf: Leaf) -> tuple[int, ...]:
        """A Spec does not know of levels that do not matter to it: what the step adds counts."""
        assert leaf.used is not None
        changes = zip(self.used, self.node.spec.used, leaf.used, strict=True)
        return tuple(used + int(then) - before for used, before, then in changes)


class PlanStep(TypedDict):
    """A step of a plan for tools. ``computes``: of a tree of several, the tensor of the goal."""

    computes: NotRequired[str]
    operation: str
    sizes: dict[str, int]
    operands: dict[str, str]
    kind: str
    name: str
    parameters: dict[str, str]
    count: int
    cycles: float
    own_cycles: float


class PlanNodeDocument(PlanStep):
    """A step with those below it."""

    children: list[PlanNodeDocument]


@dataclass(frozen=True)
class Plan:
    """What was chosen for a goal: a tree for each of its computations, in order."""

    trees: tuple[Tree, ...]

    @property
    def cycles(self) -> float:
        """Predicted cost: that of all trees."""
        return sum(tree.root.cycles for tree in self.trees)

    @property
    def lines(self) -> list[Line]:
        """Every use of a node in program order."""
        found: list[Line] = []
        pending = [
            Line(tree, tree.root, 0, 1, 1, (0,) * len(tree.target.bounded))
            for tree in reversed(self.trees)
        ]
        while pending:
            line = pending.pop()
            found.append(line)
            pending += reversed(line.below)
        return found

    @property
    def kernels(self) -> tuple[Microkernel, ...]:
        """The microkernels that it calls, each once, by name."""
        options = (
            node.option.alternative for tree in self.trees for node, _ in occurrences(tree.root)
        )
        found = {a.match.kernel for a in options if isinstance(a, KernelAlternative)}
        return tuple(sorted(found, key=lambda kernel: kernel.name))

    def render(self) -> str:
        """A numbered, indented tree: option, parameters, sizes, cycles; one line a node.

        Of several trees, one after the other, each begins with what it computes.
        """
        lines = self.lines
        width = len(str(len(lines)))
        return "\n".join(
            f"{number:>{width}}  {'  ' * line.depth}{self._named(line)}{_line(line)}"
            for number, line in enumerate(lines, start=1)
        )

    def _named(self, line: Line) -> str:
        return f"{line.tree.computes} = " if len(self.trees) > 1 and not line.depth else ""

    def summary(self) -> str:
        """What most of the cycles of each tree are spent in: tiles, buffers, and the kernel."""
        return "; ".join(tree.summary() for tree in self.trees)

    def to_json(self) -> PlanNodeDocument:
        """The tree as nested dictionaries; of several, the children of a sequence."""
        trees = [_json(tree.root, 1) for tree in self.trees]
        if len(trees) == 1:
            return trees[0]
        named = zip(self.trees, trees, strict=True)
        return {
            "operation": "",
            "sizes": {},
            "operands": {},
            "kind": "sequence",
            "name": "sequence",
            "parameters": {},
            "count": 1,
            "cycles": self.cycles,
            "own_cycles": 0.0,
            "children": [{"computes": tree.computes, **below} for tree, below in named],
        }

    def costs(self) -> list[CostShare]:
        """Shares of all coefficients, the largest first. They add up to the plan's cycles."""
        found: dict[str, CostShare] = {}
        for share in (s for tree in self.trees for s in shares(tree.target, tree.root)):
            before = found.get(share.coefficient)
            count = share.count + (before.count if before else 0.0)
            found[share.coefficient] = CostShare(share.coefficient, count, share.value)
        return _sorted(found.values())


def shares(target: Target, root: PlanNode) -> list[CostShare]:
    """What each coefficient makes of a plan's cycles, the largest share first."""
    totals: dict[str, float] = {}
    for node, count in occurrences(root):
        for name, own in own_features(target, node.spec, node.option).items():
            totals[name] = totals.get(name, 0.0) + own * count
    return _shares(target, totals)


def shares_of(target: Target, node: PlanNode) -> list[CostShare]:
    """The same of one node in one run, without what is below it."""
    return _shares(target, own_features(target, node.spec, node.option))


def _shares(target: Target, counts: Mapping[str, float]) -> list[CostShare]:
    values = target.every_coefficient
    return _sorted(CostShare(n, c, values[n].value) for n, c in counts.items() if c)


def _sorted(found: Iterable[CostShare]) -> list[CostShare]:
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


def occurrences(root: PlanNode) -> list[tuple[PlanNode, float]]:
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


def _line(line: Line) -> str:
    node, count, option = line.node, line.count, line.node.option
    parameters = ", ".join(f"{n} = {v}" for n, v in option.parameters)
    name = f"{option.name}({parameters})" if parameters else option.name
    dims = zip(node.spec.family.operation.dims, node.spec.sizes, strict=True)
    sizes = " ".join(f"{d}={n}" for d, n in dims)
    times = "ahead: " if count == 0 else f"{count:,} x " if count > 1 else ""
    return f"{times}{node.spec.family.operation} [{sizes}]: {name}  # {node.cycles:,.0f} cycles"


def _json(node: PlanNode, count: int) -> PlanNodeDocument:
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
