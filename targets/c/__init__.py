"""The C target plugin: portable C, for any processor.

Levels, coefficients and kernels are in the ``.mtarget`` file beside this module. The emitter of C11
that it names is the engine's.
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
