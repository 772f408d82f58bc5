"""A program around one kernel call: operands come from arguments, and go back to them.

An operand in registers is brought there, and back, by `memcpy` of each register, not by kernels of
the target: a load and a store that are wrong in ways that cancel are each caught. What a register
holds beyond the end of its row is set to ones, a NaN, so that a kernel that lets it count is seen.
Every operand is transferred in and out, inputs too: a kernel must leave those as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

from morello.checking.operators import check_operators
from morello.codegen.lower import whole
from morello.ir.layout import panel
from morello.ir.operators import Operation, Operator
from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Block,
    FirstUseCopy,
    KernelCall,
    Node,
    Origin,
    Program,
    Tensor,
    View,
)
from morello.ir.spec import Operand
from morello.ir.target import Microkernel, Target
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules, parse_target
from morello.language.source import Source
from morello.records import replace
from morello.verify.families import inside, tensor_for
from morello.verify.kernel_instances import KernelInstance

HEADERS = ("string.h",)
"""What the transfers need besides the target's headers."""

TRANSFER = """
op transfer(X: T[i...]) -> Y: T[i...]
  "Element by element."
{
  Y[i...] = X[i...]
}
"""

KERNELS = """
kernel to_registers on any
  "One row of memory to registers; ones beyond its end."
  match  transfer(X: any[..., n] at memory, Y: any[..., n] at registers)
  cost   0
  emit   ```
    {% for j in range(0, n, lanes) %}
    {% set i = (0,) * before + (j,) + (0,) * after %}
    memset(&{{ Y[i] }}, 0xFF, sizeof {{ Y[i] }});
    memcpy(&{{ Y[i] }}, {{ X.pointer(*i) }}, {{ [n - j, lanes] | min * bytes }});
    {% endfor %}
  ```

kernel from_registers on any
  "One row of registers to memory."
  match  transfer(X: any[..., n] at registers, Y: any[..., n] at memory)
  cost   0
  emit   ```
    {% for j in range(0, n, lanes) %}
    {% set i = (0,) * before + (j,) + (0,) * after %}
    memcpy({{ Y.pointer(*i) }}, &{{ X[i] }}, {{ [n - j, lanes] | min * bytes }});
    {% endfor %}
  ```
"""


@dataclass(frozen=True)
class KernelProgram:
    """A program, and for each operand the part of its argument that it is.

    ``kept`` is the part of one more argument, the last, where an operand is kept.
    """

    instance: KernelInstance
    program: Program
    views: tuple[View, ...]
    kept: View | None = None


def kernel_program(
    target: Target, instance: KernelInstance, name: str, *, copy_on_first_use: bool = False
) -> KernelProgram:
    """The program that calls a kernel once. Arguments are the operands, the output last.

    Of a kernel that is ``copy_on_first_use`` an operand, that is in no panels, and kept as the
    instance has it.
    """
    operation, kernel = instance.family.operation, instance.match.kernel
    kept, place = None, None
    views, inner = [], []
    for position, operand in enumerate(instance.family.operands):
        view = _argument(target, instance, position, operand)
        held = _operand_view(view, operand, name)
        if copy_on_first_use and operation.names[position] == kernel.clauses.copied:
            place = replace(view, tensor=replace(view.tensor, name="kept", role="output"))
            held = replace(place, level=held.level)
            view = _argument(target, instance, position, operand, panels=0)
            kept = FirstUseCopy(position, replace(view, level=held.level), ())
        views.append(view)
        inner.append(held)
    call = KernelCall(
        kernel,
        operation,
        instance.sizes,
        tuple((n, int(v)) for n, v in instance.match.bindings(instance.by_dim).items()),
        tuple(inner),
        kept,
    )
    pairs = [p for p in zip(views, inner, strict=True) if p[1].tensor.vector]
    steps: list[Node] = [s for argument, row in pairs for s in _rows("to_registers", argument, row)]
    steps.append(call)
    steps += [s for argument, row in pairs for s in _rows("from_registers", row, argument)]
    body: Node = Block(tuple(steps))
    origin = Origin(kernel.name, kernel.declaration.name_span)
    for _, register in reversed(pairs):
        body = Allocate(register.tensor, body, origin)
    headers = (*target.headers, *(h for h in HEADERS if h not in target.headers))
    program = Program(
        name,
        tuple(view.tensor for view in (*views, *filter(None, [place]))),
        body,
        1,
        replace(target, headers=headers),
        f"{kernel.name}: {instance}",
    )
    return KernelProgram(instance, program, tuple(views), place)


def _argument(
    target: Target,
    instance: KernelInstance,
    position: int,
    operand: Operand,
    panels: int | None = None,
) -> View:
    """The part of an argument that an operand is, or that its registers are filled from.

    It is in the instance's panels, unless others are given. Registers can be written back to every
    argument, so none is read-only for them.
    """
    operation = instance.family.operation
    tensor = instance.match.f.tensors[position]
    shape = tensor.extents(instance.by_dim)
    role = "output" if operand.vector or operation.writes(position) else "input"
    far = replace(operand, level=target.farthest, vector=0)
    name = operation.names[position]
    panels = panel(instance.packing[position]) if panels is None else panels
    for part in instance.parts:
        if part.position == position:
            return inside(far, shape, name, role, part.along, panels)
    return whole(tensor_for(far, shape, name, role, panels))


def _operand_view(argument: View, operand: Operand, name: str) -> View:
    """What the kernel is given: the argument, as held by a cache, or registers."""
    if not operand.vector:
        return replace(argument, level=operand.level.name)
    register = f"{argument.tensor.name}_{operand.level}"
    return whole(tensor_for(operand, argument.sizes, register, "buffer"))


def _rows(kernel: str, source: View, target: View) -> list[Node]:
    """Transfers of every row, along the dimension that neighbours in memory and registers share."""
    tensor: Tensor = source.tensor if source.tensor.vector else target.tensor
    operator, kernels = _transfers()
    operation = Operation(operator, len(tensor.shape))
    fastest = tensor.layout.fastest
    length = 1 if fastest is None else tensor.shape[fastest]
    bindings = {
        "n": length,
        "lanes": tensor.vector // tensor.dtype.bytes,
        "bytes": tensor.dtype.bytes,
        "before": fastest or 0,
        "after": 0 if fastest is None else len(tensor.shape) - fastest - 1,
    }
    sizes = tuple(n if d == fastest else 1 for d, n in enumerate(tensor.shape))
    starts = product(*(range(0, n, s) for n, s in zip(tensor.shape, sizes, strict=True)))
    return [
        KernelCall(
            kernels[kernel],
            operation,
            sizes,
            tuple(bindings.items()),
            tuple(_row(view, start, sizes) for view in (source, target)),
        )
        for start in starts
    ]


def _row(view: View, start: tuple[int, ...], sizes: tuple[int, ...]) -> View:
    offsets = tuple(o.plus(Affine(n)) for o, n in zip(view.offsets, start, strict=True))
    return replace(view, offsets=offsets, sizes=sizes)


@cache
def _transfers() -> tuple[Operator, dict[str, Microkernel]]:
    """The operator and the kernels above, which no search ever sees."""
    collector = Collector()
    operators = check_operators([parse_rules(Source("<transfer>", TRANSFER))], collector)
    collector.raise_if_any()
    declared = parse_target(Source("<transfers>", KERNELS)).kernels
    return operators["transfer"], {d.name: Microkernel.declared(d) for d in declared}
