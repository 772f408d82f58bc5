"""Checked definitions as data, and the bytes that the start-up cache keeps of them.

No functions, emitters or plugins are among them: only instances of our own classes, with texts,
numbers and collections in them. How they come to be is in `morello.definitions.check`.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.ir.target import Target
from morello.language.ast import rebuilt
from morello.language.diagnostics import Diagnostic

_MODULES = frozenset(
    {
        "morello.definitions.store",
        "morello.language.ast",
        "morello.language.diagnostics",
        "morello.language.kernel_clauses",
        "morello.language.source",
        "morello.language.target_ast",
        "morello.ir.rule",
        "morello.ir.functions",
        "morello.ir.target",
        "morello.ir.operators",
        "pathlib",
    }
)
"""Modules whose classes checked definitions are made of."""


class Checked(Struct, frozen=True):
    """What all files together declare, free of errors; and what is to be mended soon."""

    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    targets: Mapping[str, Target]
    warnings: tuple[Diagnostic, ...] = ()


def to_bytes(checked: Checked) -> bytes | None:
    """The definitions as bytes for `from_bytes`; none if they are nested too deeply for that."""
    try:
        return pickle.dumps(checked, protocol=5)
    except RecursionError:
        return None


def from_bytes(data: bytes) -> Checked | None:
    """Definitions from bytes that we wrote ourselves; none if they are of anything else."""
    try:
        checked = _Reader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, RecursionError):
        return None
    return checked if isinstance(checked, Checked) else None


class _Reader(pickle.Unpickler):
    """Makes instances of the classes of definitions, and of nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module in _MODULES else None
        if not isinstance(found, type) and found is not rebuilt:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a definition")
        return found
