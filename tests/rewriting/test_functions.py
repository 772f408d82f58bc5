"""The list of functions that rules may use, and the functions that implement it."""

from __future__ import annotations

from inspect import Parameter, signature

import numpy as np
import pytest

from morello.ir.dtypes import F32
from morello.ir.layout import Layout, Packing, packed, panel_of
from morello.language.evaluate import ARITHMETIC as EVALUATED
from morello.language.functions import ARITHMETIC, SPEC
from morello.records import replace
from morello.rewriting.functions import SPEC_FUNCTIONS, Scope
from morello.rewriting.references import spec_ref
from morello.search.planning.families import discover
from tests.search.goals import Wanted, matmul
from tests.search.machines import context


def test_every_function_of_the_list_is_implemented_and_no_other() -> None:
    assert SPEC.keys() == SPEC_FUNCTIONS.keys()
    assert ARITHMETIC.keys() == EVALUATED.keys()


@pytest.mark.parametrize("name", SPEC)
def test_it_takes_the_arguments_that_the_list_says(name: str) -> None:
    """After the scope."""
    parameters = signature(SPEC_FUNCTIONS[name]).parameters.values()
    positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    assert 1 + len(SPEC[name].arguments) == len(positional) == len(parameters)


def test_ways_to_share_threads() -> None:
    """Only whole numbers divide a number of threads."""
    scope = Scope(context("tiny.flat").target, {}, {}, {})
    divisors = SPEC_FUNCTIONS["divisors"]
    assert [(1, 2, 3, 6), (1, 7), (1,), (), ()] == [divisors(scope, n) for n in (6, 7, 1, 4.5, 0)]


def test_shares_of_a_dimension() -> None:
    """Rounded up, never less than 1 or more than all; of one Spec as of many."""
    target, sizes = context("tiny.flat").target, [1, 5, 6, 7]
    numbers = (1, 2, 3, 8, 2.5, 0, -3)
    expected = [[1, 5, 6, 7], [1, 3, 3, 4], [1, 2, 2, 3], [1, 1, 1, 1], [1, 2, 3, 3], sizes, sizes]
    share = SPEC_FUNCTIONS["share"]
    box = Scope(target, {}, {"m": np.array(sizes)}, {})
    assert expected == [share(box, "m", n).tolist() for n in numbers]
    assert expected == [
        [share(Scope(target, {}, {"m": s}, {}), "m", n) for s in sizes] for n in numbers
    ]


def test_what_stays_is_no_larger_than_arguments_that_are_not_in_memory() -> None:
    target = context("x86.avx512").target
    most = max(level.arguments for level in target.levels)
    sizes = Scope(target, {}, {}, {})
    assert [True, False] == SPEC_FUNCTIONS["fits_argument_cache"](
        sizes, np.array([most, most + 1])
    ).tolist()
    far = [level.name for level in target.levels if SPEC_FUNCTIONS["farthest"](sizes, level)]
    assert far == [target.farthest.name]


def test_what_is_computed_is_where_an_argument_of_its_size_is() -> None:
    target = context("x86.avx512").target
    most = max(level.arguments for level in target.levels)
    bytes = np.array([1, most, most + 1])
    holds = {
        name: SPEC_FUNCTIONS["holds"](
            Scope(target, {}, {}, {}), target.level_by_name[name], bytes
        ).tolist()
        for name in ("l1", "l3", "mem")
    }
    assert holds == {"l1": [True] * 3, "l3": [True, True, False], "mem": [False, False, True]}


def _layouts_of_b(target: str, *dtypes: str, to: str = "l2") -> list[str]:
    """What is worth a try for B of a product with these element types, on its way to a level."""
    known = context(target)
    spec = Wanted("matmul", (3, 2, 2), 0, dtypes).spec(known.target)
    f = spec_ref(spec.family, spec.packing)
    scope = Scope(known.target, {"f": f}, {}, {}, requests=known.requests)
    level = known.target.level_by_name[to]
    return [str(layout) for layout in SPEC_FUNCTIONS["layouts"](scope, f.tensors[1], level)]


def test_layouts_are_those_of_kernels_that_may_still_match() -> None:
    """Not of those for other types, nor of those for registers that this target has not."""
    tall = ["(0, 1)", "(1, 0) panels (16, 4)"]
    assert tall == _layouts_of_b("x86.avx512_vnni", "u8", "s8", "s32")
    assert ["(0, 1)", "(1, 0) panels (16, 2)"] == _layouts_of_b("x86.avx2", "u8", "s8", "s32")
    assert ["(0, 1)"] == _layouts_of_b("x86.avx512", "u8", "s8", "s32")
    assert tall == _layouts_of_b("x86.avx512_vnni", "u8", "s8", "s32", to="mem")
    assert ["(0, 1)"] == _layouts_of_b("x86.avx512_vnni", "u8", "s8", "s32", to="l1")
    assert ["(0, 1)"] == _layouts_of_b("x86.avx512_vnni", "s8", "s8", "s32")
    assert ["(0, 1)", "(0, 1) panels 16"] == _layouts_of_b("x86.avx512", "f32", "f32", "f32")


def test_nothing_is_copied_to_a_layout_that_is_taken_as_it_is() -> None:
    """Columns of B in one piece are read where they are; the other kernels want rows."""
    kernels = context("x86.avx2").target.kernels
    patterns = [p for k in kernels if k.match.operator == "matmul" for p in k.match.operands]
    assert [p.order for p in patterns if p.already and p.dtype == "f32"] == [(1, 0)]
    assert ["(0, 1)", "(0, 1) panels 16"] == _layouts_of_b("x86.avx2", "f32", "f32", "f32")


