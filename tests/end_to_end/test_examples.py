"""The examples at small sizes: verified, and against what PyTorch computes where that is installed.

Verification holds a program to the declarations of its operators. PyTorch has declarations of its
own: it would notice an operator that is declared wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morello
from morello.definitions import load_definitions
from morello.toolchain.machine import Machine

from .kernels import EXAMPLES, small_inputs, small_machines

SIZES: dict[str, dict[str, int]] = {
    "attention": {"S": 5, "D": 4},
    "batched_matmul": {"B": 2, "M": 3, "K": 4, "N": 5},
    "bf16_matmul": {"M": 3, "K": 5, "N": 17},
    "column_major": {"M": 3, "K": 5, "N": 9},
    "convolution": {"H": 3, "W": 5, "C": 4, "F": 17},
    "feed_forward": {"M": 3, "D": 4, "H": 17},
    "int8_linear": {"M": 3, "K": 5, "N": 17},
    "int8_matmul": {"M": 3, "K": 5, "N": 17},
    "integer_matmul": {"M": 3, "K": 5, "N": 17},
    "matmul": {"M": 3, "K": 5, "N": 17},
    "mixed_matmul": {"M": 3, "K": 5, "N": 17},
    "mlp": {"M": 3, "K": 5, "N": 17},
    "resnet_block": {"H": 3, "W": 5, "C": 4},
    "rms_norm_matmul": {"M": 3, "K": 9, "N": 17},
    "statistics": {"M": 3, "K": 5, "N": 17},
    "threaded_matmul": {"M": 9, "K": 4, "N": 5},
    "vocabulary": {"B": 3, "V": 37},
}
"""By spec; the others are small as they stand."""

INSTALLED = {"mlp", "statistics"}
"""Those for targets with all their caches: a graph of one output, and several."""

CLOSE = 1e-4
"""Of the largest element of a result: what f32 and its sums may be off by at these sizes."""


def _attention(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k * 0.125, dim=-1) @ v


def _convolution(torch: Any, x: Any, filters: Any, **options: Any) -> Any:
    """With channels last, in a picture and in filters."""
    arguments = x.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1)
    return torch.nn.functional.conv2d(*arguments, **options).permute(0, 2, 3, 1)


def _resnet_block(torch: Any, x: Any, f: Any, b: Any, g: Any, c: Any) -> Any:
    h = torch.relu(_convolution(torch, x, f, padding=1) + b)
    return torch.relu(_convolution(torch, h, g, padding=1) + c + x)


def _feed_forward(torch: Any, x: Any, g: Any, w: Any, v: Any) -> Any:
    functional = torch.nn.functional
    normal = functional.rms_norm(x, x.shape[-1:], g, 1e-5)
    return functional.silu(normal @ w) @ v + x


def _int8_linear(torch: Any, x: Any, w: Any, b: Any) -> Any:
    return torch.clamp(torch.round((x @ w + b) * 2.0**-10), -128, 127)


def _mlp(torch: Any, x: Any, w: Any, b: Any) -> Any:
    return torch.nn.functional.gelu(x @ w + b)


def _rms_norm_matmul(torch: Any, x: Any, g: Any, w: Any) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], g, 1e-5) @ w


def _statistics(torch: Any, x: Any, w: Any) -> Any:
    y = x @ w
    variance, mean = torch.var_mean(y, dim=1, correction=0)
    return y, y.amax(dim=1), mean, variance


def _matmul(_: Any, a: Any, b: Any) -> Any:
    return a @ b


PYTORCH: dict[str, Callable[..., Any]] = {
    "add": lambda _, x, z: x + z,
    "attention": _attention,
    "batched_matmul": _matmul,
    "bf16_matmul": _matmul,
    "column_major": _matmul,
    "convolution": _convolution,
    "feed_forward": _feed_forward,
    "int8_linear": _int8_linear,
    "int8_matmul": _matmul,
    "integer_matmul": _matmul,
    "matmul": _matmul,
    "mixed_matmul": _matmul,
    "mlp": _mlp,
    "relu": lambda torch, x: torch.relu(x),
    "resnet_block": _resnet_block,
    "rms_norm_matmul": _rms_norm_matmul,
    "statistics": _statistics,
    "threaded_matmul": _matmul,
    "vocabulary": lambda torch, x: torch.softmax(x, dim=-1),
}
"""The same in f64, which holds the integers here exactly; of several outputs a tuple."""

PRODUCTS = {spec for spec, computed in PYTORCH.items() if computed is _matmul}


def _examples() -> Iterator[tuple[str, str]]:
    """File and spec of every example."""
    for path in sorted(EXAMPLES.glob("*.mspec")):
        for spec in re.findall(r"^spec (\w+)", path.read_text(), re.MULTILINE):
            yield path.name, spec


@pytest.fixture(scope="module", params=_examples(), ids=lambda param: param[1])
def example(request: pytest.FixtureRequest) -> tuple[str, morello.Kernel]:
    """An example, for its own target if this machine can run that.

    For products that is tested elsewhere: see `tests.end_to_end.test_results`.
    """
    file, spec = request.param
    sizes = SIZES.get(spec, {})
    if spec not in PRODUCTS:
        machines = load_definitions() if spec in INSTALLED else small_machines()
        kernel = morello.compile(EXAMPLES / file, spec=spec, defines=sizes, definitions=machines)
        if not Machine().lacks(kernel.c_source.flags):
            return spec, kernel
    return spec, morello.compile(
        EXAMPLES / file,
        spec=spec,
        defines=sizes,
        target="x86.scalar",
        definitions=small_machines(),
    )


@pytest.mark.sample(3)
def test_it_is_verified(example: tuple[str, morello.Kernel]) -> None:
    assert example[1].verify().elements > 0


@pytest.mark.sample(3)
def test_it_computes_what_pytorch_does(example: tuple[str, morello.Kernel]) -> None:
    torch = pytest.importorskip("torch")
    spec, kernel = example
    outputs = kernel.signature.outputs
    inputs = kernel.random_arguments()[: len(kernel.signature.inputs)]
    if any(output.dtype.name == "s32" for output in outputs):
        inputs = small_inputs(kernel)  # products of others wrap around
    values = (torch.from_numpy(np.asarray(x, dtype=np.float64)) for x in inputs)
    expected = PYTORCH[spec](torch, *values)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, found, right in zip(
        outputs, kernel.function.results(*inputs), map(np.asarray, expected), strict=True
    ):
        within = 0.0 if output.dtype.numpy.kind in "iu" else CLOSE * float(np.max(np.abs(right)))
        np.testing.assert_allclose(found.astype(np.float64), right, rtol=0, atol=within)


def test_every_file_says_what_it_shows() -> None:
    for path in EXAMPLES.glob("*.mspec"):
        assert path.read_text().startswith("# "), path
