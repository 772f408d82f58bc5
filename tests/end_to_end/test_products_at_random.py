"""Products that statements say, with any dimensions in any order and layout, against numpy."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import morello

from .kernels import Array, to_run

TARGETS = ("c.scalar", "x86.avx2", "x86.avx512")
SIZES = (1, 2, 3, 5, 8, 17)
MOST_PRODUCTS = 60_000


def draw(seed: int) -> tuple[str, str, dict[str, tuple[int, ...]]]:
    """A spec, the product in the notation of `numpy.einsum`, and the shapes of the inputs."""
    random = Random(seed)
    while True:
        counts = [random.choice((0, 0, 1, 1, 2)), random.choice((0, 1, 1, 2))]
        counts += [random.choice((0, 1, 1, 2)), random.choice((1, 1, 2))]
        names = iter("abcdefgh")
        batch, rows, columns, summed = (
            [next(names) for _ in range(min(count, 2))] for count in counts
        )
        sizes = {name: random.choice(SIZES) for name in "abcdefgh"}
        operands = [batch + rows + summed, batch + columns + summed, batch + rows + columns]
        used = {*operands[0], *operands[1]}
        if not operands[2] or any(len(dims) > 5 for dims in operands):
            continue
        if np.prod([sizes[name] for name in used]) <= MOST_PRODUCTS:
            break
    if random.random() < 0.6:
        for dims in operands:
            random.shuffle(dims)
    lines = []
    for name, dims in zip("xwy", operands, strict=True):
        role = "output" if name == "y" else random.choice(("input", "input", "weight"))
        order = random.sample(range(len(dims)), len(dims))
        layout = f" layout ({', '.join(map(str, order))})" if random.random() < 0.3 else ""
        shape = ", ".join(str(sizes[dim]) for dim in dims)
        lines.append(f"{role} {name}: f32[{shape}]{layout}")
    x, w, y = (", ".join(dims) for dims in operands)
    after = random.choice(("", "", f"z[{y}] = max(y[{y}], 0)"))
    if after:
        lines.append(f"output z: f32[{', '.join(str(sizes[dim]) for dim in operands[2])}]")
    text = f"spec s() {{ {' '.join(lines)} y[{y}] += x[{x}] * w[{w}] {after} }}"
    shapes = {n: tuple(sizes[d] for d in dims) for n, dims in zip("xw", operands, strict=False)}
    return text, "{},{}->{}".format(*map("".join, operands)), shapes


@pytest.mark.sample(12)
# 2020 and 2056 have two pairs of dimensions that are one each, and a batch along one of these.
@pytest.mark.parametrize("seed", [*range(90), 2020, 2056])
def test_they_are_what_numpy_says(seed: int) -> None:
    text, form, shapes = draw(seed)
    kernel = to_run(morello.compile, text, target=TARGETS[seed % len(TARGETS)])
    kernel.verify()
    rng = np.random.default_rng(seed)
    values: dict[str, Array] = {
        name: rng.integers(-3, 4, shape).astype(np.float32) for name, shape in shapes.items()
    }
    found = kernel(*(a.pack(values[a.name]) for a in kernel.signature.inputs))
    right = np.einsum(form, values["x"], values["w"])
    first, *rest = found if isinstance(found, tuple) else (found,)
    np.testing.assert_array_equal(first, right)
    for other in rest:
        np.testing.assert_array_equal(other, np.maximum(right, 0))
