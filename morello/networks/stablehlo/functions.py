"""Functions of StableHLO: calls written out, and what follows from constants computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from morello.errors import MorelloError

if TYPE_CHECKING:
    from jaxlib.mlir import ir

Array = np.ndarray[Any, Any]

CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}
"""Operations that stand for a function, and the attribute that names it."""

NEVER = ("stablehlo.rng", "stablehlo.rng_bit_generator", "stablehlo.custom_call")
"""What is not computed ahead, whatever it is of."""

# --------------------------------------------------------------------------- calls


def main_of(module: ir.Module) -> ir.Operation:
    """The function ``main``.

    Raises:
        MorelloError: There is no such function.
    """
    functions = _functions(module)
    main = functions.get("main")
    if main is None or len(main.regions[0].blocks) != 1:
        known = f"it has: {', '.join(functions) or 'none'}"
        raise MorelloError("the module has no function 'main' of one block", help=known)
    return main


def _functions(module: ir.Module) -> Mapping[str, ir.Operation]:
    return {
        op.attributes["sym_name"].value: op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }


def inline(module: ir.Module) -> None:
    """Write all calls of the function ``main`` out.

    Raises:
        MorelloError: There is no such function, or one calls itself.
    """
    main_of(module)
    _inline("main", _functions(module), set(), ())


def _inline(
    name: str, functions: Mapping[str, ir.Operation], done: set[str], callers: Sequence[str]
) -> None:
    """Write the calls of a function out, those of its own callees before."""
    if name in done:
        return
    if name in callers:
        raise MorelloError(f"function '{name}' calls itself")
    if name not in functions or len(functions[name].regions[0].blocks) != 1:
        raise MorelloError(f"function '{name}' is not in the module, or is of several blocks")
    for block in functions[name].regions[0].blocks:
        for op in [own.operation for own in block.operations if own.operation.name in CALLS]:
            callee = op.attributes[CALLS[op.name]].value
            _inline(callee, functions, done, (*callers, name))
            _write_out(op, functions[callee])
    done.add(name)


def _write_out(call: ir.Operation, callee: ir.Operation) -> None:
    from jaxlib.mlir import ir  # noqa: PLC0415

    [block] = callee.regions[0].blocks
    mapped = dict(zip(block.arguments, call.operands, strict=True))
    *operations, last = block.operations
    for op in operations:
        _copied(op.operation, ir.InsertionPoint(call), mapped)
    for result, value in zip(call.results, last.operands, strict=True):
        result.replace_all_uses_with(mapped[value])
    call.erase()


def _copied(op: ir.Operation, place: ir.InsertionPoint, mapped: dict[ir.Value, ir.Value]) -> None:
    """A copy of an operation that reads copies."""
    copy = op.clone(place)
    for number, value in enumerate(op.operands):
        copy.operands[number] = mapped[value]
    mapped.update(zip(op.results, copy.results, strict=True))


# --------------------------------------------------------------------------- constants


def evaluated(block: ir.Block) -> Mapping[ir.Value, Array]:
    """What operations compute that read constants alone, by StableHLO's own interpreter.

    Only of what others read, or the block returns. A broadcast of a constant stays: it would be
    larger, and says less.
    """
    fixed: dict[ir.Value, ir.Operation] = {}
    for own in block.operations:
        op = own.operation
        foldable = op.name.startswith("stablehlo.") and op.name not in NEVER
        if foldable and all(value in fixed for value in op.operands):
            fixed.update((result, op) for result in op.results)
    wanted = dict.fromkeys(
        _source(value, fixed)
        for own in block.operations
        if not all(result in fixed for result in own.results) or not own.results
        for value in own.operands
        if value in fixed
    )
    if not wanted:
        return {}
    return dict(zip(wanted, _evaluate([*wanted], fixed), strict=True))


def _source(value: ir.Value, fixed: Mapping[ir.Value, ir.Operation]) -> ir.Value:
    """What is broadcast to a value."""
    while fixed[value].name == "stablehlo.broadcast_in_dim":
        [value] = fixed[value].operands
    return value


def _evaluate(
    values: Sequence[ir.Value], fixed: Mapping[ir.Value, ir.Operation]
) -> Iterator[Array]:
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir.dialects import func, stablehlo  # noqa: PLC0415

    with ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([], []))
        with ir.InsertionPoint(function.add_entry_block()) as place:
            mapped: dict[ir.Value, ir.Value] = {}
            for value in values:
                _copy_with_sources(value, fixed, place, mapped)
            results = [_readable(mapped[value]) for value in values]
            func.ReturnOp(results)
        kind = ir.FunctionType.get([], [result.type for result in results])
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
        found = stablehlo.eval_module(module, [])
    for value, own in zip(values, found, strict=True):
        shaped = ir.ShapedType(value.type)
        array = np.array(own).reshape(tuple(shaped.shape))
        yield array.astype(ml_dtypes.bfloat16) if str(shaped.element_type) == "bf16" else array


def _copy_with_sources(
    value: ir.Value,
    fixed: Mapping[ir.Value, ir.Operation],
    place: ir.InsertionPoint,
    mapped: dict[ir.Value, ir.Value],
) -> None:
    """Copies of all that a value is computed of."""
    pending = [value]
    while pending:
        op = fixed[pending[-1]]
        missing = [own for own in op.operands if own not in mapped]
        if missing:
            pending += missing
        elif pending.pop() not in mapped:
            _copied(op, place, mapped)


def _readable(value: ir.Value) -> ir.Value:
    """A value as numbers that numpy can read: it does not know bf16."""
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir.dialects import stablehlo  # noqa: PLC0415

    shaped = ir.ShapedType(value.type)
    if str(shaped.element_type) != "bf16":
        return value
    wide = ir.RankedTensorType.get(shaped.shape, ir.F32Type.get())
    return stablehlo.convert(wide, value)
