"""Specs built from Python objects.

    spec = morello.SpecBuilder("dense")
    M = spec.size("M", 128)
    x = spec.input("x", "f32", (M, 768))
    w = spec.weight("w", "f32", (768, 3072))
    spec.output("y", spec.op.relu(spec.op.matmul(x, w)))
    kernel = morello.compile(spec, target="native", defines={"M": 64})

A builder makes the syntax tree that the text of a ``.mspec`` file has. From there on all is one:
what is wrong is said by the same checks, in the builder's text, with the place in Python that the
line comes from. Operators are those of the definitions that the spec is compiled with; none is
known here, and no name of one is looked up before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import overload

import numpy as np
from msgspec import Struct

from morello.building.nodes import declaration, renamed, site, statement, target
from morello.building.tensors import Operators, Tensor
from morello.building.values import (
    NO_PLACE,
    DTypeLike,
    Extent,
    Scalar,
    Shape,
    Size,
    extent,
    identifier,
    layout_of,
    scalar,
)
from morello.errors import UsageError
from morello.ir.numeric import Array
from morello.language import ast, spec_ast
from morello.language.source import Source
from morello.language.traverse import subexpressions
from morello.language.unparse_spec import unparse_specs


class _Call(Struct, frozen=True):
    """A call of an operator, whose operands are numbers of values, and where it was made."""

    operator: str
    operands: tuple[int, ...]
    scalars: tuple[tuple[str, ast.Expr], ...]
    site: str


class _InPlace(Struct, frozen=True):
    """A statement with subscripts, and which values the names in it are."""

    node: spec_ast.Statement
    values: Mapping[str, int]
    site: str
    operator: str = "statement"


@dataclass(slots=True)
class _Value:
    """What a `Tensor` stands for: its call if it is computed, its name if it has been given one."""

    call: _Call | _InPlace | None
    name: str | None


class SpecBuilder:
    """A spec in the making; `morello.compile` takes it in the place of a file.

    Inputs and weights are the function's arguments in the order in which they are declared, and
    outputs come after them in theirs.

    Attributes:
        name: Name of the spec, and of the C function.
        target: Name of the target to compile for, unless the caller of `morello.compile` says so.
        threads: How many threads may share the work of one call.
    """

    def __init__(self, name: str, *, threads: Extent = 1, target: str | None = None) -> None:
        """An empty spec.

        Raises:
            UsageError: A name is no name, or ``threads`` is no whole number.
        """
        self.name = identifier(name, "the name of the spec")
        self.threads = threads
        self.target = target
        self._site = site()
        self._parameters: list[spec_ast.SpecParameter] = []
        self._declared: list[tuple[spec_ast.TensorDecl, str]] = []
        self._values: list[_Value] = []
        self._file()  # refuses threads and targets that make no sense

    # ------------------------------------------------------------------------- declarations

    def size(
        self, name: str, default: Extent | None = None, *, at_most: Extent | None = None
    ) -> Size:
        """A named size: a parameter of the spec, to which ``defines`` gives values.

        Args:
            name: Its name.
            default: Its value where nothing else is given: a number, or made of sizes before it.
            at_most: In the place of that, the most that it may be where each call brings it: see
                `morello.compile_any_size`.

        Raises:
            UsageError: It is no name, or the default or the most no size, or both are given.
        """
        own = identifier(name, "the name of a size")
        value = None if default is None else extent(default, f"the default of size '{own}'")
        limit = None if at_most is None else extent(at_most, f"the most of size '{own}'")
        if value is not None and limit is not None:
            raise UsageError(
                f"size '{own}' has a default, and each call brings it",
                help="give one of default and at_most",
            )
        self._parameters.append(spec_ast.SpecParameter(own, value, limit, span=NO_PLACE))
        return Size(ast.Name(own, span=NO_PLACE))

    @overload
    def input(
        self,
        name: str,
        dtype: DTypeLike,
        shape: Shape,
        *,
        layout: Sequence[int] | None = None,
        panels: int | tuple[int, int] | None = None,
        stride: Shape | None = None,
    ) -> Tensor: ...
    @overload
    def input(self, name: str, *, like: Array) -> Tensor: ...
    def input(
        self,
        name: str,
        dtype: DTypeLike | None = None,
        shape: Shape | None = None,
        *,
        layout: Sequence[int] | None = None,
        panels: int | tuple[int, int] | None = None,
        stride: Shape | None = None,
        like: Array | None = None,
    ) -> Tensor:
        """Declare an input: what every call brings.

        Args:
            name: Its name.
            dtype: Element type.
            shape: Sizes in elements; ``()`` for a scalar.
            layout: Dimensions from the slowest to the fastest in memory; by default C's order.
            panels: Width of the panels that the fastest dimension is cut into, if it is; or their
                height, along the dimension next to it, and width.
            stride: In their place, elements between neighbours along each dimension, where there
                are gaps.
            like: In the place of all these, an array that has such a type, shape and layout.

        Raises:
            UsageError: Something is not what it has to be.
        """
        return self._argument("input", name, dtype, shape, layout, panels, stride, like)

    @overload
    def weight(
        self,
        name: str,
        dtype: DTypeLike,
        shape: Shape,
        *,
        layout: Sequence[int] | None = None,
        panels: int | tuple[int, int] | None = None,
        stride: Shape | None = None,
    ) -> Tensor: ...
    @overload
    def weight(self, name: str, *, like: Array) -> Tensor: ...
    def weight(
        self,
        name: str,
        dtype: DTypeLike | None = None,
        shape: Shape | None = None,
        *,
        layout: Sequence[int] | None = None,
        panels: int | tuple[int, int] | None = None,
        stride: Shape | None = None,
        like: Array | None = None,
    ) -> Tensor:
        """Declare a weight: what is the same in many calls, so that it is packed once before them.

        The layout is the one it has before that. Arguments and errors are those of `input`.
        """
        return self._argument("weight", name, dtype, shape, layout, panels, stride, like)

    def local(
        self,
        name: str,
        value: Tensor,
        dtype: DTypeLike | None = None,
        shape: Shape | None = None,
    ) -> Tensor:
        """Name what is computed on the way, and declare its type where operands do not tell it.

        Args:
            name: Its name.
            value: What an operator computes.
            dtype: Element type, with ``shape``; by default what follows from operator and operands.
            shape: Sizes in elements.

        Returns:
            The value.

        Raises:
            UsageError: The value is computed by no operator, or has a name; or of type and shape
                only one is given.
        """
        return self._result("local", name, value, declaration("local", name, dtype, shape))

    def output(
        self,
        name: str,
        value: Tensor,
        dtype: DTypeLike | None = None,
        shape: Shape | None = None,
        *,
        layout: Sequence[int] | None = None,
        panels: int | tuple[int, int] | None = None,
        stride: Shape | None = None,
    ) -> Tensor:
        """Declare what an operator computes as an output. It may be read further.

        Args:
            name: Its name.
            value: What an operator computes.
            dtype: Element type, with ``shape``; by default what follows from operator and operands.
            shape: Sizes in elements; ``()`` for a scalar.
            layout: Where type and shape are given, the dimensions from the slowest to the fastest
                in memory; by default C's order.
            panels: There too, the width of the panels that the fastest dimension is cut into, or
                their height and width.
            stride: In their place, elements between neighbours along each dimension.

        Returns:
            The value.

        Raises:
            UsageError: The value is computed by no operator, or has a name; or something else is
                not what it has to be.
        """
        node = declaration("output", name, dtype, shape, layout, panels, stride)
        return self._result("output", name, value, node)

    # ------------------------------------------------------------------------- calls

    @property
    def op(self) -> Operators:
        """The operators, by name: ``spec.op.NAME(x, z)`` is ``spec.apply("NAME", x, z)``."""
        return Operators(self)

    def apply(self, operator: str, /, *operands: Tensor, **scalars: Scalar) -> Tensor:
        """What an operator computes.

        Args:
            operator: Its name.
            operands: Tensors of this spec, as many as the operator takes.
            scalars: Its scalars: numbers, or made of sizes.

        Raises:
            UsageError: An operand is no tensor of this spec, or a scalar no number.
        """
        name = identifier(operator, "the name of an operator")
        numbers = tuple(
            self._own(operand, f"operand {i} of '{name}'").number
            for i, operand in enumerate(operands, start=1)
        )
        given = tuple(
            (identifier(s, f"a scalar of '{name}'"), scalar(v, f"scalar '{s}' of '{name}'"))
            for s, v in scalars.items()
        )
        return self._new(_Value(_Call(name, numbers, given, site()), None))

    def statement(self, text: str, /, **operands: Tensor) -> Tensor:
        """What a statement with subscripts computes, an operator in place.

        Args:
            text: The subscripts of the result, and what it is:
                ``[m, n] += x[m, k] * w[n, k]``. Sizes of the spec stand under their names.
            operands: The tensors of this spec that the text names.

        Raises:
            UsageError: The text is no statement, or names a tensor that is not given; or an operand
                is no tensor of this spec.
        """
        node = statement(text)
        values = {
            name: self._own(operand, f"operand '{name}'").number
            for name, operand in operands.items()
        }
        read = {e.tensor for e in subexpressions(node.value) if isinstance(e, ast.Subscripted)}
        if read != values.keys():
            name = min(read ^ values.keys())
            wrong = "not given" if name in read else "not read"
            form = ", ".join(f"{n}={n}" for n in sorted(read))
            raise UsageError(f"'{name}' is {wrong} in '{text}'", help=f"pass what it reads: {form}")
        return self._new(_Value(_InPlace(node, values, site()), None))

    # ------------------------------------------------------------------------- the text

    @property
    def text(self) -> str:
        """The spec as the text of a ``.mspec`` file: each call is a statement, in order."""
        return unparse_specs(self._file())

    @property
    def source(self) -> Source:
        """The text, with the place in Python of each line for diagnostics."""
        sites = [self._site]
        sites += [site for _, site in self._declared]
        sites += [value.call.site for value in self._values if value.call]
        first = 1 if self.target is None else 3  # the line that says ``spec``
        return Source(f"<spec {self.name}>", self.text, origins=dict(enumerate(sites, first)))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<spec '{self.name}' of {len(self._declared)} declared tensors>"

    def _file(self) -> spec_ast.SpecFile:
        names = self._names
        values = zip(self._values, names, strict=True)
        threads = extent(self.threads, "the number of threads")
        spec = spec_ast.SpecDecl(
            name=self.name,
            name_span=NO_PLACE,
            parameters=tuple(self._parameters),
            threads=None if self.threads == 1 else threads,
            tensors=tuple(node for node, _ in self._declared),
            uses=tuple(_use(v.call, names, name) for v, name in values if v.call),
            span=NO_PLACE,
        )
        return spec_ast.SpecFile(target(self.target), (spec,))

    def name_of(self, number: int) -> str:
        """What the spec's text calls a tensor."""
        return self._names[number]

    @property
    def _names(self) -> list[str]:
        """The name of every value; those without one are called after their operators."""
        taken = {p.name for p in self._parameters} | {v.name for v in self._values if v.name}
        names: list[str] = []
        for value in self._values:
            name = value.name
            if name is None:
                assert value.call is not None, "what is declared has a name"
                name = next(n for n in _numbered(value.call.operator) if n not in taken)
                taken.add(name)
            names.append(name)
        return names

    # ------------------------------------------------------------------------- values

    def _new(self, value: _Value) -> Tensor:
        self._values.append(value)
        return Tensor(self, len(self._values) - 1)

    def _own(self, value: object, what: str) -> Tensor:
        """A tensor of this spec."""
        if not isinstance(value, Tensor):
            raise UsageError(
                f"{what} is {_shown(value)}; expected a tensor of spec '{self.name}'",
                help="declare it: spec.input('x', like=array); scalars are passed by name",
            )
        if value.builder is not self:
            raise UsageError(
                f"{what} is {value!r}; expected a tensor of spec '{self.name}'",
                help="a spec computes with its own tensors alone",
            )
        return value

    def _result(self, role: str, name: str, value: Tensor, node: spec_ast.TensorDecl) -> Tensor:
        """Give a name, and its declaration, to what an operator computes."""
        own = identifier(name, f"the name of {'an output' if role == 'output' else 'a local'}")
        known = self._values[self._own(value, f"{role} '{own}'").number]
        if known.call is None or known.name is not None:
            raise UsageError(
                f"{role} '{own}' is '{known.name}' already",
                help="give a name to what an operator computes, and one only",
            )
        known.name = own
        if role == "output" or node.dtype is not None:
            self._declared.append((node, site()))
        return value

    def _argument(
        self,
        role: str,
        name: str,
        dtype: DTypeLike | None,
        shape: Shape | None,
        layout: Sequence[int] | None,
        panels: int | tuple[int, int] | None,
        stride: Shape | None,
        like: Array | None,
    ) -> Tensor:
        """Declare an input or a weight."""
        own = identifier(name, f"the name of {'an input' if role == 'input' else 'a weight'}")
        if like is not None:
            if not isinstance(like, np.ndarray):
                raise UsageError(
                    f"'{own}' is to be like {_shown(like)}; expected a numpy array",
                    help=f"pass like=np.asarray({own})",
                )
            if (dtype, shape, layout, panels, stride) != (None,) * 5:
                raise UsageError(
                    f"'{own}' is to be like an array, and has a type of its own",
                    help="give dtype, shape and layout, or like",
                )
            dtype, shape = like.dtype, like.shape
            layout, stride = layout_of(like, own)
        if dtype is None or shape is None:
            raise UsageError(
                f"'{own}' has {'no dtype' if dtype is None else 'no shape'}",
                help="give both, or an array that has them: like=array",
            )
        node = declaration(role, own, dtype, shape, layout, panels, stride)
        self._declared.append((node, site()))
        return self._new(_Value(None, own))


def _use(
    call: _Call | _InPlace, names: Sequence[str], result: str
) -> spec_ast.OperatorUse | spec_ast.Statement:
    if isinstance(call, _InPlace):
        own = {name: names[number] for name, number in call.values.items()}
        return renamed(call.node, result, own)
    operands = tuple(ast.Name(names[number], span=NO_PLACE) for number in call.operands)
    node = spec_ast.OperatorCall(call.operator, NO_PLACE, operands, call.scalars, span=NO_PLACE)
    return spec_ast.OperatorUse(result, node, span=NO_PLACE)


def _numbered(name: str) -> Iterator[str]:
    return (f"{name}_{number}" for number in count(1))


def _shown(value: object) -> str:
    """What a value is, in a few words, whatever its size."""
    kind = type(value).__name__
    return kind if isinstance(value, np.ndarray | Sequence) else f"{value!r} ({kind})"
