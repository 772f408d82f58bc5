"""Values of the expressions in a spec: parameters, sizes, threads and scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import prod

import numpy as np

from morello.checking.kinds import NUMBER, UNKNOWN, KnownNames, expect
from morello.language import ast, spec_ast
from morello.language.diagnostics import Collector
from morello.language.evaluate import BOUNDED, MAX_INTEGER, Value, evaluate
from morello.language.functions import ARITHMETIC
from morello.language.places import within
from morello.language.source import Span
from morello.language.traverse import names

MAX_ELEMENTS = 2**31
"""The most elements of one tensor: offsets fit in C's ``ptrdiff_t`` on every machine."""


MAX_SIZE = 2**24
"""The largest size of one dimension."""


class _Known:
    """An environment of parameters with their values."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def name(self, node: ast.Name) -> Value:
        return self.values[node.id]

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise AssertionError("the check of kinds refuses attributes of numbers")

    def element(self, node: ast.Element) -> Value:
        raise AssertionError("the check of kinds refuses elements here")

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise AssertionError("the check of kinds refuses every function but the arithmetic ones")


def number(
    expr: ast.Expr,
    what: str,
    values: Mapping[str, float],
    collector: Collector,
    unknown: AbstractSet[str] = frozenset(),
) -> Value | None:
    """Value of an expression, or none after an error: S005, or what the check of kinds finds.

    Args:
        expr: The expression.
        what: What it is, for errors.
        values: Of each name.
        collector: Takes the errors.
        unknown: Names that are known, but whose values an error has kept from being so.
    """
    scope = KnownNames(
        {**dict.fromkeys(values, NUMBER), **dict.fromkeys(unknown, UNKNOWN)}, ARITHMETIC
    )
    before = len(collector.diagnostics)
    expect(expr, "number", scope, collector, what=what)
    if len(collector.diagnostics) > before or names(expr) & unknown:
        return None
    try:
        with np.errstate(all="ignore"):
            return evaluate(expr, _Known(values), BOUNDED)
    except ZeroDivisionError:
        collector.error("S005", f"{what} divides by zero", expr.span)
    except (OverflowError, TypeError, ValueError):  # the bound of integers; numpy's; no number
        collector.error("S005", f"{what} is too large to compute", expr.span)
    return None


class Sizes:
    """Evaluates the expressions of one spec. What cannot be evaluated is reported once, and none.

    Attributes:
        values: Value of every parameter that has one.
        used: Names of the parameters that were asked for.
        at_run_time: The parameter that calls bring; its value here is the most that it may be.
    """

    def __init__(
        self, spec: spec_ast.SpecDecl, defines: Mapping[str, int], collector: Collector
    ) -> None:
        """Evaluates the parameters; a default may use the parameters before it.

        Args:
            spec: The spec.
            defines: Values that were given from outside, by name.
            collector: Takes the errors, S003 to S006.
        """
        self.collector = collector
        self.values: dict[str, int] = {}
        self.used: set[str] = set()
        self.unknown: set[str] = set()
        self.at_run_time: spec_ast.SpecParameter | None = None
        self._defines(spec, defines)
        for parameter in spec.parameters:
            self._parameter(spec, parameter, defines)

    def _defines(self, spec: spec_ast.SpecDecl, defines: Mapping[str, int]) -> None:
        known = [p.name for p in spec.parameters]
        for name in sorted(set(defines) - set(known)):
            message = f"spec '{spec.name}' has no parameter '{name}' to define"
            help = self.collector.suggestion(name, known) or "it has no parameters"
            self.collector.error("S003", message, spec.name_span, help=help)

    def _parameter(
        self, spec: spec_ast.SpecDecl, parameter: spec_ast.SpecParameter, defines: Mapping[str, int]
    ) -> None:
        name = parameter.name
        place = within(parameter.span, name)
        if name in self.values or name in self.unknown:
            message = f"spec '{spec.name}' has two parameters named '{name}'"
            self.collector.error("S002", message, place, "second one")
            return
        value: int | None = None
        limit = None
        if parameter.limit is not None:
            limit = self.positive(parameter.limit, f"the limit of '{name}'", MAX_SIZE)
        if name in defines:
            value = self._defined(name, defines[name], parameter.span)
            if value is not None and limit is not None and value > limit:
                message = f"parameter '{name}' is {value}; it is at most {limit}"
                self.collector.error("S006", message, place)
        elif parameter.limit is not None:
            value = limit
            self._brought(parameter, limit, place)
        elif parameter.default is not None:
            value = self.integer(parameter.default, f"parameter '{name}'")
        else:
            message = f"parameter '{name}' has no value"
            help = f"give one with -D {name}=512, or a default: {name} = 512"
            self.collector.error("S004", message, place, "no default", help)
        if value is None:
            self.unknown.add(name)
        else:
            self.values[name] = value

    def _brought(self, parameter: spec_ast.SpecParameter, limit: int | None, place: Span) -> None:
        """A parameter that calls bring: there is one, with several values."""
        name, other = parameter.name, self.at_run_time
        if limit == 1:
            message = f"'{name}' is at most 1, and so 1"
            self.collector.error("S006", message, place, help=f"write {name} = 1")
            return
        if other is not None:
            message = f"'{other.name}' and '{name}' are brought by each call"
            help = f"one size may be; give the other with -D, such as -D {name}=64"
            self.collector.error("S043", message, place, "second one", help)
        self.at_run_time = parameter

    def _defined(self, name: str, value: object, span: Span) -> int | None:
        """A value from Python, which may be of any type."""
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            whole = int(value)
            if abs(whole) <= MAX_INTEGER:
                return whole
            message = f"the value of parameter '{name}' is too large"
            help = f"the most is {MAX_INTEGER}"  # to write out its digits could take long
            self.collector.error("S005", message, span, help=help)
            return None
        message = f"parameter '{name}' must be a whole number, found {value!r}"
        help = f"give an integer: defines={{'{name}': 512}}"
        self.collector.error("S005", message, span, f"defined as {value!r}", help)
        return None

    def few_elements(self, name: str, shape: Sequence[int], place: Span) -> bool:
        """Whether a tensor of this shape can be an argument; reports S007 if not."""
        if prod(shape) <= MAX_ELEMENTS:
            return True
        message = f"'{name}' has {prod(shape)} elements; the most is {MAX_ELEMENTS}"
        help = "divide the work into several calls"
        self.collector.error("S007", message, place, help=help)
        return False

    def number(self, expr: ast.Expr, what: str) -> Value | None:
        """Value of an expression, or none after an error."""
        self.used |= names(expr)
        return number(expr, what, self.values, self.collector, self.unknown)

    def integer(self, expr: ast.Expr, what: str) -> int | None:
        """Value of an expression that has to be a whole number, or none after an error."""
        value = self.number(expr, what)
        return None if value is None else self._integer(value, expr.span, what)

    def _integer(self, value: Value, span: Span, what: str) -> int | None:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(value)
        help = "divide with '//' (rounds down) or ceil_div (rounds up)"
        message = f"{what} must be a whole number, found {value}"
        self.collector.error("S005", message, span, f"this is {value}", help)
        return None

    def positive(self, expr: ast.Expr, what: str, limit: int) -> int | None:
        """A whole number from 1 to a limit, or none after an error."""
        value = self.integer(expr, what)
        if value is None or 1 <= value <= limit:
            return value
        given = "" if isinstance(expr, ast.Number) else f"this is {value}"
        bound = "at least 1" if value < 1 else f"at most {limit}"
        self.collector.error("S006", f"{what} is {value}; it must be {bound}", expr.span, given)
        return None
