"""The x86 target plugin: portable C, AVX2 and AVX-512.

Targets, coefficients and kernels are in the ``.mtarget`` files beside this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from morello.plugins import definitions_in, hookimpl
from morello.program.source import Emitter

from .emitter import CEmitter

MORELLO_API = 2


@hookimpl
def morello_definition_files() -> Sequence[Traversable]:
    """The ``.mtarget`` files of this package."""
    return definitions_in(files(__name__))


@hookimpl
def morello_emitters() -> Mapping[str, Emitter]:
    """``x86_c`` writes C11 with intrinsics."""
    return {"x86_c": CEmitter()}
