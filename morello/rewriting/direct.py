"""Whether converting what an operation reads may pay: not where a kernel takes it directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from morello.language import ast
from morello.language.evaluate import evaluate
from morello.rewriting.patterns import ANY, implements, patterns_for
from morello.rewriting.references import SpecRef
from morello.spec.machine import Kernel, Target


def takes_directly(target: Target, f: SpecRef) -> bool:
    """Whether a kernel that says ``direct`` is for an operation on these element types.

    Of a kernel with conditions, all of them hold for the target's coefficients.
    """
    operation = f.family.operation
    for kernel in target.kernels:
        if kernel.direct is not None and implements(kernel, operation.operator):
            patterns = patterns_for(kernel.match, operation)
            if (
                not isinstance(patterns, str)
                and all(
                    pattern.dtype in (ANY, own.operand.dtype.name)
                    for pattern, own in zip(patterns.of, f.tensors, strict=True)
                )
                and _holds(kernel, target)
            ):
                return True
    return False


def _holds(kernel: Kernel, target: Target) -> bool:
    return all(evaluate(condition, _Coefficients(target)) for condition in kernel.direct or ())


@dataclass(frozen=True, slots=True)
class _Coefficients:
    """The environment of conditions: nothing but a target's coefficients has a name there."""

    target: Target

    def name(self, node: ast.Name) -> float:
        return self.target.coefficients[node.id].value

    def attribute(self, base: Any, node: ast.Attribute) -> NoReturn:
        raise AssertionError(f"'{node.name}' of a coefficient")

    def element(self, node: ast.Element) -> NoReturn:
        raise AssertionError(f"an element of '{node.tensor}' beside coefficients")

    def call(self, node: ast.Call, args: tuple[Any, ...]) -> NoReturn:
        raise AssertionError(f"'{node.function}' of coefficients")
