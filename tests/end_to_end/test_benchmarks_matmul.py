"""Matrix products are measured against who is installed, and nobody's failure loses the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import morello
from benchmarks import building, contenders, matmul, report
from benchmarks.building import Built, Workshop, build_c, build_contender
from benchmarks.cases import CASES, ELEMENTS, Case
from benchmarks.contenders import COMPILED, LIMITS, LOOPS, PEERS, SPECS, Contender, Variant
from benchmarks.harness import Problem
from benchmarks.plot import draw
from benchmarks.runs import Measured, Setting, environment_of, measure
from morello import MorelloError
from morello.definitions import Definitions, load_definitions
from morello.ir.dtypes import F32, S32
from morello.ir.numeric import Array
from morello.records import replace
from morello.reference.bounded import bounded
from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler

ALL = (*SPECS, *PEERS, LOOPS, *LIMITS)
QUICK = ["--target", "x86.scalar", "--repeats", "2", "--only", "loop,arithmetic,reading"]


@pytest.fixture
def workshop(definitions: Definitions, tmp_path: Path) -> Workshop:
    """For one thread of the portable target."""
    return Workshop(find_compiler(), definitions.targets["x86.scalar"], 1, tmp_path)


@pytest.fixture
def setting(workshop: Workshop, tmp_path: Path) -> Setting:
    """One turn with warm caches."""
    harness = build_c(workshop, "harness.c")
    return Setting(load_definitions().targets["x86.scalar"], 1, 1, ("warm",), harness, tmp_path)


def _run(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(matmul.main, list(arguments))
    assert status == done.exit_code, done.output
    return done.output


# ------------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_products_are_checked_and_timed(tmp_path: Path) -> None:
    """A table for people, a record for tools, a picture, and all that one needs to repeat it."""
    output, picture = tmp_path / "matmul.json", tmp_path / "matmul.svg"
    files = ["--json", str(output), "--plot", str(picture)]
    printed = _run("--sizes", "3x5x4,2", *QUICK, *files)
    document = json.loads(output.read_text())
    assert ["3x5x4", "2x2x2"] == [record["case"] for record in document["cases"]]
    for mode in ("warm", "flushed"):
        found = document["cases"][0][mode]
        others = {"loop ijk", "loop ikj", "loop kij", "arithmetic", "reading"}
        assert {*(n for spec in SPECS for n in spec.names()), *others} == set(found)
        assert found["morello"]["ratio"] == 1
        for record in found.values():
            low, high = record["quartiles"]
            assert 0 < low <= record["seconds"] <= high
    assert set(document["environment"]) >= {"processor", "caches", "compiler", "versions", "commit"}
    assert "| 3 x 5 x 4 |" in printed
    texts = [e.text for e in ElementTree.parse(picture).iter() if e.tag.endswith("}text")]
    assert {"3 x 5 x 4", "loop ikj", "morello"} <= set(texts)


@pytest.mark.slow
def test_every_peer_takes_part_or_is_named_with_the_reason(tmp_path: Path) -> None:
    """Whatever is installed here computes the right product, as a matrix and as a vector."""
    output = tmp_path / "matmul.json"
    arguments = ("--target", "x86.scalar", "--repeats", "1", "--mode", "warm")
    _run("--sizes", "7x5x9,1x6x8", *arguments, "--json", str(output))
    document = json.loads(output.read_text())
    for case, record in zip((Case(7, 5, 9), Case(1, 6, 8)), document["cases"], strict=True):
        missing = [name for name in document["left_out"] if name in {c.name for c in PEERS}]
        libraries = {c.name: tmp_path for c in ALL if c.name not in missing}
        expected = {built.name for built in building.entrants(case, libraries)}
        assert expected == set(record["warm"]) | set(record["left_out"])
        assert {"it does not do this product"} >= set(record["left_out"].values())
    assert all(reason.startswith("not installed") for reason in document["left_out"].values())


@pytest.mark.slow
def test_with_threads_each_library_has_processes_of_its_own(tmp_path: Path) -> None:
    """Their runs come together."""
    output = tmp_path / "matmul.json"
    chosen = ("--mode", "warm", "--only", "arithmetic")
    _run("--sizes", "8", "--threads", "2", *QUICK, *chosen, "--json", str(output))
    document = json.loads(output.read_text())
    record = document["cases"][0]["warm"]
    assert {*(n for spec in SPECS for n in spec.names()), "arithmetic"} == set(record)
    assert "2" == document["variables"]["OMP_NUM_THREADS"]


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record and the table have the cases before it."""
    measure_case = matmul._measure_case

    def interrupted(case: Case, *rest: Any) -> matmul.Document:
        if case.m == 2:
            raise KeyboardInterrupt
        return measure_case(case, *rest)

    monkeypatch.setattr(matmul, "_measure_case", interrupted)
    output = tmp_path / "matmul.json"
    printed = _run("--sizes", "3,2", *QUICK, "--json", str(output), status=130)
    document = json.loads(output.read_text())
    assert (["3x3x3"], True) == ([r["case"] for r in document["cases"]], document["interrupted"])
    assert "| 3 x 3 x 3 |" in printed


