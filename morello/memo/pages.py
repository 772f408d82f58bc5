"""The store as the search sees it: families with the fingerprints of what they depend on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.memo.fingerprint import Fingerprints
from morello.memo.page import Axes, Choice, Page, page_of
from morello.memo.store import Store
from morello.rewriting.alternatives import Context
from morello.search.box import Box
from morello.search.known import Chosen
from morello.search.options import Option
from morello.spec.spec import Family, Spec


class Pages:
    """Pages of a store, for the definitions of any context. It may be used from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._fingerprints: list[tuple[Context, Fingerprints]] = []

    def find(self, context: Context, family: Family, box: Box) -> Chosen | None:
        """Choices of a family on a box, if all of it was solved under the same definitions."""
        page = self._find(context, family, _axes(box))
        if page is None:
            return None
        names = tuple((choice.name, choice.parameters) for choice in page.choices)
        return Chosen(names, page.table(_axes(box)))

    def page(self, context: Context, spec: Spec) -> Page | None:
        """A page that answers for a Spec."""
        return self._find(context, spec.family, tuple((value,) for value in spec.coordinates))

    def keep(
        self,
        context: Context,
        family: Family,
        box: Box,
        options: Sequence[Option],
        choices: np.ndarray[Any, np.dtype[Any]],
    ) -> None:
        """Write the choices of a box."""
        names = [Choice(option.name, option.parameters) for option in options]
        page = page_of(_axes(box), names, choices)
        self.store.write(self.fingerprint(context, family), family_text(family), page)

    def fingerprint(self, context: Context, family: Family) -> bytes:
        """What the family's page is kept under."""
        with self._lock:
            known = next((f for c, f in self._fingerprints if c is context), None)
            if known is None:
                known = Fingerprints(context)
                self._fingerprints.append((context, known))
            return known.of(family)

    def _find(self, context: Context, family: Family, axes: Axes) -> Page | None:
        return self.store.find(self.fingerprint(context, family), family_text(family), axes)


def family_text(family: Family) -> str:
    """What tells a family from all others under one fingerprint."""
    operation = family.operation
    scalars = "".join(f" {name}={value!r}" for name, value in operation.scalars)
    operands = ", ".join(
        f"{name}: {o.dtype} {o.level} {list(o.layout)}"
        + (f" vector {o.vector}" if o.vector else "")
        for name, o in zip(operation.names, family.operands, strict=True)
    )
    threads = f" threads {family.threads}" if family.threads > 1 else ""
    return f"{operation}({operands}){scalars}{threads}"


def _axes(box: Box) -> Axes:
    return tuple(tuple(axis.tolist()) for axis in box.axes)
