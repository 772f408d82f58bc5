"""Dimensions that lie together in all tensors of a spec are one.

A network keeps a batch, heads and positions apart through nodes that treat them alike. Two
dimensions are one where every tensor that has one of them has the other just behind it, both whole.
Then a transpose has as few dimensions as it moves, rows are as many as there are, and the search
has less to look at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from math import prod
from typing import TypeVar

from morello.checking.sizes import MAX_SIZE

T = TypeVar("T")

_ACCESS = re.compile(r"(\w+)\[([^\[\]]*)\]")
_WORD = re.compile(r"[A-Za-z_]\w*")

Forms = Mapping[str, tuple[int, ...]]
"""The sizes of tensors, by name."""

Access = tuple[str, list[str]]
"""A tensor, and subscripts."""


def joined(forms: Forms, lines: Sequence[str], fixed: Collection[str]) -> tuple[Forms, list[str]]:
    """The sizes of tensors, and statements, with dimensions joined.

    Args:
        forms: All tensors.
        lines: Statements that read and write their elements, by subscripts in brackets. Their
            names for dimensions are their own.
        fixed: Tensors that stay as they are.
    """
    statements = [(list(_accesses(line)), _positions(line)) for line in lines]
    # Two dimensions of a tensor are joined in all statements, or in none.
    places = {(name, p) for name in forms if name not in fixed for p in range(len(forms[name]) - 1)}
    while wrong := {
        *(place for line in statements for place in _apart(*line, forms, places)),
        *_too_large(forms, places),
    }:
        places -= wrong
    sizes = {name: tuple(map(prod, _grouped(name, own, places))) for name, own in forms.items()}

    def rewritten(found: re.Match[str]) -> str:
        name, inside = found.groups()
        kept = [group[0] for group in _grouped(name, _subscripts(inside), places)]
        return f"{name}[{', '.join(kept)}]"

    return sizes, [_ACCESS.sub(rewritten, line) for line in lines]


def _accesses(line: str) -> Iterator[Access]:
    for name, inside in _ACCESS.findall(line):
        yield name, _subscripts(inside)


def _positions(line: str) -> set[str]:
    """Words outside of subscripts: dimensions among them are positions, as numbers."""
    return {*_WORD.findall(_ACCESS.sub("", line))}


def _subscripts(inside: str) -> list[str]:
    return inside.split(", ") if inside else []


def _apart(
    accesses: Sequence[Access],
    positions: Set[str],
    forms: Forms,
    places: Set[tuple[str, int]],
) -> Iterator[tuple[str, int]]:
    """Of places, those that cannot be joined in a statement."""
    for name, subscripts in accesses:
        for place, pair in enumerate(pairwise(subscripts)):
            if (name, place) in places:
                sizes = forms[name][place : place + 2]
                if positions & {*pair} or not all(
                    _together(one, forms, places, pair, sizes) for one in accesses
                ):
                    yield name, place


def _together(
    access: Access,
    forms: Forms,
    places: Set[tuple[str, int]],
    pair: tuple[str, str],
    sizes: tuple[int, ...],
) -> bool:
    """Whether an access has none of two dimensions, or both, whole, where they can be joined."""
    name, subscripts = access
    if pair[0] == pair[1] or not all(map(_WORD.fullmatch, pair)):
        return False
    used = [p for p, own in enumerate(subscripts) if {*_WORD.findall(own)} & {*pair}]
    if not used:
        return True
    begin = used[0]
    return (
        len(used) == 2
        and tuple(subscripts[begin : begin + 2]) == pair
        and forms[name][begin : begin + 2] == sizes
        and (name, begin) in places
    )


def _too_large(forms: Forms, places: Set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Where dimensions meet that would be larger than a spec can have."""
    for name, sizes in forms.items():
        joined_size = 1
        for place, size in enumerate(sizes):
            together = (name, place - 1) in places
            joined_size = joined_size * size if together else size
            if together and joined_size > MAX_SIZE:
                yield name, place - 1
                joined_size = size


def _grouped(name: str, of: Sequence[T], places: Set[tuple[str, int]]) -> list[list[T]]:
    """What a tensor has for each dimension, in groups that are joined."""
    groups: list[list[T]] = []
    for place, one in enumerate(of):
        if (name, place - 1) in places:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups
