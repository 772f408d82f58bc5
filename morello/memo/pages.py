"""The store as the search sees it: variants with the fingerprints of what they depend on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from morello.memo.fingerprint import Fingerprints
from morello.memo.names import variant_of, variant_text
from morello.memo.page import Axes, Choice, Page, page_of
from morello.memo.store import Store
from morello.rewriting.alternatives import Context
from morello.search.box import Box
from morello.search.known import Chosen
from morello.search.solve import Solved
from morello.spec.spec import Spec, Variant


class Pages:
    """Pages of a store, for the definitions of any context. It may be used from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._fingerprints: list[tuple[Context, Fingerprints]] = []

    @property
    def alone(self) -> bool:
        """Whoever opens the file next may have another goal."""
        return False

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Choices of a variant on a box, if all of it was solved under the same definitions."""
        page = self._find(context, variant, _axes(box))
        if page is None:
            return None
        names = tuple((choice.name, choice.parameters) for choice in page.choices)
        return Chosen(names, page.table(_axes(box)))

    def page(self, context: Context, spec: Spec) -> Page | None:
        """A page that answers for a Spec."""
        return self._find(context, spec.variant, tuple((value,) for value in spec.coordinates))

    def all(self, context: Context, variant: Variant) -> Iterator[Page]:
        """Every page of a variant, the one with the fewest Specs first."""
        pages = self.store.pages(self.fingerprint(context, variant), variant_text(variant))
        rank = rank_of(context, variant)
        return (page for page in pages if len(page.axes) == rank)

    def variants(self, context: Context) -> Iterator[Variant]:
        """Those with a page that the context is answered from."""
        for row in self.store.stats():
            variant = variant_of(row.family, context)
            if variant is not None and self.fingerprint(context, variant) == row.fingerprint:
                yield variant

    def keep(self, context: Context, variant: Variant, solved: Solved) -> None:
        """Write what was chosen."""
        names = [Choice(option.name, option.parameters) for option in solved.options]
        page = page_of(_axes(solved.box), names, solved.choices)
        self.store.write(self.fingerprint(context, variant), variant_text(variant), page)

    def fingerprint(self, context: Context, variant: Variant) -> bytes:
        """What the variant's pages are kept under."""
        with self._lock:
            known = next((f for c, f in self._fingerprints if c is context), None)
            if known is None:
                known = Fingerprints(context)
                self._fingerprints.append((context, known))
            return known.of(variant.family)

    def _find(self, context: Context, variant: Variant, axes: Axes) -> Page | None:
        return self.store.find(self.fingerprint(context, variant), variant_text(variant), axes)


def rank_of(context: Context, variant: Variant) -> int:
    """How many axes the pages of a variant have; one with others is not written by a search."""
    return len(variant.family.operation.dims) + len(context.target.bounded)


def _axes(box: Box) -> Axes:
    return tuple(tuple(axis.tolist()) for axis in box.axes)
