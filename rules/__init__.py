"""The rules and operators that ship with the compiler, as a plugin like any other.

Holds the hooks that list the ``.mrules`` files beside it, and the specs that are measured to fit
coefficients; what they say is in them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from morello.plugins import definitions_in, hookimpl

MORELLO_API = 3


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """Every ``.mrules`` file of this package."""
    return definitions_in(files(__name__))


@hookimpl
def morello_calibration_files() -> Sequence[Traversable]:
    """Specs that spend their time in the operators of this package."""
    return [files(__name__) / "calibration.mspec"]


@hookimpl
def morello_learning_files() -> Sequence[Traversable]:
    """Goals of the operators of this package, to learn from."""
    return [files(__name__) / "goals.toml"]
