"""The store as the search sees it: variants with the fingerprints of what they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from morello.ir.spec import Spec, Variant
from morello.memo.codec import encode_axes
from morello.memo.database import Warn
from morello.memo.fingerprint import FingerprintsOf
from morello.memo.names import variant_of, variant_text
from morello.memo.page import ANY, Axes, Choice, Page, page_of
from morello.memo.records import Key, Record
from morello.memo.shipped import ShippedMemo
from morello.memo.store import Store
from morello.rewriting.context import Context
from morello.search.tables.box import Box
from morello.search.tables.memo_backend import Chosen, NullMemo
from morello.search.tables.options import Option
from morello.search.tables.solved import Solved


class Pages:
    """Pages of a store, for the definitions of any context. It may be used from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._shipped: dict[Path, ShippedMemo] = {}
        self._fingerprints = FingerprintsOf()

    def consult(self, files: Iterable[Path], warn: Warn) -> None:
        """Ask files of packages, too, from now on."""
        for path in files:
            if path not in self._shipped:
                self._shipped[path] = ShippedMemo(path, warn)

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Choices of a variant on a box, if all of it was solved under the same definitions."""
        axes = _axes(box)
        page = self._find(context, variant, axes)
        while page is not None and any(
            own == (ANY,) != wanted for own, wanted in zip(page.axes, axes, strict=True)
        ):
            self._reject(context, variant, page, "a level that matters has no axis")
            page = self._find(context, variant, axes)
        if page is None:
            return None
        names = tuple((choice.name, choice.parameters) for choice in page.choices)
        return Chosen(names, page.table(axes))

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """Forget what `find` finds: some of it does not apply."""
        page = self._find(context, variant, _axes(box))
        if page is not None:
            self.reject_page(context, variant, page)

    def reject_page(self, context: Context, variant: Variant, page: Page) -> None:
        """Forget a page some choice of which does not apply."""
        self._reject(context, variant, page, "a choice of it does not apply")

    def page(self, context: Context, spec: Spec) -> Page | None:
        """A page that answers for a Spec."""
        return self._find(context, spec.variant, tuple((value,) for value in spec.coordinates))

    def all(self, context: Context, variant: Variant) -> Iterator[Page]:
        """Every page of a variant, the one with the fewest Specs first."""
        pages = self.store.pages(*self._key(context, variant))
        return (page for page in pages if is_page_of(context, variant, page.axes))

    def variants(self, context: Context) -> Iterator[Variant]:
        """Those with a page that the context is answered from."""
        for row in self.store.stats():
            variant = variant_of(row.family, context)
            if variant is not None and self.fingerprint(context, variant) == row.fingerprint:
                yield variant

    def keep(self, context: Context, solved: Mapping[Variant, Solved]) -> None:
        """Write what was chosen for variants that were solved."""
        self.store.write_all(
            Record(self.fingerprint(context, variant), variant_text(variant), _page(found))
            for variant, found in solved.items()
        )

    def fingerprint(self, context: Context, variant: Variant) -> bytes:
        """What the variant's pages are kept under, with its text."""
        return self._key(context, variant)[0]

    def key(self, context: Context, variant: Variant, page: Page) -> Key:
        """What a page of a variant is kept under."""
        return (*self._key(context, variant), encode_axes(page.axes))

    def _key(self, context: Context, variant: Variant) -> tuple[bytes, str]:
        """What the pages of the variant that is searched are kept under."""
        variant = context.searched_variant(variant)
        return self._fingerprints(context).of(variant.family), variant_text(variant)

    def _find(self, context: Context, variant: Variant, axes: Axes) -> Page | None:
        key = self._key(context, variant)
        while (page := self._page(*key, axes)) is not None:
            if is_page_of(context, variant, page.axes):
                return page
            self._reject(context, variant, page, "its axes are of another family")
        return None

    def _page(self, fingerprint: bytes, family: str, axes: Axes) -> Page | None:
        memos: Sequence[Store | ShippedMemo] = (self.store, *self._shipped.values())
        for memo in memos:
            page = memo.find(fingerprint, family, axes)
            if page is not None:
                return page
        return None

    def _reject(self, context: Context, variant: Variant, page: Page, reason: str) -> None:
        key = self.key(context, variant, page)
        for shipped in self._shipped.values():
            shipped.reject(key)
        self.store.reject(*key[:2], page.axes, reason)


class UnreadPages(NullMemo):
    """Pages of a store for a search that recalls nothing: it may have to write some."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def keep(self, context: Context, solved: Mapping[Variant, Solved]) -> None:
        """Write what was chosen for variants that were solved."""
        self._pages.keep(context, solved)


def is_page_of(context: Context, variant: Variant, axes: Axes) -> bool:
    """Whether a search could have written a page with these axes for a variant."""
    levels, dims = context.target.bounded, len(variant.family.operation.dims)
    if len(axes) != dims + len(levels):
        return False
    return all(axis[0] > 0 for axis in axes[:dims]) and all(
        axis == (ANY,) or 0 <= axis[0] <= axis[-1] <= (level.capacity or 0)
        for axis, level in zip(axes[dims:], levels, strict=True)
    )


def _axes(box: Box) -> Axes:
    return tuple(tuple(axis.tolist()) for axis in box.axes)


def _page(solved: Solved) -> Page:
    return page_of(_axes(solved.box), _Choices(solved.options), solved.choices)


class _Choices(Sequence[Choice]):
    """What options are called: of most, nobody asks."""

    def __init__(self, options: Sequence[Option]) -> None:
        self._options = options

    def __len__(self) -> int:
        return len(self._options)

    @overload
    def __getitem__(self, place: int) -> Choice: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Choice]: ...
    def __getitem__(self, place: int | slice) -> Choice | Sequence[Choice]:
        if isinstance(place, slice):
            return _Choices(self._options[place])
        option = self._options[place]
        return Choice(option.name, option.parameters)
