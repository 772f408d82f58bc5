"""Whether a memo is right: a sample of its Specs is derived again, and compared.

For a Spec of a page, every option that applies is priced again by the recurrence, from the choices
that the memo holds below it. The cheapest has to be the page's choice. Nothing is searched: where
the memo does not hold what is below, the Spec cannot be checked.

So a wrong choice is found where it is drawn itself, or where it makes a drawn Spec above it choose
differently. Damage to the bytes is found by checksums, in ``codec.py``, whatever is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from msgspec import Struct

from morello.ir.spec import Spec, Variant
from morello.memo.installed import Installed
from morello.memo.page import Axes, Choice
from morello.memo.pages import Pages, is_page_of
from morello.memo.recall import Recalled
from morello.memo.store import Store
from morello.rewriting.context import Context
from morello.search.results.reconstruct import candidates
from morello.search.results.solution import Solution
from morello.search.solving.one_spec import DoesNotApplyError
from morello.search.tables.options import Option


class Difference(Struct, frozen=True):
    """A Spec for which the memo says something else than the definitions."""

    family: str
    coordinates: tuple[int, ...]
    recorded: str
    derived: str


class Verification(Struct, frozen=True):
    """What was found.

    Attributes:
        pages: Number of pages that could be read.
        unknown: Those of them that the definitions at hand have no use for.
        checked: Number of Specs that were derived again.
        uncheckable: Number of Specs that were drawn, and below which the memo lacks a page.
        differences: Where memo and definitions differ.
    """

    pages: int
    unknown: int
    checked: int
    uncheckable: int
    differences: tuple[Difference, ...]


class _Place(Struct, frozen=True):
    """Where a page is, and what it means."""

    context: Context
    variant: Variant
    text: str
    fingerprint: bytes
    axes: Axes


def verify(store: Store, contexts: Iterable[Context], *, cells: int, seed: int) -> Verification:
    """Derive a sample of a memo's Specs again.

    Every Spec is drawn by drawing one of the pages, and then a value of each of its axes: so a
    small family is as likely to be looked at as a large one. The sample depends on the seed and on
    what the memo holds only.

    Args:
        store: Of the memo.
        contexts: Definitions at hand.
        cells: How many Specs to draw.
        seed: Of the draw.
    """
    pages, places = _places(store, Installed(contexts))
    random = Random(seed)
    drawn = Counter(random.randrange(len(places)) for _ in range(cells if places else 0))
    memo, answers = Pages(store), dict[int, Recalled]()
    found: list[Difference | None] = []
    uncheckable = 0
    for number, count in sorted(drawn.items()):
        place = places[number]
        known = answers.setdefault(
            id(place.context), Recalled(place.context, memo, _missing, strict=True)
        )
        for spec in (_draw(random, place) for _ in range(count)):
            try:
                found.append(_compare(known, memo, place, spec))
            except _MissingError:
                uncheckable += 1
    differences = tuple(dict.fromkeys(difference for difference in found if difference))
    return Verification(pages, pages - len(places), len(found), uncheckable, differences)


def _places(store: Store, installed: Installed) -> tuple[int, list[_Place]]:
    """Number of all pages, and the place of each that the definitions at hand can use."""
    pages, places = 0, []
    for record in store.records():
        pages += 1
        found = installed.find(record.fingerprint, record.family)
        if found is not None and is_page_of(*found, record.page.axes):
            context, variant = found
            place = (record.family, record.fingerprint, record.page.axes)
            places.append(_Place(context, variant, *place))
    return pages, places


def _draw(random: Random, place: _Place) -> Spec:
    values = tuple(random.choice(axis) for axis in place.axes)
    family, dims = place.variant.family, len(place.variant.family.operation.dims)
    return Spec(family, values[:dims], values[dims:], place.variant.packing)


def _compare(answers: Recalled, memo: Pages, place: _Place, spec: Spec) -> Difference | None:
    page = memo.page(place.context, spec)
    if page is None:
        raise _MissingError
    recorded = _named(page.choice_at(spec.coordinates))
    try:
        best = min(candidates(answers, spec), key=lambda c: c.order, default=None)
        derived = _named(None if best is None else _choice(best.option))
    except DoesNotApplyError as error:
        derived = f"nothing: below it, {error}"
    if recorded == derived:
        return None
    return Difference(place.text, spec.coordinates, recorded, derived)


def _choice(option: Option) -> Choice:
    return Choice(option.name, option.parameters)


def _named(choice: Choice | None) -> str:
    if choice is None:
        return "nothing"
    return f"{choice.name}({', '.join(f'{n} = {v}' for n, v in choice.parameters)})"


class _MissingError(Exception):
    """The memo does not hold what was asked for."""


def _missing() -> Solution:
    raise _MissingError
