"""A microkernel for the target `x86.avx2`: see the ``.mtarget`` file beside this module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from morello.plugins import definitions_in, hookimpl

MORELLO_API = 2


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """The definitions of this package."""
    return definitions_in(files(__name__))
