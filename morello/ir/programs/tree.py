"""Programs: what a solved Spec becomes. Loops, buffers, and kernel calls on views of tensors.

A program is a tree of frozen nodes. It can be executed by the reference (numpy), printed, and
emitted as C by a target's emitter. A *partial* program still has `Apply` leaves: operations that
no kernel was chosen for; the reference executes those from the operator's declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.layout import Axis, Layout, Order, order_of
from morello.ir.operators import Operation
from morello.ir.target import Microkernel, Target
from morello.ir.views import ViewMap
from morello.language.source import Span
from morello.records import replace


class Affine(Struct, frozen=True):
    """``constant + sum of factor * variable``: an offset in elements along one dimension."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """This plus ``factor`` times the other; terms stay sorted by variable."""
        terms = dict(self.terms)
        for variable, coefficient in other.terms:
            terms[variable] = terms.get(variable, 0) + factor * coefficient
        kept = tuple(sorted((v, c) for v, c in terms.items() if c))
        return Affine(self.constant + factor * other.constant, kept)

    def with_value(self, variable: str, value: Affine) -> Affine:
        """This with something in the place of a variable."""
        terms = dict(self.terms)
        factor = terms.pop(variable, 0)
        return Affine(self.constant, tuple(terms.items())).plus(value, factor)


class Tensor(Struct, frozen=True):
    """An argument or a buffer. ``shape`` in elements by logical dimension.

    ``role`` is ``input``, ``weight``, ``output``, ``positions`` or ``buffer``. ``vector`` is the
    register width in bytes, 0 for memory. In registers every row along the layout's fastest
    dimension starts a new register; the last one of a row may be partly used.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout
    level: str
    vector: int
    role: str


class Version(Struct, frozen=True):
    """What is meant to lie in memory where a view reads or writes: `morello.ir.programs.verifier`.

    ``name``: that of a tensor which is computed where another one will be; else empty.
    ``iteration``: the value of a loop's variable in the iteration that this is computed for, where
    iterations overlap.
    """

    name: str = ""
    iteration: Affine | None = None

    def at(self, variable: str, value: Affine) -> Version:
        """With something in the place of a variable."""
        if self.iteration is None:
            return self
        return Version(self.name, self.iteration.with_value(variable, value))


PLAIN = Version()
"""What a tensor holds by its own name."""


@dataclass(frozen=True, slots=True)
class View:
    """A rectangular part of a tensor.

    It begins at ``offsets``, one along each dimension of the tensor. Its own dimensions, of these
    ``sizes``, are the tensor's; or run along ``axes``, one each, and along all others it has one
    element. ``level`` is where it is known to be: a part of a tensor in memory may be held by a
    cache. ``version`` is what the program means to find or leave there; views of equal elements are
    equal. ``part_of_rows``: what it is a part of runs on.
    """

    tensor: Tensor
    offsets: tuple[Affine, ...]
    sizes: tuple[int, ...]
    level: str
    axes: tuple[Axis, ...] | None = None
    version: Version = field(default=PLAIN, compare=False)
    part_of_rows: bool = field(default=False, compare=False)

    @property
    def runs_on(self) -> bool:
        """Whether it goes from the end of a row to the next one, or may be beyond the end of one.

        Its place along a dimension is then no index of the tensor; that in memory is right.
        """
        return self.part_of_rows or any(axis.runs_on for axis in self.every_axis)

    def axis(self, position: int) -> Axis:
        """What its dimension at this position runs along."""
        return Axis(position) if self.axes is None else self.axes[position]

    def place(self, index: Sequence[int]) -> tuple[Affine, ...]:
        """Where in the tensor an element of the view is."""
        places = list(self.offsets)
        for position, i in enumerate(index):
            axis = self.axis(position)
            places[axis.dimension] = places[axis.dimension].plus(Affine(axis.step * i))
        return tuple(places)

    @property
    def order(self) -> Order:
        """Its dimensions in memory order, the slowest first."""
        return order_of(self.every_axis, self.tensor.layout.order)

    @property
    def every_axis(self) -> tuple[Axis, ...]:
        """What its dimensions run along."""
        return tuple(map(self.axis, range(len(self.sizes))))

    def seen(self, view_map: ViewMap, sizes: tuple[int, ...]) -> View:
        """What can be seen of it, with these sizes."""
        offsets = list(self.offsets)
        for position, start in enumerate(view_map.starts):
            own = self.axis(position)
            offsets[own.dimension] = offsets[own.dimension].plus(Affine(own.step * start))
        along = [axis.of(self.axis(axis.dimension)) for axis in view_map.axes]
        return self._along(along, offsets, sizes)

    def under(self, part: View) -> View:
        """What lies where a part of a copy does: of a tensor that has the view's dimensions."""
        offsets = list(self.offsets)
        for position, start in enumerate(part.offsets):
            own = self.axis(position)
            offsets[own.dimension] = offsets[own.dimension].plus(start, own.step)
        along = [axis.of(self.axis(axis.dimension)) for axis in part.every_axis]
        return self._along(along, offsets, part.sizes)

    def _along(self, axes: list[Axis], offsets: list[Affine], sizes: tuple[int, ...]) -> View:
        """A view of the same tensor along these axes."""
        same = axes == list(map(Axis, range(len(self.tensor.shape))))
        return replace(
            self,
            offsets=tuple(offsets),
            sizes=sizes,
            axes=None if same else tuple(axes),
            part_of_rows=self.runs_on,
        )


