"""Functions that are defined by equations: which targets have them, in which lanes."""

from __future__ import annotations

import pytest

from morello.definitions import load_definitions
from morello.ir.primitives import primitives_in
from morello.ir.target import Definition, Primitives
from morello.language.source import Source

TARGETS = """
target some.base extends c.scalar "Vectors that can add, and multiply."
{
  level reg { capacity 12 vectors; vector 4, 16; not addressable }
  coefficient some_op = 1 cycles "one operation" # manual
}

function triple(x: f32) on some.base
  "Three times."
  cost some_op
{
  double = x + x
  triple = double + x
}

function ninefold(x: f32) on some.base
  "Nine times."
  cost some_op
{
  ninefold = triple(triple(x))
}

function rounded(x: f32) on some.base
  "To a whole number."
  cost some_op
{
  rounded = s32(bits_s32(x + 12582912.0) - 1262485504)
}
""".replace("ninefold = triple(triple(x))", "ninefold = fma(x, 8.0, x)")

BLOCK = (
    'primitives {0} on some.base {{ type "{1}"; constant "{{0}}"; add "({{0}} + {{1}})" {2} }}\n'
)
PLAIN = BLOCK.format("f32 x 4", "some4", "")
FULL = BLOCK.format("f32 x 4", "some4", '; mul "({0} * {1})"; cast_s32 "f({0})"')
WHOLE = BLOCK.format("s32 x 4", "whole4", '; sub "({0} - {1})"; bits_s32 "b({0})"')


def _lanes(text: str, lanes: int = 4) -> Primitives:
    found = load_definitions([Source("some.mtarget", TARGETS + text)])
    return found.targets["some.base"].primitives["f32", lanes]


def _own(primitives: Primitives) -> set[str]:
    return {n for n in primitives.definitions if n in ("triple", "ninefold", "rounded", "fma")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN, {"triple"}),
        (FULL, {"triple", "fma", "ninefold"}),
        (FULL + WHOLE, {"triple", "fma", "ninefold", "rounded"}),
        (FULL + WHOLE.replace("bits_s32", "bits_f32"), {"triple", "fma", "ninefold"}),
        (PLAIN.replace("add", "sub"), set()),
    ],
)
def test_those_are_there_whose_parts_are(text: str, expected: set[str]) -> None:
    """Also parts that are defined; and what is of another type must be there in as many lanes."""
    assert _own(_lanes(text)) == expected


def test_what_is_missing_is_known() -> None:
    """By name; what is only missing through another definition is so, too."""
    assert _lanes(PLAIN).lacking["fma"] == ("'mul' for f32",)
    assert _lanes(PLAIN).lacking["ninefold"] == ("'fma' for f32",)
    whole = ("'bits_s32' for s32", "'constant' for s32", "'sub' for s32")
    missing = ("'cast_s32' for f32", *whole)
    assert _lanes(PLAIN).lacking["rounded"] == missing
    assert not {"fma", "ninefold", "rounded"} & _lanes(FULL + WHOLE).lacking.keys()


def test_what_a_target_writes_itself_stays() -> None:
    """Also on a target that the definition's target extends."""
    found = _lanes(FULL.replace(" }\n", ' ; triple "own({0})" some_op }\n'))
    assert found.entries["triple"] == ("own({0})", "some_op")
    assert _own(found) == {"fma", "ninefold"}
    single = _lanes("", lanes=1)
    assert single.entries["exp"][0] == "expf({0})"
    assert "exp" not in single.definitions
    assert {"triple", "fma"} <= single.definitions.keys()


def test_a_target_may_define_again_what_it_inherits() -> None:
    """The nearest definition counts."""
    again = (
        """function fma(a, b, c: f32) on some.base "Otherwise." cost some_op { fma = c + a * b }"""
    )
    found = _lanes(FULL + again).definitions["fma"]
    assert (found.doc, found.coefficient) == ("Otherwise.", "some_op")


def test_entries_call_what_the_emitter_writes() -> None:
    """With the cost that the definition says."""
    found = _lanes(FULL)
    assert found.entries["fma"] == ("f32_x4_fma({0}, {1}, {2})", "defined_fma")
    assert found.entries["triple"] == ("f32_x4_triple({0})", "some_op")


def _steps(definition: Definition) -> list[tuple[str, str]]:
    dtypes = dict.fromkeys(definition.parameters, definition.dtype)
    return list(primitives_in(definition.value, definition.dtype, dtypes))


def test_parts_are_computed_in_their_types_and_shared() -> None:
    """`bits_s32` takes f32 and is s32; `s32` converts what is computed in it."""
    definitions = _lanes(FULL + WHOLE).definitions
    assert _steps(definitions["rounded"]) == [
        ("f32", "constant"),
        ("f32", "add"),
        ("s32", "bits_s32"),
        ("s32", "constant"),
        ("s32", "sub"),
        ("f32", "cast_s32"),
    ]
    assert _steps(definitions["triple"]) == [("f32", "add"), ("f32", "add")]