@pytest.mark.slow
def test_a_case_of_an_unknown_element_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out; the others are measured."""
    monkeypatch.setattr(matmul, "DTYPES", {"f32": F32})
    printed = _run("--sizes", "u8s8:4,3", *QUICK)
    assert "left out: u8s8:4x4x4: there is no element type" in printed
    assert "| 3 x 3 x 3 |" in printed


@pytest.mark.parametrize("text", [",", "axb", "2x3", "0", "1x2x3x4", "-1", "1x0x2", "1x2x"])
def test_sizes_that_make_no_sense_are_usage_errors(text: str) -> None:
    """With the form that is expected."""
    assert "neither MxKxN nor one size" in _run("--sizes", text, status=2)


def test_other_wrong_uses_say_what_there_is() -> None:
    """Element types, contenders, targets."""
    assert "'f16' is none of: f32, bf16" in _run("--sizes", "f16:4", status=2)
    assert "'ATLAS' is none of: OpenBLAS" in _run("--only", "ATLAS", status=2)
    assert "there is no target 'x86'" in _run("--target", "x86", status=1)


# ------------------------------------------------------------------------------- failures

BROKEN = {
    "crashes": "*(volatile int *)0 = 1;",
    "leaves": "exit(3);",
    "is wrong": "float *c = p->c; c[0] = 1; c[1] = 2; c[2] = 3; c[3] = 5;",
    "is right": "float *c = p->c; c[0] = 1; c[1] = 2; c[2] = 3; c[3] = 4;",
}


@pytest.fixture
def broken(workshop: Workshop, tmp_path: Path) -> list[Built]:
    """Contenders that fail in all ways, and last one that does not."""
    found = [Built("is not there", "peer", tmp_path / "none.so", 0)]
    header = (building.SOURCES / building.HEADER).read_text()
    for name, body in BROKEN.items():
        source = f"""#include <stdlib.h>
#include "contender.h"
void *contender_open(const contender_problem *p) {{ return p->variant ? 0 : (void *)p; }}
void contender_run(void *opened) {{ const contender_problem *p = opened; (void)p; {body} }}
const char *contender_about(void) {{ return "a test"; }}
"""
        sources = {"contender.c": source, building.HEADER: header}
        library = build(sources, workshop.compiler, (), tmp_path / f"{name}.so")
        found.append(Built(name, "peer", library, 0))
    found.append(replace(found[-1], name="refuses", variant=1))
    return found


def _problem() -> Problem:
    """The product of the first numbers with one."""
    values = np.array([[1, 2], [3, 4]], np.float32)
    return _exact("f32", values, np.eye(2, dtype=np.float32), values)


def _exact(dtypes: str, a: Array, b: Array, c: Array) -> Problem:
    dtype = F32 if c.dtype == np.float32 else S32
    return Problem(dtypes, a, b, bounded(c, dtype))


def test_whoever_fails_is_named_and_the_others_go_on(broken: list[Built], setting: Setting) -> None:
    """A crash takes nobody along; a wrong result is never timed."""
    measured = measure(broken, _problem(), setting)
    assert ["is right"] == list(measured.times["warm"])
    reasons = measured.left_out
    assert {"is not there", "crashes", "leaves", "is wrong", "refuses"} == set(reasons)
    assert reasons["crashes"].startswith("it crashed (killed by SIG")
    assert reasons["leaves"] == "it crashed (exit status 3)"
    assert "is wrong[1, 1] is 5.0; expected 4.0" in reasons["is wrong"]
    assert {"is right": "a test"} == measured.about


def test_other_element_types_are_multiplied_exactly(workshop: Workshop, setting: Setting) -> None:
    """By those of the installed peers that can; one that saturates is found out."""
    able = [contender.name for contender in ALL if len(contender.dtypes) > 1]
    libraries, _ = building.build_all(replace(workshop, only=able))
    for dtypes in ("bf16", "u8s8"):
        contestants = list(building.entrants(Case(4, 6, 8, dtypes), libraries))
        measured = measure(contestants, _small_integers(dtypes), setting)
        assert {c.name for c in contestants} == {*measured.times["warm"], *measured.left_out}
        assert "reading" in measured.times["warm"]
        assert not [reason for reason in measured.left_out.values() if "crashed" in reason]


def _small_integers(dtypes: str) -> Problem:
    """Integers that both types hold, and whose sums are exact."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 100, (4, 6)), rng.integers(-100, 100, (6, 8))
    if dtypes == "u8s8":
        return _exact("u8s8", a.astype(np.uint8), b.astype(np.int8), (a @ b).astype(np.int32))
    upper_a, upper_b = (
        (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)
    )
    return _exact("bf16", upper_a, upper_b, (a @ b).astype(np.float32))


