"""Products of matrices in ONNX."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from string import ascii_letters
from typing import NamedTuple

from morello.networks.byte_products import quantized_product
from morello.networks.kinds import Rewrite, Translation, number


def _matmul(t: Translation) -> str:
    a, b = t.inputs
    if (found := quantized_product(t, a, b)) is not None:
        return found
    left, right = t.shape(a), t.shape(b)
    if len(left) == 1:
        a, left = t.view(a, (1, *left)), (1, *left)
    if len(right) == 1:
        b, right = t.view(b, (*right, 1)), (*right, 1)
    if len(right) == 2 and prod(left[:-2]) > 1:  # all rows are those of one matrix
        return t.product(t.view(a, (prod(left[:-1]), left[-1])), b)
    return t.product(a, b)


def _gemm(t: Translation) -> str:
    a, b, *bias = filter(None, t.inputs)
    swap_a, swap_b = (bool(t.attribute(name, 0)) for name in ("transA", "transB"))
    found = None if swap_a else quantized_product(t, a, b, swap_b=swap_b)
    result = found or t.product(a, b, swap_a=swap_a, swap_b=swap_b)
    alpha, beta = float(t.attribute("alpha", 1.0)), float(t.attribute("beta", 1.0))
    if alpha != 1:
        result = t.elementwise(f"{{0}} * {number(alpha)}", result)
    if not bias:
        return result
    added = "{1}" if beta == 1 else f"{{1}} * {number(beta)}"
    return t.elementwise(f"{{0}} + {added}", result, bias[0])


def _einsum(t: Translation) -> str:
    """A sum of products: of the first two tensors, of what they give and the next, and so on."""
    given, arrow, wanted = str(t.attribute("equation", "")).replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow:
        every = "".join(terms).replace(".", "")
        wanted = DOTS + "".join(sorted(d for d in {*every} if every.count(d) == 1))
    *terms, wanted = _with_letters(t, terms, wanted)
    pairs = [_Term(*own) for own in zip(t.inputs, terms, strict=True)]
    sizes = _sizes(t, pairs)
    (x, own), *others = (_plain(t, *pair, sizes) for pair in pairs)
    terms = [own, *(term for _, term in others)]
    every = "".join(terms)
    for place, (name, term) in enumerate(others, 2):
        kept = {*wanted}.union(*terms[place:])
        result = wanted if place == len(terms) else "".join(d for d in every if d in kept)
        result = "".join(dict.fromkeys(d for d in result if d in own + term))
        x, own = _contracted(t, (x, own), (name, term), result), result
    x, own = _summed(t, x, own, wanted)
    return t.permute(x, [own.index(d) for d in wanted])


DOTS = "..."


class _Term(NamedTuple):
    """A tensor, and its letters."""

    tensor: str
    letters: str


def _with_letters(t: Translation, terms: Sequence[str], wanted: str) -> Iterator[str]:
    """The terms, and what is wanted, with letters for dimensions that have none."""
    ranks = [len(t.shape(name)) for name in t.inputs]
    counts = [
        rank - len(term) + len(DOTS) if DOTS in term else 0
        for rank, term in zip(ranks, terms, strict=True)
    ]
    used = {*wanted}.union(*terms)
    free = "".join(letter for letter in ascii_letters if letter not in used)
    for term, count in zip((*terms, wanted), (*counts, max(counts)), strict=True):
        first = max(counts) - count  # the last ones are those that all have
        yield term.replace(DOTS, free[first : first + count])


def _sizes(t: Translation, terms: Iterable[_Term]) -> dict[str, int]:
    """Of each letter the size, where some tensors repeat what they have once."""
    sizes: dict[str, int] = {}
    for tensor, letters in terms:
        for letter, size in zip(letters, t.shape(tensor), strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    return sizes


def _plain(t: Translation, tensor: str, letters: str, sizes: Mapping[str, int]) -> _Term:
    """A tensor without what it repeats, and with each letter once: that is a diagonal."""
    own = list(zip(letters, t.shape(tensor), strict=True))
    left = [(letter, size) for letter, size in own if size == sizes[letter]]
    tensor = t.view(tensor, [size for _, size in left])
    letters = "".join(letter for letter, _ in left)
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            pair = first, letters.index(letter, first + 1)
            others = [axis for axis in range(len(letters)) if axis not in pair]
            shape = [t.shape(tensor)[axis] for axis in others]
            size = sizes[letter]
            rows = t.view(t.permute(tensor, [*others, *pair]), (*shape, size * size))
            ones = [1] * len(others)
            tensor = t.cut(rows, (*shape, size), (*(0 for _ in others), 0), (*ones, size + 1))
            letters = "".join(letters[axis] for axis in others) + letter
    return _Term(tensor, letters)


def _contracted(
    t: Translation, first: tuple[str, str], second: tuple[str, str], wanted: str
) -> str:
    """A sum of products of two tensors; what only one has is summed first."""
    a, left = _summed(t, *first, {*wanted, *second[1]})
    b, right = _summed(t, *second, {*wanted, *first[1]})
    size = dict(zip(left + right, (*t.shape(a), *t.shape(b)), strict=True))
    batch = [d for d in wanted if d in left and d in right]
    inner = [d for d in left if d in right and d not in wanted]
    rows, columns = [d for d in left if d not in right], [d for d in right if d not in left]

    def as_matrix(x: str, own: str, *groups: list[str]) -> str:
        order = [own.index(d) for group in (batch, *groups) for d in group]
        shape = [prod(size[d] for d in group) for group in groups]
        return t.view(t.permute(x, order), (*(size[d] for d in batch), *shape))

    # The second one in the order that leaves its columns where they are.
    swapped = bool(inner) and right.endswith(inner[-1])
    last = as_matrix(b, right, columns, inner) if swapped else as_matrix(b, right, inner, columns)
    made = t.product(as_matrix(a, left, rows, inner), last, swap_b=swapped)
    order = [*batch, *rows, *columns]
    return t.permute(t.view(made, [size[d] for d in order]), [order.index(d) for d in wanted])


def _summed(t: Translation, x: str, term: str, kept: Collection[str]) -> tuple[str, str]:
    """A tensor without the dimensions that nothing else has, and what is left of its letters."""
    axes = [axis for axis, d in enumerate(term) if d not in kept]
    left = "".join(d for d in term if d in kept)
    sizes = [size for d, size in zip(term, t.shape(x), strict=True) if d in kept]
    return t.view(t.reduce(x, axes, "+="), sizes), left


REWRITES: Mapping[str, Rewrite] = {"Einsum": _einsum, "Gemm": _gemm, "MatMul": _matmul}
