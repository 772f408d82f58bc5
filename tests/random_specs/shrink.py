"""Makes a failing case small: fewer statements, smaller sizes, plain layouts, one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .cases import Case, Statement, Tensor

SMALLER = (1, 2, 3, 5, 9, 17, 33)
TRIES = 80


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest case found that fails alike.

    Args:
        case: One that fails.
        fails: Whether another one does.
    """
    left = TRIES
    found = True
    while found:
        found = False
        for candidate in _smaller(case):
            if left == 0:
                return case
            left -= 1
            if fails(candidate):
                case, found = candidate, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases that are a step smaller, the largest steps first; each fits together."""
    for candidate in _steps(case):
        try:
            shaped = candidate.pruned().shaped()
        except (ValueError, IndexError, KeyError, ZeroDivisionError):
            continue
        if shaped.statements and shaped.outputs and shaped != case:
            yield shaped


def _steps(case: Case) -> Iterator[Case]:
    if case.threads > 1:
        yield replace(case, threads=1)
    for position in reversed(range(len(case.statements))):
        yield _without(case, position)
        yield _given(case, position)
    plain = tuple(replace(t, order=(), panels=(), gap=0) for t in case.tensors)
    yield replace(case, tensors=plain)
    for position, tensor in enumerate(case.tensors):
        if tensor.order or tensor.panels or tensor.gap:
            yield _with(case, position, replace(tensor, order=(), panels=(), gap=0))
        if tensor.role == "weight":
            yield _with(case, position, replace(tensor, role="input"))
        if tensor.role == "output" and case.readers[tensor.name]:
            yield _with(case, position, replace(tensor, role="local"))
        if tensor.role == "local":
            yield _with(case, position, replace(tensor, role=""))
    sizes = sorted({size for t in case.given for size in t.shape}, reverse=True)
    for size in sizes:
        yield from (_resized(case, size, other) for other in SMALLER if other < size)
        yield _resized(case, size, size - 1)


def _with(case: Case, position: int, tensor: Tensor) -> Case:
    tensors = (*case.tensors[:position], tensor, *case.tensors[position + 1 :])
    return replace(case, tensors=tensors)


def _without(case: Case, position: int) -> Case:
    """Without an output that nothing reads; what it reads may become one."""
    gone = case.statements[position]
    if case.readers[gone.result]:
        return case
    rest = (*case.statements[:position], *case.statements[position + 1 :])
    read = {name for s in rest for name in s.operands}
    results = {s.result for s in rest}

    def kept(t: Tensor) -> Tensor:
        unread = t.name in results and t.name not in read
        return replace(t, role="output") if unread else t

    return replace(case, statements=rest, tensors=tuple(map(kept, case.tensors)))


def _given(case: Case, position: int) -> Case:
    """With an input in the place of a statement, and without what only that needs."""
    gone = case.statements[position]
    if not case.readers[gone.result]:
        return case
    rest: list[Statement] = [s for s in case.statements if s is not gone]
    tensors = tuple(replace(t, role="input") if t.name == gone.result else t for t in case.tensors)
    outputs = {t.name for t in tensors if t.role == "output"}
    needed = set(outputs)
    for statement in reversed(rest):
        if statement.result in needed:
            needed |= set(statement.operands)
    return replace(case, tensors=tensors, statements=tuple(s for s in rest if s.result in needed))


def _resized(case: Case, size: int, other: int) -> Case:
    def sized(t: Tensor) -> Tensor:
        if t.role not in ("input", "weight") and any(s.operands for s in case.statements):
            return t
        return replace(t, shape=tuple(other if s == size else s for s in t.shape))

    def scaled(s: Statement) -> Statement:
        pairs = ((n, other if n == "width" and v == size else v) for n, v in s.scalars)
        return replace(s, scalars=tuple(pairs))

    return replace(
        case,
        tensors=tuple(map(sized, case.tensors)),
        statements=tuple(map(scaled, case.statements)),
    )
