"""Kernels and compiles from several threads at once: what is promised in ``docs/python.md``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.definitions import load
from morello.memo import memo as memos
from morello.runtime import execution
from morello.runtime.signature import Signature
from morello.toolchain.build import build
from morello.toolchain.compilers import try_program
from morello.toolchain.process import run_command

from .kernels import SPECS, compiled, compiler, compilers, small_inputs, to_run

Array = np.ndarray[Any, np.dtype[Any]]

SHARED = ("one product for two", (67, 60, 19), "x86.scalar")
"""It has a workspace."""

PACKED = ("weight bytes", (13, 34, 37), "x86.avx512_vnni")
"""Its weight is packed by C."""


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What so many threads find that begin together."""
    start = threading.Barrier(count, timeout=60)

    def run(number: int) -> Any:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class TestCalls:
    """One kernel, several threads."""

    @pytest.mark.parametrize("case", [SHARED, PACKED], ids=lambda case: case[0])
    def test_each_has_its_own_results(self, case: tuple[str, tuple[int, ...], str]) -> None:
        """Of its own inputs and weights, packed or not, into arrays of its own or new ones."""
        kernel = to_run(compiled, *case)
        inputs = small_inputs(kernel)
        passed = [
            kernel.pack(a.name, v) if a.role == "weight" else v
            for a, v in zip(kernel.signature.inputs, inputs, strict=True)
        ]
        expected = [kernel.function.results(inputs[0] // (n + 1), *inputs[1:]) for n in range(4)]

        def work(number: int) -> bool:
            own = inputs[0] // (number + 1)
            out = tuple(np.empty_like(e) for e in expected[number])
            right = True
            for turn in range(40):
                given = passed[1:] if turn % 3 else inputs[1:]
                found = kernel(own, *given, out=out if turn % 2 else None)
                found = found if isinstance(found, tuple) else (found,)
                pairs = zip(expected[number], found, strict=True)
                right = right and all(np.array_equal(e, f) for e, f in pairs)
            return right

        assert [True] * 4 == at_once(4, work)

    def test_the_first_call_of_several_builds_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The others wait for it."""
        kernel = morello.compile(SPECS["relu"], defines={"N": 5}, target="x86.scalar")
        built: list[Signature] = []

        def slow(source: Any, signature: Signature, machine: Any) -> object:
            built.append(signature)
            threading.Event().wait(0.1)
            return object()

        monkeypatch.setattr(execution, "build_function", slow)
        functions = at_once(4, lambda _: kernel.function)
        assert [kernel.signature] == built
        assert 1 == len(set(functions))

    def test_two_kernels_are_built_side_by_side(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither waits for the other's C compiler."""
        both = threading.Barrier(2, timeout=10)
        monkeypatch.setattr(execution, "build_function", lambda *_: both.wait())
        options: dict[str, Any] = {"defines": {"N": 5}, "target": "x86.scalar"}
        kernels = [morello.compile(SPECS["relu"], **options) for _ in range(2)]
        assert [0, 1] == sorted(at_once(2, lambda number: kernels[number].function))

    def test_what_failed_is_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A compiler that is missing may be installed later."""
        kernel = morello.compile(SPECS["relu"], defines={"N": 5}, target="x86.scalar")
        with monkeypatch.context() as patch:
            patch.setenv("CC", "no-such-compiler")
            with pytest.raises(morello.MorelloError, match="no-such-compiler"):
                kernel(np.zeros(5, np.float32))
        assert (kernel(np.ones(5, np.float32)) == 1).all()


class TestCompile:
    """Several compiles at once, in one process."""

    def test_they_find_what_each_alone_finds(self) -> None:
        """With a memo for all of them; the same spec twice is searched once."""
        defines = [{"H": h, "W": 11} for h in (3, 5)] * 2
        options: dict[str, Any] = {"target": "x86.scalar"}
        alone = [morello.compile(SPECS["add"], defines=d, **options).source for d in defines]
        memo = morello.Memo()
        found = at_once(
            4,
            lambda n: morello.compile(SPECS["add"], defines=defines[n], memo=memo, **options),
        )
        assert alone == [kernel.source for kernel in found]
        assert memo.solutions <= 2

    def test_what_all_share_is_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The process's memo and the definitions that are installed."""
        opened: list[morello.Memo] = []

        def slow_memo() -> morello.Memo:
            threading.Event().wait(0.05)
            opened.append(morello.Memo())
            return opened[-1]

        loaded: list[object] = []

        def slow_definitions(*_: object) -> object:
            threading.Event().wait(0.05)
            loaded.append(object())
            return loaded[-1]

        memos._process_memo.cache_clear()
        load._installed_fitted.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(memos.Memo, "open", slow_memo)
            patch.setattr(load, "_fitted", slow_definitions)
            patch.setattr(load, "_installed", lambda: None)
            found = at_once(4, lambda _: (memos.process_memo(), morello.load_definitions()))
        memos._process_memo.cache_clear()
        load._installed_fitted.cache_clear()
        assert (1, 1, 1) == (len(opened), len(loaded), len(set(found)))


# ------------------------------------------------------------------------- the C itself


DRIVER = """#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "@NAME@.h"

static void *d_inputs[@COUNT@];
static void *d_block(size_t size) {
  void *block = aligned_alloc(64, (size + 64) / 64 * 64);
  if (block == NULL) exit(3);
  memset(block, 1, size);
  return block;
}
static void *d_shared;

static void *d_call(void *own) {
  void *const workspace = own == NULL ? d_shared : own;
  @OUTPUTS@
  for (int turn = 0; turn < 20; ++turn) @NAME@(@PASSED@, workspace);
  if (@NAME@_run(@PASSED@) != 0) exit(3);
  return NULL;
}

int main(int argc, char **argv) {
  const size_t size = @NAME@_workspace_size();
  pthread_t threads[2];
  (void)argv;
  @INPUTS@
  d_shared = d_block(size);
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, d_call, argc > 1 ? NULL : d_block(size)) != 0) exit(3);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""


def driver(signature: Signature) -> str:
    """Two threads that call a function at once, on the same inputs; with one workspace if asked."""
    inputs, outputs = signature.inputs, signature.outputs
    blocks = [f"d_inputs[{i}] = d_block({a.taken_bytes});" for i, a in enumerate(inputs)]
    own = [f"void *const out_{i} = d_block({a.bytes});" for i, a in enumerate(outputs)]
    passed = [f"d_inputs[{i}]" for i in range(len(inputs))]
    passed += [f"out_{i}" for i in range(len(outputs))]
    texts = {
        "NAME": signature.name,
        "COUNT": str(len(inputs)),
        "INPUTS": "\n  ".join(blocks),
        "OUTPUTS": "\n  ".join(own),
        "PASSED": ", ".join(passed),
    }
    text = DRIVER
    for name, value in texts.items():
        text = text.replace(f"@{name}@", value)
    return text


@pytest.mark.parametrize("kind", sorted(compilers()))
@pytest.mark.parametrize("case", [SHARED, PACKED], ids=lambda case: case[0])
def test_the_c_has_no_state(
    case: tuple[str, tuple[int, ...], str], kind: str, tmp_path: Path
) -> None:
    """ThreadSanitizer sees no race between calls; with one workspace for both it would."""
    kernel, found = to_run(compiled, *case), compiler(kind)
    if try_program(found, "int main(void) { return 0; }", ("-fsanitize=thread",)) is None:
        pytest.skip(f"{kind} has no ThreadSanitizer")
    flags = [f for f in kernel.c_source.flags if f != "-fopenmp"]  # its threads are not watched
    flags += ["-fsanitize=thread", "-pthread", "-O1", "-g1"]
    sources = {
        f"{kernel.name}.c": kernel.source,
        f"{kernel.name}.h": kernel.header,
        "driver.c": driver(kernel.signature),
    }
    program = build(sources, found, flags, tmp_path / "program", executable=True)
    done = run_command([str(program)], timeout=60)
    assert (0, "") == (done.status, done.output)
    if kernel.signature.workspace_bytes:
        watched = run_command([str(program), "shared"], timeout=60)
        assert "ThreadSanitizer: data race" in watched.output
