"""Indices of tensors in which scalars stand: ``stride * h + r``, ``low + i + high``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from morello.language import ast
from morello.records import replace

UNIT_NAME = "_"
"""Of a dimension of size 1, in a view of an operand that has none there."""

Terms = tuple[tuple[ast.Factor, ast.Factor], ...]


def with_scalars(index: ast.Index, scalars: Collection[str]) -> ast.Index:
    """The index with what is known to be a scalar in its place.

    A scalar times a dimension is a factor, in whichever order they are written. What is added
    before the last dimension shifts the index; what is added after it is elements that it does not
    reach.
    """
    if index.group:
        return index
    terms = [_turned(term, scalars) for term in index.terms]
    dims = [place for place, (name, _) in enumerate(terms) if name not in scalars]
    if len(dims) == len(terms) or not dims:
        return replace(index, terms=tuple(terms))
    return replace(
        index,
        terms=tuple(terms[place] for place in dims),
        low=(*index.low, *_scalars(terms[: dims[-1]], scalars)),
        high=(*_scalars(terms[dims[-1] :], scalars), *index.high),
    )


def _turned(term: tuple[str, ast.Factor], scalars: Collection[str]) -> tuple[str, ast.Factor]:
    name, factor = term
    if isinstance(factor, str) and name in scalars and factor not in scalars:
        return factor, name
    return term


def _scalars(terms: Sequence[tuple[str, ast.Factor]], scalars: Collection[str]) -> Terms:
    return tuple(term for term in terms if term[0] in scalars)


def text_of_index(index: ast.Index) -> str:
    """As it is written: ``b...``, ``h + 2 * r``, ``low + i + high``."""
    if index.group:
        return f"{index.terms[0][0]}..."
    if not index.terms:
        return UNIT_NAME
    return text_of_terms((*index.low, *index.terms, *index.high))


def text_of_terms(terms: Sequence[tuple[ast.Factor, ast.Factor]]) -> str:
    """A sum as it is written."""
    return " + ".join(f"{name}" if factor == 1 else f"{factor} * {name}" for name, factor in terms)


def written(indices: Sequence[ast.Index]) -> str:
    """Indices as they are written: ``b..., m, h + 2 * r``."""
    return ", ".join(map(text_of_index, indices))
