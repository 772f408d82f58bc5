"""Targets, primitives and microkernels: every construct with its exact tree."""

from __future__ import annotations

import pytest

from morello.ir.vector_axis import ROW_KINDS
from morello.language import ast, target_ast
from morello.language.clauses import Clause
from morello.language.kernel_clauses import CLAUSES, KernelClauses
from morello.language.parse import parse_target
from morello.language.source import Source
from tests.language.shapes import AT, binary, call, name, number

from .clause_texts import all_said, said


def parse(text: str) -> target_ast.TargetFile:
    return parse_target(Source("test.mtarget", text))


def target(body: str) -> target_ast.TargetDecl:
    [found] = parse(f"target t {{ {body} }}").targets
    return found


# --------------------------------------------------------------------------- targets


def test_target() -> None:
    text = """
        target x86.avx2 extends x86.scalar
          "With vectors."
        {
          emitter c11
          sizes 1, 2, 4
          page 4 KiB
          flags "-mavx2", "-mfma";
          headers "immintrin.h"
          features "asimd", "bf16"
          implied "fp"
          compiler "arm-cc"; runner "qemu -L /x"
          passes fetch_tiles, gap_panels
          level mem { line 64 }
          level reg { capacity 16 vectors; vector 4, 32; not addressable }
          coefficient fma = 0.5 cycles "one multiply-add"   # measured: 0.498
        }
    """
    expected = target_ast.TargetDecl(
        name="x86.avx2",
        name_span=AT,
        doc="With vectors.",
        base="x86.scalar",
        emitter="c11",
        sizes=(1, 2, 4),
        page=4096,
        flags=("-mavx2", "-mfma"),
        headers=("immintrin.h",),
        features=("asimd", "bf16"),
        implied=("fp",),
        compiler="arm-cc",
        runner="qemu -L /x",
        passes=("fetch_tiles", "gap_panels"),
        levels=(
            target_ast.LevelDecl("mem", (("line", (64,)),), False, (), span=AT),
            target_ast.LevelDecl(
                "reg",
                (("capacity", (16,)), ("vector", (4, 32)), ("not_addressable", ())),
                True,
                (),
                span=AT,
            ),
        ),
        coefficients=(
            target_ast.CoefficientDecl("fma", 0.5, "one multiply-add", "measured: 0.498", span=AT),
        ),
        span=AT,
    )
    assert target_ast.TargetFile((expected,), (), ()) == parse(text)


def test_empty_target() -> None:
    expected = target_ast.TargetDecl(
        "t", AT, "", None, None, (), None, (), (), (), (), None, None, None, (), (), span=AT
    )
    assert expected == target("")


def test_level() -> None:
    """Bytes are multiplied out; items are separated by ';' or by nothing."""
    [found] = target("level l1 { capacity 48 KiB; capacity_unit 2 KiB line 64; cache }").levels
    properties = (
        ("capacity", (49152,)),
        ("capacity_unit", (2048,)),
        ("line", (64,)),
        ("cache", ()),
    )
    assert target_ast.LevelDecl("l1", properties, False, (), span=AT) == found


SOURCES = {
    'coefficient a = 1 cycles "x"   # manual': "manual",
    'coefficient a = 1 cycles "x";  # manual, see above': "manual, see above",
    'coefficient a = 1 cycles "x"': "",
    'coefficient a = 1 cycles "x"\n# not this': "",
    'coefficient a = 1 cycles "x" line 64 # not this': "",
}


@pytest.mark.parametrize("text", SOURCES)
def test_source_of_a_coefficient(text: str) -> None:
    """It is the comment that follows on the same line, and nothing else."""
    [level] = target(f"level l {{ {text}\n }}").levels
    assert (
        target_ast.CoefficientDecl("a", 1.0, "x", SOURCES[text], span=AT),
    ) == level.coefficients


def test_value_of_a_coefficient_is_a_float() -> None:
    [found] = target('coefficient a = 3 cycles "x"').coefficients
    assert isinstance(found.value, float)


