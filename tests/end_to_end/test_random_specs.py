"""Specs of up to five operations of all kinds, drawn at random: each compiles, and is right.

`tests.random_specs` draws as many as there is time for, and holds them against plain numpy.
"""

from __future__ import annotations

from random import Random

import pytest

import morello
from morello.compiler import NATIVE

from .kernels import runnable, small_machines
from .random_specs import RandomSpec, large_spec

SPECS = 8
LARGEST = 3
TARGETS = ("x86.avx2", "x86.scalar", "x86.scalar", "x86.avx512")

LARGE = (1002, 1006, 1032, 1042, 1048, 1066, 1084)
TOO_LARGE = (4005, 4043)
BUDGET = "20000 specs"
"""Less than all Specs of these on any target, and more than those of the coarsest search."""


@pytest.mark.parametrize("number", range(1, SPECS + 1))
def test_random_spec(number: int) -> None:
    """Windows, several outputs, tensors that are read twice, element types, reshapes."""
    random = Random(number)
    text = RandomSpec(random).text(random.randint(2, LARGEST))
    target = TARGETS[number % len(TARGETS)]
    runnable(morello.compile(text, target=target, definitions=small_machines())).verify()


@pytest.mark.parametrize("number", LARGE)
def test_random_spec_of_four_or_five(number: int) -> None:
    """On the widest target of this machine; those whose search takes a second or two."""
    text = large_spec(number)
    runnable(morello.compile(text, target=NATIVE, definitions=small_machines())).verify()


@pytest.mark.parametrize("number", TOO_LARGE)
def test_random_spec_within_a_budget(number: int) -> None:
    """A coarser search finds other programs; they are right as well."""
    text, machines = large_spec(number), small_machines()
    kernel = morello.compile(text, target=NATIVE, definitions=machines, budget=BUDGET)
    assert kernel.statistics.coarsening is not None
    runnable(kernel).verify()
