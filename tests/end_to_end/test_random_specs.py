"""Specs of up to three operations of all kinds, drawn at random: each compiles, and is right."""

from __future__ import annotations

from random import Random

import pytest

import morello

from .kernels import runnable, small_machines
from .random_specs import RandomSpec

SPECS = 8
LARGEST = 3
TARGETS = ("x86.avx2", "x86.scalar", "x86.scalar", "x86.avx512")


@pytest.mark.parametrize("number", range(1, SPECS + 1))
def test_random_spec(number: int) -> None:
    """Windows, several outputs, tensors that are read twice, element types, reshapes."""
    random = Random(number)
    text = RandomSpec(random).text(random.randint(2, LARGEST))
    target = TARGETS[number % len(TARGETS)]
    runnable(morello.compile(text, target=target, definitions=small_machines())).verify()
