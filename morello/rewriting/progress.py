"""The progress check: every rule makes every Spec that it yields smaller, so the search ends.

Smaller is by one lexicographic, well-founded measure of a Spec, its components in this order:

1. *rank of the operator*, from the graph of which operator may yield which; what stands for a graph
   of operations is above them all;
2. *statements*: how many operations it stands for;
3. *threads*: serial is below parallel;
4. *distance*: sum over the operands of their levels' distances from the nearest level;
5. *accumulation*: accumulating is below not yet accumulating;
6. *weights*: how many operands may still be packed ahead of all calls; no rule makes more of them;
7. *dimensions*: how many there are;
8. *sizes* of the iteration dimensions.

The proof is read off the rule's syntax tree: for each leaf of its result, each component is known
to shrink (``<``), to stay (``=``), to shrink or stay (``<=``), or nothing is known (``?``). A leaf
passes if some component shrinks and none before it is unknown. The check is sound, not complete:
a rule that cannot be proven is refused, with the component that stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from morello.errors import MorelloError
from morello.ir.graphs.composition import composition_of
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.traverse import Leaf
from morello.rewriting.progress_help import EXCHANGE, WHY, advice

COMPONENTS = (
    "operator rank",
    "statements",
    "threads",
    "distance",
    "accumulation",
    "weights",
    "dimensions",
    "sizes",
)


def check_progress(
    operators: Mapping[str, Operator], rules: Sequence[Rule], collector: Collector
) -> None:
    """Report every leaf of every rule that is not proven to make progress.

    Args:
        operators: Checked operators by name.
        rules: Rules that have passed `check_rules`.
        collector: Takes the errors, codes R101 (a leaf) and R102 (operators yield each other).
    """
    for rule in rules:
        for leaf in rule.leaves():
            _check_leaf(rule, leaf, operators, collector)
    edges = _edges(operators, rules)
    for cycle in _cycles(edges):
        _report_cycle(cycle, edges, collector)


def operator_ranks(operators: Mapping[str, Operator], rules: Sequence[Rule]) -> dict[str, int]:
    """Rank of every operator: above those that its rules may yield, 0 where they yield no other.

    Raises:
        MorelloError: Operators yield each other; `check_progress` tells which rules do that.
    """
    edges = _edges(operators, rules)
    try:
        order = list(TopologicalSorter(_graph(operators, edges)).static_order())
    except CycleError as error:
        cycle = " -> ".join(f"'{name}'" for name in error.args[1])
        raise MorelloError(f"operators yield each other without end: {cycle}") from error
    ranks: dict[str, int] = {}
    for name in order:
        ranks[name] = 1 + max((ranks[to] for source, to in edges if source == name), default=-1)
    return {name: ranks[name] for name in operators}


def statements(operator: Operator) -> int:
    """How many operations it stands for."""
    composition = composition_of(operator)
    return 1 if composition is None else len(composition.graph.nodes)


# --------------------------------------------------------------------------- which yields which

Edges = dict[tuple[str, str], list[tuple[Rule, ast.Apply]]]


def _edges(operators: Mapping[str, Operator], rules: Sequence[Rule]) -> Edges:
    """What makes one operator yield another one; an operator that yields itself is left out."""
    edges: Edges = {}
    for rule in rules:
        applied = [leaf.step for leaf in rule.leaves() if isinstance(leaf.step, ast.Apply)]
        for step in applied:
            for name in _matched(rule, operators):
                if step.operator in operators and name != step.operator:
                    edges.setdefault((name, step.operator), []).append((rule, step))
    return edges


def _matched(rule: Rule, operators: Mapping[str, Operator]) -> Iterator[str]:
    return (name for name, operator in operators.items() if rule.may_match(operator))


def _graph(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {name: [] for name in nodes}
    for source, to in edges:
        graph.setdefault(source, []).append(to)
    return graph


def _cycles(edges: Edges) -> Iterator[tuple[str, ...]]:
    """Cycles that share no edge, until none is left; each begins with its least name."""
    remaining = dict.fromkeys(sorted(edges))
    while True:
        try:
            TopologicalSorter(_graph((), remaining)).prepare()
        except CycleError as error:
            # Predecessor first: that is backwards, since an operator's results stand before it.
            cycle = list(reversed(error.args[1][1:]))
            least = cycle.index(min(cycle))
            turned = (*cycle[least:], *cycle[:least])
            yield turned
            for edge in _steps(turned):
                remaining.pop(edge)
        else:
            return


def _steps(cycle: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))


def _report_cycle(cycle: Sequence[str], edges: Edges, collector: Collector) -> None:
    steps = [(source, to, *edges[source, to][0]) for source, to in _steps(cycle)]
    path = " -> ".join(f"'{name}'" for name in (*cycle, cycle[0]))
    by = "; ".join(f"'{rule.name}' makes '{to}' of '{source}'" for source, to, rule, _ in steps)
    collector.error(
        "R102",
        f"operators yield each other without end: {path}",
        steps[-1][3].operator_span,
        f"back to '{cycle[0]}'",
        help=f"{by}; restrict the match of one of them, such as with 'except'",
    )


# --------------------------------------------------------------------------- one leaf


def _check_leaf(
    rule: Rule, leaf: Leaf, operators: Mapping[str, Operator], collector: Collector
) -> None:
    step = leaf.step
    exchange = False
    if isinstance(step, ast.Apply):
        operator = operators.get(step.operator)
        if operator is None or not rule.may_match(operator):
            return  # another operator: its rank is lower, or the graph has a cycle
        signs = _self_application(rule, leaf, operator)
        what = f"'{step.operator}' of '{step.operator}'"
        exchange = _exchanged(rule, leaf, operator) == "="
    else:
        signs = _reapplication(rule, leaf, step)
        what = f"'{step.variable}'"
    obstacle = _obstacle(signs)
    if obstacle is None:
        return
    if exchange:
        why, help = "it has the same operands", EXCHANGE
    else:
        loop = next((loop for loop in leaf.loops if _tiling(rule, loop) == "?"), None)
        why = WHY.get(obstacle, f"its {obstacle} may grow")
        help = advice(rule, leaf, obstacle, loop)
    message = f"rule '{rule.name}' makes no progress: it yields {what} again, and {why}"
    collector.error("R101", message, step.span, "not smaller than what was matched", help)


def _obstacle(signs: Mapping[str, str]) -> str | None:
    """The component that stops the proof, ``"nothing"`` if none shrinks, none if it is proven."""
    for component in COMPONENTS:
        match signs[component]:
            case "<":
                return None
            case "?":
                return component
    return "nothing"


def _reapplication(rule: Rule, leaf: Leaf, step: ast.Reapply) -> dict[str, str]:
    threads = "="
    if step.serial:
        threads = "<" if rule.declaration.match.parallel else "<="
    accumulation = "="
    if step.accumulating and not rule.declaration.match.accumulating:
        accumulation = "<" if rule.requires_reduction else "<="
    return {
        "operator rank": "=",
        "statements": "=" if step.part is None else "<",
        "threads": threads,
        "distance": _together(
            _replacement(rule, leaf, old, new) for old, new in step.substitutions
        ),
        "accumulation": accumulation,
        "weights": _together(_unweighted(rule, leaf, old, new) for old, new in step.substitutions),
        "dimensions": "=" if step.without is None else "<",
        "sizes": _together(_tiling(rule, loop) for loop in leaf.loops),
    }


def _together(signs: Iterable[str]) -> str:
    """Sign of a sum of parts."""
    found = set(signs)
    return next((sign for sign in ("?", "<", "<=") if sign in found), "=")


def _replacement(rule: Rule, leaf: Leaf, old: str, new: str) -> str:
    """Distance of the operand ``new`` against that of ``old``, whose place it takes."""
    if old == new:
        return "="
    buffer = leaf.buffer(new)
    return "?" if buffer is None else _nearness(rule, buffer.level, old)


def _unweighted(rule: Rule, leaf: Leaf, old: str, new: str) -> str:
    """Weights with the operand ``new`` in the place of ``old``: no buffer is one."""
    weights = {o.variable for o in rule.declaration.operands if o.kind == "weight"}
    return "<" if old in weights and leaf.buffer(new) is not None else "<="


def _nearness(rule: Rule, level: ast.Expr, operand: str) -> str:
    """Distance of a level against that of an operand's level."""
    match level:
        case ast.Attribute(base=ast.Name(id=base), name="level") if base == operand:
            return "="
        case ast.Name(id=variable):
            match rule.domain(variable):
                case ast.Call(function="nearer", args=(origin,)):
                    return "?" if _nearness(rule, origin, operand) == "?" else "<"
    return "?"


