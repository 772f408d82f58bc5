"""One function for several targets: it calls those of the best that the processor can run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import force_setattr

import morello
from morello.compiler import compile_for
from morello.definitions import Definitions
from morello.kernel import MultiTargetKernel
from morello.records import replace
from morello.runtime.program import built_program
from morello.toolchain.build import build
from morello.toolchain.compilers import describe
from tests.codegen.c.harness import builds
from tests.machines import needed, old_processor

from .kernels import SPECS, memo, small_inputs, small_machines

TWO = ("x86.scalar", "x86.avx2")
THREE = (*TWO, "x86.avx512")

FUNCTION = """spec logistic(N) {
  input  x: f32[N]
  output y: f32[N]
  y = sigmoid(x)
}"""

CASES: dict[str, tuple[str, dict[str, int]]] = {
    "weight": (SPECS["weight columns"], {"M": 3, "K": 7, "N": 33}),
    "threads": (SPECS["many threads"], {"M": 64, "K": 64, "N": 64}),
    "function": (FUNCTION, {"N": 53}),
    "one element": (SPECS["narrow"], {"N": 1}),
    "several outputs": (SPECS["rows of a product"], {"M": 5, "K": 6, "N": 7}),
}


def several(case: str, targets: tuple[str, ...] = TWO, **more: Any) -> MultiTargetKernel:
    text, sizes = CASES[case]
    definitions = more.pop("definitions", small_machines())
    return compile_for(text, targets, defines=sizes, definitions=definitions, memo=memo(), **more)


@pytest.mark.parametrize("case", CASES)
def test_each_target_is_right(case: str) -> None:
    """Of those that this machine can run, each with the workspace and the weights of all."""
    kernel = several(case)
    reports = kernel.verify()
    assert list(reports) == [t for t in TWO if not kernel.lacking(t)]
    assert "x86.scalar" in reports
    assert all(report.elements == report.total for report in reports.values())


@pytest.mark.parametrize("case", ["weight", "function"])
def test_it_is_built_without_warnings(case: str, tmp_path: Path) -> None:
    """By each compiler, for a processor without any of the features."""
    kernel = several(case, THREE)
    source = kernel.c_source
    assert not [flag for flag in source.flags if flag.startswith("-m")]
    for made in builds():
        if not made.sanitize:
            every = ("-Wall", "-Wextra", "-Werror", "-pedantic", *source.flags)
            files = {f"{source.name}.c": source.source}
            build(files, made.machine.compiler, every, tmp_path / "library.so")


@pytest.mark.parametrize("case", ["weight", "function"])
def test_nothing_is_touched_but_the_arguments(case: str) -> None:
    """Under the sanitizers, with each target; `_run` gives the same, bit for bit."""
    kernel = several(case, TWO)
    inputs = small_inputs(kernel)
    right = 1 / (1 + np.exp(-inputs[0])) if case == "function" else inputs[0] @ inputs[1]
    with built_program(
        kernel.c_source, kernel.signature, sanitize=True, both_entries=True
    ) as program:
        for target in TWO:
            (result,) = program.forced(target).results(*inputs)
            np.testing.assert_allclose(result, right, rtol=1e-4)


@pytest.mark.parametrize(("model", "best"), [("Nehalem", "x86.scalar"), ("Haswell", "x86.avx2")])
def test_old_processors_get_what_they_can_run(model: str, best: str, tmp_path: Path) -> None:
    """Under an emulator that stops at what they lack; a target that they lack is not forced."""
    machine = needed(old_processor(model))
    kernel = several("weight", THREE)
    main = tmp_path / "main.c"
    main.write_text('#include <stdio.h>\n#include "m.h"\nint main(void) { puts(NAME_target()); }\n')
    main.write_text(main.read_text().replace("NAME", kernel.name))
    (tmp_path / "m.h").write_text(kernel.header)
    (tmp_path / "m.c").write_text(kernel.source)
    command = ["gcc", "-std=c11", *kernel.c_source.flags, "main.c", "m.c", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    for forced, chosen in [("", best), ("x86.scalar", "x86.scalar"), ("x86.avx512", best)]:
        done = subprocess.run(
            machine.running(tmp_path / "program"),
            env={"MORELLO_TARGET": forced},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout == f"{chosen}\n"
    if best == "x86.scalar":  # as the other one is verified here
        assert list(several("weight", machine=machine).verify()) == [best]


@pytest.mark.parametrize("forced", TWO)
def test_calls_from_python(forced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, bound ones and packed weights are those of the target that is forced."""
    monkeypatch.setenv("MORELLO_TARGET", forced)
    kernel = several("weight", TWO)
    if kernel.lacking(forced):
        pytest.skip(f"this machine lacks {forced}")
    x, w = small_inputs(kernel)
    assert w.flags.f_contiguous
    assert kernel.chosen == forced
    np.testing.assert_allclose(kernel(x, w), x @ w, rtol=1e-4)
    packed = kernel.pack("b", w)
    assert "as the chosen target takes it" in repr(packed)
    out = np.empty((3, 33), np.float32)
    assert kernel.bind(x, packed, out=out)() is out
    np.testing.assert_allclose(out, x @ w, rtol=1e-4)
    monkeypatch.setenv("MORELLO_TARGET", "x86.scalar")
    assert kernel.chosen == forced, "it looks once"


