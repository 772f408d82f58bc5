"""The x86 target plugin: AVX2, AVX-512 and AMX, on the plugin of portable C.

Targets, coefficients and kernels are in the ``.mtarget`` files beside this module. The emitter of
C11 that they name is the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from morello.plugins import definitions_in, hookimpl

MORELLO_API = 3


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """The ``.mtarget`` files of this package."""
    return definitions_in(files(__name__))


@hookimpl
def morello_learning_files() -> Sequence[Traversable]:
    """Models for processors that were measured."""
    return [file for file in files(__name__).iterdir() if file.name.endswith(".npz")]
