"""Every kernel that is installed, compiled and compared; and wrong ones, which are caught."""

from __future__ import annotations

import re

import pytest

from morello.definitions import Definitions, load_definitions
from morello.ir.target import Microkernel
from morello.language.source import Source
from morello.toolchain.machine import Machine
from morello.verify import kernel_instances as kernel_instances_module
from morello.verify import sandbox
from morello.verify.kernel_executions import (
    KernelReport,
    WrongKernelError,
    verify_kernels,
)
from morello.verify.kernel_instances import (
    BUDGET,
    TURNS,
    instances_of,
    kernel_families,
    kernel_instances,
)
from morello.verify.kernel_sizes import LARGE, Part
from tests.machines import needed
from tests.verify import planted

PLANTED = planted.expected("planted.mtarget")
PLANTED_BUDGET = 12


def _own(definitions: Definitions, target: str, file: str = "") -> list[Microkernel]:
    """Kernels that are declared for a target, in a file if one is named."""
    return [
        kernel
        for kernel in definitions.targets[target].kernels
        if kernel.target == target and file in ("", kernel.declaration.span.source.name)
    ]


INSTALLED = [(t, k.name) for t in load_definitions().targets for k in _own(load_definitions(), t)]
WRONG = [
    (t, k.name)
    for t in planted.definitions().targets
    for k in _own(planted.definitions(), t, "planted.mtarget")
]


def _need_machine(definitions: Definitions, target: str, kernel: str) -> None:
    """What cannot run here is skipped, with its name and what is missing."""
    found = definitions.targets[target]
    if found.compiler:  # another family's
        needed(Machine(found.compiler, found.runner))
        return
    lacking = Machine().lacks(found.flags)
    if lacking:
        pytest.skip(f"{kernel}: {target} needs {', '.join(lacking)}")


