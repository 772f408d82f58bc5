"""How the dimensions of a graph's operator index its tensors: those of its nodes, matched.

A dimension of the operator stands for those of all nodes that index the same tensors alike. Where
nodes do not agree on what it is to make one smaller, it is *pinned*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from morello.ir.graphs.graph import Graph
from morello.ir.graphs.substitution import Substitution
from morello.ir.operators import OperandIndex, Operation
from morello.language import ast

Access = tuple[OperandIndex, ...]
"""How a tensor is indexed, one sum of dimensions for each of its own."""


_Dim = tuple[int, str]
"""A dimension of a node: the node's position and the name."""


class _Classes:
    """Dimensions of nodes that are the same one. No two of one node ever become so."""

    def __init__(self, dims: Iterable[_Dim]) -> None:
        self.members = {dim: frozenset([dim]) for dim in dims}

    def join(self, left: _Dim, right: _Dim) -> None:
        """Make two classes one, unless a node has a dimension in each."""
        ours, theirs = self.members[left], self.members[right]
        if ours == theirs or {n for n, _ in ours} & {n for n, _ in theirs}:
            return
        for dim in ours | theirs:
            self.members[dim] = ours | theirs


class Indexing:
    """How the dimensions of a graph's operator index its tensors."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.span = graph.nodes[-1].operation.operator.statement.span
        self._by_tensor: dict[str, list[tuple[int, Access]]] = {}
        for name, position, access in self._uses():
            self._by_tensor.setdefault(name, []).append((position, access))
        self._names = self._named(self._classes())
        self._values: dict[str, OperandIndex] = {}
        self._follow_rows()
        self._follow_windows()
        self.pinned = frozenset(self._pins())
        self.locals = {name: self.access(name) for name in graph.locals}
        self.disagreed = frozenset(name for name in graph.locals if not self._agreed(name))

    # ------------------------------------------------------------------ classes and names

    def _uses(self) -> Iterator[tuple[str, int, Access]]:
        """Every tensor with the position of a node that has it as an operand, and its indices."""
        for position, node in enumerate(self.graph.nodes):
            for name, access in zip(node.tensors, node.operation.operands, strict=True):
                yield name, position, access

    def _classes(self) -> _Classes:
        """What nodes hand to each other is matched first: inputs may be split (`spec.reads`)."""
        classes = _Classes((i, d) for i, n in enumerate(self.graph.nodes) for d in n.operation.dims)
        first: dict[tuple[str, int], _Dim] = {}
        computed = self.graph.computed
        for name, position, access in sorted(self._uses(), key=lambda use: use[0] not in computed):
            for place, index in enumerate(access):
                if (plain := index.alone) is not None:
                    dim = (position, plain)
                    classes.join(first.setdefault((name, place), dim), dim)
        return classes

    def _named(self, classes: _Classes) -> dict[_Dim, str]:
        """A name for every dimension of a node, that of its class; the output's come first."""
        names: dict[_Dim, str] = {}
        for position, node in reversed(list(enumerate(self.graph.nodes))):
            for dim in node.operation.dims:
                if (position, dim) not in names:
                    name = _unused(dim, set(names.values()))
                    names |= dict.fromkeys(classes.members[position, dim], name)
        return names

    def _in_own(self, position: int, index: OperandIndex) -> OperandIndex:
        """An index of a node in the operator's dimensions."""
        terms: dict[str, int] = {}
        for dim, factor in index.terms:
            name = self._names[position, dim]
            for inner, times in self._values.get(name, OperandIndex(((name, 1),))).terms:
                terms[inner] = terms.get(inner, 0) + factor * times
        return OperandIndex(tuple(terms.items()), index.low, index.high)

    # ------------------------------------------------------------------ rows

    def _follow_rows(self) -> None:
        """Let what reads rows as one, written by ``width * i + j``, be computed by row and place.

        The dimension that it is read by is then that sum, wherever it indexes something.
        """
        for position, node in enumerate(self.graph.nodes[:-1]):
            for place, index in enumerate(node.operation.operands[-1]):
                readers = self._reads(node.output, place)
                plain = readers.pop().alone if len(readers) == 1 else None
                value = self._in_own(position, index)
                if len(index.terms) > 1 and plain is not None and self._is_free(plain, value):
                    self._values[plain] = value

    def _is_free(self, name: str, value: OperandIndex) -> bool:
        """Whether no operation that a dimension is of has dimensions of what it would stand for."""
        for position, node in enumerate(self.graph.nodes):
            names = {self._names[position, d] for d in node.operation.dims}
            others = (OperandIndex(((d, 1),)) for d in node.operation.dims)
            inner = {d for other in others for d, _ in self._in_own(position, other).terms}
            if name in names and inner & {d for d, _ in value.terms}:
                return False
        return True

    # ------------------------------------------------------------------ windows

    def _follow_windows(self) -> None:
        """Let what is read through a window only, as ``h + r``, be computed there.

        The dimension of its producer is then that sum, and so of everything that the producer reads
        along it.
        """
        # From the last one back: what reads through a window may itself be read through one, which
        # `_in_own` has put in by then.
        for position, node in reversed(list(enumerate(self.graph.nodes[:-1]))):
            for place, index in enumerate(node.operation.operands[-1]):
                (dim, _), *more = index.terms
                name = self._names[position, dim]
                seen = self._reads(node.output, place)
                framed = index.margins or any(i.margins for i in seen)
                if more or len(seen) != 1 or framed or name in self._values:
                    continue
                if self._may_follow(name, seen):
                    self._values[name] = seen.pop()

    def _reads(self, tensor: str, place: int) -> set[OperandIndex]:
        """How nodes index one dimension of a tensor that they read."""
        return {
            self._in_own(i, access[place])
            for i, access in self._by_tensor.get(tensor, ())
            if self.graph.nodes[i].output != tensor
        }

    def _may_follow(self, name: str, window: set[OperandIndex]) -> bool:
        """Whether a dimension may become a window of others: it is in no output, nor reduced."""
        own = OperandIndex(((name, 1),))
        if own in window or not all(self._is_free(name, index) for index in window):
            return False
        for position, node in enumerate(self.graph.nodes):
            dims = {d for d in node.operation.dims if self._names[position, d] == name}
            if not dims:
                continue
            if node is self.graph.nodes[-1] or dims & set(node.operation.reduced_dims):
                return False
            for place, index in enumerate(node.operation.operands[-1]):
                if dims & {d for d, _ in index.terms} and self._reads(node.output, place) - {
                    own,
                    *window,
                }:
                    return False
        return True

    # ------------------------------------------------------------------ pins

    def _seen(self, tensor: str, place: int) -> list[OperandIndex]:
        """The different ways in which one dimension of a tensor is indexed, the writer's first."""
        found = [
            (self.graph.nodes[i].output != tensor, self._in_own(i, access[place]))
            for i, access in self._by_tensor[tensor]
        ]
        return list(dict.fromkeys(index for _, index in sorted(found, key=lambda f: f[0])))

    def _agreed(self, tensor: str) -> bool:
        """Whether all nodes index a tensor alike."""
        rank = len(self._by_tensor[tensor][0][1])
        return all(len(self._seen(tensor, place)) == 1 for place in range(rank))

    def reads(self, tensor: str) -> list[Access]:
        """How each use of an input indexes it, in the operator's dimensions, in order."""
        return [
            tuple(self._in_own(position, index) for index in access)
            for position, access in self._by_tensor[tensor]
        ]

    def _pins(self) -> Iterator[str]:
        """Dimensions that nodes do not agree on, and those of which some node needs all."""
        ranks = {name: len(access) for name, _, access in self._uses()}
        for tensor, rank in ranks.items():
            for place in range(rank):
                seen = self._seen(tensor, place)
                if len(seen) > 1:
                    yield from (d for index in seen for d, _ in index.terms)
                    if tensor not in self.graph.computed:
                        # The dimension that the input has of its own there: see `access`.
                        yield f"{tensor}_{place}"
        yield from self._recomputing()
        for position, node in enumerate(self.graph.nodes):
            single = node.operation.single_dims
            whole = {dim for index in node.operation.operands[-1] for dim in index.inner(single)}
            if node.operation.operator.partly_tileable:
                whole |= set(node.operation.dims).difference(node.operation.divisible_dims)
            for dim in whole:
                yield from self._in_own(position, OperandIndex(((dim, 1),))).dims
        # A part of what an earlier operation reduces would give the later ones a sum that is not
        # done. What the last one reduces may be divided, if the output does not have it, too.
        outputs = {self._names[len(self.graph.nodes) - 1, d] for d in self._last.output_dims}
        for position, node in enumerate(self.graph.nodes):
            for dim in node.operation.reduced_dims:
                for inner, _ in self._in_own(position, OperandIndex(((dim, 1),))).terms:
                    if node is not self.graph.nodes[-1] or inner in outputs:
                        yield inner

    def hidden(self) -> Iterator[Access]:
        """How nodes index dimensions of tensors, where that tells sizes that no operand does."""
        operands = (*self.graph.inputs, self.graph.output)
        known = {d for name in operands for index in self.access(name) for d, _ in index.terms}
        inside = {d for name in self.graph.locals for i in self.access(name) for d, _ in i.terms}
        if inside <= known:
            return
        ranks = {name: len(access) for name, _, access in self._uses()}
        for tensor, rank in ranks.items():
            for place in range(rank):
                yield (*self._seen(tensor, place), self.access(tensor)[place])

    def alike(self) -> Iterator[tuple[str, ...]]:
        """Groups of different dimensions that index the same dimension of a tensor."""
        ranks = {name: len(access) for name, _, access in self._uses()}
        groups: list[set[str]] = []
        for tensor, rank in ranks.items():
            for place in range(rank):
                indices = (*self._seen(tensor, place), self.access(tensor)[place])
                group = {plain for index in indices if (plain := index.alone) is not None}
                joined = [other for other in groups if other & group]
                groups = [other for other in groups if other not in joined]
                groups.append(group.union(*joined))
        yield from (tuple(sorted(group)) for group in groups if len(group) > 1)

    def _recomputing(self) -> Iterator[str]:
        """Dimensions of which every part needs all of some sum: a loop would compute it again."""
        last = len(self.graph.nodes) - 1
        own = {
            d
            for dim in self._last.dims
            for d, _ in self._in_own(last, OperandIndex(((dim, 1),))).terms
        }
        for name, position, access in self._uses():
            node = self.graph.nodes[position]
            if position < last and name == node.output and node.operation.operator.reduction:
                yield from own - {d for i in access for d, _ in self._in_own(position, i).terms}

    @property
    def _last(self) -> Operation:
        return self.graph.nodes[-1].operation

    # ------------------------------------------------------------------ results

    def access(self, tensor: str) -> Access:
        """How the operator's dimensions index a tensor.

        An input on which nodes do not agree has a dimension of its own there.
        """
        rank = len(self._by_tensor[tensor][0][1])
        found = []
        for place in range(rank):
            first, *others = self._seen(tensor, place)
            alone = not others or tensor in self.graph.computed
            found.append(first if alone else OperandIndex(((f"{tensor}_{place}", 1),)))
        return tuple(found)

    def dims(self) -> dict[str, frozenset[str]]:
        """The operator's dimensions that each operation is about, by the tensor it computes."""
        return {
            node.output: frozenset(
                inner
                for dim in node.operation.dims
                for inner, _ in self._in_own(position, OperandIndex(((dim, 1),))).terms
            )
            for position, node in enumerate(self.graph.nodes)
        }

    def batches(self) -> frozenset[str]:
        """Dimensions that are of the group of a declaration in every operation that has them."""
        found, others = set[str](), set[str]()
        for position, node in enumerate(self.graph.nodes):
            for dim in node.operation.dims:
                own = self._in_own(position, OperandIndex(((dim, 1),)))
                grouped = dim in node.operation.group_dims and own.alone is not None
                (found if grouped else others).update(own.dims)
        return frozenset(found - others)

    def stated(self) -> Iterator[tuple[str, int]]:
        """Dimensions whose size the declaration of a node states."""
        for position, node in enumerate(self.graph.nodes):
            for dim, size in node.operation.stated:
                plain = self._in_own(position, OperandIndex(((dim, 1),))).alone
                if plain is not None:
                    yield plain, size

    def parameter(self, tensor: str) -> ast.TensorParameter:
        """The operator's parameter for an input or the output."""
        indices = tuple(index.written(self.span) for index in self.access(tensor))
        return ast.TensorParameter(tensor, str(self.graph.dtype(tensor)), indices, span=self.span)

    def statement(self) -> tuple[ast.Statement, bool]:
        """The last node's statement, with the others inlined where that says everything.

        What is computed in another type than what reads it says so.
        """
        complete = self._is_one_statement()
        values: dict[str, ast.Expr] = {}
        for position, node in enumerate(self.graph.nodes):
            substitution = Substitution(
                tensors=dict(zip(node.operation.names, node.tensors, strict=True)),
                accesses={t: self.access(t) for t in node.tensors},
                dims={
                    d: self._in_own(position, OperandIndex(((d, 1),))) for d in node.operation.dims
                },
                scalars=dict(node.operation.scalars),
                values=self._read_as(node.output, values) if complete else {},
            )
            written = substitution.statement(node.operation.operator.statement)
            values[node.output] = written.value
        return written, complete

    def _read_as(self, reader: str, values: Mapping[str, ast.Expr]) -> dict[str, ast.Expr]:
        """The values of tensors, for what computes another one."""
        types, own = dict(self.graph.dtypes), self.graph.dtype(reader)
        return {
            name: value
            if types[name] == own
            else ast.Computed(value, str(types[name]), span=value.span)
            for name, value in values.items()
        }

    def _is_one_statement(self) -> bool:
        *before, last = self.graph.nodes
        assigned = all(node.operation.operator.reduction is None for node in before)
        agreed = all(map(self._agreed, self._by_tensor))
        # In the terms of a sum, what has fewer dimensions would be evaluated again and again.
        once = last.operation.operator.reduction is None or all(
            len(node.operation.dims) == len(last.operation.dims) for node in before
        )
        return assigned and agreed and once and self._is_indexed() and not last.operation.framed

    def _is_indexed(self) -> bool:
        """Whether operands have all dimensions of the last node: others would not be gone over."""
        own = {
            inner
            for dim in self._last.dims
            for inner in self._in_own(len(self.graph.nodes) - 1, OperandIndex(((dim, 1),))).dims
        }
        tensors = (*self.graph.inputs, self.graph.output)
        return own <= {dim for tensor in tensors for i in self.access(tensor) for dim in i.dims}


def _unused(wanted: str, taken: set[str]) -> str:
    numbered = (f"{wanted}{n}" for n in range(2, len(taken) + 3))
    return next(n for n in (wanted, *numbered) if n not in taken)
