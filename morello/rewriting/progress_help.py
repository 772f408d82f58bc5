"""What to change in a rule that `progress` refuses: in the rule's own names, with an example."""

from __future__ import annotations

from morello.ir.rule import Rule
from morello.language import ast
from morello.language.places import text_of
from morello.language.traverse import Leaf

WHY = {
    "distance": "its operands need not be nearer",
    "sizes": "its sizes need not be smaller",
    "accumulation": "its accumulation may have begun",
    "nothing": "nothing of it is smaller",
}
"""What stands in the way of the proof, by the component of the measure; see `progress`."""

ENDLESS = (
    "the search would apply the rule without end. Yield {f} on smaller tiles ("
    "'choose d in output_dims({f}), t in tile_sizes(d)' and 'for d step t {{ {f} }}'), "
    "with an operand at a nearer level ("
    "'choose level in nearer(X.level)' and 'with Y = X at level {{ {f}[X := Y] }}'), "
    "or another operator in its place"
)

EXCHANGE = (
    "applied twice, it may give back what was matched; "
    "match the other order in each rule that is to apply to it"
)


def advice(rule: Rule, leaf: Leaf, obstacle: str, loop: ast.ForLoop | None) -> str:
    """What to change so that a step is smaller than what was matched.

    Args:
        rule: The rule.
        leaf: The step, with what is around it.
        obstacle: A component of the measure, or ``"nothing"``.
        loop: One around the step whose tiles need not be smaller, if there is any.
    """
    f = rule.declaration.match.variable
    if isinstance(leaf.step, ast.Apply):
        return _by_name(f, leaf.step.operator, rule)
    if obstacle == "distance":
        return _nearer(f, leaf.step)
    if obstacle == "sizes" and loop is not None:
        d = text_of(loop.dimension.span)
        return (
            f"take the step of the loop over {d} from its tile sizes: "
            f"'choose t in tile_sizes({d})' and 'for {d} step t'"
        )
    return _smaller(f, leaf.step)


def _smaller(f: str, step: ast.Reapply) -> str:
    """For a step of which nothing is known to shrink."""
    if step.accumulating:
        return f"add 'where reduces({f})': accumulation has not begun where that holds"
    if step.serial:
        return f"match only what threads may share: 'match {f}: parallel op'"
    if step.substitutions:
        return _nearer(f, step)
    return ENDLESS.format(f=f)


def _nearer(f: str, step: ast.Reapply) -> str:
    old, new = step.substitutions[0]
    new = "Y" if new == old else new
    return (
        f"put a buffer at a nearer level in the place of {old}: 'choose level in "
        f"nearer({old}.level)' and 'with {new} = {old} at level {{ {f}[{old} := {new}] }}'"
    )


def _by_name(f: str, operator: str, rule: Rule) -> str:
    """For an operator that is yielded by its own name: nothing else of it is known to shrink."""
    buffers = (
        "put a buffer in the place of every operand, or of all but one of "
        f"{f}'s own, each at a level with the guard 'where distance(level) < nearest({f})'"
    )
    if rule.declaration.match.operator == operator:
        return buffers
    return f"leave it out of the match ('{f}: op except {operator}'), or {buffers}"