def _tiling(rule: Rule, loop: ast.ForLoop) -> str:
    """Sizes in a loop's body against those outside."""
    if isinstance(loop.step, ast.Name):
        match rule.domain(loop.step.id):
            case ast.Call(function="tile_sizes", args=(dimension,)) if dimension == loop.dimension:
                return "<"
    return "?"


def _self_application(rule: Rule, leaf: Leaf, operator: Operator) -> dict[str, str]:
    """The matched operator, written by its name on operands of choice.

    It has as many operands as before. If all but one of them are buffers nearer than every operand
    of the matched operation, and at least one is, then the total distance shrinks. So it does if
    they are the matched ones, each once and in whatever order, or nearer buffers of them.
    """
    assert isinstance(leaf.step, ast.Apply)
    operands = leaf.step.arguments[: len(operator.parameters)]
    nearer = [_below_all(rule, leaf, operand) for operand in operands]
    # The one that is left over is no farther than the farthest operand was. Each buffer is nearer
    # than the operand whose place it takes, whichever that is.
    proven = sum(nearer) >= max(1, len(nearer) - 1)
    shrinks = proven and _others_matched(rule, operands, nearer)
    unknown = dict.fromkeys(COMPONENTS, "?")
    return {
        **unknown,
        "operator rank": "=",
        "statements": "=",
        "threads": "<=",
        "distance": "<" if shrinks else _exchanged(rule, leaf, operator),
    }


