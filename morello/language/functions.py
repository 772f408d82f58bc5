"""The functions that expressions may use: their kinds, and whether they depend on sizes.

This is the list that the documentation shows and that the checker holds names and arguments
against. The meaning of the arithmetic ones is in `morello.language.evaluate`; those that ask about
a Spec are implemented by whoever evaluates (`morello.rewriting.functions`).

Kinds: ``number``, ``truth``, ``operation`` (the matched ``f``), ``operand``, ``level``, ``dtype``,
``dim``, ``layout``, and ``list of`` each, which only ``choose`` takes.
"""

from __future__ import annotations

from msgspec import Struct


class Signature(Struct, frozen=True):
    """Kinds of the arguments and the result.

    ``variadic``: the last argument may repeat. ``optional``: so many of the last arguments may be
    left out. ``sized``: the result depends on the Spec's sizes, on how its operands are packed, or
    on memory in use, so it is an array over a box of Specs.
    """

    arguments: tuple[str, ...]
    result: str
    doc: str
    sized: bool = False
    variadic: bool = False
    optional: int = 0

    @property
    def form(self) -> str:
        """The arguments as they are shown, what may be left out in brackets."""
        fewest = len(self.arguments) - self.optional
        left_out = "".join(f"[, {kind}]" for kind in self.arguments[fewest:])
        return ", ".join(self.arguments[:fewest]) + left_out + (", ..." if self.variadic else "")


ARITHMETIC: dict[str, Signature] = {
    "min": Signature(
        ("number", "number"), "number", "The smaller one: a if a < b else b.", variadic=True
    ),
    "max": Signature(
        ("number", "number"), "number", "The larger one: a if a > b else b.", variadic=True
    ),
    "ceil_div": Signature(("number", "number"), "number", "Quotient, rounded up."),
    "abs": Signature(("number",), "number", "Absolute value."),
    "sqrt": Signature(("number",), "number", "Square root."),
    "exp": Signature(("number",), "number", "Exponential."),
    "log": Signature(("number",), "number", "Natural logarithm."),
    "log1p": Signature(("number",), "number", "Natural logarithm of 1 + x, exact near 0."),
    "expm1": Signature(("number",), "number", "Exponential less 1, exact near 0."),
    "tanh": Signature(("number",), "number", "Hyperbolic tangent."),
    "erf": Signature(("number",), "number", "Error function."),
    "erfc": Signature(("number",), "number", "1 less the error function, exact where it is small."),
    "sin": Signature(("number",), "number", "Sine of an angle in radians."),
    "cos": Signature(("number",), "number", "Cosine of an angle in radians."),
    "atan": Signature(("number",), "number", "Angle in radians that has this tangent."),
    "floor": Signature(("number",), "number", "Rounded down to a whole number."),
    "round": Signature(
        ("number",), "number", "Rounded to the nearest whole number, ties to the even one."
    ),
}

LANES: dict[str, Signature] = {
    "fma": Signature(
        ("number", "number", "number"),
        "number",
        "a * b + c, rounded once where the target can, else twice.",
    ),
    "bits_s32": Signature(("number",), "number", "The bits of a number of f32, as a whole number."),
    "bits_f32": Signature(("number",), "number", "The number of f32 that has these bits."),
    "shift_left": Signature(
        ("number", "number"), "number", "A whole number, its bits moved up by so many places."
    ),
    "shift_right": Signature(
        ("number", "number"), "number", "The same down; what is negative stays so."
    ),
    "s32": Signature(("number",), "number", "Computed in s32; what is around it converts that."),
    "f32": Signature(("number",), "number", "Computed in f32; what is around it converts that."),
}
"""What definitions of a target's functions may use beside arithmetic."""

