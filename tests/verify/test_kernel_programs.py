"""Programs around a kernel call: what they mean is what the operator means."""

from __future__ import annotations

import numpy as np
import pytest

from morello.definitions import Definitions
from morello.reference.compare import check_close, reference
from morello.reference.inputs import for_operation
from morello.reference.interpreter import poisoned, run
from morello.verify.families import region
from morello.verify.kernel_instances import KernelInstance, kernel_instances
from morello.verify.kernel_programs import kernel_program


def _instances(
    definitions: Definitions, target: str, name: str, budget: int
) -> list[KernelInstance]:
    machine = definitions.targets[target]
    kernel = next(k for k in machine.kernels if k.name == name)
    return kernel_instances(machine, kernel, definitions.operators, budget)


@pytest.mark.parametrize("name", ["vector_x16", "multiply_add_scalar_f32_x16"])
def test_the_transfers_change_nothing(name: str, definitions: Definitions) -> None:
    """By the reference interpreter, to whom a kernel is its operator, the program is right."""
    target = definitions.targets["x86.avx512"]
    for instance in _instances(definitions, target.name, name, 24):
        made = kernel_program(target, instance, "f")
        operation = instance.family.operation
        dtypes = [o.dtype for o in instance.family.operands]
        values = for_operation("small", operation, instance.sizes, dtypes)
        arrays = [poisoned(v.tensor.shape, v.tensor.dtype) for v in made.views]
        for array, view, value in zip(arrays, made.views, values, strict=False):
            array[region(view)] = value
        named = {v.tensor.name: a for v, a in zip(made.views, arrays, strict=True)}
        run(made.program.body, named)
        inputs = len(arrays) - 1
        old = values[inputs] if operation.accumulating else None
        expected = reference(operation, instance.sizes, values[:inputs], dtypes[-1], old)
        check_close(arrays[-1][region(made.views[-1])], expected)


def test_parts_have_neighbours_on_every_side(definitions: Definitions) -> None:
    """An operand in memory that is not packed touches no border of its tensor."""
    target = definitions.targets["x86.avx512"]
    found = [i for i in _instances(definitions, target.name, "vector_x16", 200) if i.parts]
    assert found
    for instance, part in ((i, p) for i in found for p in i.parts):
        view = kernel_program(target, instance, "f").views[part.position]
        if part.along != tuple(range(len(view.sizes))):
            continue
        around = np.ones(view.tensor.shape, np.bool_)
        around[region(view)] = False
        margins = [offset.constant for offset in view.offsets]  # one element, or one panel
        assert min(margins, default=1) >= 1
        inner = tuple(slice(m, n - m) for m, n in zip(margins, view.tensor.shape, strict=True))
        assert not around[inner].any()