def test_with_nobody_left_nothing_is_measured(broken: list[Built], setting: Setting) -> None:
    """And that is no error."""
    measured = measure([b for b in broken if b.name == "crashes"], _problem(), setting)
    assert ({}, {"crashes"}) == (measured.times, set(measured.left_out))


@pytest.mark.slow
def test_a_compiled_spec_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end, after the record is written."""
    output = tmp_path / "matmul.json"

    def wrong(contestants: list[Built], problem: Problem, setting: Setting) -> Measured:
        measured = measure(contestants, problem, setting)
        timings = {m: {n: t for n, t in f.items() if n != "morello"} for m, f in _times(measured)}
        return Measured(measured.about, {"morello": "it is wrong"}, timings)

    monkeypatch.setattr(matmul, "measure", wrong)
    printed = _run("--sizes", "3", *QUICK, "--json", str(output), status=1)
    assert "error: the compiled spec failed: 3x3x3" in printed
    assert "| 3 x 3 x 3 | failed |" in printed
    draw(json.loads(output.read_text()), tmp_path / "picture.svg")


@pytest.mark.slow
def test_a_spec_that_does_not_compile_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other cases are measured before."""
    compile_spec = morello.compile

    def failing(text: str, **options: Any) -> Any:
        if options["defines"]["M"] == 2:
            raise MorelloError("nothing implements it")
        return compile_spec(text, **options)

    monkeypatch.setattr(morello, "compile", failing)
    printed = _run("--sizes", "2,3", *QUICK, status=1)
    assert "left out: 2x2x2: nothing implements it" in printed
    assert "error: the compiled spec failed: 2x2x2" in printed
    assert "| 3 x 3 x 3 |" in printed


def _times(measured: Measured) -> list[tuple[str, dict[str, Any]]]:
    return list(measured.times.items())


@pytest.mark.parametrize(
    "absent",
    [
        Contender("x", "blas.c", "install it", link=("-lno_such_library",)),
        Contender("x", "libxsmm.c", "install it", flags=("-nostdinc",)),
        Contender("x", "blas.c", "install it", places={"libraries": ("x", "no-such-package")}),
        Contender("x", "blas.c", "install it", places={"libraries": ("no such file", "numpy")}),
    ],
)
def test_what_is_not_installed_is_told_how_to_install(
    absent: Contender, workshop: Workshop
) -> None:
    """A library, a header, a Python package, or a file of one."""
    with pytest.raises(MorelloError, match=r"^not installed: install it$"):
        build_contender(workshop, absent)


def test_a_library_with_one_thread_is_left_out_of_many(workshop: Workshop) -> None:
    """It would lose for the wrong reason."""
    with pytest.raises(MorelloError, match="it has one thread only"):
        build_contender(replace(workshop, threads=2), Contender("x", "blas.c", "install it"))


def test_what_does_not_build_shows_why(workshop: Workshop) -> None:
    """It is installed, and yet it fails: the compiler's message."""
    with pytest.raises(MorelloError, match=r"the C compiler failed(.|\n)*SGEMM"):
        build_contender(workshop, Contender("x", "blas.c", "install it", flags=("-DSGEMM=2",)))


# ------------------------------------------------------------------------------- the data


def test_contenders_have_names_files_and_known_element_types() -> None:
    """No two the same; and no two want different values of one variable."""
    names = [name for contender in ALL for name in contender.names()]
    assert len(set(names)) == len(names)
    for contender in ALL:
        assert (building.SOURCES / contender.source).is_file()
        assert set(contender.dtypes) <= set(ELEMENTS)
        assert contender.install or contender not in PEERS
    for target in {target for contender in PEERS for target in contender.environment}:
        wanted = [contender.environment.get(target, {}) for contender in PEERS]
        pairs = {pair for variables in wanted for pair in variables.items()}
        assert len(pairs) == len({name for name, _ in pairs})


