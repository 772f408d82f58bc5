"""Dimensions that lie together everywhere are joined, and no others."""

from __future__ import annotations

import pytest

from morello.networks.joining import Forms, joined


@pytest.mark.parametrize(
    ("forms", "lines", "found", "statements"),
    [
        pytest.param(
            {"x": (2, 3, 5, 7), "y": (5, 7, 2, 3)},
            ["y[k, l, i, j] = x[i, j, k, l]"],
            {"x": (6, 35), "y": (35, 6)},
            ["y[k, i] = x[i, k]"],
            id="a transpose",
        ),
        pytest.param(
            {"x": (2, 3, 5), "y": (5, 3, 2)},
            ["y[k, j, i] = x[i, j, k]"],
            {"x": (2, 3, 5), "y": (5, 3, 2)},
            ["y[k, j, i] = x[i, j, k]"],
            id="nothing together",
        ),
        pytest.param(
            {"x": (2, 3, 4), "w": (4, 5), "b": (5,), "t": (2, 3, 5), "y": (2, 3, 5)},
            ["t[i, m, n] += x[i, m, k] * w[k, n]", "y[j, k, l] = t[j, k, l] + b[l]"],
            {"x": (6, 4), "w": (4, 5), "b": (5,), "t": (6, 5), "y": (6, 5)},
            ["t[i, n] += x[i, k] * w[k, n]", "y[j, l] = t[j, l] + b[l]"],
            id="names are a statement's own",
        ),
        pytest.param(
            {"x": (2, 3, 4), "t": (2, 3, 4), "y": (2, 4, 3)},
            ["t[i, j, k] = exp(x[i, j, k])", "y[a, c, b] = t[a, b, c]"],
            {"x": (2, 3, 4), "t": (2, 3, 4), "y": (2, 4, 3)},
            ["t[i, j, k] = exp(x[i, j, k])", "y[a, c, b] = t[a, b, c]"],
            id="apart in another statement",
        ),
        pytest.param(
            {"x": (2, 3), "y": (2, 3)},
            ["y[i, j] = (x[i, j] if j == 0 else 0)"],
            {"x": (2, 3), "y": (2, 3)},
            ["y[i, j] = (x[i, j] if j == 0 else 0)"],
            id="a position is a number",
        ),
        pytest.param(
            {"x": (2, 3, 4), "y": (2,)},
            ["y[i] += x[i, j, k]"],
            {"x": (2, 12), "y": (2,)},
            ["y[i] += x[i, j]"],
            id="both are summed",
        ),
        pytest.param(
            {"x": (2, 3, 4), "y": (2, 3)},
            ["y[i, j] += x[i, j, k]"],
            {"x": (6, 4), "y": (6,)},
            ["y[i] += x[i, k]"],
            id="one is summed",
        ),
        pytest.param(
            {"x": (5, 8, 9), "w": (6, 5, 2, 2), "y": (6, 7, 8)},
            ["y[f, h, w] += x[c, h + r, w + s] * w[f, c, r, s]"],
            {"x": (5, 8, 9), "w": (6, 5, 2, 2), "y": (6, 7, 8)},
            ["y[f, h, w] += x[c, h + r, w + s] * w[f, c, r, s]"],
            id="windows",
        ),
        pytest.param(
            {"x": (4, 6), "y": (2, 6)},
            ["y[i, j] = x[2 * i, j]"],
            {"x": (4, 6), "y": (2, 6)},
            ["y[i, j] = x[2 * i, j]"],
            id="a part",
        ),
        pytest.param(
            {"x": (4, 6), "y": (2, 6)},
            ["y[i, j] = x[i, j]"],
            {"x": (4, 6), "y": (2, 6)},
            ["y[i, j] = x[i, j]"],
            id="other sizes",
        ),
        pytest.param(
            {"x": (3, 3), "y": (3,)},
            ["y[i] = x[i, i]"],
            {"x": (3, 3), "y": (3,)},
            ["y[i] = x[i, i]"],
            id="a diagonal",
        ),
        pytest.param(
            {"x": (1, 4), "y": (4,)},
            ["y[i] = x[0, i]"],
            {"x": (1, 4), "y": (4,)},
            ["y[i] = x[0, i]"],
            id="a number",
        ),
        pytest.param(
            {"x": (30, 1000, 50_000), "y": (30, 1000, 50_000)},
            ["y[i, j, k] = x[i, j, k]"],
            {"x": (30_000, 50_000), "y": (30_000, 50_000)},
            ["y[i, k] = x[i, k]"],
            id="more than a dimension can have",
        ),
        pytest.param({"y": ()}, ["y[] = 1.0"], {"y": ()}, ["y[] = 1.0"], id="a scalar"),
    ],
)
def test_what_lies_together_is_joined(
    forms: Forms, lines: list[str], found: Forms, statements: list[str]
) -> None:
    assert joined(forms, lines, ()) == (found, statements)


def test_tensors_with_layouts_stay_as_they_are() -> None:
    """And what is read beside them."""
    forms = {"x": (2, 3), "y": (2, 3), "z": (2, 3)}
    lines = ["y[i, j] = x[i, j]", "z[i, j] = y[i, j]"]
    assert joined(forms, lines, {"z"}) == (forms, lines)
