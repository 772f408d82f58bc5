"""The target plugin for 64-bit ARM: NEON, on the plugin of portable C.

Targets, coefficients and kernels are in the ``.mtarget`` files beside this module. The emitter of
C11 that they name is the engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from morello.plugins import definitions_in, hookimpl

MORELLO_API = 2


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """The ``.mtarget`` files of this package."""
    return definitions_in(files(__name__))