def test_variables_that_are_set_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one can try others."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    targets = load_definitions().targets
    found = environment_of(targets["x86.avx2"], 2)
    assert ("Prescott", "2") == (found["OPENBLAS_CORETYPE"], found["OMP_NUM_THREADS"])
    nearest, own = (environment_of(targets[f"x86.{n}"], 2) for n in ("avx512_vnni", "avx512"))
    assert nearest == own != found


def test_large_products_leave_out_the_slow_and_matrices_the_vectors() -> None:
    """As the data of the contenders says."""
    libraries = {contender.name: Path() for contender in ALL}
    small, large, vector = (
        {built.name for built in building.entrants(case, libraries)}
        for case in (Case(8, 8, 8), Case(4096, 4096, 4096), Case(1, 8, 8))
    )
    assert {"loop ijk", "loop ikj", "loop kij"} == small - large
    assert {"OpenBLAS (pip) gemv", "MKL gemv"} <= vector - small
    others = {built.name for built in building.entrants(Case(8, 8, 8, "u8s8"), libraries)}
    assert ({"morello", "MKL", "reading"} <= others, "BLIS" in others) == (True, False)


def test_cases_are_written_as_they_are_read() -> None:
    """The names of cases are those of the option."""
    done = [matmul.main.make_context("x", ["--sizes", str(case)]) for case in CASES]
    assert list(CASES) == [context.params["sizes"][0] for context in done]


def test_ratios_are_to_the_best_of_each_kind() -> None:
    """Libraries that pack ahead are compared with what packs ahead; loops are no peers."""
    roles = {"morello": "own", "a": "peer", "b": "peer", "c": "packed", "d": "loop", "e": "limit"}
    roles["morello packed"] = "own packed"
    seconds = {"morello": 2.0, "a": 3.0, "b": 4.0, "c": 1.0, "d": 0.5, "e": 1.6}
    seconds["morello packed"] = 2.5
    found = {
        name: {"seconds": s, "quartiles": [s, s], "gflops": 1 / s, "ratio": s / 2}
        for name, s in seconds.items()
    }
    document = {
        "contenders": {name: {"role": role} for name, role in roles.items()},
        "cases": [{"case": "2x2x3", "sizes": {"M": 2}, "warm": found}] * 2,
    }
    row, *_, means = report.table(document, "warm").splitlines()[2:]
    assert row.endswith("| 80% | a | 1.50 | 0.4 | 64% | c | 0.40 |")
    assert means == "| geometric mean |  |  |  |  |  | 1.50 |  |  |  | 0.40 |"


@pytest.mark.parametrize(("rows", "shown"), [(1, "80%"), (2, "")])
def test_a_share_of_the_limit_needs_every_limit(rows: int, shown: str) -> None:
    """But for a vector, which is limited by what is read."""
    found = {"morello": 1.0, "reading": 0.8}
    record = {
        n: {"seconds": s, "quartiles": [s, s], "gflops": 1, "ratio": s} for n, s in found.items()
    }
    roles = {"morello": "own", "reading": "limit", "arithmetic": "limit"}
    document = {
        "contenders": {name: {"role": role} for name, role in roles.items()},
        "cases": [{"case": "x", "sizes": {"M": rows}, "warm": record}],
    }
    row = report.table(document, "warm").splitlines()[2]
    assert row.split("|")[5].strip() == shown


def test_what_was_packed_is_limited_by_reading_that() -> None:
    """And B as it is by reading it there: one may lie better than the other."""
    seconds = {"morello": 1.0, "morello packed": 0.5, "reading": 0.8, "morello packed reading": 0.3}
    found = {
        n: {"seconds": s, "quartiles": [s, s], "gflops": 1, "ratio": s} for n, s in seconds.items()
    }
    roles = {n: {"role": v.role} for c in ALL for n, v in zip(c.names(), c.variants, strict=True)}
    record = {"case": "x", "sizes": {"M": 1}, "warm": found}
    row = report.table({"contenders": roles, "cases": [record]}, "warm").splitlines()[2]
    assert ["80%", "60%"] == [row.split("|")[column].strip() for column in (5, 9)]


def test_a_variant_is_named_after_its_library() -> None:
    """The first has no name of its own."""
    variants = (Variant(), Variant("packed", "packed"))
    assert ["x", "x packed"] == Contender("x", "x.c", variants=variants).names()
    assert contenders.OWN in COMPILED.names()