def test_the_parts_are_those_of_the_targets() -> None:
    """The order of the names is of no matter, nor how often one is named."""
    kernel = several("one element", ("x86.avx2", "x86.scalar", "x86.avx2"))
    assert list(kernel.kernels) == list(TWO)
    assert kernel.source == several("one element", TWO).source
    assert all(f"{k.cost:,.0f} cycles" in str(kernel) for k in kernel.kernels.values())
    assert repr(kernel).endswith(" for x86.scalar, x86.avx2>")


def test_functions_of_each_target_have_names_of_their_own() -> None:
    """Two targets may have functions of one name, with other instructions in them."""
    source = several("function", THREE).source
    defined = re.findall(r"^static inline \S+ (\w+)\(", source, re.MULTILINE)
    assert len(defined) == len(set(defined))
    assert {name.rpartition("_x86_")[2] for name in defined} == {"avx2", "avx512"}


def test_one_target_is_a_choice_too() -> None:
    assert several("one element", ("x86.scalar",)).chosen == "x86.scalar"


def test_a_processor_that_lacks_nothing_is_not_asked(definitions: Definitions) -> None:
    """Where targets differ in what they are written with only, any compiler takes the file."""
    other = replace(
        definitions.targets["c.scalar"], name="c.other", lineage=("c.scalar", "c.other")
    )
    known = replace(definitions, targets={**definitions.targets, "c.other": other})
    kernel = several("one element", ("c.other", "c.scalar"), definitions=known)
    assert "__builtin_cpu" not in kernel.source
    assert kernel.chosen == "c.other"


NO_FILE = "cannot share a file"


@pytest.mark.parametrize(
    ("targets", "options", "message", "help"),
    [
        (("x86.zen5", "x86.sapphire_rapids"), {}, NO_FILE, "both extend, x86.avx512_bf16"),
        (("c.scalar", "my.board"), {}, f"{NO_FILE}: -march=old, asimd", "a file for each"),
        (("x86.scalar", "x86.avx3"), {}, "no target 'x86.avx3'", "x86.avx2"),
        (("x86.scalar",), {"measure": 3}, "measure= is for one target", "morello.compile"),
        ((), {}, "no list of names", "a list"),
        ("x86.scalar", {}, "no list of names", "a list"),
        (TWO, {"name": "float"}, "no function in C can be called 'float'", "float_0"),
    ],
)
def test_what_cannot_be(
    targets: Any, options: dict[str, Any], message: str, help: str, definitions: Definitions
) -> None:
    """Said before anything is searched."""
    board = replace(
        definitions.targets["c.scalar"],
        name="my.board",
        flags=(*definitions.targets["c.scalar"].flags, "-march=old"),
        features=("asimd",),
        lineage=("c.scalar", "my.board"),
    )
    known = replace(definitions, targets={**definitions.targets, "my.board": board})
    with pytest.raises(morello.UsageError, match=re.escape(message)) as refused:
        several("one element", targets, definitions=known, **options)
    assert help in refused.value.help


def test_an_emitter_may_write_single_programs_only(definitions: Definitions) -> None:
    class Plain:
        emit = definitions.emitters["c11"].emit

    known = replace(definitions, emitters={"c11": Plain()})
    with pytest.raises(morello.UsageError, match=r"nothing writes one file for x86\.scalar"):
        several("one element", TWO, definitions=known)


def test_a_wrong_part_is_found() -> None:
    """Of one target only: that one's result is compared, too."""
    kernel = several("one element", TWO)
    source = kernel.c_source.source
    broken = re.sub(r"(case 1:\n\s+\w+\(x, y, workspace\);)", r"\1\n      y[0] ^= 0x4000;", source)
    assert broken != source
    force_setattr(kernel.c_source, "source", broken)
    if kernel.lacking("x86.avx2"):
        pytest.skip("this machine runs one of the targets only")
    with pytest.raises(morello.MismatchError, match=r"y \(random inputs\)\[0\]"):
        kernel.verify()


def test_compilers_that_cannot_divide_such_loops_say_so(tmp_path: Path) -> None:
    """Before its version 22, clang compiles what threads share without the attributes."""
    clang = next((m.machine.compiler for m in builds() if m.machine.compiler.kind == "clang"), None)
    if clang is None:
        pytest.skip("there is no clang")
    source = several("threads", TWO).c_source
    assert "-fopenmp" in source.flags
    (tmp_path / "m.c").write_text(source.source)
    command = [*clang.command, "-fopenmp", "-c", "m.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    major = re.search(r"\d+", describe(clang.command).version)
    assert major
    if int(major[0]) < 22:
        assert "leave -fopenmp out, or take clang 22 or gcc" in done.stderr
    else:
        assert done.returncode == 0
