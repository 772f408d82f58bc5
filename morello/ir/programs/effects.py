"""What parts of a program read and write, as `morello.ir.programs.verifier` puts it together."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from morello.errors import InternalError
from morello.ir.programs.regions import Bounds, Region, disjoint, joined, without
from morello.ir.programs.tree import (
    Affine,
    Apply,
    KernelCall,
    Lookup,
    Loop,
    Origin,
    ParallelLoop,
    Version,
)
from morello.records import replace


class Statement(Struct, frozen=True):
    """A call, and the rule that made the loop or buffer around it."""

    call: KernelCall | Lookup | Apply
    origin: Origin | None

    def __str__(self) -> str:
        call = self.call
        if isinstance(call, Lookup):
            return f"the lookup in {call.table.tensor.name}"
        name = call.kernel.name if isinstance(call, KernelCall) else "an operation"
        operands = ", ".join(view.tensor.name for view in call.operands)
        rule = "" if self.origin is None else f" in '{self.origin.name}'"
        return f"{name}({operands}), which computes {call.operation.operator.label}{rule}"


class Access(Struct, frozen=True):
    """A read or a write of a part of a tensor. ``ordered``: in an ordered step of a loop."""

    tensor: str
    region: Region
    version: Version
    statement: Statement
    ordered: bool = False

    def at(self, variable: str, value: Affine) -> Access:
        """With something in the place of a variable."""
        region, version = self.region.at(variable, value), self.version.at(variable, value)
        return replace(self, region=region, version=version)


@dataclass(slots=True)
class Effects:
    """What a subtree finds in memory and what it leaves there, in program order."""

    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)


def left_by(loop: Loop | ParallelLoop, write: Access) -> Access:
    """What a write in an iteration leaves when the whole loop is done."""
    name = loop.variable
    region = write.region.over(name, loop.count, loop.step)
    version = write.version.at(name, Affine((loop.count - 1) * loop.step))
    moves = write.region.at(name, Affine()) != write.region
    if version != write.version and moves:
        region = replace(region, exact=False)  # each iteration has left its own
    return replace(write, region=region, version=version)


def add_write(writes: list[Access], write: Access, bounds: Bounds) -> None:
    """Add what is written last, if it is not there; what it continues or hides goes."""
    later: list[Region] = []  # of the same tensor, and still to be seen
    for position in reversed(range(len(writes))):
        before = writes[position]
        if before.tensor != write.tensor:
            continue
        if (before.version, before.ordered) == (write.version, write.ordered):
            if not without(write.region, before.region, bounds):
                return  # nothing that was written later is there
            both = joined(before.region, write.region)
            # Joined, the older one comes last. It must not pass what was written over it.
            if both is not None and all(disjoint(before.region, r, bounds) for r in later):
                del writes[position]
                write = replace(write, region=both)
                continue
        if not disjoint(before.region, write.region, bounds):
            # Some of it is still to be seen. What is older must not come to stand behind it.
            if before.ordered != write.ordered or without(before.region, write.region, bounds):
                break
            del writes[position]
        else:
            later.append(before.region)
    writes.append(write)


def meant(access: Access) -> str:
    """What a read means, or a write leaves."""
    version = access.version
    name = version.name or "its own value"
    when = "" if version.iteration is None else f" of iteration {version.iteration}"
    return f"'{access.tensor}' for {name}{when}"


def conflict(read: Access, write: Access) -> InternalError:
    """The error for a read that finds something else."""
    return InternalError(
        f"{read.statement} reads {meant(read)}, but {write.statement} has left {meant(write)} there"
    )


def race(write: Access, other: Access) -> InternalError:
    """The error for iterations that touch what another one writes."""
    both = f"{write.statement}; {other.statement}"
    return InternalError(f"iterations of a parallel loop share '{write.tensor}': {both}")