def test_properties_as_names() -> None:
    """The words of a level are free where a name is wanted."""
    found = target('level line { cache } coefficient capacity = 1 cycles "x"')
    assert (found.levels[0].name, found.coefficients[0].name) == ("line", "capacity")


# --------------------------------------------------------------------------- primitives


def test_primitives() -> None:
    """A coefficient may follow an entry's text; the next entry needs no separator."""
    text = """
        primitives f32 x 16 on x86.avx512 {
          type "__m512"
          add  "_mm512_add_ps({0}, {1})" vector_op
          mul  "_mm512_mul_ps({0}, {1})" vector_op;
          neg  "(-{0})"; abs "g(\\"{0}\\")"
          max  "m({0})" last
        }
    """
    entries = (
        ("type", "__m512", None),
        ("add", "_mm512_add_ps({0}, {1})", "vector_op"),
        ("mul", "_mm512_mul_ps({0}, {1})", "vector_op"),
        ("neg", "(-{0})", None),
        ("abs", 'g("{0}")', None),
        ("max", "m({0})", "last"),
    )
    expected = target_ast.PrimitivesDecl("f32", 16, "x86.avx512", entries, span=AT)
    assert target_ast.TargetFile((), (expected,), ()) == parse(text)


def test_no_primitives() -> None:
    [found] = parse("primitives f32 x 1 on t { }").primitives
    assert found.entries == ()


# --------------------------------------------------------------------------- functions


def test_function() -> None:
    """Its text is what stands between the fences, as of a kernel's template."""
    text = """
        function twice_f32 on x86.avx2
          "The double of a number."
          emit ```
            static inline float twice_f32(float x) {
              return x + x;  /* exact */
            }
          ```
    """
    c = "static inline float twice_f32(float x) {\n  return x + x;  /* exact */\n}"
    expected = target_ast.FunctionDecl(
        "twice_f32", AT, "The double of a number.", "x86.avx2", c, span=AT
    )
    assert target_ast.TargetFile((), (), (), (expected,)) == parse(text)


def test_macro() -> None:
    """Its text is a template, as of a kernel; it need not have parameters."""
    text = """
        macro doubled(x, count) on x86.avx2
          "Doubles."
          emit ```
            {% for i in range(count) %}
            {{ x[i] }} *= 2;
            {% endfor %}
          ```
        macro nothing() on x86.avx2 "Nothing." emit ```;```
    """
    template = "{% for i in range(count) %}\n{{ x[i] }} *= 2;\n{% endfor %}"
    doubled = target_ast.MacroDecl(
        "doubled", AT, ("x", "count"), "Doubles.", "x86.avx2", template, span=AT
    )
    nothing = target_ast.MacroDecl("nothing", AT, (), "Nothing.", "x86.avx2", ";", span=AT)
    assert parse(text).macros == (doubled, nothing)


# --------------------------------------------------------------------------- kernels


def kernel(match: str, rest: str = "cost 1 emit definition") -> target_ast.KernelDecl:
    [found] = parse(f'kernel k on x86.avx2 "Text." match {match} {rest}').kernels
    return found


def clauses(match: str, rest: str = "cost n emit definition") -> KernelClauses:
    return kernel(match, rest).clauses


def operand(text: str = "A: f32[n] at reg") -> target_ast.KernelOperand:
    return kernel(f"g({text})").match.operands[0]


def pattern(  # every field of a pattern, with the values of the simplest one
    name: str = "A",
    *,
    dtype: str = "f32",
    rest: bool = False,
    shape: tuple[int | str, ...] = ("n",),
    levels: tuple[str, ...] = ("reg",),
    order: tuple[int, ...] | None = None,
    panels: tuple[ast.Panel, ...] = (),
    vector: int | None = None,
    farther: bool = False,
    already: bool = False,
) -> target_ast.KernelOperand:
    given = (name, dtype, rest, shape, levels, order, panels, vector)
    return target_ast.KernelOperand(*given, farther=farther, already=already, span=AT)


