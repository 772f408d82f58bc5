"""One operator and one rule: see the ``.mrules`` file beside this module."""

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


@hookimpl
def morello_calibration_files() -> Sequence[Traversable]:
    """What `morello calibrate` measures of this package."""
    return [files(__name__) / "calibration.mspec"]
