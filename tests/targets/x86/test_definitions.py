"""The shipped ``.mtarget`` files, and the plugin that gives them."""

from __future__ import annotations

import re

import morello_x86
import pytest

import morello
from morello.ir.primitives import CONDITIONS, FUNCTION_ULPS, SELECTION, TRUTH

from ...codegen.c.definitions import targets

CHAIN = (
    "c.scalar",
    "x86.scalar",
    "x86.avx2",
    "x86.avx512",
    "x86.avx512_vnni",
    "x86.avx512_bf16",
    "x86.sapphire_rapids",
    "x86.amx",
)
"""Each extends those before it."""

NAMES = (*CHAIN, "x86.zen5")
ALL_KERNELS = sorted({k.name: k for k in targets()[CHAIN[-1]].kernels}.items())
DECLARED = re.compile(r"^\s*(?:const\s+)?(?:__m\d+i?|__mmask\d+|float|int\w*)\s+(\w+)\s*=", re.M)


def test_the_plugin_gives_files_and_the_emitter() -> None:
    """By the hooks of the plugin interface."""
    names = [file.name for file in morello_x86.morello_definition_files()]
    assert names == [
        "amx.mtarget",
        "avx2.mtarget",
        "avx2_conversions.mtarget",
        "avx2_functions.mtarget",
        "avx2_narrow.mtarget",
        "avx2_products.mtarget",
        "avx2_transposes.mtarget",
        "avx512.mtarget",
        "avx512_bf16.mtarget",
        "avx512_conversions.mtarget",
        "avx512_functions.mtarget",
        "avx512_narrow.mtarget",
        "avx512_vnni.mtarget",
        "sapphire_rapids.mtarget",
        "scalar.mtarget",
        "zen5.mtarget",
    ]
    assert {t.emitter for t in targets().values()} == {"c11"}


@pytest.mark.parametrize(
    ("lineage", "registers", "vectors", "nearest", "middle", "arguments"),
    [
        (CHAIN[:2], 12, (4,), 32, 768, 10),
        (CHAIN[:3], 14, (4, 32), 24, 768, 6),
        (CHAIN[:4], 30, (4, 64), 32, 768, 10),
        (CHAIN[:5], 30, (4, 64), 32, 768, 10),
        (CHAIN[:6], 30, (4, 64), 32, 768, 10),
        (CHAIN[:7], 30, (4, 64), 32, 1536, 10),
        (CHAIN[:8], 30, (4, 64), 32, 1536, 10),
        ((*CHAIN[:6], "x86.zen5"), 30, (4, 64), 32, 768, 10),
    ],
)
def test_levels(
    lineage: tuple[str, ...],
    registers: int,
    vectors: tuple[int, ...],
    nearest: int,
    middle: int,
    arguments: int,
) -> None:
    """Nearest first, with what tiles may take of the caches of the processors that they are for."""
    target = targets()[lineage[-1]]
    assert target.lineage == lineage
    assert [level.name for level in target.levels] == ["reg", "l1", "l2", "in_l2", "l3", "mem"]
    reg, l1, l2, in_l2, l3, mem = target.levels
    assert (reg.capacity, reg.vectors) == (registers, vectors)
    assert (l1.capacity or 0) * l1.capacity_unit == nearest * 1024
    assert (l2.capacity or 0) * l2.capacity_unit == middle * 1024
    assert in_l2.distance == l3.distance == mem.distance
    assert in_l2.arguments * 3 <= (l2.capacity or 0) * l2.capacity_unit
    assert [target.home(in_l2.arguments + more) for more in (0, 1)] == [in_l2, l3]
    assert [target.home(size << 20) for size in (1, arguments, arguments + 1)] == [l3, l3, mem]


@pytest.mark.parametrize("name", NAMES)
def test_each_vector_has_the_primitives_that_operators_need(name: str) -> None:
    """Scalars and vectors alike: arithmetic, conditions, and what is for one type only."""
    arithmetic = {"type", "constant", "add", "sub", "mul", "max", "min", "neg", "abs"}
    arithmetic |= {"floor", "round", TRUTH, SELECTION, *CONDITIONS}
    target = targets()[name]
    for width in target.level_by_name["reg"].vectors:
        f32 = target.primitives["f32", width // 4].entries.keys()
        s32 = target.primitives["s32", width // 4].entries.keys()
        called = {"sin", "cos", "atan"}
        assert arithmetic | {"div", "sqrt", "cast_s32", *FUNCTION_ULPS} - called <= f32
        assert arithmetic | {"cast_f32"} <= s32


@pytest.mark.parametrize("name", [name for name, _ in ALL_KERNELS])
def test_locals_of_templates_end_with_an_underscore(name: str) -> None:
    """So that they hide no name that the emitter gives."""
    template = dict(ALL_KERNELS)[name].template or ""
    assert [n for n in DECLARED.findall(template) if not n.endswith("_")] == []


@pytest.mark.parametrize("name", ["x86.avx2", "x86.avx512"])
def test_every_kernel_costs_something(name: str) -> None:
    """Also one that neither loads, stores nor computes: a fill of registers is an instruction."""
    spec = f"target {name} spec f() {{ input a: s32[6, 9] input b: s32[9, 32] output c: s32[6, 32] "
    lines = morello.compile(spec + "c = matmul(a, b) }").plan.lines
    kernels = [line.node for line in lines if not line.node.children]
    assert all(node.cycles > 0 for node in kernels)
    assert "fill" in {node.spec.family.operation.operator.name for node in kernels}