def test_kernel() -> None:
    text = """
        kernel fma on x86.avx512
          "A row."
          match  accumulating matmul(A: f32[..., 1, 1] at l1 layout any,
                                     C: f32[..., 1, n] at reg vector 64)
          where  free(reg) >= 1, n % 16 == 0
          cost   n * fma_f32
          emit   ```
            first {{ A[0, 0] }};
              second `quoted` # not a comment
          ```
    """
    match = target_ast.KernelMatch(
        "named",
        "matmul",
        AT,
        True,
        (
            pattern("A", rest=True, shape=(1, 1), levels=("l1",), order=()),
            pattern("C", rest=True, shape=(1, "n"), vector=64),
        ),
        span=AT,
    )
    n = name("n")
    guards = (
        binary(call("free", name("reg")), ">=", number(1)),
        binary(binary(n, "%", number(16)), "==", number(0)),
    )
    template = "first {{ A[0, 0] }};\n  second `quoted` # not a comment"
    expected = target_ast.KernelDecl(
        "fma",
        AT,
        "A row.",
        "x86.avx512",
        match,
        guards,
        binary(n, "*", name("fma_f32")),
        KernelClauses(),
        False,
        template,
        span=AT,
    )
    assert target_ast.TargetFile((), (), (expected,)) == parse(text)


def test_both_forms_of_an_operator() -> None:
    """``any`` before its name; an operator may be called so, too."""
    forms = {"matmul": False, "accumulating matmul": True, "any matmul": None, "any any_": None}
    for text, accumulating in forms.items():
        match = kernel(f"{text}(A: f32[n] at l1)").match
        assert (match.operator, match.accumulating) == (text.split()[-1], accumulating)


UNIFORM = {
    "any op (any[...] at l1 or reg vector 4)": ("op", False),
    "accumulating any op (any[...] at l1 or reg vector 4)": ("op", True),
}


@pytest.mark.parametrize("text", UNIFORM)
def test_uniform_match(text: str) -> None:
    """One pattern without a name stands for every operand."""
    every = pattern("", dtype="any", rest=True, shape=(), levels=("l1", "reg"), vector=4)
    kind, accumulating = UNIFORM[text]
    assert (
        target_ast.KernelMatch(kind, None, AT, accumulating, (every,), span=AT)
        == kernel(text).match
    )


@pytest.mark.parametrize("kind", ROW_KINDS)
def test_match_for_rows(kind: str) -> None:
    """A pattern for the operands along the rows, and perhaps one for the others."""
    along = pattern("", rest=True, levels=("reg", "l1"), vector=64)
    across = pattern("", rest=True, shape=(), levels=("l1",), order=())
    first, second = "f32[..., n] at reg or l1 vector 64", "f32[...] at l1 layout any"
    for text, operands in ((first, (along,)), (f"{first}; {second}", (along, across))):
        match = target_ast.KernelMatch(kind, None, AT, False, operands, span=AT)
        assert match == kernel(f"{kind} op ({text})").match