@pytest.mark.parametrize("budget", [8, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", dict.fromkeys(target for target, _ in INSTALLED))
def test_kernels_do_what_their_operators_mean(
    target: str, budget: int | None, definitions: Definitions
) -> None:
    """At sizes around their vectors, inside larger tensors, on nasty inputs, under sanitizers.

    All kernels of a target are compiled together, by one process.
    """
    _need_machine(definitions, target, "its kernels")
    kernels = _own(definitions, target)
    reports = verify_kernels(definitions, definitions.targets[target], kernels, budget=budget)
    assert [kernel.name for kernel in kernels] == [report.kernel for report in reports]
    if failures := [report.failure for report in reports if report.failure is not None]:
        raise ExceptionGroup(f"kernels of {target}", failures)
    for report in reports:
        assert report.families > 0, report.kernel
        assert report.elements >= report.instances > 0, report.kernel


@pytest.mark.parametrize("target", dict.fromkeys(target for target, _ in WRONG))
def test_wrong_kernels_are_caught(target: str) -> None:
    """Each passes every check of the loader; compiled together, each has an error of its own."""
    definitions = planted.definitions()
    _need_machine(definitions, target, "its wrong kernels")
    kernels = _own(definitions, target, "planted.mtarget")
    reports = verify_kernels(
        definitions, definitions.targets[target], kernels, budget=PLANTED_BUDGET
    )
    for name, failure in ((report.kernel, report.failure) for report in reports):
        assert isinstance(failure, WrongKernelError), name
        with pytest.raises(WrongKernelError, match=rf"(?s)kernel '{name}'.*({PLANTED[name]})"):
            raise failure
        assert f"(planted.mtarget:{failure.kernel.declaration.name_span.line}:" in str(failure)
        assert str(failure.instance) in str(failure)
        assert failure.help


def test_every_planted_kernel_is_tried() -> None:
    """None is left out for want of a comment."""
    assert sorted(name for _, name in WRONG) == sorted(PLANTED)


NONSENSE = """
kernel nonsense on x86.scalar
  "Is not C."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    {{ Y[0] }} = {{ X[0] }} this is not C;
  ```
"""


def test_what_the_compiler_refuses_is_not_executed() -> None:
    """That is said of it alone, with the compiler's error: nobody knows whether it is wrong."""
    definitions = load_definitions([Source("n.mtarget", NONSENSE), Source("e.mtarget", ENDLESS)])
    target = definitions.targets["x86.scalar"]
    by_name = {kernel.name: kernel for kernel in target.kernels}
    kernels = [by_name["right"], by_name["nonsense"]]
    right, nonsense = verify_kernels(definitions, target, kernels, budget=2)
    assert (right.instances, right.failure, right.unbuilt) == (2, None, "")
    assert (nonsense.instances, nonsense.failure) == (0, None)
    assert re.fullmatch(r"n\.mtarget:7:5: expected .*", nonsense.unbuilt)


UNDECLARED = """
macro address(i, x) on x86.scalar
  "A pointer."
  emit ```
    const double *const p_ = at_address_{{ i }}({{ x }});
  ```

kernel undeclared on x86.scalar
  "Calls a function that is not there; what it returns is no pointer."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    {% for i in range(0, 1) %}
    {{ address(i, X.pointer(0)) }}
    {{ Y[0] }} = *p_;
    {% endfor %}
  ```
"""


def test_the_compilers_first_error_is_shown() -> None:
    """With the line of the macro that it is about, though that is used in a loop."""
    definitions = load_definitions([Source("u.mtarget", UNDECLARED)])
    target = definitions.targets["x86.scalar"]
    (kernel,) = (kernel for kernel in target.kernels if kernel.name == "undeclared")
    (report,) = verify_kernels(definitions, target, [kernel], budget=2)
    assert re.match(r"u\.mtarget:5:5: .*implicit.* function '?at_address_0", report.unbuilt)


@pytest.mark.parametrize("printed", ["a.h:2:7: error: bad", "./a.h:2:7: fatal error: bad [-Wno]"])
def test_the_refused_line_is_found_as_compilers_name_it(printed: str) -> None:
    """After warnings, with or without a directory before the file."""
    text = f"the C compiler failed\n  | a.h:1:1: warning: odd\n  | {printed}"
    error = sandbox.NotBuiltError(text, files={"a.h": "int a;\n  int b\n"})
    assert (error.reason, error.refused) == ("bad", "int b")


ENDLESS = """
kernel right on x86.scalar
  "Copies one element."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    {{ Y[0] }} = {{ X[0] }};
  ```

kernel endless on x86.scalar
  "Never ends."
  match  copy(X: s32[1] at l1, Y: s32[1] at l1)
  cost   scalar_load
  emit   ```
    for (volatile int i_ = 0; i_ >= 0;) { }
    {{ Y[0] }} = {{ X[0] }};
  ```
"""


def test_a_kernel_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one is run all the same."""
    monkeypatch.setattr(sandbox, "RUN_SECONDS", 2)
    definitions = load_definitions([Source("endless.mtarget", ENDLESS)])
    target = definitions.targets["x86.scalar"]
    kernels = _own(definitions, target.name, "endless.mtarget")
    kernels.sort(key=lambda k: k.name)
    stopped, after = verify_kernels(definitions, target, kernels, budget=2)
    assert (stopped.kernel, after.kernel) == ("endless", "right")
    assert "does not end within 2 seconds" in str(stopped.failure)
    assert (after.instances, after.failure) == (2, None)


# ------------------------------------------------------------------------------- instances


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param(*case, marks=() if case[0] in ("x86.scalar", "x86.avx2") else pytest.mark.slow)
        for case in INSTALLED
    ],
)
def test_instances_cover_families_and_shapes(
    target: str, name: str, definitions: Definitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of the larger of both numbers is enough to see each of them once.

    That is of those at small sizes, which come first.
    """
    monkeypatch.setattr(kernel_instances_module, "LARGE_FAMILIES", 0)
    machine = definitions.targets[target]
    kernel = next(k for k in machine.kernels if k.name == name)
    accepted = kernel_families(machine, kernel, definitions.operators)
    families = {match.f.family for match in accepted}
    # Of each family that has any there is one among the first; of few families, all there are.
    every = instances_of(machine, kernel, accepted, len(families) + BUDGET)
    shapes = {(i.family.operation, i.sizes, i.parts) for i in every}
    never = families - {i.family for i in every}
    seen = [family.operation for family in never]
    assert all(o.framed or o.operator.slices for o in seen)  # with a margin it is no single row
    families -= never
    assert {i.family for i in every[: len(families)]} == families
    tried = instances_of(machine, kernel, accepted)
    assert tried == every[: len(tried)]
    operations = {i.family.operation for i in every}
    assert {i.family.operation for i in tried} == operations
    assert len(tried) == min(max(BUDGET, TURNS * len(operations)), len(every))
    if len(every) <= BUDGET:
        assert {(i.family.operation, i.sizes, i.parts) for i in tried} == shapes


@pytest.mark.parametrize("name", ["multiply_short", "multiply_transposed"])
def test_every_free_size_is_large_once(name: str) -> None:
    """In every packing, within a small budget too; a size that the pattern states is never."""
    definitions = planted.definitions()
    machine = definitions.targets["x86.scalar"]
    kernel = next(k for k in machine.kernels if k.name == name)
    instances = kernel_instances(machine, kernel, definitions.operators, 3)
    assert len(instances) == 5
    large = [{d for d, n in i.by_dim.items() if n in LARGE} for i in instances[3:]]
    assert sorted(large, key=sorted) == [{"k"}, {"m"}]
    assert {i.by_dim["n"] for i in instances} == {1}


def test_sizes_lie_around_the_vectors(definitions: Definitions) -> None:
    """One lane less and more than one and two vectors, as far as the registers reach."""
    machine = definitions.targets["x86.avx2"]
    kernel = next(k for k in machine.kernels if k.name == "multiply_add_scalar_f32_x8")
    found = kernel_instances(machine, kernel, definitions.operators, 10**6)
    rows = {i.by_dim["n"] for i in found}
    assert rows == {1, 2, 7, 8, 9, 15, 16, 17}  # registers for more there are none
    assert {i.by_dim["m"] for i in found} == {1}
    assert {i.family.operands[0].order for i in found} == {(0, 1), (1, 0), (0, 1, 2), (2, 1, 0)}


def test_operands_are_parts_of_larger_ones_where_guards_let_them(definitions: Definitions) -> None:
    """What is to be in one piece has more only beyond that; the others have on every side."""
    machine = definitions.targets["x86.avx2"]
    kernel = next(k for k in machine.kernels if k.name == "multiply_add_narrow_f32_x8")
    found = kernel_instances(machine, kernel, definitions.operators)
    parts = {p for i in found for p in i.parts if len(i.family.operands[0].order) == 2}
    assert parts == {Part(0, (0, 1)), Part(1, (0,))}
    assert any(not i.parts for i in found)
    assert {i.by_dim["n"] for i in found} == {1, 2, 3, 4}  # as far as its guard goes


NEAR = """
kernel near on x86.scalar
  "Asks for one piece where nothing tells."
  match  copy(X: f32[m, n] at l1, Y: f32[m, n] at l1)
  where  contiguity(X) >= 2
  cost   scalar_load
  emit   ```
    {{ Y[0, 0] }} = {{ X[0, 0] }};
  ```
"""


def test_what_is_in_the_nearest_cache_is_not_known_to_be_in_one_piece() -> None:
    """Searches do not tell parts there from whole operands, so that the guard never holds."""
    definitions = load_definitions([Source("near.mtarget", NEAR)])
    target = definitions.targets["x86.scalar"]
    kernel = next(k for k in target.kernels if k.name == "near")
    assert kernel_families(target, kernel, definitions.operators)
    assert not kernel_instances(target, kernel, definitions.operators)


def test_a_kernel_that_nothing_reaches_is_reported_as_such(definitions: Definitions) -> None:
    """No instance is no verification: the report says so."""
    machine = definitions.targets["x86.avx2"]
    kernel = next(k for k in machine.kernels if k.name == "vector_x8")
    empty = Definitions({}, (), definitions.targets, definitions.emitters, ())
    _need_machine(definitions, machine.name, kernel.name)
    assert verify_kernels(empty, machine, [kernel]) == [
        KernelReport("vector_x8", "x86.avx2", 0, 0, 0)
    ]
