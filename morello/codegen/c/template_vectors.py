"""Vectors as kernel templates see them: ``{{ vector.type }}`` and ``{{ vector.add(a, b) }}``."""

from __future__ import annotations

from types import SimpleNamespace

from morello.ir.primitives import (
    ADD,
    EXCHANGES,
    HOLD,
    MULTIPLY,
    MULTIPLY_ADD,
    MULTIPLY_THEN_ADD,
    TYPE,
    exchanges,
)
from morello.ir.target import Primitives


def template_vectors(primitives: Primitives) -> SimpleNamespace:
    """Each primitive is a function from C to C. ``type`` is a text.

    ``multiply_add(a, b, c)`` is the sum of a product and ``c``, by one instruction where the target
    has one. ``hold(x)`` is a statement, or nothing. ``exchanges`` are functions: a vector to which
    what each makes of it is added, one after the other, holds the sum of all lanes.
    """
    written = {name: text.format for name, (text, _) in primitives.entries.items()}

    def multiply_add(first: str, second: str, summand: str) -> str:
        if primitives.fuses:
            return written[MULTIPLY_ADD](first, second, summand)
        return written[ADD](summand, written[MULTIPLY](first, second))

    def hold(variable: str) -> str:
        return f"{written[HOLD](variable)};" if HOLD in written else ""

    halves = [written[name] for name in exchanges(primitives.lanes) if name in written]
    found: dict[str, object] = {**written, MULTIPLY_THEN_ADD: multiply_add, HOLD: hold}
    found[EXCHANGES] = halves
    return SimpleNamespace(**found | {TYPE: primitives.entries[TYPE][0]})
