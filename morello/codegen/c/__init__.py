"""The emitter of C11, as a plugin: targets take it by ``emitter c11``.

It knows C, not any instruction: what is special about a machine stands in its target's kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from morello.codegen.c.emitter import CEmitter
from morello.plugins import Emitter, hookimpl

MORELLO_API = 2


@hookimpl
def morello_emitters() -> Mapping[str, Emitter]:
    """``c11`` writes C11, with whatever the kernels of a target say."""
    return {"c11": CEmitter()}
