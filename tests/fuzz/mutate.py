"""Damage: one to four mutations of a file, drawn from a generator of random numbers.

Bytes of any file are changed, and tokens of texts; what is repeated is bounded by `LONGEST`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

LONGEST = 100_000
"""Bytes that a damaged file has at most. Larger ones are no damage, but another question."""

OFTEN = (2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 30, 30, 300, 3000)
"""How often parts are repeated: large files take as long to read as many small ones."""

NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"2147483648",
    b"-9223372036854775809",
    b"1e999",
    b"0.1",
    b"9" * 400,
    b"9" * 5000,
)

_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_NUMBER = re.compile(rb"\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?")

Mutation = Callable[[Random, bytes, bytes], bytes]


def damaged(random: Random, data: bytes, other: bytes) -> bytes:
    """The file with one to four mutations; ``other`` is a file to splice it with."""
    count = random.choice((1, 1, 1, 2, 2, 3, 4))
    for _ in range(count):
        kinds = BYTES if b"\0" in data else TOKENS
        data = random.choice(kinds)(random, data, other)[:LONGEST]
    return data


def _flip(random: Random, data: bytes, _: bytes) -> bytes:
    changed = bytearray(data)
    for _step in range(random.choice((1, 1, 2, 8)) if data else 0):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(random: Random, data: bytes, _: bytes) -> bytes:
    """A stretch with noise, zeros, ones, or another stretch."""
    length = random.choice((1, 2, 4, 8, 64, 512))
    start, source = (random.randrange(len(data) + 1) for _ in range(2))
    stretches = (random.randbytes(length), bytes(length), b"\xff" * length)
    new = random.choice((*stretches, data[source : source + length]))
    return data[:start] + new + data[start + len(new) :]


def _truncate(random: Random, data: bytes, _: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    """The beginning of one file, and the end of another."""
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _insert(random: Random, data: bytes, other: bytes) -> bytes:
    """A part of the other file."""
    place, start = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    return data[:place] + other[start : start + random.randrange(1, 200)] + data[place:]


def _cut(random: Random, data: bytes, _: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.choice((1, 4, 32, 256)) :]


def _repeat_bytes(random: Random, data: bytes, _: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    part = data[start : start + random.choice((1, 4, 64))]
    return data[:start] + part * random.choice(OFTEN) + data[start:]


# ------------------------------------------------------------------------- texts


def _swap_tokens(random: Random, data: bytes, _: bytes) -> bytes:
    tokens = _TOKEN.findall(data)
    if tokens:
        a, b = (random.randrange(len(tokens)) for _ in range(2))
        tokens[a], tokens[b] = tokens[b], tokens[a]
    return b"".join(tokens)


def _delete_tokens(random: Random, data: bytes, _: bytes) -> bytes:
    tokens = _TOKEN.findall(data)
    start = random.randrange(len(tokens) + 1)
    del tokens[start : start + random.choice((1, 1, 2, 5))]
    return b"".join(tokens)


def _repeat_tokens(random: Random, data: bytes, _: bytes) -> bytes:
    """A few tokens, twice or very often."""
    tokens = _TOKEN.findall(data)
    start = random.randrange(len(tokens) + 1)
    part = tokens[start : start + random.choice((1, 1, 2, 4, 16))]
    return b"".join(tokens[:start] + part * random.choice(OFTEN) + tokens[start:])


def _replace_token(random: Random, data: bytes, other: bytes) -> bytes:
    """By one of its own, or of the other file's."""
    tokens = _TOKEN.findall(data)
    words = _TOKEN.findall(random.choice((data, other)))
    if tokens and words:
        tokens[random.randrange(len(tokens))] = random.choice(words)
    return b"".join(tokens)


def _change_number(random: Random, data: bytes, _: bytes) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    place = random.choice(found)
    return data[: place.start()] + random.choice(NUMBERS) + data[place.end() :]


def _repeat_line(random: Random, data: bytes, _: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        place = random.randrange(len(lines))
        lines[place] *= random.choice(OFTEN)
    return b"".join(lines)


BYTES: tuple[Mutation, ...] = (
    *(_flip, _overwrite, _truncate, _splice, _insert, _cut, _repeat_bytes),
)
TOKENS: tuple[Mutation, ...] = (
    *(_swap_tokens, _delete_tokens, _repeat_tokens, _replace_token, _replace_token),
    *(_change_number, _change_number, _repeat_line, _splice, _insert, _truncate, _flip),
)
