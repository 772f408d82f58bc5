"""Where in memory the elements of a tensor are that was only moved: any number of times, one way.

Each index in memory is a sum of the tensor's own indices, each with a factor, and a number. Where
every dimension goes through one of memory, that is a strided view. Else it is one move from a view,
however many there were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from morello.checking.accesses import LETTERS
from morello.checking.statement_operators import statement_operator
from morello.ir.goal import GoalTensor
from morello.ir.layout import Axis, Layout, order_of
from morello.ir.operators import OperandIndex, Operator
from morello.language import ast
from morello.language.source import Span


class Way(Struct, frozen=True):
    """From indices of a tensor to those of the memory that it is moved from.

    Attributes:
        memory: The tensor that lies there.
        shape: That of what was moved.
        lows: Of each dimension of memory, the index of the first element.
        steps: Of each, how much its index grows with that of each dimension of what was moved.
    """

    memory: GoalTensor
    shape: tuple[int, ...]
    lows: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(tensor: GoalTensor) -> Way:
        """Of a tensor that lies in memory, or is seen there."""
        memory = tensor.whole or tensor
        axes = tensor.along
        steps = tuple(
            tuple(axis.step if axis.dimension == d else 0 for axis in axes)
            for d in range(len(memory.shape))
        )
        return Way(memory, tensor.shape, tensor.starts, steps)

    def read(
        self, indices: Sequence[OperandIndex], sizes: Mapping[str, int], dims: Sequence[str]
    ) -> Way:
        """Of what has these dimensions, and is read by these indices of what this is of."""
        factors = [[dict(index.terms).get(dim, 0) for dim in dims] for index in indices]
        low = [index.low for index in indices]
        lows = (
            first + sum(step * n for step, n in zip(steps, low, strict=True))
            for first, steps in zip(self.lows, self.steps, strict=True)
        )
        steps = (
            tuple(
                sum(s * own[p] for s, own in zip(steps, factors, strict=True))
                for p in range(len(dims))
            )
            for steps in self.steps
        )
        return Way(self.memory, tuple(sizes[d] for d in dims), tuple(lows), tuple(steps))

    def written(
        self, indices: Sequence[OperandIndex], sizes: Mapping[str, int], dims: Sequence[str]
    ) -> Way | None:
        """Of what is indexed by these sums of dimensions; none if rows do not go on in equal steps.

        ``dims``: those of what this is of.
        """
        place = {dim: p for p, dim in enumerate(dims)}
        shape, kept = [], list[tuple[int, ...]]()  # steps in all of memory, of each new dimension
        for index in indices:
            if index.margins:
                return None
            step, reach = (0,) * len(self.steps), 1
            for dim, factor in sorted(index.terms, key=lambda term: term[1]):
                if sizes[dim] == 1:
                    continue
                own = tuple(steps[place[dim]] for steps in self.steps)
                step = own if reach == 1 else step
                if factor != reach or own != tuple(reach * s for s in step):
                    return None
                reach *= sizes[dim]
            shape.append(reach)
            kept.append(step)
        steps = tuple(tuple(s[m] for s in kept) for m in range(len(self.steps)))
        return Way(self.memory, tuple(shape), self.lows, steps)

    def view(self, name: str, *, repeats: bool = False) -> GoalTensor | None:
        """As a strided view; none if it is none, or if its fastest dimension is not in one piece.

        ``repeats``: whether it may have dimensions along which elements are the same ones, which
        go through one of memory: a number has none.
        """
        order = self.memory.layout.order
        if not order:
            return None
        axes, reach = list[Axis](), dict[int, int]()
        for p, size in enumerate(self.shape):
            along = [m for m, steps in enumerate(self.steps) if steps[p]]
            if len(along) > 1 or (size > 1 and not along and not repeats):
                return None
            axes.append(Axis(along[0], self.steps[along[0]][p]) if along else Axis(order[0], 0))
        # No element is met twice, as in windows that overlap.
        for axis, size in sorted(zip(axes, self.shape, strict=True), key=lambda a: a[0].step):
            if size > 1 and axis.step:
                if axis.step < reach.get(axis.dimension, 1):
                    return None
                reach[axis.dimension] = axis.step * size
        own = order_of(axes, order)
        if own and self.shape[own[-1]] > 1 and axes[own[-1]] != Axis(order[-1]):
            return None
        dtype, layout = self.memory.dtype, Layout(own)
        return GoalTensor(
            name, "view", dtype, self.shape, layout, self.memory, self.lows, tuple(axes)
        )

    def last_move(self, name: str, span: Span) -> tuple[GoalTensor, Operator, dict[str, int]]:
        """The one move that is left, from a view: that, the operator, and sizes of its dimensions.

        What is fastest in memory stays in the view, also with one element: then a dimension of size
        1 goes through it, and the last one of the result through that.

        Args:
            name: What the view is called.
            span: Where the operator is written.
        """
        layout, memory = self.memory.layout, self.memory
        reach = [
            1 + sum(step * (size - 1) for step, size in zip(steps, self.shape, strict=True))
            for steps in self.steps
        ]
        kept = [m for m, size in enumerate(reach) if size > 1 or m == layout.fastest]
        view = GoalTensor(
            name,
            "view",
            memory.dtype,
            tuple(reach[m] for m in kept),
            Layout(tuple(kept.index(m) for m in layout.order if m in kept)),
            memory,
            self.lows,
            tuple(map(Axis, kept)),
        )
        dims, one = LETTERS[: len(self.shape)], LETTERS[len(self.shape)]
        sizes = dict(zip(dims, self.shape, strict=True))
        source: list[tuple[tuple[str, int], ...]] = []
        target: list[tuple[tuple[str, int], ...]] = [((dim, 1),) for dim in dims]
        for m in kept:
            steps = zip(dims, self.steps[m], self.shape, strict=True)
            source.append(tuple((dim, step) for dim, step, n in steps if step and n > 1))
        if () in source:
            source = [terms or ((one, 1),) for terms in source]
            target[-1] = (*target[-1], (one, 1))
            sizes[one] = 1
        alone = {terms[0][0] for terms in (*source, *target) if [n for _, n in terms] == [1]}
        stated = {dim: size for dim, size in sizes.items() if dim not in alone or dim == one}
        read, written = (
            ast.TensorParameter(
                name, "A", tuple(ast.Index(terms, span=span) for terms in indices), span=span
            )
            for name, indices in (("X1", source), ("Y", target))
        )
        value, result = (ast.Element(p.name, p.indices, span=span) for p in (read, written))
        statement = ast.Statement(result, "=", value, span=span)
        return view, statement_operator([read], written, statement, stated), sizes
