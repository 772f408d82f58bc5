"""Operands as kernel templates see them: ``{{ A[0, j] }}`` and ``{{ X.pointer(0, j) }}``."""

from __future__ import annotations

from morello.codegen.c.scope import CScope, Memory, c_sum
from morello.errors import MorelloError
from morello.ir.layout import Axis
from morello.ir.programs.tree import Affine, View


class COperand:
    """A view of a tensor at one place of the program.

    Indices count elements of the view. Fewer indices than the view has dimensions address the last
    ones; the others are 0.
    """

    def __init__(
        self,
        name: str,
        view: View,
        scope: CScope,
        *,
        reads: bool,
        cache: int = 0,
        home: int = 0,
        kept: View | None = None,
    ) -> None:
        self.name = name
        self.view = view
        self.reads = reads
        """Whether the kernel needs what it holds: false of an output that is not accumulated to."""
        self.cache = cache
        """Which cache the kernel finds it in, 1 being the nearest; 0 is no cache."""
        self.home = home
        """Which cache its tensor is in when a call begins, or is made in."""
        self.copied = None if kept is None else COperand(name, kept, scope, reads=False)
        """Where the kernel has to store what it reads of it, if anywhere."""
        self._scope = scope
        self._storage = scope.storage(view.tensor)

    @property
    def lanes(self) -> int:
        """Elements that one C expression holds: those of a register, or one in memory."""
        return 1 if isinstance(self._storage, Memory) else self._storage.lanes

    def __getitem__(self, index: int | tuple[int, ...]) -> str:
        """C lvalue of an element in memory, or of the register that begins with it."""
        full = self._full(index if isinstance(index, tuple) else (index,))
        storage = self._storage
        if isinstance(storage, Memory):
            return f"{storage.name}[{self._linear(full, storage)}]"
        position = tuple(map(self._constant, self.view.place(full)))
        fastest = self.view.tensor.layout.fastest
        if fastest is not None and position[fastest] % storage.lanes:
            raise self._internal(f"element {list(position)} is not the first lane of a register")
        return storage.register(position)

    def pointer(self, *index: int) -> str:
        """C pointer to an element."""
        storage = self._memory()
        return f"&{storage.name}[{self._linear(self._full(index), storage)}]"

    def address(self, *index: int) -> str:
        """C integer: where an element is, or would be that lies outside of the tensor."""
        storage, element = self._memory(), self.view.tensor.dtype.bytes
        scale = f" * {element}" if element > 1 else ""
        return f"(uintptr_t){storage.name} + ({self._linear(self._full(index), storage)}){scale}"

    def stride(self, dimension: int) -> int:
        """Elements in memory from one to the next along a dimension, within a panel."""
        storage, axis = self._memory(), self.view.axis(range(len(self.view.sizes))[dimension])
        return storage.strides[axis.dimension] * axis.step

    def advance(self, view: View, variable: str) -> int:
        """Elements in memory from one value of a loop's variable to the next, in a view of it."""
        strides = self._memory().strides
        terms = (dict(offset.terms).get(variable, 0) for offset in view.offsets)
        return sum(term * stride for term, stride in zip(terms, strides, strict=True))

    @property
    def pieces(self) -> tuple[tuple[int, int], ...]:
        """What it spans in memory: (how many, elements apart), those farthest apart first.

        What touches is one. A part that begins within a panel counts as one that begins with it.
        """
        storage, layout = self._memory(), self.view.tensor.layout
        spans = [1] * len(storage.strides)
        for size, axis in zip(self.view.sizes, self.view.every_axis, strict=True):
            spans[axis.dimension] += (size - 1) * axis.step
        extents = []
        for dimension, (span, apart) in enumerate(zip(spans, storage.strides, strict=True)):
            width = layout.cuts.get(dimension, span)
            extents.append((min(span, width), apart))
            if span > width:
                extents.append((-(-span // width), storage.apart[dimension]))
        pieces: list[tuple[int, int]] = []
        for count, apart in sorted(extents, key=lambda extent: -extent[1]):
            if pieces and pieces[-1][1] == count * apart:
                pieces[-1] = (pieces[-1][0] * count, apart)
            elif count > 1:
                pieces.append((count, apart))
        return tuple(pieces)

    @property
    def rereads(self) -> int:
        """How often loops around the kernel that stay in it run, within those that move it."""
        moving = {name for offset in self.view.offsets for name, _ in offset.terms}
        count, scope = 0, self._scope
        for name, value in scope.variables.items():
            if name in moving:
                count = max(count, 1)
            elif isinstance(value, str):
                count *= -(-scope.ends[name] // scope.steps[name])
        return max(count, 1)

    def moves(self, dimension: int) -> bool:
        """Whether loops around the kernel go along a dimension of it."""
        offset = self.view.offsets[self.view.axis(dimension).dimension]
        return bool(self._scope.resolve(offset)[1])

    def _memory(self) -> Memory:
        if not isinstance(self._storage, Memory):
            raise self._internal("it is in registers, which have no address")
        return self._storage

    def _full(self, index: tuple[int, ...]) -> tuple[int, ...]:
        sizes = self.view.sizes
        full = (0,) * (len(sizes) - len(index)) + index
        if len(full) != len(sizes) or any(not 0 <= i < n for i, n in zip(full, sizes, strict=True)):
            raise self._internal(f"index {list(index)} is outside its sizes {list(sizes)}")
        return full

    def _linear(self, index: tuple[int, ...], storage: Memory) -> str:
        cuts, total, between = self.view.tensor.layout.cuts, Affine(), []
        places = zip(self.view.place(index), storage.strides, strict=True)
        for dimension, (place, stride) in enumerate(places):
            within = place
            if width := cuts.get(dimension):
                apart = storage.apart[dimension]
                across, within, stays = self._scope.split(place, width)
                # Panels are apart by whole rows of this width, gaps too: the quotient is exact.
                total = total.plus(across, apart // width)
                # C has to divide where the offset is known at run time only to be in some panel.
                if not stays:
                    between.append(self._between_panels(within, width, apart, stride))
                    continue
            total = total.plus(within, stride)
        return " + ".join([c_sum(*self._scope.resolve(total)), *between])

    def _between_panels(self, offset: Affine, width: int, apart: int, stride: int) -> str:
        """Elements up to an offset along panels that may be in any of them."""
        text = c_sum(*self._scope.resolve(offset))
        within = f"({text}) % {width}" + (f" * {stride}" if stride > 1 else "")
        return f"({text}) / {width} * {apart} + {within}"

    def _constant(self, place: Affine) -> int:
        constant, terms = self._scope.resolve(place)
        if terms:
            raise self._internal(f"it is in registers but moves with '{next(iter(terms))}'")
        return constant

    def _internal(self, what: str) -> MorelloError:
        return MorelloError(
            f"operand '{self.name}': {what}",
            help="the kernel's template or the plan is wrong; report it with the .mspec file",
        )


def view_fastest(view: View) -> int | None:
    """The dimension along which neighbours share a register; none if it has none."""
    fastest = view.tensor.layout.fastest
    if fastest is None or not view.sizes or view.axis(view.order[-1]) != Axis(fastest):
        return None
    return view.order[-1]
