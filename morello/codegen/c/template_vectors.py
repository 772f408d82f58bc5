"""Vectors as kernel templates see them: ``{{ vector.type }}`` and ``{{ vector.add(a, b) }}``."""

from __future__ import annotations

from types import SimpleNamespace

from morello.ir.primitives import ADD, MULTIPLY, MULTIPLY_ADD, MULTIPLY_THEN_ADD, TYPE
from morello.ir.target import Primitives


def template_vectors(primitives: Primitives) -> SimpleNamespace:
    """Each primitive is a function from C to C. ``type`` is a text.

    ``multiply_add(a, b, c)`` is the sum of a product and ``c``, by one instruction where the target
    has one.
    """
    written = {name: text.format for name, (text, _) in primitives.entries.items()}

    def multiply_add(first: str, second: str, summand: str) -> str:
        if primitives.fuses:
            return written[MULTIPLY_ADD](first, second, summand)
        return written[ADD](summand, written[MULTIPLY](first, second))

    functions = {**written, MULTIPLY_THEN_ADD: multiply_add}
    return SimpleNamespace(**{**functions, TYPE: primitives.entries[TYPE][0]})