SPEC: dict[str, Signature] = {
    # domains of choices
    "output_dims": Signature(("operation",), "list of dim", "Dimensions that index the output."),
    "reduced_dims": Signature(("operation",), "list of dim", "Dimensions that are reduced."),
    "batch_dims": Signature(
        ("operation",),
        "list of dim",
        "The first dimension that is a batch, if any: of a group, an index of every operand, and "
        "the fastest dimension of none. What is elementwise has none.",
    ),
    "tile_sizes": Signature(("dim",), "list of size", "The target's sizes below the dimension's."),
    "divisors": Signature(
        ("number",), "list of number", "Whole numbers that divide it, from 1 to itself."
    ),
    "levels": Signature(("operand",), "list of level", "Levels where it may be computed."),
    "nearer": Signature(("level",), "list of level", "Levels nearer to the registers."),
    "layouts": Signature(
        ("operand", "level", "dtype"),
        "list of layout",
        "Layouts that kernels want, of it or of a copy of another type.",
        optional=1,
    ),
    "column_major": Signature(
        ("operand",), "layout", "The layout with its last dimension but one fastest, if it has two."
    ),
    "vectors": Signature(
        ("operand", "level", "dtype"),
        "list of number",
        "Vector widths, bytes; 0 in memory.",
        optional=1,
    ),
    # what the family says
    "composite": Signature(
        ("operation",), "truth", "Whether no kernel computes it as one: it has several statements."
    ),
    "partly_tileable": Signature(
        ("operation",), "truth", "Whether loops divide some dimensions only: parts have kernels."
    ),
    "parts_first": Signature(
        ("operation",),
        "truth",
        "Whether loops divide some dimensions only, so that its parts bring nearer what they "
        "read: a rule of thumb.",
    ),
    "turns": Signature(
        ("operation",),
        "truth",
        "Whether neighbours in its output are none in its first input, as in a transpose.",
    ),
    "is_parallel": Signature(("operation",), "truth", "Whether threads may share its work."),
    "threads": Signature(("operation",), "number", "How many threads may share its work."),
    "direct": Signature(
        ("operation",),
        "truth",
        "Whether a kernel that is declared `direct` takes these element types: a rule of thumb.",
    ),
    "is_intermediate": Signature(("operand",), "truth", "Whether it is computed on the way."),
    "reads": Signature(("operation", "operand"), "truth", "Whether old contents matter."),
    "writes": Signature(("operation", "operand"), "truth", "Whether it is the output."),
    "reused": Signature(
        ("operation", "operand"),
        "truth",
        "Whether a loop over it reads the operand again, since some dimension does not index "
        "that: a rule of thumb.",
    ),
    "visible": Signature(
        ("operation", "operand"),
        "truth",
        "Whether a rule for its operator can use it in the order in memory that it has, as a "
        "view: a rule of thumb.",
    ),
    "in_place": Signature(
        ("operation", "operand"),
        "truth",
        "Whether the output may be written over what is computed on the way.",
    ),
    "rearranged": Signature(
        ("operation", "operand", "operand"),
        "truth",
        "Whether what is computed on the way is an operand with its elements in other places.",
    ),
    "slices": Signature(
        ("operation",),
        "truth",
        "Whether it only moves elements, those between margins of its one input.",
    ),
    "slice": Signature(
        ("operation",),
        "operand",
        "What is between margins: of a slice's input, as its output is indexed, or the reverse.",
    ),
    "frames": Signature(
        ("operation",),
        "truth",
        "Whether it only moves elements, those of its one input to between margins of its output.",
    ),
    "margin": Signature(
        ("operation",), "number", "The value of elements in the margins of the output."
    ),
    "first_to_move": Signature(
        ("operation", "operand", "level"),
        "truth",
        "Whether this operand is the next to bring there: of several orders, one is tried: a "
        "rule of thumb.",
    ),
    "reduces": Signature(("operation",), "truth", "Has a reduction that is not yet started."),
    "splits": Signature(
        ("operation",), "truth", "Whether a loop may divide what it reduces, now or once begun."
    ),
    "identity": Signature(("operation",), "number", "What accumulation starts from."),
    "cache": Signature(("level",), "truth", "Whether the hardware moves data there."),
    "addressable": Signature(("level",), "truth", "Whether loops may index it."),
    "distance": Signature(("level",), "number", "Levels between it and the nearest."),
    "farthest": Signature(
        ("level",), "truth", "Whether nothing is farther, not even what large arguments are in."
    ),
    "nearest": Signature(("operation",), "number", "Distance of the nearest operand."),
    "unrolled": Signature(("operation", "dim"), "truth", "Whether a loop over it is unrolled."),
    "arithmetic": Signature(("operation",), "number", "Cycles of one evaluation of the meaning."),
    "loads": Signature(
        ("operation",),
        "number",
        "Operands in memory that are read; for rows, along them, and two for every second element.",
    ),
    "stores": Signature(
        ("operation",), "number", "Operands in memory that are written; for rows, along them."
    ),
    "broadcasts": Signature(
        ("operation",), "number", "Inputs of which a kernel for rows reads one element a row."
    ),
    "tails": Signature(
        ("operation",),
        "number",
        "Cycles of loads and stores of the first lanes only: one of each operand in memory along "
        "the rows.",
    ),
    "capacity": Signature(("level",), "number", "What it holds: registers, or units of a cache."),
    # what the coordinates say
    "size": Signature(("dim",), "number", "Its size.", sized=True),
    "steps": Signature(
        ("dim", "number"), "number", "Tiles of that size, the tail included.", sized=True
    ),
    "share": Signature(
        ("dim", "number"), "size", "Its size over that number, rounded up.", sized=True
    ),
    "has_layout": Signature(
        ("operand", "layout"), "truth", "Whether it is in that layout already.", sized=True
    ),
    "volume": Signature(("operation",), "number", "Iterations: product of all sizes.", sized=True),
    "elements": Signature(("operand",), "number", "Elements of it.", sized=True),
    "bytes": Signature(("operand",), "number", "Bytes of its elements.", sized=True),
    "lines": Signature(("operand",), "number", "Cache lines that it touches.", sized=True),
    "panels": Signature(
        ("operand",), "number", "Width of its panels, elements; 0 if it has none.", sized=True
    ),
    "contiguity": Signature(
        ("operand",),
        "number",
        "Dimensions, from the fastest on, known to be in one piece; in the nearest cache, 1.",
        sized=True,
    ),
    "registers": Signature(("operand",), "number", "Registers that it fills.", sized=True),
    "fits_argument_cache": Signature(
        ("number",),
        "truth",
        "Whether so many bytes stay nearer than the farthest.",
        sized=True,
    ),
    "holds": Signature(
        ("level", "number"),
        "truth",
        "Whether so many bytes that are computed are at the level, as arguments of that size are.",
        sized=True,
    ),
    "short_block": Signature(
        ("number",),
        "truth",
        "Whether a block of a row has no more bytes than memory keeps up with, 4 KiB: a rule of "
        "thumb.",
        sized=True,
    ),
    "free": Signature(("level",), "number", "Capacity units or registers not in use.", sized=True),
    "fetch": Signature(
        ("operand", "level"), "number", "Cycles to bring its lines there.", sized=True
    ),
    "store": Signature(
        ("operand", "level"), "number", "Cycles to write its lines back.", sized=True
    ),
    "traffic": Signature(
        ("operation", "level"),
        "number",
        "Cycles to bring all that is read there, and to write back what is written.",
        sized=True,
    ),
}

FUNCTIONS: dict[str, Signature] = {**ARITHMETIC, **SPEC}

ATTRIBUTES: dict[tuple[str, str], str] = {
    ("operand", "level"): "level",
    ("operand", "dtype"): "dtype",
    ("operation", "out"): "operand",
}