def _exchanged(rule: Rule, leaf: Leaf, operator: Operator) -> str:
    """Distance of operands that are the matched ones in another order, or buffers of them.

    Each is there once, whole or in part. Variables may stand for any operand, two of them for the
    same one: nothing is known of them, unless the rule says which operand they are.
    """
    assert isinstance(leaf.step, ast.Apply)
    names = [p.name for p in operator.parameters]
    found: list[str] = []
    signs: list[str] = []
    for argument in leaf.step.arguments[: len(names)]:
        operand = argument.operand if isinstance(argument, ast.View) else argument
        name, sign = "", "="
        match operand:
            case ast.Attribute(base=ast.Name(id=base), name=own) if (
                base == rule.declaration.match.variable
            ):
                name = own
            case ast.Name(id=variable) if (buffer := leaf.buffer(variable)) is not None:
                name = rule.members.get(buffer.operand, "")
                sign = _nearness(rule, buffer.level, buffer.operand)
            case ast.Name(id=variable):
                name = rule.members.get(variable, "")
        found.append(names[-1] if name == "out" else name)
        signs.append(sign)
    return _together(signs) if sorted(found) == sorted(names) else "?"


def _below_all(rule: Rule, leaf: Leaf, operand: ast.Expr | ast.View) -> bool:
    """Whether an operand is a buffer with ``distance(level) < nearest(f)`` among the guards."""
    buffer = leaf.buffer(operand.id) if isinstance(operand, ast.Name) else None
    if buffer is None:
        return False
    span = buffer.span
    matched = ast.Name(id=rule.declaration.match.variable, span=span)
    distance = ast.Call(function="distance", args=(buffer.level,), span=span)
    nearest = ast.Call(function="nearest", args=(matched,), span=span)
    required = ast.Binary(operator="<", left=distance, right=nearest, span=span)
    return required in rule.conditions


def _others_matched(
    rule: Rule, operands: Sequence[ast.Expr | ast.View], nearer: Sequence[bool]
) -> bool:
    """Whether the operands that are no such buffer are operands of the matched operation."""
    others = [o for o, below in zip(operands, nearer, strict=True) if not below]
    return all(
        isinstance(o, ast.Attribute) or (isinstance(o, ast.Name) and o.id in rule.operand_variables)
        for o in others
    )
