"""Syntax trees of ``.mtarget`` files. Data only, as in `morello.language.ast`."""

from __future__ import annotations

from dataclasses import dataclass, field

from morello.language.ast import Expr, Node, Panel
from morello.language.diagnostics import Diagnostic
from morello.language.kernel_clauses import KernelClauses
from morello.language.source import Span

ANY = "any"
"""In a kernel's pattern: every element type."""

SPEC = "f"
"""By this name costs, guards and templates know the operation and its scalars: ``f.stride``."""

VECTOR = "vector"
"""By this name a template knows the vectors of its type and lanes: ``{{ vector.add(a, b) }}``."""


class CoefficientDecl(Node, frozen=True):
    """``coefficient NAME = 0.5 cycles "what it is"  # source``.

    ``source`` is ``calibrated``, ``measured`` or ``manual``, with whatever text follows it.
    """

    name: str
    value: float
    doc: str
    source: str


class LevelDecl(Node, frozen=True):
    """``level l1 { capacity 48 KiB; capacity_unit 2 KiB; line 64; cache; coefficient ... }``.

    ``properties`` maps a property's name to its numbers: ``capacity``, ``arguments``, ``streams``,
    ``capacity_unit`` and ``line`` have one, ``vector`` several (bytes), ``cache`` and
    ``not_addressable`` none. A capacity in vectors has ``in_vectors`` true.
    """

    name: str
    properties: tuple[tuple[str, tuple[int, ...]], ...]
    in_vectors: bool
    coefficients: tuple[CoefficientDecl, ...]


class TargetDecl(Node, frozen=True):
    """``target cpu.wide extends cpu.narrow { ... }``."""

    name: str
    name_span: Span
    doc: str
    base: str | None
    emitter: str | None
    sizes: tuple[int, ...]
    page: int | None
    flags: tuple[str, ...]
    headers: tuple[str, ...]
    features: tuple[str, ...]
    implied: tuple[str, ...]
    compiler: str | None
    runner: str | None
    passes: tuple[str, ...] | None
    levels: tuple[LevelDecl, ...]
    coefficients: tuple[CoefficientDecl, ...]


class PrimitivesDecl(Node, frozen=True):
    """``primitives f32 x 16 on cpu.wide { type "vector16f"; add "({0} + {1})"; ... }``.

    How the emitter writes a dtype with so many lanes, and the arithmetic on it. ``cycles`` of an
    entry is the name of the coefficient that one use costs, or none.
    """

    dtype: str
    lanes: int
    target: str
    entries: tuple[tuple[str, str, str | None], ...]


class FunctionDecl(Node, frozen=True):
    """``function NAME on TARGET "sentence" emit ```C``` ``: what primitives and kernels may call.

    ``text`` is the function's definition in C, as it stands in the programs that need it.
    """

    name: str
    name_span: Span
    doc: str
    target: str
    text: str


class Equation(Node, frozen=True):
    """``name = value``, one step of a definition."""

    name: str
    name_span: Span
    value: Expr


class DefinitionDecl(Node, frozen=True):
    """``function exp(x: f32) on TARGET "sentence" cost NAME { z = max(-104, x) ... exp = ... }``.

    A primitive of ``dtype`` for any number of lanes, made of others. ``cycles`` is the name of the
    coefficient that one use costs. The last equation has the function's name.
    """

    name: str
    name_span: Span
    parameters: tuple[str, ...]
    dtype: str
    target: str
    doc: str
    cycles: str
    equations: tuple[Equation, ...]


class MacroDecl(Node, frozen=True):
    """``macro NAME(a, b) on TARGET "sentence" emit ```C``` ``: what templates of kernels share.

    ``template`` is C with jinja2 in it, as that of a kernel. It knows the parameters only.
    """

    name: str
    name_span: Span
    parameters: tuple[str, ...]
    doc: str
    target: str
    template: str


class KernelOperand(Node, frozen=True):
    """``A: f32[..., 1, n] at l1 [layout (1, 0) [already]] [panels 16 or (8, 16)] [lanes 16]``.

    ``dtype`` is a dtype, or ``any``. ``shape`` holds integers and variable names; ``rest`` is true
    where the pattern begins with ``...``: every other dimension has size 1. ``levels`` are the
    levels that it accepts, with ``or farther`` also all that are farther away than the last one.
    ``order`` is that of the layout: absent accepts row-major only; the word ``any`` is (). With
    ``already`` no copy is made so that an operand is in that layout. ``panels`` are those in which
    it may also be: widths, or heights and widths.
    ``name`` is empty where a pattern is for operands of any operator. Vectors have so many bytes,
    or so many lanes of whatever type an operand has; a parameter's name where that is still open.
    """

    name: str
    dtype: str
    rest: bool
    shape: tuple[int | str, ...]
    levels: tuple[str, ...]
    order: tuple[int, ...] | None
    panels: tuple[Panel, ...]
    vector: int | None
    lanes: int | str | None = None
    farther: bool = False
    already: bool = False

    def width(self, element: int) -> int | None:
        """Bytes of its vectors of elements of so many bytes; none if it has no vectors."""
        return self.lanes * element if isinstance(self.lanes, int) else self.vector


class KernelMatch(Node, frozen=True):
    """``[accumulating | any] matmul(A: ..., B: ..., C: ...)``, or patterns for any operator.

    ``any``, an ``accumulating`` of none, takes both forms of an operator.
    The latter is ``[accumulating] any op (...)``, with one pattern for all operands; or
    ``(pointwise | reduction) op (...; ...)``, with one for those that lie along the rows that the
    kernel works on, and perhaps one for the others. ``kind`` is ``"named"``, ``"op"``,
    ``"pointwise"`` or ``"reduction"``.
    """

    kind: str
    operator: str | None
    operator_span: Span
    accumulating: bool | None
    operands: tuple[KernelOperand, ...]


class KernelDecl(Node, frozen=True):
    """A microkernel.

    ``template`` is C with jinja2 in it; none means ``emit definition``: written by the emitter from
    the operator's declaration with the target's primitives. ``streamed``: it says ``emit definition
    streamed``, for an output that is stored past the caches. ``lanes`` is the parameter that stands
    for a count of lanes: the kernel is one for each that a target has vectors of. ``given`` are
    parameters that have a value, by which templates know it.
    """

    name: str
    name_span: Span
    doc: str
    target: str
    match: KernelMatch
    guards: tuple[Expr, ...]
    cost: Expr
    clauses: KernelClauses
    streamed: bool
    template: str | None
    lanes: str | None = None
    given: tuple[tuple[str, int | str], ...] = ()

    @property
    def vectors(self) -> tuple[str, int] | None:
        """Type and lanes, where the kernel is for one of each."""
        match self.given:
            case ((_, str(dtype)), (_, int(lanes))):
                return dtype, lanes
        return None


@dataclass(frozen=True, slots=True)
class TargetFile:
    """Everything that one ``.mtarget`` file declares."""

    targets: tuple[TargetDecl, ...]
    primitives: tuple[PrimitivesDecl, ...]
    kernels: tuple[KernelDecl, ...]
    functions: tuple[FunctionDecl, ...] = ()
    definitions: tuple[DefinitionDecl, ...] = ()
    macros: tuple[MacroDecl, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