OPERANDS = {
    "A: f32[n] at reg": pattern(),
    "A: f32[] at reg": pattern(shape=()),
    "A: any[...] at reg": pattern(dtype="any", rest=True, shape=()),
    "A: f32[..., 1, n] at reg": pattern(rest=True, shape=(1, "n")),
    "A: f32[n] at l1 or l2 or reg": pattern(levels=("l1", "l2", "reg")),
    "A: f32[n] at l1 or farther": pattern(levels=("l1",), farther=True),
    "A: f32[n] at reg or l1 or farther layout any": pattern(
        levels=("reg", "l1"), farther=True, order=()
    ),
    "A: f32[n] at reg layout any": pattern(order=()),
    "A: f32[n] at reg layout (1, 0) vector 64": pattern(order=(1, 0), vector=64),
    "A: f32[n, m] at mem layout (1, 0) already": pattern(
        shape=("n", "m"), levels=("mem",), order=(1, 0), already=True
    ),
    "A: f32[n] at mem panels 16": pattern(levels=("mem",), panels=(16,)),
    "A: f32[n] at reg layout any panels 8 or 16 vector 64": pattern(
        order=(), panels=(8, 16), vector=64
    ),
    "A: f32[m, n] at l1 panels 4 or (16, 4)": pattern(
        shape=("m", "n"), levels=("l1",), panels=(4, (16, 4))
    ),
    "A: f32[layout, vector] at layout layout any vector 4": pattern(
        shape=("layout", "vector"), levels=("layout",), order=(), vector=4
    ),
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operand(text: str) -> None:
    assert OPERANDS[text] == operand(text)


def test_span_of_an_operand() -> None:
    """It includes the name."""
    span = operand("A: f32[n] at reg layout any").span
    assert span.source.text[span.start : span.end] == "A: f32[n] at reg layout any"


TEMPLATES = {
    "```a;```": "a;",
    "``` a; ```": "a;",
    "```\n  a;\n    b;\n```": "a;\n  b;",
    "```\n  a;\r\n  b;\n  ```": "a;\nb;",
    "``` \n\n  a;\n\n```": "\na;",
    "``````": "",
}


@pytest.mark.parametrize("text", TEMPLATES)
def test_template(text: str) -> None:
    """Fences, common indentation and trailing blanks are not part of it."""
    assert TEMPLATES[text] == kernel("g(A: f32[n] at reg)", f"cost 1 emit {text}").template


def test_a_definition_has_no_template() -> None:
    assert kernel("g(A: f32[n] at reg)").template is None


VALUES = {"flushes": True, "copied": "A", "between": ("between", "after_")}
"""Of clauses as `said` says them; conditions are counted."""


def test_a_kernel_says_clauses_after_its_cost() -> None:
    """Each alone and all together, in the order of the table; and none."""
    every = clauses("g(A: f32[n] at l1)", f"cost n {all_said(CLAUSES)} emit definition")
    assert [own.name for own, _ in every.given()] == [own.name for own in CLAUSES]
    for own, value in every.given():
        alone = clauses("g(A: f32[n] at l1)", f"cost n {said(own)} emit definition")
        assert list(alone.given()) == [(own, value)]
        assert own.shown(value)
    assert KernelClauses() == clauses("g(A: f32[n] at l1)")
    assert {name: getattr(every, name) for name in VALUES} == VALUES
    assert len(every.direct or ()) == 2


@pytest.mark.parametrize("own", CLAUSES, ids=lambda own: own.name)
def test_words_of_clauses_are_names_elsewhere(own: Clause) -> None:
    word = own.words.split()[0]
    found = kernel(f"g(A: f32[{word}] at reg)", f"cost {word} {said(own)} emit definition")
    assert found.match.operands[0].shape == (word,)
    assert getattr(found.clauses, own.name) != own.default


def test_conditions_of_a_clause_may_be_left_out() -> None:
    assert clauses("g(A: f32[n] at reg)", "cost n direct emit definition").direct == ()


def test_what_passes_the_caches_is_said_last() -> None:
    text = "pointwise op (f32[..., n] at mem vector 64)"
    assert not kernel(text, "cost n emit definition").streamed
    assert kernel(text, "cost n emit definition streamed").streamed


def test_a_kernel_for_several_types_is_several_kernels() -> None:
    """Each with its type in the pattern, and in its name; what is of a type by itself stays."""
    text = """kernel rows for T in u8, s8 on some.machine
      "Rows."
      match  copy(X: T[n] at l1, Y: f32[n] at l1)
      cost   1
      emit   definition"""
    kernels = parse_target(Source("some.mtarget", text)).kernels
    assert [kernel.name for kernel in kernels] == ["rows_u8", "rows_s8"]
    assert [[o.dtype for o in k.match.operands] for k in kernels] == [["u8", "f32"], ["s8", "f32"]]


@pytest.mark.parametrize("parameters", ["any x L", "T in u8, s8 x L"])
def test_a_kernel_for_every_width_says_which_name_stands_for_it(parameters: str) -> None:
    text = f"""kernel rows for {parameters} on some.machine
      "Rows."
      match  pointwise op (any[..., n] at l1 lanes L)
      cost   n / L
      emit   definition"""
    kernels = parse_target(Source("some.mtarget", text)).kernels
    assert {k.lanes for k in kernels} == {k.match.operands[0].lanes for k in kernels} == {"L"}
    assert len(kernels) == (1 if "any" in parameters else 2)
