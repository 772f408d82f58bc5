"""Checks of pipelined loops, and of buffers with a part for each step of a loop.

What the last loop of an iteration does in a step stands before what the first loop of the next
iteration does in it. That changes nothing if iterations have nothing in common but buffers that are
made in them, and if what both loops use of such a buffer is the part for the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from morello.checking.parallel import differ, divides_output
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.canonical import nodes
from morello.language.diagnostics import Collector
from morello.language.traverse import leaves, names


def check_pipelined(rule: Rule, operators: Mapping[str, Operator], collector: Collector) -> None:
    """Check the pipelined loops of a rule's result, and its buffers per step.

    Args:
        rule: Its names and their kinds are checked elsewhere.
        operators: Checked operators by name.
        collector: Takes the errors: R035 (no loop that could be pipelined), R036 (a buffer that
            the next iteration would overwrite too early), R037 (no buffer per step).
    """
    checker = _PipelinedChecker(rule, operators, collector)
    for node in nodes(rule.declaration.result):
        if isinstance(node, ast.ForLoop) and node.pipelined:
            checker.loop(node)
        if isinstance(node, ast.With):
            checker.buffer(node)


class _PipelinedChecker:
    def __init__(self, rule: Rule, operators: Mapping[str, Operator], collector: Collector) -> None:
        self.rule = rule
        self.operators = operators
        self.collector = collector
        placed = (n for n in nodes(rule.declaration.result) if isinstance(n, ast.With))
        self.placed = {node.variable: node for node in placed}

    def buffer(self, node: ast.With) -> None:
        """A part for each step is a buffer's, which is one."""
        help = "with Y = X expanded over d step t at level layout L { ... }"
        if node.expanded is not None and (node.layout is None or node.vector is not None):
            message = f"'{node.variable}' has a part for each step, so it is a buffer in memory"
            self.collector.error("R037", message, node.expanded.span, "no such buffer", help)
        source = self.placed.get(node.operand)
        if source is not None and source.expanded is not None:
            message = f"'{node.operand}' has a part for each step, so there is no copy of it"
            help = "give operators the part itself, or all parts outside of the loop"
            self.collector.error("R037", message, node.span, "a copy of parts", help)

    def loop(self, loop: ast.ForLoop) -> None:
        """It goes one by one, and begins and ends with loops over the same steps."""
        buffers, steps = _iteration(loop.body)
        first, last = steps[0], steps[-1]
        one = isinstance(loop.step, ast.Number) and loop.step.value == 1
        if (
            first is last
            or not (isinstance(first, ast.ForLoop) and isinstance(last, ast.ForLoop))
            or not (one and _alike(first, last) and self._independent(loop, first))
        ):
            message = "this loop cannot be pipelined"
            help = (
                "it goes over a dimension of the output, 'step 1'; each iteration begins with a "
                "loop and ends with another one, of the same steps over a dimension that a guard "
                "says is different: 'd != f.j'"
            )
            self.collector.error("R035", message, loop.dimension.span, "not pipelined", help)
            return
        both = self._used(first) & self._used(last)
        for buffer in buffers:
            if buffer.variable in both and not self._by_steps(buffer, first):
                message = f"the next iteration would overwrite '{buffer.variable}' too early"
                help = (
                    "what the first and the last loop use has a part for each step: a tensor "
                    "that the dimension of these loops indexes, or"
                    " 'with Y = X expanded over d step t'"
                )
                self.collector.error("R036", message, buffer.span, "not by steps", help)

    def _independent(self, loop: ast.ForLoop, inner: ast.ForLoop) -> bool:
        """Whether iterations write different parts of the output, whatever a loop in them does."""
        divides = divides_output(self.rule, self.operators, loop)
        return divides and differ(self.rule, loop.dimension, inner.dimension)

    def _used(self, loop: ast.ForLoop) -> set[str]:
        """Buffers that the leaves of a loop use, by the names that they have outside of it."""
        found: set[str] = set()
        for leaf in leaves(loop.body):
            step = leaf.step
            if isinstance(step, ast.Apply):
                exprs = [a.operand if isinstance(a, ast.View) else a for a in step.arguments]
                found |= {name for expr in exprs for name in names(expr)}
            else:
                found |= {new for _, new in step.substitutions}
        return {origin for name in found for origin in self._origins(name)}

    def _origins(self, name: str) -> Iterator[str]:
        """The variable, and what it is a copy of or the same as while a cache holds it."""
        yield name
        if name in self.placed:
            yield from self._origins(self.placed[name].operand)

    def _by_steps(self, buffer: ast.With, loop: ast.ForLoop) -> bool:
        """Whether a buffer has a part for each step of a loop."""
        if buffer.expanded is not None:
            return (buffer.expanded.dimension, buffer.expanded.step) == (loop.dimension, loop.step)
        origin = list(self._origins(buffer.variable))[-1]
        member = self.rule.members.get(origin)
        matched = self.operators.get(self.rule.declaration.match.operator or "")
        if matched is None or not isinstance(loop.dimension, ast.Attribute):
            return False
        tensors = (*matched.parameters, *(part.output for part in matched.parts))
        dims = (d for t in tensors if t.name == member for i in t.indices for d, _ in i.terms)
        return loop.dimension.name in dims


def _iteration(body: ast.Block) -> tuple[list[ast.With], tuple[ast.YieldNode, ...]]:
    """What is placed for all of an iteration, outermost first, and the steps of it."""
    buffers: list[ast.With] = []
    while len(body.steps) == 1 and isinstance(body.steps[0], ast.With):
        buffers.append(body.steps[0])
        body = body.steps[0].body
    return buffers, body.steps


def _alike(first: ast.ForLoop, last: ast.ForLoop) -> bool:
    """Whether they take the same steps, one after the other."""
    special = (loop.parallel or loop.pipelined for loop in (first, last))
    return not any(special) and (first.dimension, first.step) == (last.dimension, last.step)
