"""The list of functions that rules may use, and the functions that implement it."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

from morello.language.evaluate import ARITHMETIC as EVALUATED
from morello.language.functions import ARITHMETIC, SPEC
from morello.rewriting.functions import SPEC_FUNCTIONS


def test_every_function_of_the_list_is_implemented_and_no_other() -> None:
    assert SPEC.keys() == SPEC_FUNCTIONS.keys()
    assert ARITHMETIC.keys() == EVALUATED.keys()


@pytest.mark.parametrize("name", SPEC)
def test_it_takes_the_arguments_that_the_list_says(name: str) -> None:
    """After the scope."""
    parameters = signature(SPEC_FUNCTIONS[name]).parameters.values()
    positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    assert 1 + len(SPEC[name].arguments) == len(positional) == len(parameters)
