"""The table of a solved variant."""

from __future__ import annotations

from msgspec import Struct

from morello.search.tables.box import Box
from morello.search.tables.gather import Table
from morello.search.tables.options import Option
from morello.search.tables.scratch import Choices


class Solved(Struct, frozen=True):
    """A variant's box, solved.

    ``costs``: cycles per iteration, float32, infinite where nothing implements the Spec.
    ``choices``: what attains them, as positions in ``options``.
    """

    box: Box
    costs: Table
    choices: Choices
    options: tuple[Option, ...]
