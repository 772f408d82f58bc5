"""Which pages of a memo the definitions at hand can use.

A page is kept under a fingerprint of what it depends on. Whether that is what some target's
definitions give now is worked out by reading its variant's text with each target's names.
"""

from __future__ import annotations

from collections.abc import Iterable

from morello.ir.spec import Variant
from morello.memo.fingerprint import Fingerprints
from morello.memo.names import variant_of
from morello.rewriting.context import Context


class Installed:
    """The contexts of all targets at hand."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        """The order of the contexts counts only among those that share a page."""
        self._known = [(context, Fingerprints(context)) for context in contexts]

    def find(self, fingerprint: bytes, text: str) -> tuple[Context, Variant] | None:
        """The first context that would be answered from such a page, with the page's variant."""
        for context, fingerprints in self._known:
            variant = variant_of(text, context)
            if variant is not None and fingerprints.of(variant.family) == fingerprint:
                return context, variant
        return None
