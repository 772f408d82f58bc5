"""Syntax trees of ``.mspec`` files. Data only, as in `morello.language.ast`."""

from __future__ import annotations

from msgspec import Struct

from morello.language.ast import Expr, Name, Node, Panel, Subscripted
from morello.language.source import Span


class SpecParameter(Node, frozen=True):
    """``S = 512``; without a default it must be given with ``-D``.

    Of ``M <= 512`` the ``limit`` is the most that it may be; each call brings its value.
    """

    name: str
    default: Expr | None
    limit: Expr | None = None


class TensorDecl(Node, frozen=True):
    """``input q: f32[S, D] [layout (1, 0)] [panels 16] [stride (3 * D, 1)]``, or ``output o``.

    ``role`` is input, weight, local or output. Without a ``dtype``, which an output need not have,
    there is no ``shape`` either: both follow from what computes it.

    ``order`` lists the dimensions from the slowest to the fastest; absent is row-major. ``panel``
    is the width of the panels of the fastest, or their height and width; absent for none.
    ``strides``: elements between neighbours along each dimension; absent where there are no gaps.
    """

    role: str
    name: str
    dtype: str | None
    shape: tuple[Expr, ...]
    order: tuple[int, ...] | None
    panel: Panel | None
    strides: tuple[Expr, ...] | None = None


class OperatorCall(Node, frozen=True):
    """``matmul(q, transposed(k))``, scalars by name: ``leaky_relu(x, slope = 0.1)``."""

    operator: str
    operator_span: Span
    arguments: tuple[Name | OperatorCall, ...]
    scalars: tuple[tuple[str, Expr], ...]


class OperatorUse(Node, frozen=True):
    """``o = matmul(q, k)``: a tensor gets the value of a call."""

    result: str
    call: OperatorCall


class Statement(Node, frozen=True):
    """``y[m, n] += x[m, k] * w[n, k]``: an operator in place.

    ``update`` is ``=``, ``+=``, ``max=`` or ``min=``. ``elsewhere`` is the value of elements that
    no subscript reaches.
    """

    target: Subscripted
    update: str
    value: Expr
    elsewhere: Expr | None = None

    @property
    def result(self) -> str:
        """The tensor that it computes."""
        return self.target.tensor


class SpecDecl(Node, frozen=True):
    """``spec NAME(parameters) [threads N] { tensors; uses }``; statements count as uses."""

    name: str
    name_span: Span
    parameters: tuple[SpecParameter, ...]
    threads: Expr | None
    tensors: tuple[TensorDecl, ...]
    uses: tuple[OperatorUse | Statement, ...]


class SpecFile(Struct, frozen=True):
    """Everything that one ``.mspec`` file declares."""

    target: Name | None
    specs: tuple[SpecDecl, ...]
