"""Writes the files beside it anew: functions in JAX, lowered to StableHLO.

python tests/networks/stablehlo/lower.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

HEADS, WIDTH = 2, 16

_rng = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    """A constant."""
    return (_rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def given(*shape: int, dtype: Any = jnp.float32) -> Any:
    """An argument."""
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call, unused-ignore]


def mlp(weights: Any, x: Any) -> Any:
    """Two layers."""
    return jax.nn.gelu(x @ weights["a"] + weights["b"]) @ weights["c"] + weights["d"]


def loss(weights: Any, x: Any, y: Any) -> Any:
    """How far the two layers are from what is wanted."""
    return jnp.mean((mlp(weights, x) - y) ** 2)


def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Heads side by side, with a mask of whole numbers."""
    scores = jnp.einsum("bhsd,bhtd->bhst", q, k) * 0.25
    shares = jax.nn.softmax(jnp.where(mask != 0, scores, -1e9), -1)
    return jnp.einsum("bhst,bhtd->bhsd", shares, v)


def normed(x: Any, gain: Any) -> Any:
    """RMS norm."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain


def rotated(x: Any) -> Any:
    """Rotary positions."""
    length, _, width = x.shape
    angles = jnp.arange(length)[:, None] * 1e4 ** (-jnp.arange(0, width, 2) / width)
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    one, other = jnp.split(x, 2, -1)
    return jnp.concatenate([one * cos - other * sin, other * cos + one * sin], -1)


def block(weights: Any, x: Any) -> Any:
    """A layer of a decoder, over a whole sequence."""
    h = normed(x, weights["norm"])
    q, k, v = ((h @ weights[n]).reshape(-1, HEADS, WIDTH // HEADS) for n in "qkv")
    scores = jnp.einsum("shd,thd->hst", rotated(q), rotated(k)) / np.sqrt(WIDTH // HEADS)
    causal = jnp.tril(jnp.ones((x.shape[0],) * 2, bool))
    shares = jax.nn.softmax(jnp.where(causal, scores, -1e30), -1)
    y = jnp.einsum("hst,thd->shd", shares, v).reshape(-1, WIDTH) @ weights["o"] + x
    h = normed(y, weights["norm"])
    return {
        "hidden": (jax.nn.silu(h @ weights["gate"]) * (h @ weights["up"])) @ weights["down"] + y
    }


def filtered(x: Any, filters: Any, step: int, groups: int = 1) -> Any:
    """A convolution, channels last."""
    return jax.lax.conv_general_dilated(
        x,
        filters,
        (step, step),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def image(x: Any) -> Any:
    """A convolution with a batch norm, a depthwise one beside it, and a pool."""
    y = filtered(x, numbers(3, 3, 3, 5), 2)
    scale = jax.lax.rsqrt(jnp.abs(numbers(5)) + 1e-5) * numbers(5)
    y = jax.nn.relu((y - numbers(5)) * scale + numbers(5))
    y = y + filtered(y, numbers(3, 3, 1, 5), 1, groups=5)
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def classify(table: Any, words: Any, weights: Any, labels: Any) -> Any:
    """How surprising labels are: a table, a mean, a layer, and a cross entropy."""
    shares = jax.nn.log_softmax(table[words].mean(1) @ weights)
    return -(shares * jax.nn.one_hot(labels, 5)).sum(-1).mean()


def half(x: Any) -> Any:
    """A layer in bf16."""
    return jax.nn.gelu(x @ jnp.asarray(numbers(6, 8), jnp.bfloat16), approximate=False)


LAYERS = {"a": given(6, 8), "b": given(8), "c": given(8, 5), "d": given(5)}
DECODER = {
    **{name: given(WIDTH, WIDTH) for name in "qkvo"},
    "norm": given(WIDTH),
    "gate": given(WIDTH, 24),
    "up": given(WIDTH, 24),
    "down": given(24, WIDTH),
}
HEAD = (2, 3, 6, 4)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "mlp": (mlp, (LAYERS, given(4, 6))),
    "gradient": (jax.grad(loss), (LAYERS, given(4, 6), given(4, 5))),
    "attention": (
        attention,
        (given(2, 3, 5, 4), given(*HEAD), given(*HEAD), given(5, 6, dtype=jnp.int32)),
    ),
    "block": (block, (DECODER, given(7, WIDTH))),
    "image": (image, (given(1, 9, 9, 3),)),
    "classify": (
        classify,
        (given(9, 6), given(4, 3, dtype=jnp.int32), given(6, 5), given(4, dtype=jnp.int32)),
    ),
    "bf16": (half, (given(3, 6, dtype=jnp.bfloat16),)),
}


def main() -> None:
    """Write all of them."""
    for name, (function, arguments) in FUNCTIONS.items():
        text = jax.jit(function).lower(*arguments).as_text()
        Path(__file__).with_name(f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()
