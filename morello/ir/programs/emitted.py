"""What an emitter is given and what it returns. The emitters themselves belong to targets.

The source that an emitter returns stands alone: it includes only system headers, not its own
header, so that both may be written under any name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from morello.ir.goal import RunTimeSize
from morello.ir.programs.tree import Program
from morello.ir.target import Target


class EmitOptions(Struct, frozen=True):
    """How to write a program.

    ``annotate``: comments give file and line of every rule and kernel, and say what the caches
    hold. ``stack_buffer`` is the largest buffer, in bytes, that goes on the stack, ``stack_total``
    the most that all buffers on the stack take at once; what exceeds either goes to the workspace.
    """

    annotate: bool = False
    stack_buffer: int = 4 * 1024
    stack_total: int = 32 * 1024


class EmittedPacking(Struct, frozen=True):
    """The C function that packs a weight.

    ``bytes``: what it writes. ``form``: that in words. ``copies``: whether this is the weight as it
    is declared, so that the weight itself may be passed.
    """

    function: str
    bytes: int
    form: str
    copies: bool


class CSource(Struct, frozen=True):
    """A program in C11.

    ``name`` is the function's name: the program's, changed where C reserves it. ``flags`` are what
    the compiler needs beyond the language's standard; ``workspace_bytes`` is what
    ``NAME_workspace_size()`` returns, a multiple of 64. ``features`` are those of a processor that
    the code needs, besides what flags of the form ``-mFEATURE`` say.

    The functions: ``void NAME(arguments..., void *workspace)``, with a workspace aligned to 64
    bytes; ``size_t NAME_workspace_size(void)``; and ``int NAME_run(arguments...)``, which owns a
    workspace and returns 0, or -1 when memory is short. The arguments are pointers, in the order of
    ``Program.arguments``; of a weight, to what was packed.

    For each weight, in ``packings``, ``void NAME_pack_WEIGHT(weight, packed, workspace)``, with a
    workspace as above, and ``size_t NAME_pack_WEIGHT_size(void)``: bytes that it writes.
    """

    name: str
    source: str
    header: str
    flags: tuple[str, ...]
    workspace_bytes: int
    packings: tuple[EmittedPacking, ...] = ()
    features: tuple[str, ...] = ()


class Emitter(Protocol):
    """Writes programs for the targets that name it."""

    def emit(self, program: Program, options: EmitOptions) -> CSource:
        """Source and header of one program.

        Raises:
            MorelloError: if the program is partial, or asks for a primitive that the target lacks.
        """


@runtime_checkable
class SizingEmitter(Emitter, Protocol):
    """One that can also write programs for some sizes as one function for any size."""

    def emit_sizes(
        self,
        programs: Sequence[tuple[int, Program]],
        packing: Program,
        size: RunTimeSize,
        options: EmitOptions,
    ) -> CSource:
        """A source whose function gets the size first, a ``size_t``, and calls those for blocks.

        It takes as many blocks of the first size as there are, then of the next one, and so on.

        Args:
            programs: By sizes, the largest first and 1 last. They take weights as they are packed.
            packing: A program for any size whose functions pack the weights.
            size: What the size is called, and which dimension of each argument it is.
            options: As for one program.

        Raises:
            MorelloError: As `Emitter.emit`.
        """


@runtime_checkable
class ChoosingEmitter(Emitter, Protocol):
    """One that can also write the programs of several targets as one function."""

    def check_choice(self, targets: Sequence[Target]) -> None:
        """Refuse targets that cannot share a source, of which the first is the least demanding.

        Raises:
            UsageError: They cannot, with the reason.
        """

    def emit_choice(self, programs: Sequence[Program], options: EmitOptions) -> CSource:
        """A source whose functions call those of the last target that the processor can run.

        There is one more function: ``const char *NAME_target(void)`` names the target. The variable
        ``MORELLO_TARGET`` of the environment forces one, if the processor can run it. Workspace and
        packed weights are as large as any target needs.

        Args:
            programs: Of one goal, for targets that `check_choice` accepts. The flags and features
                of the source are those of the first.
            options: As for one program.

        Raises:
            MorelloError: As `Emitter.emit`.
        """
