"""What an emitter is given and what it returns. The emitters themselves belong to targets.

The source that an emitter returns stands alone: it includes only system headers, not its own
header, so that both may be written under any name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from morello.ir.programs.tree import Program


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """How to write a program.

    ``annotate``: comments give file and line of every rule and kernel, and say what the caches
    hold. ``stack_buffer`` is the largest buffer, in bytes, that goes on the stack, ``stack_total``
    the most that all buffers on the stack take at once; what exceeds either goes to the workspace.
    """

    annotate: bool = False
    stack_buffer: int = 4 * 1024
    stack_total: int = 32 * 1024


@dataclass(frozen=True, slots=True)
class CSource:
    """A program in C11.

    ``name`` is the function's name: the program's, changed where C reserves it. ``flags`` are what
    the compiler needs beyond the language's standard; ``workspace_bytes`` is what
    ``NAME_workspace_size()`` returns, a multiple of 64. ``features`` are those of a processor that
    the code needs, besides what flags of the form ``-mFEATURE`` say.

    The functions: ``void NAME(arguments..., void *workspace)``, with a workspace aligned to 64
    bytes; ``size_t NAME_workspace_size(void)``; and ``int NAME_run(arguments...)``, which owns a
    workspace and returns 0, or -1 when memory is short. The arguments are pointers, in the order of
    ``Program.arguments``; of a weight, to what was packed.

    For each weight, in ``packing_functions``, ``void NAME_pack_WEIGHT(weight, packed, workspace)``,
    with a workspace as above, and ``size_t NAME_pack_WEIGHT_size(void)``: bytes that it writes.
    """

    name: str
    source: str
    header: str
    flags: tuple[str, ...]
    workspace_bytes: int
    packing_functions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()


class Emitter(Protocol):
    """Writes programs for the targets that name it."""

    def emit(self, program: Program, options: EmitOptions) -> CSource:
        """Source and header of one program.

        Raises:
            MorelloError: if the program is partial, or asks for a primitive that the target lacks.
        """
