"""Why a rule or kernel fires nowhere, as far as the searches that were done can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from morello.ir.rule import Rule
from morello.ir.spec import Family
from morello.ir.target import Microkernel, Target
from morello.report.usage.counts import Searched
from morello.rewriting.alternatives import Alternative, KernelAlternative, Refusal, matches
from morello.rewriting.enumeration import rule_alternatives
from morello.rewriting.matching import match_kernel, misfits
from morello.rewriting.patterns import implements

AT_NO_SIZE = "but at none of the sizes that occur do its guards and the limits of memory hold"
RENAMED = "another rule says that the operation is another one, which it is left to"


def why_rule_never_fires(rule: Rule, searches: Iterable[Searched]) -> str:
    """What keeps a rule from firing, the nearest to firing that it came.

    Args:
        rule: A rule that fires in none of the searches.
        searches: What could use it.
    """
    matched = 0
    refusals: list[Refusal] = []
    dead: list[Family] = []
    for searched in searches:
        for family, alternatives in searched.families.items():
            if not matches(rule, family):
                continue
            matched += 1
            keys = {alternative.key for alternative in alternatives}
            for found in rule_alternatives(searched.context, rule, family, refusals):
                if found.key in keys:
                    return f"it may be applied to {family}, {AT_NO_SIZE}"
                below = [f for f in found.children if f not in searched.families]
                dead += below
                if not below:
                    refusals.append(Refusal(rule.name, (), RENAMED))
    if not matched:
        return "it matches none of the operations that occur: name a spec that has one"
    if dead:
        return f"what it yields leads to no kernel: nothing implements {dead[0]}"
    if not refusals:
        return f"it matches in {matched:,} families, and there is nothing to choose in any"
    reason, count = Counter(r.reason for r in refusals).most_common(1)[0]
    return f"it matches in {matched:,} families; what refuses it most often ({count:,}): {reason}"


def why_kernel_never_fires(kernel: Microkernel, searches: Iterable[Searched]) -> str:
    """What keeps a kernel from firing, on the operands nearest to what it wants.

    Args:
        kernel: A kernel that fires in none of the searches.
        searches: What could use it.
    """
    nearest: list[tuple[int, int, str, str]] = []
    for searched in searches:
        for family, alternatives in searched.families.items():
            if _accepts(kernel, alternatives):
                return f"it accepts {family}, {AT_NO_SIZE}"
            if implements(kernel, family.operation.operator):
                nearest.append(_distance(kernel, searched.context.target, family))
    if not nearest:
        return "it is for none of the operations that occur: name a spec that has one"
    _, _, found, why = min(nearest)
    return f"the nearest that rules come is {found}: {why}"


def _accepts(kernel: Microkernel, alternatives: Iterable[Alternative]) -> bool:
    return any(
        isinstance(a, KernelAlternative) and a.match.kernel.name == kernel.name
        for a in alternatives
    )


def _distance(kernel: Microkernel, target: Target, family: Family) -> tuple[int, int, str, str]:
    """How far a family is from what a kernel accepts, with its text and the reasons.

    The number of operands that are not as it wants them, and then their distance from registers; a
    family whose operation it does not want is farther than any other.
    """
    reasons = misfits(kernel, target, family)
    distance = sum(operand.level.distance for operand in family.operands)
    if reasons:
        return len(reasons), distance, str(family), ", and ".join(reasons)
    return (
        len(family.operands) + 1,
        distance,
        str(family),
        str(match_kernel(kernel, target, family)),
    )
