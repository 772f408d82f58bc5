"""`morello.compile` and the kernel that it returns: what does not fit, where specs are from."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.errors import MorelloError, UsageError
from morello.memo.memo import Memo
from morello.plugins import BrokenPlugin, PluginSet
from morello.reference.interpreter import run_program

from .api_reference import PAGE, reference
from .kernels import EXAMPLES, SPECS, compiled, small_inputs, to_run

SIZES = (5, 7, 9)


@pytest.fixture(scope="module")
def kernel() -> morello.Kernel:
    """Any machine can run it."""
    return to_run(compiled, "matmul", SIZES, "x86.scalar", installed=True)


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
        columns = to_run(compiled, "columns_b", SIZES, "x86.avx512")
        a, b = small_inputs(columns)
        with pytest.raises(UsageError, match="column-major") as refused:
            columns(a, np.ascontiguousarray(b))
        assert refused.value.help == "pass np.asfortranarray(b)"
        np.testing.assert_array_equal(columns(a, np.asfortranarray(b)), a @ b)

    @pytest.mark.parametrize("sizes", [(5, 7, 9), (3, 2, 2), (4, 1, 3), (9, 6, 1)], ids=str)
    def test_panels_are_passed_as_they_lie_in_memory(self, sizes: tuple[int, ...]) -> None:
        """The advice says how; results are unpacked alike."""
        panels = to_run(compiled, "panels", sizes, "x86.scalar")
        rng = np.random.default_rng(0)
        a, b = (
            rng.integers(-8, 8, (m, n)).astype(np.float32)
            for m, n in ((sizes[0], sizes[1]), (sizes[1], sizes[2]))
        )
        with pytest.raises(UsageError, match=r"layout \(1, 0\) panels 4, as it lies in") as refused:
            panels(a, b)
        assert "pass kernel.pack('a', a)" in str(refused.value.help)
        packed = panels.pack("a", a)
        assert isinstance(packed, np.ndarray)
        assert packed.shape == (-(-sizes[0] // 4), sizes[1], 4)
        np.testing.assert_array_equal(panels.unpack("a", packed), a)
        np.testing.assert_array_equal(panels.unpack("c", panels(packed, b)), a @ b)
        panels.verify()

    def test_what_cannot_be_packed_is_refused(self) -> None:
        """A name that is no argument, an array of another shape."""
        panels = compiled("panels", (5, 7, 9), "x86.scalar")
        for name in ("d", 0):
            with pytest.raises(UsageError, match=f"there is no argument '{name}'"):
                panels.pack(name, np.zeros((5, 7), np.float32))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"'a' has shape \(7, 5\); expected \(5, 7\)"):
            panels.pack("a", np.zeros((7, 5), np.float32))
        with pytest.raises(UsageError, match="'a' has dtype float64; expected float32"):
            panels.pack("a", np.zeros((5, 7)))
        with pytest.raises(UsageError, match="'a' is a list; expected a numpy array"):
            panels.pack("a", [[0.0] * 7] * 5)  # type: ignore[arg-type]
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
        square = to_run(compiled, "square", (11,), "x86.scalar")
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
    found = to_run(compiled, "weight bytes", (13, 34, 37), "x86.avx512_vnni")
    assert [str(p.packed.layout) for p in found.program.packings] == ["(1, 0) panels (16, 4)"]
    return found


class TestWeights:
    """A weight is packed once, as the chosen program wants it, or in every call."""

    def test_it_is_packed_once(self, layer: morello.Kernel) -> None:
        """For any number of calls; C code does it."""
        a, b = small_inputs(layer)
        weights = layer.pack("b", b)
        assert "'b' of 'product', s8, (1, 0) panels (16, 4)" in repr(weights)
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
        other = to_run(compiled, "weight bytes", (13, 34, 32), "x86.avx512_vnni")
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
        plain = to_run(compiled, "weight", (5, 6, 11), "x86.scalar")
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
            ({"M": 10**30, "K": 1, "N": 1}, "the value of parameter 'M' is too large"),
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


class TestInterface:
    """What `morello` exports: all of it documented and typed, and nothing twice."""

    def test_the_reference_is_complete(self) -> None:
        """``docs/python.md`` ends with it."""
        assert PAGE.read_text().endswith("\n" + reference()), (
            "run python -m tests.end_to_end.api_reference"
        )

    def test_what_a_type_checker_sees_is_there(self) -> None:
        """Names for it, names that are imported when asked for, and names that are listed."""
        source = ast.parse(Path(morello.__file__).read_text())
        [choice] = [node for node in source.body if isinstance(node, ast.If)]
        imports = [node for node in choice.body if isinstance(node, ast.ImportFrom)]
        static = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in imports
            for alias in node.names
        }
        lazy = {n: (f"morello.{m}", a) for n, (m, a) in vars(morello)["_ELSEWHERE"].items()}
        assert static == lazy
        assert sorted({*lazy, "MorelloError", "UsageError", "__version__"}) == morello.__all__
        assert set(morello.__all__) <= set(dir(morello))

    @pytest.mark.parametrize("name", [n for n in morello.__all__ if n != "__version__"])
    def test_all_is_documented_and_typed(self, name: str) -> None:
        """Every public function, method and property."""
        item = getattr(morello, name)
        assert item.__doc__
        members = vars(item).items() if inspect.isclass(item) else [(name, item)]
        for own, member in members:
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if own.startswith("_") or not inspect.isfunction(function):
                continue
            assert function.__doc__, own
            parameters = list(inspect.signature(function).parameters)
            expected = {*parameters, "return"} - {"self", "cls"}
            assert expected == set(function.__annotations__), own

    @pytest.mark.parametrize(
        ("options", "message", "advice"),
        [
            (
                {"memo": "memo.sqlite"},
                "memo='memo.sqlite' is of type str",
                "morello.Memo.open(path)",
            ),
            ({"budget": 5}, "budget=5 is of type int", "'10 s'"),
            ({"budget": "5 minutes"}, "'5 minutes' is no budget", "'10 s'"),
            ({"defines": [("N", 3)]}, "is of type list", "{'N': 512}"),
            ({"defines": {1: 3, "N": 3}}, "a name that is no text: 1", ""),
            ({"measure": "8"}, "measure='8' is of type str", "how many programs"),
            ({"measure": 0}, "cannot measure 0 programs", "from 1 to 1,000"),
            ({"definitions": "mine.mrules"}, "is of type str", "load_definitions([...])"),
            ({"progress": 3}, "progress=3 is of type int", "morello.Progress"),
            ({"target": 3}, "target=3 is of type int", "the name of one"),
            ({"target": "x86.scalr"}, "there is no target 'x86.scalr'", "'x86.scalar'"),
            ({"spec": 3}, "spec=3 is of type int", "the name of one"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_options_of_other_types_are_refused(
        self, options: dict[str, Any], message: str, advice: str
    ) -> None:
        """With what is expected, and never as an error of something inside."""
        given: dict[str, Any] = {"defines": {"N": 4}, "target": "x86.scalar", **options}
        with pytest.raises(UsageError) as refused:
            morello.compile(SPECS["relu"], **given)
        assert message in str(refused.value)
        assert advice in refused.value.help

    def test_a_target_may_be_missing_since_its_plugin_is(self) -> None:
        """Nobody has told a caller of the library so."""
        broken = BrokenPlugin("strange", "1.0", "strange", "ImportError: none")
        twice = 'op twice(X: T[i]) -> Y: T[i] "Twice." { Y[i] = 2 * X[i] }'
        spec = "spec f(N = 4) { input x: f32[N] output y: f32[N] y = twice(x) }"
        own = [morello.Source("twice.mrules", twice)]
        given = morello.load_definitions(own, plugins=PluginSet((), (broken,)))
        with pytest.raises(UsageError) as refused:
            morello.compile(spec, target="x86.scalar", definitions=given)
        assert refused.value.help == f"known: native; {broken}"

    def test_a_kernel_stays_in_its_process(self, kernel: morello.Kernel) -> None:
        """What it has loaded is nowhere else."""
        for attempt in (pickle.dumps, copy.copy):
            with pytest.raises(UsageError, match="cannot be pickled") as refused:
                attempt(kernel)
            assert "compile it in each process" in refused.value.help

    @pytest.mark.parametrize("wrong", [3, None, [SPECS["relu"]]], ids=str)
    def test_what_is_no_spec_is_refused(self, wrong: Any) -> None:
        """The three things that a spec may be are named."""
        with pytest.raises(UsageError, match="cannot compile") as refused:
            morello.compile(wrong)
        assert "SpecBuilder" in refused.value.help

    def test_definitions_come_from_paths(self, tmp_path: Path) -> None:
        """And what is no file of definitions, or no list of them, is refused."""
        path = tmp_path / "half.mrules"
        path.write_text('op half(X: T[i]) -> Y: T[i] "Halves." { Y[i] = X[i] * 0.5 }')
        for file in (path, str(path)):
            assert "half" in morello.load_definitions([file]).operators
        with pytest.raises(UsageError, match="is one file") as refused:
            morello.load_definitions(str(path))
        assert f"['{path}']" in refused.value.help
        with pytest.raises(UsageError, match="no file of definitions"):
            morello.load_definitions([morello.Source("half.mspec", "")])
        with pytest.raises(MorelloError, match="there is no file"):
            morello.load_definitions([tmp_path / "none.mrules"])


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
