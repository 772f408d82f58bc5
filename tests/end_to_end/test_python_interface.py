"""`morello.compile` and the kernel that it returns: what does not fit, where specs are from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import MorelloError, UsageError
from morello.memo.memo import Memo
from morello.reference.interpreter import run_program

from .kernels import EXAMPLES, SPECS, compiled, runnable, small_inputs

SIZES = (5, 7, 9)


@pytest.fixture(scope="module")
def kernel() -> morello.Kernel:
    """Any machine can run it."""
    return runnable(compiled("matmul", SIZES, "x86.scalar"))


class TestArguments:
    """Arrays that do not fit are refused, with what to write instead."""

    def test_a_stride_is_refused(self, kernel: morello.Kernel) -> None:
        """Advice that can be pasted, and works."""
        a, b = small_inputs(kernel)
        wide = np.repeat(a, 2, axis=1)[:, ::2]
        with pytest.raises(UsageError, match="'a' has strides") as refused:
            kernel(wide, b)
        assert "row-major without gaps" in str(refused.value)
        assert refused.value.help == "pass np.ascontiguousarray(a)"
        np.testing.assert_array_equal(kernel(np.ascontiguousarray(wide), b), a @ b)

    def test_a_transposed_array_is_refused(self, kernel: morello.Kernel) -> None:
        """Same shape, other layout."""
        a, b = small_inputs(kernel)
        with pytest.raises(UsageError, match="'b' has strides"):
            kernel(a, np.asfortranarray(b))

    def test_a_column_major_operand_wants_columns(self) -> None:
        """And the advice says so."""
        columns = runnable(compiled("columns_b", SIZES, "x86.avx512"))
        a, b = small_inputs(columns)
        with pytest.raises(UsageError, match="column-major") as refused:
            columns(a, np.ascontiguousarray(b))
        assert refused.value.help == "pass np.asfortranarray(b)"
        np.testing.assert_array_equal(columns(a, np.asfortranarray(b)), a @ b)

    @pytest.mark.parametrize("sizes", [(5, 7, 9), (3, 2, 2), (4, 1, 3), (9, 6, 1)], ids=str)
    def test_panels_are_passed_as_they_lie_in_memory(self, sizes: tuple[int, ...]) -> None:
        """The advice says how; results are unpacked alike."""
        panels = runnable(compiled("panels", sizes, "x86.scalar"))
        rng = np.random.default_rng(0)
        a, b = (
            rng.integers(-8, 8, (m, n)).astype(np.float32)
            for m, n in ((sizes[0], sizes[1]), (sizes[1], sizes[2]))
        )
        with pytest.raises(UsageError, match=r"layout \(1, 0\) panels 4, as it lies in") as refused:
            panels(a, b)
        assert "pass kernel.pack('a', a)" in str(refused.value.help)
        packed = panels.pack("a", a)
        assert packed.shape == (-(-sizes[0] // 4), sizes[1], 4)
        np.testing.assert_array_equal(panels.unpack("a", packed), a)
        np.testing.assert_array_equal(panels.unpack("c", panels(packed, b)), a @ b)
        panels.verify()

    def test_what_cannot_be_packed_is_refused(self) -> None:
        """A name that is no argument, an array of another shape."""
        panels = compiled("panels", (5, 7, 9), "x86.scalar")
        with pytest.raises(UsageError, match="there is no argument 'd'"):
            panels.pack("d", np.zeros((5, 7), np.float32))
        with pytest.raises(UsageError, match=r"'a' has shape \(7, 5\); expected \(5, 7\)"):
            panels.pack("a", np.zeros((7, 5), np.float32))
        with pytest.raises(UsageError, match=r"'a' has shape \(5, 7\); expected \(2, 7, 4\)"):
            panels.unpack("a", np.zeros((5, 7), np.float32))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda a: a.astype(np.float64), "dtype float64; expected float32"),
            (lambda a: a[:-1], r"shape \(4, 7\); expected \(5, 7\)"),
            (lambda a: a.tolist(), "'a' is a list; expected a numpy array"),
        ],
        ids=["dtype", "shape", "list"],
    )
    def test_other_things_are_refused(
        self, kernel: morello.Kernel, change: object, message: str
    ) -> None:
        """What is wrong, what was expected."""
        a, b = small_inputs(kernel)
        assert callable(change)
        with pytest.raises(UsageError, match=message):
            kernel(change(a), b)

    def test_an_output_over_an_input_is_refused(self) -> None:
        """``restrict`` would make that undefined."""
        square = runnable(compiled("square", (11,), "x86.scalar"))
        (a,) = small_inputs(square)
        with pytest.raises(UsageError, match="shares memory"):
            square(a, out=a)

    def test_too_few_are_refused(self, kernel: morello.Kernel) -> None:
        """With the names of all."""
        with pytest.raises(UsageError, match="called with 1 arrays; expected 2: a, b"):
            kernel(small_inputs(kernel)[0])


@pytest.fixture(scope="module")
def layer() -> morello.Kernel:
    """One whose weight has to be packed."""
    found = runnable(compiled("weight bytes", (13, 34, 37), "x86.avx512_vnni"))
    assert [p.packed.layout.panel for p in found.program.packings] == [4]
    return found


class TestWeights:
    """A weight is packed once, as the chosen program wants it, or in every call."""

    def test_it_is_packed_once(self, layer: morello.Kernel) -> None:
        """For any number of calls; C code does it."""
        a, b = small_inputs(layer)
        weights = layer.pack("b", b)
        assert "'b' of 'product', (1, 0) panels 4" in repr(weights)
        for inputs in (a, np.zeros_like(a)):
            expected = inputs.astype(np.int32) @ b.astype(np.int32)
            np.testing.assert_array_equal(layer(inputs, weights), expected)
            np.testing.assert_array_equal(layer(inputs, b), expected)

    def test_what_was_packed_is_a_copy(self, layer: morello.Kernel) -> None:
        """The array may change after that."""
        a, b = small_inputs(layer)
        weights, before = layer.pack("b", b), layer(a, b)
        b[...] = 0
        np.testing.assert_array_equal(layer(a, weights), before)

    def test_another_kernels_weight_is_refused(self, layer: morello.Kernel) -> None:
        """It may lie in another way."""
        other = runnable(compiled("weight bytes", (13, 34, 32), "x86.avx512_vnni"))
        a, _ = small_inputs(layer)
        with pytest.raises(UsageError, match="'b' of 'product' is <weight 'b'") as refused:
            layer(a, other.pack("b", small_inputs(other)[1]))
        assert "this kernel's pack('b', ...)" in str(refused.value.help)

    def test_a_wrong_array_is_refused(self, layer: morello.Kernel) -> None:
        """Before it is packed."""
        a, b = small_inputs(layer)
        with pytest.raises(UsageError, match="'b' has shape"):
            layer.pack("b", b[1:])
        with pytest.raises(UsageError, match="'b' has dtype"):
            layer(a, b.astype(np.int32))

    def test_one_that_is_best_as_it_is_stays_an_array(self) -> None:
        """Callers need not know."""
        plain = runnable(compiled("weight", (5, 6, 11), "x86.scalar"))
        a, b = small_inputs(plain)
        packed = plain.pack("b", b)
        assert isinstance(packed, np.ndarray)
        np.testing.assert_array_equal(plain(a, packed), a @ b)

    def test_the_reference_packs_too(self, layer: morello.Kernel) -> None:
        """A program is executed with what it does ahead."""
        inputs = small_inputs(layer)
        (result,) = run_program(layer.program, inputs)
        np.testing.assert_array_equal(result, layer(*inputs))


class TestCompile:
    """Where a spec may come from, and what its parameters may be."""

    def test_a_path_and_a_text_are_the_same(self, kernel: morello.Kernel, tmp_path: Path) -> None:
        """A string with a line break is a text; otherwise it is a path."""
        path = tmp_path / "product.mspec"
        path.write_text(SPECS["matmul"])
        defines = dict(zip("MKN", SIZES, strict=True))
        for file in (path, str(path)):
            again = morello.compile(file, defines=defines, target="x86.scalar")
            assert kernel.source == again.source

    @pytest.mark.parametrize(
        ("defines", "message"),
        [
            ({"M": 0, "K": 1, "N": 1}, "size 1 of 'a' is 0; it must be at least 1"),
            ({"M": -3, "K": 1, "N": 1}, "size 1 of 'a' is -3; it must be at least 1"),
            ({"M": 10**30, "K": 1, "N": 1}, "it must be at most"),
            ({"M": 1, "K": 1}, "'N'"),
            ({"M": 1, "K": 1, "N": 1, "Q": 1}, "'Q'"),
        ],
        ids=["zero", "negative", "huge", "missing", "unknown"],
    )
    def test_a_parameter_that_makes_no_sense_is_named(
        self, defines: dict[str, int], message: str
    ) -> None:
        """Never a traceback of something else."""
        with pytest.raises(morello.MorelloError, match=message):
            morello.compile(SPECS["matmul"], defines=defines, target="x86.scalar")

    def test_without_a_target_the_known_ones_are_listed(self) -> None:
        """The file may say it, or the caller."""
        with pytest.raises(UsageError, match="names no target") as refused:
            morello.compile(SPECS["relu"], defines={"N": 4})
        assert "x86.scalar" in refused.value.help

    def test_defaults_come_from_the_file(self) -> None:
        """And may be replaced one by one."""
        file = EXAMPLES / "elementwise.mspec"
        kernel = morello.compile(file, spec="add", defines={"H": 3}, target="x86.scalar")
        assert kernel.goal.tensors[0].shape == (3, 50)


class TestDeterminism:
    """The same definitions and the same spec give the same C, to the letter."""

    def test_what_the_memo_knows_changes_nothing(self, kernel: morello.Kernel) -> None:
        """Solved alone, or looked up below something larger."""
        defines = dict(zip("MKN", SIZES, strict=True))
        options = {"defines": defines, "target": "x86.scalar"}
        alone = morello.compile(SPECS["matmul"], memo=Memo(), **options)  # type: ignore[arg-type]
        larger = Memo()
        wide = {"M": 24, "K": 7, "N": 9}
        morello.compile(SPECS["matmul"], defines=wide, target="x86.scalar", memo=larger)
        below = morello.compile(SPECS["matmul"], memo=larger, **options)  # type: ignore[arg-type]
        for other in (alone, below):
            assert (kernel.source, kernel.header, kernel.cost) == (
                other.source,
                other.header,
                other.cost,
            )

    def test_annotation_only_adds_comments(self, kernel: morello.Kernel) -> None:
        """Each loop then names the file and line of its rule."""
        defines = dict(zip("MKN", SIZES, strict=True))
        annotated = morello.compile(
            SPECS["matmul"], defines=defines, target="x86.scalar", annotate=True
        )
        assert "tiling.mrules:" in annotated.source
        assert "tiling.mrules:" not in kernel.source
        assert kernel.cost == annotated.cost


@pytest.mark.parametrize(("value", "shown"), [("3", "'3'"), (3.5, "3.5"), (True, "True")])
def test_a_define_that_is_no_integer_is_refused(value: object, shown: str) -> None:
    """The message shows what it is, so that a text and a number look different."""
    defines: Any = {"M": value}
    with pytest.raises(MorelloError, match=f"must be a whole number, found {shown}\n") as caught:
        morello.compile(EXAMPLES / "matmul.mspec", defines=defines)
    assert "give an integer: defines={'M': 512}" in str(caught.value)


def test_the_package_is_imported_without_the_compiler() -> None:
    """And says what it has; what it has not is an error as everywhere."""
    program = (
        "import sys, morello\n"
        "print('compile' in dir(morello), 'morello.compiler' in sys.modules, morello.compile)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("True False <function compile_spec")
    with pytest.raises(AttributeError, match="'morello' has no attribute 'Compiler'"):
        getattr(morello, "Compiler")  # noqa: B009 - mypy knows it as well
