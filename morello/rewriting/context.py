"""What a search may use, and what of it is the same for all families of an operation."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cachetools import LRUCache

from morello.ir.dtypes import DType
from morello.ir.operators import Operation, Operator
from morello.ir.pruning import switched_off
from morello.ir.rule import Rule
from morello.ir.spec import Family, Spec, Variant
from morello.ir.stand_ins import with_stand_ins
from morello.ir.target import Microkernel, Target
from morello.ir.views import ViewMap
from morello.language.sized import levels_asked
from morello.records import replace
from morello.rewriting.alternatives import Alternative, matches
from morello.rewriting.deciding_scalars import DecidingScalars
from morello.rewriting.functions import takes_directly
from morello.rewriting.instantiate import Instantiation
from morello.rewriting.kernel_requests import requests
from morello.rewriting.layout_requests import LayoutRequests
from morello.rewriting.matching import operation_refusal
from morello.rewriting.references import SpecRef, TensorRef, spec_ref
from morello.rewriting.steps import Leaf


@dataclass(frozen=True)
class Context:
    """What the search may use.

    ``alternatives``: those of families that were enumerated before. They do not depend on sizes, so
    another search for the same operation finds them here.
    """

    target: Target
    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    alternatives: dict[Family, tuple[Alternative, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _requests: dict[tuple[object, ...], LayoutRequests] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _direct: dict[tuple[object, ...], bool] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _rules: dict[tuple[Operation, int], tuple[Rule, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _with_own: dict[str, tuple[Rule, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _kernels: dict[tuple[Operation, int], tuple[Microkernel, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _families: dict[Family, Family] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _asked: dict[str, frozenset[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _sights: dict[tuple[Operation, str], tuple[ViewMap, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _searched: dict[Operation, Operation] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def interned(self, family: Family) -> Family:
        """The one object for all equal families: these are compared most quickly."""
        return self._families.setdefault(family, family)

    @cached_property
    def _deciding(self) -> DecidingScalars:
        return DecidingScalars(self.rules, self.target.kernels, self.operators)

    def searched(self, family: Family) -> Family:
        """The family that is searched for this one: without values of scalars that decide nothing.

        Rules and kernels apply to both alike, at the same costs.
        """
        operation = family.operation
        if operation not in self._searched:
            self._searched[operation] = with_stand_ins(operation, self._deciding.of)
        found = self._searched[operation]
        if found is operation:
            return self.interned(family)
        return self.interned(Family(found, family.operands, family.threads))

    def searched_variant(self, variant: Variant) -> Variant:
        """The same of a variant."""
        return self.searched(variant.family).variant(variant.packing)

    def searched_spec(self, spec: Spec) -> Spec:
        """The same of a Spec."""
        return replace(spec, family=self.searched(spec.family))

    def asked(self, kernel: Microkernel) -> frozenset[str]:
        """Levels whose free capacity a kernel of the target asks for."""
        if kernel.name not in self._asked:
            found = map(levels_asked, (*kernel.guards, kernel.cost))
            self._asked[kernel.name] = frozenset[str]().union(*found)
        return self._asked[kernel.name]

    def rules_for(self, family: Family) -> tuple[Rule, ...]:
        """Rules that match a family: its operation and threads decide."""
        key = (family.operation, family.threads)
        if key not in self._rules:
            every = self._rules_of(family.operation.operator)
            self._rules[key] = tuple(rule for rule in every if matches(rule, family))
        return self._rules[key]

    def _rules_of(self, operator: Operator) -> tuple[Rule, ...]:
        """All rules, and one that an operator brings itself."""
        own = operator.seen_as
        if own is None:
            return self.rules
        if operator.name not in self._with_own:
            self._with_own[operator.name] = (*self.rules, Rule(own.name, own.doc, own))
        return self._with_own[operator.name]

    def kernels_for(self, family: Family) -> tuple[Microkernel, ...]:
        """Kernels that do not refuse a family for its operation or threads."""
        key = (family.operation, family.threads)
        if key not in self._kernels:
            self._kernels[key] = tuple(
                kernel for kernel in self.target.kernels if not operation_refusal(kernel, family)
            )
        return self._kernels[key]

    def applied_to_views(self, f: SpecRef) -> Iterator[Leaf]:
        """What rules for this operator apply to views of its operands, whatever the sizes are."""
        operator = f.family.operation.operator
        rules = self._rules_of(operator)
        for rule in (r for r in rules if r.declaration.match.operator == operator.name):
            for step in rule.applied_to_views:
                making = Instantiation(self.target, self.operators, f, None, None)
                yield making.applied(step, {rule.declaration.match.variable: f})

    def view_maps(self, f: SpecRef, tensor: TensorRef) -> tuple[ViewMap, ...]:
        """The views of an operand that rules for this operator apply others to.

        They are the same wherever the operands are, and are asked for in every family.
        """
        key = (f.family.operation, tensor.key)
        if key not in self._sights:
            self._sights[key] = tuple(
                seen.view.view_map
                for leaf in self.applied_to_views(f)
                for seen in leaf.tensors
                if seen.view is not None and seen.key == tensor.key
            )
        return self._sights[key]

    def takes_directly(self, f: SpecRef) -> bool:
        """Whether a kernel that says ``direct`` takes an operation, or what rules make of it.

        That is decided by its element types.
        """
        key = (f.family.operation, tuple(own.operand.dtype for own in f.tensors))
        if key not in self._direct:
            below = (spec_ref(leaf.family) for leaf in self.applied_to_views(f))
            self._direct[key] = takes_directly(self.target, f) or any(
                map(self.takes_directly, below)
            )
        return self._direct[key]

    def requests(self, f: SpecRef, tensor: TensorRef, dtype: DType) -> LayoutRequests:
        """What kernels want of a tensor of an operation, in an element type.

        That is the same at whatever levels the operands are, and is asked for every family.
        """
        operands = tuple((own.operand.dtype, own.operand.order) for own in f.tensors)
        key = (f.family.operation, operands, tensor.key, dtype)
        if key not in self._requests:
            found = requests(self.target, self.applied_to_views, f, tensor, dtype)
            self._requests[key] = LayoutRequests(tuple(found))
        return self._requests[key]

    def same_definitions(self, other: Context) -> bool:
        """Whether both use the very same target, operators and rules."""
        return (
            self.target is other.target
            and self.operators is other.operators
            and self.rules is other.rules
        )


MOST_FAMILIES = 20_000
"""A context that knows of more is not used for another search: each takes some 50 KB."""

_KEPT = threading.local()
"""The contexts of a thread: searches fill them without a lock."""


def shared_context(
    target: Target, operators: Mapping[str, Operator], rules: tuple[Rule, ...]
) -> Context:
    """The context of this thread's last searches with the same objects, or a new one."""
    kept: LRUCache[object, Context] = _KEPT.__dict__.setdefault("contexts", LRUCache(maxsize=4))
    # A context keeps its objects alive, so that no others take their identities.
    key = (id(target), id(operators), id(rules), switched_off())
    found = kept.get(key)
    if found is None or len(found.alternatives) > MOST_FAMILIES:
        found = kept[key] = Context(target, operators, rules)
    return found


def forget_contexts() -> None:
    """Let this thread's next search enumerate everything anew."""
    _KEPT.__dict__.clear()