def test_layouts_and_vectors_of_a_copy_in_another_type() -> None:
    """What kernels want of B once it is f32, and how many bytes its registers have then."""
    known = context("x86.avx512")
    spec = Wanted("matmul", (3, 2, 2), 0, ("bf16", "bf16", "f32")).spec(known.target)
    f = spec_ref(spec.family, spec.packing)
    scope = Scope(known.target, {"f": f}, {}, {}, requests=known.requests)
    l2, reg = (known.target.level_by_name[name] for name in ("l2", "reg"))
    layouts, vectors = SPEC_FUNCTIONS["layouts"], SPEC_FUNCTIONS["vectors"]
    found = [str(layout) for layout in layouts(scope, f.tensors[1], l2, F32)]
    assert ["(0, 1)", "(0, 1) panels 16"] == found
    assert ["(0, 1)", "(0, 1) panels 64"] == [str(x) for x in layouts(scope, f.tensors[1], l2)]
    assert (4, 64) == vectors(scope, f.tensors[1], reg, F32)
    assert () == vectors(scope, f.tensors[1], reg)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("target", "dtypes", "expected"),
    [
        ("x86.avx512_bf16", ("bf16", "bf16", "f32"), True),
        ("x86.avx512_bf16", ("f32", "bf16", "f32"), False),
        ("x86.avx512_vnni", ("bf16", "bf16", "f32"), False),
        ("x86.sapphire_rapids", ("bf16", "bf16", "f32"), False),  # what its kernels say of costs
        ("x86.sapphire_rapids", ("u8", "s8", "s32"), True),
        ("x86.avx512_vnni", ("s8", "s8", "s32"), False),
        ("x86.avx2", ("u8", "s8", "s32"), False),
    ],
)
def test_what_a_kernel_takes_directly(
    target: str, dtypes: tuple[str, str, str], expected: bool
) -> None:
    """And nothing is converted then: no child of a product of these types has another type."""
    known = context(target)
    family = Wanted("matmul", (3, 2, 2), 0, dtypes).spec(known.target).family
    assert known.takes_directly(spec_ref(family)) == expected
    families = discover(known, family).nodes
    products = [f for f in families if f.operation.operator.name == "matmul"]
    types = {tuple(o.dtype.name for o in f.operands) for f in products}
    assert dtypes in types
    assert (types == {dtypes}) == expected


def test_what_rules_make_of_an_operation_is_taken_directly_too() -> None:
    """A kernel takes bytes of what a product of rows becomes: they are converted nowhere."""
    known, dtypes = context("x86.avx512_vnni"), ("u8", "s8", "s32")
    family = Wanted("matmul_nt", (3, 2, 2), 0, dtypes).spec(known.target).family
    assert known.takes_directly(spec_ref(family))
    names = {"matmul_nt", "matmul"}
    families = discover(known, family).nodes
    products = [f for f in families if f.operation.operator.name in names]
    assert {f.operation.operator.name for f in products} == names
    assert {tuple(o.dtype.name for o in f.operands) for f in products} == {dtypes}


def test_the_width_of_panels_is_how_an_operand_is_packed() -> None:
    known = context("x86.avx512_vnni")
    wanted = matmul(3, 2, 9, "s32", B=Layout((1, 0), 4))
    spec = wanted.spec(known.target)
    f = spec_ref(spec.family, spec.packing)
    scope = Scope(known.target, {"f": f}, {}, {}, requests=known.requests)
    assert [0, 4, 0] == [SPEC_FUNCTIONS["panels"](scope, tensor) for tensor in f.tensors]
    tall = matmul(3, 8, 33, "s32", B=Layout((1, 0), panel_of((16, 4)))).spec(known.target)
    _, b, _ = spec_ref(tall.family, tall.packing).tensors
    assert SPEC_FUNCTIONS["panels"](scope, b) == 4


def _more_for_each_line(k: int, n: int, packing: Packing, dtype: str = "s32") -> float:
    """What a line of B, k rows of n, costs on its way from memory beyond what it costs at least."""
    known = context("x86.sapphire_rapids")
    memory, l2 = (known.target.level_by_name[name] for name in ("mem", "l2"))
    spec = Wanted("matmul", (3, k, n), 0, (dtype,) * 3).spec(known.target)
    f = spec_ref(spec.family, spec.packing)
    b = f.tensors[1]
    b = replace(b, operand=replace(b.operand, level=memory), packing=packing)
    sizes = dict(zip(("m", "n", "k"), (3, n, k), strict=True))
    scope = Scope(known.target, {"f": f}, sizes, {})
    hops = known.target.between(l2, memory)
    least = sum(hop.coefficients["fetch"].value for hop in hops)
    lines = SPEC_FUNCTIONS["lines"](scope, b)
    assert lines == k * n // 16
    return float(SPEC_FUNCTIONS["fetch"](scope, b, l2) / lines - least)


def test_one_row_alone_does_not_keep_memory_busy_and_too_many_are_not_followed() -> None:
    """Rows of a page and more may be read side by side; shorter ones are one stream."""
    memory = context("x86.sapphire_rapids").target.level_by_name["mem"]
    alone, crowded = (memory.coefficients[f"fetch_{n}"].value for n in ("alone", "crowded"))
    whole, panels = packed(2), packed(2, 16)
    assert memory.streams == 16
    assert alone == _more_for_each_line(1, 1024, whole)
    assert alone / 4 == _more_for_each_line(4, 1024, whole)
    assert alone / 16 + crowded == _more_for_each_line(17, 1024, whole)
    assert alone == _more_for_each_line(64, 64, whole)
    assert alone / 4 == _more_for_each_line(64, 64, panels)
    # Kernels for these types ask for what follows in each row.
    assert alone / 16 == _more_for_each_line(17, 1024, whole, "f32")
    assert alone == _more_for_each_line(32, 64, panels)
