"""Checks of the parallel loops in a rule: what threads write, in which order, how they nest."""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.traverse import Leaf


def check_parallel(rule: Rule, operators: Mapping[str, Operator], collector: Collector) -> None:
    """Check the parallel loops of a rule's result, of which every leaf is checked by itself.

    Args:
        rule: Its names and their kinds are checked elsewhere.
        operators: Checked operators by name.
        collector: Takes the errors: R014 (threads that race), R021 (no order for an ordered step),
            R033 (parallel loops that are no grid), R034 (threads that would have threads).
    """
    checker = _ParallelChecker(rule, operators, collector)
    checked: set[int] = set()
    for leaf in rule.leaves():
        for loop in _parallel(leaf):
            if id(loop) not in checked:
                checked.add(id(loop))
                checker.race(loop)
                checker.grid(loop, leaf)
        checker.ordered(leaf)
        checker.serial(leaf)


class _ParallelChecker:
    def __init__(self, rule: Rule, operators: Mapping[str, Operator], collector: Collector) -> None:
        self.rule = rule
        self.operators = operators
        self.collector = collector

    def race(self, loop: ast.ForLoop) -> None:
        """Threads that share an output element race; nothing that runs in one would show it."""
        dimension = loop.dimension
        if isinstance(dimension, ast.Name) and self.rule.domain(dimension.id) is None:
            return  # of another kind than a dimension, or unknown
        inside = [leaf for leaf in self.rule.leaves() if loop in leaf.around]
        if divides_output(self.rule, self.operators, loop) or all(
            self._private(leaf, loop) for leaf in inside
        ):
            return
        message = "a parallel loop over what may be reduced writes to the output of all threads"
        help = (
            f"choose it from output_dims({self.rule.declaration.match.variable}), or write to "
            "a buffer made in the loop, and from there to the output in an 'ordered' step"
        )
        self.collector.error("R014", message, dimension.span, "may be reduced", help)

    def grid(self, loop: ast.ForLoop, leaf: Leaf) -> None:
        """A parallel loop in another one makes a grid of tiles with it, the same in every row."""
        *around, outer = leaf.around[: leaf.around.index(loop)] or (None,)
        if not any(isinstance(node, ast.ForLoop) and node.parallel for node in (*around, outer)):
            return
        if (
            isinstance(outer, ast.ForLoop)
            and outer.parallel
            and len(outer.body.steps) == 1
            and divides_output(self.rule, self.operators, outer)
            and divides_output(self.rule, self.operators, loop)
            and differ(self.rule, outer.dimension, loop.dimension)
        ):
            return
        message = "a parallel loop in another one makes no grid of tiles with it"
        help = (
            "it is all that the outer one does, both divide the output, and a guard says that "
            "their dimensions are different: 'd != e'"
        )
        self.collector.error("R033", message, loop.dimension.span, "no grid", help)

    def ordered(self, leaf: Leaf) -> None:
        """What is done in order stands in a parallel loop, once an iteration."""
        if not isinstance(leaf.step, ast.Apply) or not leaf.step.ordered:
            return
        loop = leaf.loops[-1] if leaf.loops else None
        others = [other for other in self.rule.leaves() if loop in other.around]
        steps = [o.step for o in others if isinstance(o.step, ast.Apply) and o.step.ordered]
        if loop is not None and _parallel(leaf) == (loop,) and len(steps) == 1:
            return
        message = "this cannot be done in the order of a parallel loop"
        help = "write one 'ordered' step, directly in a 'parallel for' that is in no other"
        self.collector.error("R021", message, leaf.step.span, "no order to do it in", help)

    def serial(self, leaf: Leaf) -> None:
        """What a thread does is not divided among threads again."""
        if _parallel(leaf) and isinstance(leaf.step, ast.Reapply) and not leaf.step.serial:
            message = "what a parallel loop does is divided among threads again"
            help = f"write 'serial {leaf.step.variable}'"
            self.collector.error("R034", message, leaf.step.span, "not serial", help)

    def _private(self, leaf: Leaf, loop: ast.ForLoop) -> bool:
        """Whether a leaf in a parallel loop writes to a buffer that is made there, or in order."""
        inside = leaf.around[leaf.around.index(loop) :]
        buffers = {n.variable for n in inside if isinstance(n, ast.With) and n.layout is not None}
        match leaf.step:
            case ast.Apply(ordered=True):
                return True
            case ast.Apply(operator=name, arguments=arguments):
                operator = self.operators.get(name)
                written = arguments[: len(operator.parameters)][-1:] if operator else ()
                return all(isinstance(o, ast.Name) and o.id in buffers for o in written)
            case ast.Reapply(variable=f, substitutions=substitutions):
                return any(
                    new in buffers and writes(f, old, leaf.step) in self.rule.conditions
                    for old, new in substitutions
                )
        return False


def divides_output(rule: Rule, operators: Mapping[str, Operator], loop: ast.ForLoop) -> bool:
    """Whether iterations of a loop write different parts of the output."""
    match loop.dimension:
        case ast.Attribute(name=name):
            operator = operators.get(rule.declaration.match.operator or "")
            return operator is not None and any(
                name == dim for index in operator.output.indices for dim, _ in index.terms
            )
        case ast.Name(id=variable):
            domain = rule.domain(variable)
            return isinstance(domain, ast.Call) and domain.function == "output_dims"
    return False


def differ(rule: Rule, left: ast.Expr, right: ast.Expr) -> bool:
    """Whether two dimensions have different names, or a guard says that they differ."""
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
        return left.name != right.name
    sides = ((left, right), (right, left))
    stated = (ast.Binary(operator="!=", left=a, right=b, span=left.span) for a, b in sides)
    return any(condition in rule.conditions for condition in stated)


def _parallel(leaf: Leaf) -> tuple[ast.ForLoop, ...]:
    """The parallel loops around a leaf, outermost first."""
    return tuple(loop for loop in leaf.loops if loop.parallel)


def writes(f: str, operand: str, node: ast.Node) -> ast.Expr:
    """The condition ``writes(f, X)``."""
    names = tuple(ast.Name(id=name, span=node.span) for name in (f, operand))
    return ast.Call(function="writes", args=names, span=node.span)
