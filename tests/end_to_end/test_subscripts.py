"""Statements with subscripts compute what numpy does, alone and where others read them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello

from .kernels import Array, small_machines, to_run


def _causal(q: Array, k: Array, v: Array) -> Array:
    """Attention to what is not later; each of shape (heads, positions, width)."""
    scores = np.where(np.tri(q.shape[1]) > 0, q @ np.swapaxes(k, 1, 2), -np.inf)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    heads = shares / shares.sum(axis=2, keepdims=True) @ v
    return np.asarray(np.moveaxis(heads, 0, 1).reshape(q.shape[1], -1))


def _parts_of_parts(x: Array) -> tuple[Array, ...]:
    y = np.hstack([(x[:, None] * x).max(axis=2), x[:, 6:]])
    a = y[:, 40:104]
    return a + a.T, y


CASES: dict[str, tuple[str, Callable[..., Array | tuple[Array, ...]]]] = {
    "a product, transposed": (
        "input x: f32[5, 9] input w: f32[7, 9] output y: f32[5, 7] y[m, n] += w[n, k] * x[m, k]",
        lambda x, w: x @ w.T,
    ),
    "a matrix times a vector": (
        "input x: f32[5, 19] input w: f32[19] output y: f32[5] y[m] += x[m, k] * w[k]",
        lambda x, w: x @ w,
    ),
    "three factors": (
        "input a: f32[5, 4] input b: f32[4] input c: f32[4, 3] output y: f32[5, 3] "
        "y[i, k] += a[i, j] * b[j] * c[j, k]",
        lambda a, b, c: (a * b) @ c,
    ),
    "products with the batch in the middle": (
        "input x: f32[5, 3, 9] input w: f32[9, 3, 20] output y: f32[20, 3, 5] "
        "y[n, b, m] += x[m, b, k] * w[k, b, n]",
        lambda x, w: np.einsum("mbk,kbn->nbm", x, w),
    ),
    "what is left of products with the batch in the middle": (
        "input x: f32[4, 2, 9] input w: f32[9, 2, 7] output y: f32[4] "
        "h[m, b, n] += x[m, b, k] * w[k, b, n] z[m, b, n] = max(h[m, b, n], 0) "
        "y[m] += z[m, b, n]",
        lambda x, w: np.maximum(np.einsum("mbk,kbn->mbn", x, w), 0).sum(axis=(1, 2)),
    ),
    "filters of channels that come first, of images whose channels come last": (
        "input x: f32[1, 7, 9, 5] input w: f32[5, 3, 3] output y: f32[1, 3, 4, 5] "
        "y[n, h, v, c] += x[n, 2 * h + r, 2 * v + s, c] * w[c, r, s]",
        lambda x, w: sum(
            (x[:, r : r + 5 : 2, s : s + 7 : 2] * w[:, r, s] for r in range(3) for s in range(3)),
            start=np.zeros((1, 3, 4, 5), np.float32),
        ),
    ),
    "a convolution of one image": (
        "input x: f32[6, 7, 3] input w: f32[3, 2, 9, 3] output y: f32[4, 6, 9] "
        "y[h, v, o] += x[h + r, v + s, c] * w[r, s, o, c]",
        lambda x, w: sum(
            (x[r : r + 4, s : s + 6] @ w[r, s].T for r in range(3) for s in range(2)),
            start=np.zeros((4, 6, 9), np.float32),
        ),
    ),
    "convolutions along one dimension, channels first": (
        "input x: f32[2, 3, 19] input w: f32[9, 3, 4] output y: f32[2, 9, 8] "
        "y[n, o, v] += x[n, c, 2 * v + s] * w[o, c, s]",
        lambda x, w: sum(
            (np.einsum("ncv,oc->nov", x[:, :, s : s + 15 : 2], w[..., s]) for s in range(4)),
            start=np.zeros((2, 9, 8), np.float32),
        ),
    ),
    "an outer product": (
        "input a: f32[17] input b: f32[9] output y: f32[17, 9] y[i, j] = a[i] * b[j]",
        np.multiply.outer,
    ),
    "a repeated row": (
        "input b: f32[9] output y: f32[5, 9] y[i, j] = b[j]",
        lambda b: np.broadcast_to(b, (5, 9)),
    ),
    "a diagonal": ("input x: f32[7, 7] output y: f32[7] y[i] = x[i, i]", np.diagonal),
    "a matrix and its transpose": (
        "input x: f32[7, 7] output y: f32[7, 7] y[i, j] = x[i, j] - x[j, i]",
        lambda x: x - x.T,
    ),
    "all pairs": (
        "input x: f32[6] output y: f32[6, 6] y[i, j] = max(x[i] - x[j], 0)",
        lambda x: np.maximum(x[:, None] - x, 0),
    ),
    "every second element": (
        "input x: f32[5, 13] output y: f32[5, 6] y[i, j] = x[i, 2 * j + 1] + x[i, 2 * j]",
        lambda x: x[:, 1::2] + x[:, :-1:2],
    ),
    "three parts": (
        "input x: f32[30] output y: f32[10] y[i] = x[i + 0] + x[i + 10] * x[i + 20]",
        lambda x: x[:10] + x[10:20] * x[20:],
    ),
    "one row, and one matrix of several": (
        "input x: f32[3, 5] input w: f32[2, 3, 5, 4] output y: f32[4] "
        "y[j] += x[1, k] * w[1, 2, k, j]",
        lambda x, w: x[1] @ w[1, 2],
    ),
    "a frame": (
        "input x: f32[5, 6] output y: f32[8, 7] y[i + 1, j + 0] = x[i, j] elsewhere -2",
        lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=-2),
    ),
    "a computed row in a frame": (
        "input x: f32[9] input z: f32[9] output y: f32[12] "
        "y[i + 2] = max(x[i] + 1, z[i]) elsewhere 1 / 4",
        lambda x, z: np.pad(np.maximum(x + 1, z), (2, 1), constant_values=0.25),
    ),
    "rows in another order, repeated in a frame": (
        "input x: f32[6, 5] output y: f32[3, 8, 7] y[a, i + 1, j + 0] = x[j, i] elsewhere -2",
        lambda x: np.pad(np.stack([x.T] * 3), ((0, 0), (1, 2), (0, 1)), constant_values=-2),
    ),
    "one image in a frame": (
        "input x: f32[6, 7] output y: f32[1, 8, 9] y[a, i + 1, j + 1] = x[i, j] elsewhere 0",
        lambda x: np.pad(x[None], ((0, 0), (1, 1), (1, 1))),
    ),
    "a sum of what is repeated": (
        "input x: f32[4] local t: f32[4, 3] output y: f32[4] t[i, r] = x[i] y[i] += t[i, k]",
        lambda x: 3 * x,
    ),
    "a product of sums of what is repeated, seen from a part": (
        "input x: f32[6, 2] local t: f32[2, 5, 3] local u: f32[2, 5] output y: f32[2, 5] "
        "t[j, i, r] = x[i + 1, j] u[j, i] += t[j, i, k] y[j, i] = u[j, i] * x[i + 0, j]",
        lambda x: 3 * x[1:].T * x[:-1].T,
    ),
    "a sum of two dimensions of size 1, seen in a frame": (
        "input x: f32[8, 1] local f: f32[9, 1] local t: f32[1, 4, 1] local u: f32[1, 5, 4] "
        "local v: f32[2, 1] output y: f32[2, 1] f[i + 1, j + 0] = x[i, j] elsewhere -2 "
        "t[j, i, k] = f[2 * i + 1, 1 * j + k] u[i + 0, j + 0, k + 2] = t[i, j, k] elsewhere -2 "
        "v[i, j] = u[0, 2 * i + 1, j + 0] y[i, j] = max(v[i, j], 0)",
        lambda x: np.zeros((2, 1)),
    ),
    "one of what is repeated, in a frame that two read": (
        "input x: f32[8, 2, 1] local t: f32[2, 3, 4, 1] local u: f32[2] local v: f32[4] "
        "output y: f32[8] t[j, r, i, k] = x[2 * i + j, k + 0, 0] u[i] = t[i, 1, 0, 0] "
        "v[i + 1] = u[i] elsewhere -2 y[i] = max(v[i], 0) y[i + 4] = max(v[i], 0)",
        lambda x: np.maximum(np.tile(np.pad(x[:2, 0, 0], 1, constant_values=-2), 2), 0),
    ),
    "every second row in a frame": (
        "input x: f32[5, 6] output y: f32[3, 7] y[i + 1, j + 1] = x[2 * i + 1, j] elsewhere 5",
        lambda x: np.pad(x[1::2], ((1, 0), (1, 0)), constant_values=5),
    ),
    "a padded correlation": (
        "input x: f32[20] input w: f32[3] local p: f32[22] output y: f32[20] "
        "p[i + 1] = x[i] elsewhere 0 y[i] += p[i + r] * w[r]",
        lambda x, w: np.correlate(x, w, "same"),
    ),
    "two columns": (
        "input x: f32[5, 9] output y: f32[5] y[i] = max(x[i, 2], x[i, 4])",
        lambda x: np.maximum(x[:, 2], x[:, 4]),
    ),
    "elements by numbers alone": (
        "input x: f32[9, 4] input w: f32[5] output y: f32[7] "
        "h[i] += x[i, j] y[i] = w[i] * x[8, 2] - h[0] y[5] = x[7, 0] y[6] = h[1] / h[2]",
        lambda x, w: np.append(w * x[8, 2] - x[0].sum(), [x[7, 0], x[1].sum() / x[2].sum()]),
    ),
    "a product that one element of a vector scales": (
        "input x: f32[3] input v: f32[5, 9] input w: f32[9, 7] output y: f32[5, 7] "
        "y[m, n] += x[1] * v[m, k] * w[k, n]",
        lambda x, v, w: x[1] * v @ w,
    ),
    "a sum that one element of a vector scales": (
        "input x: f32[3] input v: f32[9] output y: f32[] y[] += x[1] * v[k]",
        lambda x, v: x[1] * v.sum(),
    ),
    "a number at run time": (
        "input a: f32[] input x: f32[9] output y: f32[9] y[i] = a[] * x[i]",
        lambda a, x: a * x,
    ),
    "windows that leave a rest": (
        "input x: f32[1, 8, 8, 3] input w: f32[1, 1, 3, 4] output y: f32[1, 4, 4, 4] "
        "y[n, h, v, o] += x[n, 2 * h + r, 2 * v + s, c] * w[r, s, c, o]",
        lambda x, w: x[:, ::2, ::2] @ w[0, 0],
    ),
    "a mean": (
        "input x: f32[5, 11] output y: f32[5] h[i] += x[i, j]  y[i] = h[i] / N",
        lambda x: x.mean(axis=1, dtype=np.float64),
    ),
    "a causal mask": (
        "input x: f32[9, 9] output y: f32[9, 9] y[i, j] = x[i, j] if j <= i else -1000",
        lambda x: np.where(np.tri(9) > 0, x, -1000),
    ),
    "an identity": (
        "output y: f32[5, 5] y[i, j] = 1 if i == j else 0",
        lambda: np.eye(5),
    ),
    "numbers that stand at positions": (
        "input t: s32[7] output y: s32[7, 9] y[i, c] = 1 if c == t[i] else 0",
        lambda t: np.equal.outer(t, np.arange(9)),
    ),
    "a product times a number that each call brings": (
        "input x: f32[5, 9] input w: f32[7, 9] input a: f32[] output y: f32[5, 7] "
        "y[i, j] += x[i, k] * w[j, k] * a[]",
        lambda x, w, a: (x @ w.T) * a,
    ),
    "sizes, with positions and without, one of a dimension that is called as a tensor": (
        "input x: f32[5, 40] output m: f32[5] output y: f32[5, 40] m[i] += x[i, x] / size(x) "
        "y[i, j] = x[i, j] * (size(j) - 1 - j) + size(i)",
        lambda x: (x.mean(axis=1), x * np.arange(39, -1, -1) + 5),
    ),
    "positions alone": ("output y: f32[30] y[i] = i", lambda: np.arange(30)),
    "a weighted sum by positions": (
        "input x: f32[5, 40] output y: f32[5] y[i] += (2 * j + i) * x[i, j]",
        lambda x: x @ (2.0 * np.arange(40)) + np.arange(5) * x.sum(axis=1, dtype=np.float64),
    ),
    "rows in a frame": (
        "input x: f32[2, 4] input z: f32[2, 4, 9] local t: f32[8, 10] output y: f32[8, 3] "
        "t[4 * i + j, k + 1] = min(x[i, j], z[i, j, k]) elsewhere 2 y[j, k] max= t[i, j + k]",
        lambda x, z: np.lib.stride_tricks.sliding_window_view(
            np.pad(
                np.minimum(x[..., None], z).reshape(8, 9), ((0, 0), (1, 0)), constant_values=2
            ).max(axis=0),
            3,
        ),
    ),
    "rows in a frame along them": (
        "input x: f32[3, 4] output y: f32[15] output z: f32[16] "
        "y[4 * i + j + 2] = x[i, j] elsewhere 7 z[4 * i + j + 1] = 2 * x[i, j] elsewhere 8",
        lambda x: (
            np.pad(x.reshape(12), (2, 1), constant_values=7),
            np.pad(2 * x.reshape(12), (1, 3), constant_values=8),
        ),
    ),
    "positions in a frame": (
        "input x: f32[9] output y: f32[12] y[i + 2] = x[i] + i elsewhere -1",
        lambda x: np.pad(x + np.arange(9), (2, 1), constant_values=-1),
    ),
    "positions that several statements read, and an input of their name": (
        "input positions_f32_9: f32[9, 9] output y: f32[9] output z: f32[9] "
        "t[i] += (positions_f32_9[i, j] if j <= i else 0) "
        "y[i] = t[i] * i z[i] max= (positions_f32_9[i, j] if i <= j else -9)",
        lambda x: (
            np.tril(x).sum(axis=1) * np.arange(9),
            np.where(np.tri(9).T > 0, x, -9).max(axis=1),
        ),
    ),
    "two matrices, side by side": (
        "input x: f32[5, 9] input z: f32[5, 20] output y: f32[5, 29] "
        "y[i, j] = x[i, j] y[i, j + 9] = max(z[i, j], 0)",
        lambda x, z: np.hstack([x, np.maximum(z, 0)]),
    ),
    "products that two parts of a tensor are, and what reads both": (
        "input x: f32[5, 9] input w: f32[9, 20] input v: f32[9, 20] local h: f32[5, 40] "
        "output y: f32[5, 20] h[m, n] += x[m, k] * w[k, n] h[m, n + 20] += x[m, k] * v[k, n] "
        "y[m, n] = max(h[m, n + 0], 0) * h[m, n + 20]",
        lambda x, w, v: np.maximum(x @ w, 0) * (x @ v),
    ),
    "halves that turn": (
        "input x: f32[7, 2, 8] input c: f32[7, 4] input s: f32[7, 4] output y: f32[2, 7, 8] "
        "y[h, t, j] = x[t, h, j + 0] * c[t, j] - x[t, h, j + 4] * s[t, j] "
        "y[h, t, j + 4] = x[t, h, j + 4] * c[t, j] + x[t, h, j + 0] * s[t, j]",
        lambda x, c, s: np.moveaxis(
            np.concatenate(
                [
                    x[..., :4] * c[:, None] - x[..., 4:] * s[:, None],
                    x[..., 4:] * c[:, None] + x[..., :4] * s[:, None],
                ],
                axis=2,
            ),
            1,
            0,
        ),
    ),
    "matrices and columns in a stack": (
        "input x: f32[6, 17] output y: f32[2, 6, 17] output z: f32[6, 3] "
        "z[i, 1] max= x[i, j] z[i, 0] += x[i, j] z[i, 2] min= x[i, j] "
        "y[1, i, j] = x[i, j] * z[i, 1] y[0, i, j] = x[i, j] + 1",
        lambda x: (
            np.stack([x + 1, x * x.max(axis=1, keepdims=True)]),
            np.stack([x.sum(axis=1), x.max(axis=1), x.min(axis=1)], axis=1),
        ),
    ),
    "parts of a tensor whose first dimension is the fastest": (
        "input x: f32[5, 9] output y: f32[11, 9] layout (1, 0) "
        "y[i, j] = x[i, j] y[i + 5, j] = max(x[i, j], 0) y[10, j] += x[i, j]",
        lambda x: np.concatenate([x, np.maximum(x, 0), x.sum(axis=0, keepdims=True)]),
    ),
    "a layer of several matrices, in one": (
        "input x: f32[3, 5, 9] weight w: f32[20, 9] output y: f32[3, 5, 20] "
        "y[a, b, n] += x[a, b, k] * w[n, k]",
        lambda x, w: x @ w.T,
    ),
    "a layer of parts of several matrices, with a bias": (
        "input x: f32[4, 2, 5, 9] weight w: f32[9, 20] input c: f32[20] output y: f32[3, 2, 5, 20] "
        "local p: f32[3, 2, 5, 9] p[a, b, d, k] = x[a + 1, b, d, k] "
        "h[a, b, d, n] += p[a, b, d, k] * w[k, n] y[a, b, d, n] = h[a, b, d, n] + c[n]",
        lambda x, w, c: x[1:] @ w + c,
    ),
    "a layer of what does not lie together": (
        "input x: f32[4, 6, 9] weight w: f32[9, 20] output y: f32[4, 5, 20] "
        "local p: f32[4, 5, 9] p[a, b, k] = x[a, b + 1, k] y[a, b, n] += p[a, b, k] * w[k, n]",
        lambda x, w: x[:, 1:] @ w,
    ),
    "a layer of matrices whose first dimension is the fastest": (
        "input x: f32[4, 6, 9] layout (2, 1, 0) weight w: f32[9, 20] output y: f32[4, 6, 20] "
        "y[a, b, n] += x[a, b, k] * w[k, n]",
        lambda x, w: x @ w,
    ),
    "a part of an output that is declared later": (
        "input x: f32[6, 9] local q: f32[4, 9] output z: f32[4, 9] output y: f32[6, 9] "
        "y[i, j] = max(x[i, j], 0) q[i, j] = y[i + 2, j] z[i, j] = -q[i, j]",
        lambda x: (-np.maximum(x[2:], 0), np.maximum(x, 0)),
    ),
    "parts of parts that are computed later": (
        "input x: f32[64, 70] local a: f32[64, 64] local p: f32[2, 64, 32] "
        "output z: f32[64, 64] output y: f32[64, 128] "
        "h[i, j] max= x[i, k] * x[j, k] p[a, i, b] = h[i, 32 * a + b] "
        "y[i, 32 * a + b] = p[a, i, b] y[i, j + 64] = x[i, j + 6] a[i, j] = y[i, j + 40] "
        "z[i, j] = a[i, j] + a[j, i]",
        _parts_of_parts,
    ),
    "rows that are looked up": (
        "input i: s32[7] input e: f32[9, 5] input p: f32[7, 5] output y: f32[7, 5] "
        "y[t, d] = e[i[t], d] + p[t, d]",
        lambda i, e, p: e[np.clip(i, 0, 8)] + p,
    ),
    "rows of a weight that a product reads, too": (
        "input i: s32[2, 3] weight e: f32[9, 20] output y: f32[2, 3, 9] "
        "x[b, t, d] = e[i[b, t], d] h = relu(x) y[b, t, v] += h[b, t, d] * e[v, d]",
        lambda i, e: np.maximum(e[np.clip(i, 0, 8)], 0) @ e.T,
    ),
    "columns that are looked up, in another layout, and seen otherwise": (
        "input i: u8[6] input e: f32[5, 4] layout (1, 0) output y: f32[6, 5] output z: f32[6, 5] "
        "y[t, d] = e[d, i[t]] * t z[t, d] = max(e[d, i[t]], 0)",
        lambda i, e: (
            e.T[np.minimum(i, 3)] * np.arange(6)[:, None],
            np.maximum(e.T[np.minimum(i, 3)], 0),
        ),
    ),
    "heads, side by side, that attend to what comes before them": (
        "input x: f32[7, 24] local q: f32[2, 7, 4] local k: f32[2, 7, 4] local v: f32[2, 7, 4] "
        "output o: f32[7, 8] q[h, s, d] = x[s, 4 * h + d] k[h, s, d] = x[s, 8 + 4 * h + d] "
        "v[h, s, d] = x[s, 16 + 4 * h + d] z[h, s, t] += q[h, s, d] * k[h, t, d] "
        "m[h, s, t] = z[h, s, t] if t <= s else -1e30 p = softmax(m) "
        "o[s, 4 * h + d] += p[h, s, t] * v[h, t, d]",
        lambda x: _causal(*np.moveaxis(x.reshape(7, 3, 2, 4), 2, 1).transpose(2, 1, 0, 3)),
    ),
    "queries of several heads with keys that these share": (
        "input q: f32[2, 3, 7, 9] input k: f32[2, 11, 9] output y: f32[2, 3, 7, 11] "
        "y[g, h, s, t] += q[g, h, s, d] * k[g, t, d]",
        lambda q, k: np.einsum("ghsd,gtd->ghst", q, k),
    ),
    "products of one matrix for several heads": (
        "input x: f32[7, 9] input w: f32[9, 3, 20] output y: f32[3, 7, 20] "
        "y[h, s, d] += x[s, k] * w[k, h, d]",
        lambda x, w: np.einsum("sk,khd->hsd", x, w),
    ),
    "a column of products of one row": (
        "input x: f32[9] input w: f32[3, 9, 5, 4] output y: f32[3, 5, 4] "
        "y[a, b, c] += x[k] * w[a, k, b, c]",
        lambda x, w: np.einsum("k,akbc->abc", x, w),
    ),
    "what lies in a transposed input": (
        "input x: f32[9, 4, 6] layout (2, 0, 1) input w: f32[5, 4] local a: f32[3, 9, 4] "
        "output y: f32[3, 9, 5] a[h, i, k] = x[i, k, h + 2] "
        "y[h, i, j] += a[h, i, k] * w[j, k]",
        lambda x, w: np.moveaxis(x[:, :, 2:5], 2, 0) @ w.T,
    ),
    "a piece of rows that one row goes through": (
        "input x: f32[40] local a: f32[3, 4] input w: f32[4, 5] output y: f32[3, 5] "
        "a[i, j] = x[7 + 8 * i + j] y[i, k] += a[i, j] * w[j, k]",
        lambda x, w: np.stack([x[7 + 8 * i :][:4] for i in range(3)]) @ w,
    ),
    "windows that overlap": (
        "input x: f32[20] local a: f32[16, 5] output y: f32[16] "
        "a[i, j] = x[i + j] y[i] max= a[i, j]",
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 5).max(axis=1),
    ),
    "a diagonal that is read": (
        "input x: f32[9, 9] local a: f32[9] output y: f32[9] a[i] = x[i, i] y[i] = max(a[i], 0)",
        lambda x: np.maximum(np.diagonal(x), 0),
    ),
    "heads, side by side in a part of a matrix": (
        "input x: f32[6, 14] output y: f32[2, 6, 3] y[h, s, d] = x[s, 4 + 3 * h + d]",
        lambda x: np.moveaxis(x[:, 4:10].reshape(6, 2, 3), 1, 0),
    ),
}


@pytest.mark.sample(10)
@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx2"])
@pytest.mark.parametrize("case", CASES)
def test_they_are_what_numpy_says(case: str, target: str) -> None:
    body, expected = CASES[case]
    parameters = "N = 11" if "N" in body else ""
    text = f"spec s({parameters}) {{ {body} }}"
    kernel = to_run(_compiled, text, target)
    kernel.verify()
    values = np.random.default_rng(7).standard_normal
    inputs = [
        np.asarray(2 * values(a.shape) + 4 * (not a.dtype.floating)).astype(a.dtype.numpy)
        for a in kernel.signature.inputs
    ]
    inputs = [a.pack(x) for a, x in zip(kernel.signature.inputs, inputs, strict=True)]
    found, right = kernel(*inputs), expected(*inputs)
    pairs = zip(found, right, strict=True) if isinstance(found, tuple) else [(found, right)]
    for result, value in pairs:
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-5)


def _compiled(text: str, target: str) -> morello.Kernel:
    return morello.compile(text, target=target, definitions=small_machines())


@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2", "x86.zen5"])
@pytest.mark.parametrize("dtype", ["s32", "s8"])
def test_the_least_number_of_a_type(dtype: str, target: str) -> None:
    own = np.int32 if dtype == "s32" else np.int8
    least = np.iinfo(own).min
    text = f"input x: {dtype}[37] output y: {dtype}[37] output z: {dtype}[37] "
    text += f"y[i] = x[i] if x[i] > {least} else 7 z[i] = max(x[i] + {least}, x[i] * {least})"
    kernel = to_run(_compiled, f"spec s() {{ {text} }}", target)
    kernel.verify()
    x = np.random.default_rng(7).integers(least, np.iinfo(own).max, 37, own, endpoint=True)
    x[3] = least
    y, z = kernel(x)
    np.testing.assert_array_equal(y, np.where(x > least, x, 7))
    sums, products = ((own(least) + x).astype(own), (x.astype(np.int64) * least).astype(own))
    np.testing.assert_array_equal(z, np.maximum(sums, products))


def test_bytes_and_integers() -> None:
    text = "spec s() { input x: u8[5, 9] input w: s8[7, 9] output y: s32[5, 7] STATEMENT }"
    text = text.replace("STATEMENT", "y[i, j] += x[i, k] * w[j, k]")
    kernel = morello.compile(text, target="x86.scalar", definitions=small_machines())
    x = np.arange(45, dtype=np.uint8).reshape(5, 9)
    w = (np.arange(63) - 30).astype(np.int8).reshape(7, 9)
    np.testing.assert_array_equal(kernel(x, w), x.astype(int) @ w.T.astype(int))


@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2"])
def test_the_second_one_counts_where_one_is_nan(target: str) -> None:
    """So `max(0, x)` is no `relu`, which is `max(x, 0)`."""
    text = """spec s() {
      input x: f32[9] output a: f32[9] output b: f32[9] output c: f32[9] output d: f32[9]
      a[i] = max(x[i], 0) b[i] = max(0, x[i])
      c[i] = min(4, max(x[i], 3)) d[i] = min(4, max(3, x[i]))
    }"""
    found = to_run(morello.compile, text, target=target)(np.full(9, np.nan, np.float32))
    for values, right in zip(found, (0, np.nan, 3, np.nan), strict=True):
        np.testing.assert_array_equal(values, right)
