"""Proves of a program that every read sees what it should; run after each pass that changes a tree.

Of each tensor that memory is kept for, a read means one *version*: what the tensor holds by its own
name, what is computed there before it, or what is computed for one iteration. The verifier goes
through the tree once, in program order, and keeps for each subtree what it has still to find in
memory when it begins (*reads*) and what it leaves there (*writes*), as regions whose starts are
affine in the variables of the loops around. From that follows:

* A read sees the version that it means: no other one was written to its elements in between.
* Nothing is read before it is written, and all of every output is written.
* Indices stay inside their tensors.
* Iterations of a parallel loop write disjoint parts, and read nothing that another one writes,
  unless both are in ordered steps.
* A kernel that reads where it writes does so element for element.
* What is written to registers is whole vectors, or goes on to the end of the row.

What a loop does is told by one iteration and how its regions move from one to the next. A tensor of
which some part is not rectangular (rows that run on into each other) is not followed: of it only
the bounds are proved. So it is with a tensor whose elements are written in steps, as where rows
are merged into one, if the parts that are written cannot be told to fill it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from morello.errors import InternalError
from morello.ir.graphs.composition import composition_of
from morello.ir.programs.effects import (
    Access,
    Effects,
    Statement,
    add_write,
    conflict,
    left_by,
    meant,
    race,
)
from morello.ir.programs.regions import (
    Region,
    disjoint,
    limits,
    region_of,
    whole_region,
    without,
)
from morello.ir.programs.tree import (
    PLAIN,
    Affine,
    Allocate,
    Apply,
    Block,
    KernelCall,
    Lookup,
    Loop,
    Node,
    Ordered,
    Origin,
    ParallelLoop,
    Prepack,
    Program,
    Resident,
    Tensor,
    View,
    walk,
)
from morello.records import replace


def verify_tree(node: Node, arguments: Iterable[Tensor]) -> None:
    """Prove that a program reads and writes what it should.

    Args:
        node: The whole program, or a packing.
        arguments: What the caller gives; of outputs all is to be written.

    Raises:
        InternalError: It does not, or that could not be proved.
    """
    given = {tensor.name: tensor for tensor in arguments}
    followed, in_steps = _followed(node)
    try:
        _verify(node, given, followed)
    except InternalError:
        # Parts that are written in steps may fill a tensor only together, which regions cannot
        # always say.
        if not in_steps:
            raise
        _verify(node, given, followed - in_steps)


def _verify(node: Node, given: Mapping[str, Tensor], followed: frozenset[str]) -> None:
    effects = _Verifier(followed).effects(node)
    for read in effects.reads:
        tensor = given.get(read.tensor)
        if tensor is None:
            raise InternalError(f"{read.statement} reads '{read.tensor}' outside of its life")
        if tensor.role == "output":
            raise InternalError(f"{read.statement} reads '{read.tensor}' before it is written")
        if read.version != PLAIN:
            raise InternalError(f"{read.statement} reads {meant(read)}, which nothing wrote")
    for write in effects.writes:
        if write.tensor in given and given[write.tensor].role != "output":
            raise InternalError(f"{write.statement} writes to '{write.tensor}', an input")
    for tensor in given.values():
        if tensor.role == "output":
            _is_written(tensor, effects.writes, followed)


def verify_program(program: Program) -> None:
    """Prove the same of a whole function, and of those that pack its weights."""
    packed = {packing.weight.name: packing.packed for packing in program.packings}
    arguments = [replace(packed.get(t.name, t), role=t.role) for t in program.arguments]
    verify_tree(program.body, [*arguments, *program.positions])
    for packing in program.packings:
        output = replace(packing.packed, role="output")
        verify_tree(packing.body, (packing.weight, output))


def _is_written(tensor: Tensor, writes: Sequence[Access], followed: frozenset[str]) -> None:
    if tensor.name not in followed:
        return
    rest = [whole_region(tensor.shape)]
    for write in reversed(writes):
        if write.tensor == tensor.name and rest:
            if write.version != PLAIN and any(not disjoint(r, write.region, {}) for r in rest):
                raise InternalError(f"{write.statement} leaves {meant(write)} in an output")
            rest = [part for r in rest for part in without(r, write.region, {})]
    if rest:
        raise InternalError(f"not all of '{tensor.name}' is written: {rest[0]}")


def _followed(node: Node) -> tuple[frozenset[str], frozenset[str]]:
    """Tensors of which all views are rectangular, and those of them that are written in steps."""
    calls = [n for n in walk(node) if isinstance(n, KernelCall | Lookup | Apply)]
    views = [view for call in calls for view in call.operands]
    crooked = {v.tensor.name for v in views if v.runs_on}
    followed = frozenset(v.tensor.name for v in views) - crooked
    written = [call.operands[-1] for call in calls]
    return followed, followed & {v.tensor.name for v in written if _in_steps(v)}


def _in_steps(view: View) -> bool:
    """Whether elements next to each other, or next parts, may be apart in the tensor."""
    factors = [abs(factor) for offset in view.offsets for _, factor in offset.terms]
    return max([*factors, *(axis.step for axis in view.every_axis)], default=1) > 1


class _Verifier:
    """``bounds`` and ``steps``: of the variables around; ``origins``: what made the nodes around.

    ``followed``: tensors of which it is told what they hold.
    """

    def __init__(self, followed: frozenset[str]) -> None:
        self.followed = followed
        self.bounds: dict[str, tuple[int, int]] = {}
        self.steps: dict[str, int] = {}
        self.origins: list[Origin] = []
        self.ordered = False

    def effects(self, node: Node) -> Effects:
        """What a node does, where nothing is wrong in it."""
        match node:
            case Block(steps=steps):
                return self._in_order(steps)
            case Loop() | ParallelLoop():
                with_origin = self._within(node.origin, node.body, node)
                return self._repeated(node, with_origin)
            case Allocate(tensor=tensor, body=body):
                return self._alive(tensor, self._within(node.origin, body))
            case Resident(view=view, body=body):
                self._stays_inside(view)
                return self._within(node.origin, body)
            case Prepack(body=body):
                return self.effects(body)
            case Ordered(body=body):
                self.ordered = True
                found = self.effects(body)
                self.ordered = False
                return found
            case KernelCall() | Apply():
                return self._call(node)
            case Lookup():
                return self._lookup(node)

    def _within(
        self, origin: Origin, body: Node, loop: Loop | ParallelLoop | None = None
    ) -> Effects:
        self.origins.append(origin)
        if loop is not None:
            self.bounds[loop.variable] = (0, (loop.count - 1) * loop.step)
            self.steps[loop.variable] = loop.step
        found = self.effects(body)
        self.origins.pop()
        return found

    # ------------------------------------------------------------------ calls

    def _call(self, call: KernelCall | Apply) -> Effects:
        statement = Statement(call, self.origins[-1] if self.origins else None)
        *inputs, output = call.operands
        for view in call.operands:
            self._stays_inside(view, statement)
        self._element_for_element(statement)
        self._whole_vectors(output, statement)
        reads = [output, *inputs] if call.operation.accumulating else inputs
        done = Effects()
        kept = call.kept if isinstance(call, KernelCall) else None
        if kept is not None:
            first = self._accesses([kept.source], statement)
            stored = self._accesses([call.operands[kept.position]], statement)
            self._then(done, Effects(first, stored))
        self._then(
            done,
            Effects(self._accesses(reads, statement), self._accesses([output], statement)),
        )
        return done

    def _lookup(self, node: Lookup) -> Effects:
        statement = Statement(node, None)
        *inputs, output = node.operands
        for view in node.operands:
            self._stays_inside(view, statement)
        return Effects(self._accesses(inputs, statement), self._accesses([output], statement))

    def _accesses(self, views: Iterable[View], statement: Statement) -> list[Access]:
        return [
            Access(v.tensor.name, region_of(v), v.version, statement, self.ordered)
            for v in views
            if v.tensor.name in self.followed
        ]

    def _element_for_element(self, statement: Statement) -> None:
        """An input that has elements in common with the output is read as that is written."""
        call = statement.call
        assert not isinstance(call, Lookup)
        *inputs, output = call.operands
        operation, written = call.operation, region_of(output)
        for name, access, view in zip(operation.names, operation.operands, inputs, strict=False):
            if view.tensor.name != output.tensor.name:
                continue
            if disjoint(region_of(view), written, self.bounds):
                continue
            composition = composition_of(operation.operator)
            alike = view == replace(output, level=view.level)
            if composition is not None:
                alike = alike and composition.may_be_overwritten(name)
            else:
                same = access == operation.operands[-1]
                alike = alike and same and operation.operator.reduction is None
            if not alike:
                raise InternalError(f"{statement} overwrites '{view.tensor.name}' as it reads it")

    def _whole_vectors(self, view: View, statement: Statement) -> None:
        """What is written to vectors leaves none of their other elements to be kept."""
        tensor, region = view.tensor, region_of(view)
        lanes, fastest = tensor.vector // tensor.dtype.bytes, tensor.layout.fastest
        if lanes < 2 or fastest is None:
            return
        start, size = region.starts[fastest], region.sizes[fastest]
        low, high = limits(start, self.bounds)
        steps = [start.constant, *(f * self.steps[variable] for variable, f in start.terms)]
        ends = low == high and low + size == tensor.shape[fastest]
        if any(step % lanes for step in steps) or (size % lanes and not ends):
            raise InternalError(
                f"{statement} writes a part of a vector of '{tensor.name}': {region}"
            )

    def _stays_inside(self, view: View, statement: Statement | None = None) -> None:
        region, shape = region_of(view), view.tensor.shape
        ends = [limits(start, self.bounds) for start in region.starts]
        if view.tensor.name in self.followed or statement is None:
            inside = all(
                low >= 0 and high + size <= extent
                for (low, high), size, extent in zip(ends, region.sizes, shape, strict=True)
            )
        else:
            inside = all(low >= 0 for low, _ in ends) and _last_place(view, ends) < prod(shape)
        if not inside and not (statement is None and view.runs_on):
            where = "a cache" if statement is None else str(statement)
            raise InternalError(f"{where} reaches outside of '{view.tensor.name}': {region}")

    # ------------------------------------------------------------------ sequences

    def _in_order(self, steps: Sequence[Node]) -> Effects:
        done = Effects()
        for step in steps:
            self._then(done, self.effects(step))
        return done

    def _then(self, done: Effects, following: Effects) -> None:
        """What follows is done as well."""
        for read in following.reads:
            done.reads += self._unmet(read, done.writes)
        for write in following.writes:
            add_write(done.writes, write, self.bounds)

    def _unmet(self, read: Access, writes: Sequence[Access]) -> list[Access]:
        """What of a read none of these writes has left there.

        Raises:
            InternalError: One of them has left another version.
        """
        rest = [read.region]
        for write in reversed(writes):
            if write.tensor != read.tensor or not rest:
                continue
            if write.version == read.version:
                rest = [part for r in rest for part in without(r, write.region, self.bounds)]
            elif any(not disjoint(r, write.region, self.bounds) for r in rest):
                raise conflict(read, write)
        return [replace(read, region=region) for region in rest]

    def _alive(self, tensor: Tensor, body: Effects) -> Effects:
        """What is left of a subtree when its buffer is gone."""
        for read in body.reads:
            if read.tensor == tensor.name:
                raise InternalError(
                    f"{read.statement} reads {meant(read)} before it is written: {read.region}"
                )
        others = [write for write in body.writes if write.tensor != tensor.name]
        return Effects(body.reads, others)

    # ------------------------------------------------------------------ loops

    def _repeated(self, loop: Loop | ParallelLoop, once: Effects) -> Effects:
        tail = Effects()
        if isinstance(loop, ParallelLoop):
            self._apart(loop, once)
            if loop.tail is not None:
                tail = self._within(loop.origin, loop.tail)
        whole = Effects()
        for read in once.reads:
            whole.reads += self._over(loop, read, once.writes)
        for write in once.writes:
            add_write(whole.writes, left_by(loop, write), self.bounds)
        del self.bounds[loop.variable]
        if isinstance(loop, ParallelLoop):
            self._beside(whole, tail)
        self._then(whole, tail)
        return whole

    def _over(
        self, loop: Loop | ParallelLoop, read: Access, writes: Sequence[Access]
    ) -> list[Access]:
        """What of a read in an iteration the whole loop finds in memory when it begins."""
        name, count, step = loop.variable, loop.count, loop.step
        first = read.at(name, Affine())
        if count == 1:
            return [first]
        # Only what the iteration right before wrote counts. What is older has to be in memory
        # before the loop: that asks too much at worst.
        back = Affine(-step, ((name, 1),))
        bounds = {**self.bounds, name: (step, (count - 1) * step)}
        self.bounds, outer = bounds, self.bounds
        try:
            rest = self._unmet(read, [write.at(name, back) for write in writes])
            for part in rest:
                self._keeps_version(loop, part, writes)
        finally:
            self.bounds = outer
        found = [first]
        for part in rest:
            if part.version.at(name, Affine()) != part.version:
                raise InternalError(f"{part.statement} reads {meant(part)}, which nothing wrote")
            # A whole read, over all iterations, has the first one in it.
            over = replace(part, region=part.region.over(name, count, step))
            found = [over] if part.region == read.region else [*found, over]
        return found

    def _keeps_version(
        self, loop: Loop | ParallelLoop, read: Access, writes: Sequence[Access]
    ) -> None:
        """No earlier iteration has left another version where one reads."""
        for write in writes:
            other = write.tensor == read.tensor and write.version != read.version
            if other and not self._never_meet(loop, read.region, write.region):
                raise conflict(read, write)

    def _never_meet(self, loop: Loop | ParallelLoop, later: Region, earlier: Region) -> bool:
        """Whether what an iteration does to a region is apart from any before it."""
        # Some pairs do not exist: their earlier iteration is before the first. More is asked then.
        back = Affine(0, ((loop.variable, 1), (DISTANCE, -loop.step)))
        bounds = {**self.bounds, DISTANCE: (1, loop.count - 1)}
        return disjoint(later, earlier.at(loop.variable, back), bounds)

    def _apart(self, loop: ParallelLoop, once: Effects) -> None:
        """No iteration of a parallel loop touches what another one writes."""
        if loop.count == 1:
            return
        for write in once.writes:
            for other in (*once.reads, *once.writes):
                if other.tensor != write.tensor or (other.ordered and write.ordered):
                    continue
                one, two = other.region, write.region
                if not (self._never_meet(loop, one, two) and self._never_meet(loop, two, one)):
                    raise race(write, other)

    def _beside(self, whole: Effects, tail: Effects) -> None:
        """Nor does the tail, which is one more iteration."""
        for one, other in ((whole, tail), (tail, whole)):
            for write in one.writes:
                for touched in (*other.reads, *other.writes):
                    if touched.tensor != write.tensor or (touched.ordered and write.ordered):
                        continue
                    if not disjoint(write.region, touched.region, self.bounds):
                        raise race(write, touched)


DISTANCE = "later iteration - earlier iteration"
"""A variable of its own: no dimension of a program has such a name."""


def _last_place(view: View, ends: Sequence[tuple[int, int]]) -> int:
    """The last element of a view whose rows run on, counted in the order of memory."""
    shape, place, stride = view.tensor.shape, 0, 1
    last = [high for _, high in ends]
    for axis, size in zip(view.every_axis, view.sizes, strict=True):
        last[axis.dimension] += axis.step * (size - 1)
    for dimension in reversed(view.tensor.layout.order):
        place += last[dimension] * stride
        stride *= shape[dimension]
    return place