class Origin(Struct, frozen=True):
    """Which rule or kernel made a node, and where that is written."""

    name: str
    span: Span


class Loop(Struct, frozen=True):
    """``count`` runs of ``body`` with ``variable`` = 0, step, 2 * step, ...

    A loop over a tile's remainder is not here: the tail is the node after it, with constant
    offsets. ``unrolled``: some view in a level that is not addressable depends on the variable, so
    that the emitter has to write the body ``count`` times.
    """

    variable: str
    dimension: str
    count: int
    step: int
    body: Node
    unrolled: bool
    origin: Origin


class ParallelLoop(Struct, frozen=True):
    """Like `Loop`, with iterations that may run at once; ``tail`` is one more of them.

    If any of them has an `Ordered` step, each has one. Where the body is a parallel loop itself, so
    is the tail, of as many iterations with the same step; these loops are one, over a grid of
    tiles, which the ``threads`` of the outer one share.
    """

    variable: str
    dimension: str
    count: int
    step: int
    threads: int
    body: Node
    tail: Node | None
    origin: Origin


class Ordered(Struct, frozen=True):
    """``body`` runs in one iteration of the parallel loop around it after the other, in order."""

    body: Node


class Allocate(Struct, frozen=True):
    """A buffer that lives as long as ``body`` runs.

    ``copied``: the first step of ``body`` does nothing but to copy that to all of the buffer. It
    has the buffer's dimensions.
    """

    tensor: Tensor
    body: Node
    origin: Origin
    copied: View | None = None


class Resident(Struct, frozen=True):
    """A note without code: while ``body`` runs, ``view`` is held by the cache ``view.level``."""

    view: View
    body: Node
    origin: Origin


class Prepack(Struct, frozen=True):
    """``body`` packs a weight, once before all calls. `morello.codegen.prepack` takes it apart."""

    weight: Tensor
    body: Node


class Block(Struct, frozen=True):
    """Steps, in order."""

    steps: tuple[Node, ...]


class FirstUseCopy(Struct, frozen=True):
    """That a kernel fills an operand, in the first iteration of loops around it.

    It reads ``source`` in the place of the operand at ``position``, and stores it there, where all
    variables in ``first`` are 0; elsewhere it reads the operand.
    """

    position: int
    source: View
    first: tuple[str, ...]


class KernelCall(Struct, frozen=True):
    """A microkernel on views.

    ``sizes`` of the operation's dimensions, ``bindings`` of the variables in the kernel's pattern
    (such as n).
    """

    kernel: Microkernel
    operation: Operation
    sizes: tuple[int, ...]
    bindings: tuple[tuple[str, int], ...]
    operands: tuple[View, ...]
    kept: FirstUseCopy | None = None


class Lookup(Struct, frozen=True):
    """Parts of a table, each by an index that is data: see `morello.ir.goal.Lookup`."""

    output: View
    table: View
    indices: View
    axis: int

    @property
    def operands(self) -> tuple[View, ...]:
        """What it reads, and then what it writes."""
        return self.table, self.indices, self.output


class Apply(Struct, frozen=True):
    """An operation that is not yet implemented, on views. Only in partial programs."""

    operation: Operation
    sizes: tuple[int, ...]
    operands: tuple[View, ...]


Node = (
    Loop
    | ParallelLoop
    | Ordered
    | Allocate
    | Resident
    | Prepack
    | Block
    | KernelCall
    | Lookup
    | Apply
)


def walk(node: Node) -> Iterator[Node]:
    """The node itself and all that are in it, in program order."""
    yield node
    match node:
        case Block(steps=steps):
            inner = steps
        case ParallelLoop(body=body, tail=tail):
            inner = (body,) if tail is None else (body, tail)
        case Loop(body=body) | Ordered(body=body) | Allocate(body=body):
            inner = (body,)
        case Resident(body=body) | Prepack(body=body):
            inner = (body,)
        case KernelCall() | Lookup() | Apply():
            inner = ()
    for each in inner:
        yield from walk(each)


class Packing(Struct, frozen=True):
    """How a weight is packed, once for any number of calls.

    ``body`` writes ``packed``, which the function takes in the place of ``weight``.
    """

    weight: Tensor
    packed: Tensor
    body: Node


class Program(Struct, frozen=True):
    """A whole function.

    ``arguments`` are the inputs and weights in the order of the spec, then the outputs.
    ``packings`` are of those weights that are not taken as they are declared. ``positions`` are
    rows of the whole numbers from 0 on, which are part of the program.
    """

    name: str
    arguments: tuple[Tensor, ...]
    body: Node
    threads: int
    target: Target
    title: str
    packings: tuple[Packing, ...] = ()
    positions: tuple[Tensor, ...] = ()

    @property
    def flushes(self) -> bool:
        """Whether some kernel of it may take subnormal numbers as 0."""
        return any(isinstance(n, KernelCall) and n.kernel.clauses.flushes for n in walk(self.body))
