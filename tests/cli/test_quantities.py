"""Sizes and times with units, in and out."""

from __future__ import annotations

import pytest

from morello.cli.quantities import AGE, SIZE, bytes_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0B", 0), ("100MiB", 100 << 20), ("1.5 kib", 1536), (" 2 GiB ", 2 << 30)],
)
def test_sizes(text: str, expected: int) -> None:
    assert SIZE.convert(text, None, None) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("30d", 30 * 86400), ("2h", 7200), ("90 min", 5400), ("1w", 604800)]
)
def test_ages(text: str, expected: int) -> None:
    assert AGE.convert(text, None, None) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (20 << 20, "20.0 MiB"),
        (5 << 30, "5.0 GiB"),
    ],
)
def test_bytes_are_shown_in_the_unit_that_suits_them(size: int, expected: str) -> None:
    assert bytes_text(size) == expected
