"""What is no array for an argument is refused, with advice that can be followed."""

from __future__ import annotations

import numpy as np
import pytest

from morello.errors import UsageError
from morello.ir.dtypes import DTYPES
from morello.records import replace
from morello.runtime.signature import check_argument, check_output, in_order
from tests.runtime.functions import ADD, argument

BITS = np.zeros(10, np.uint16)
OUTPUT = argument("y", "output")
IN_THE_PLACE = "a copy would be written, and not this"


@pytest.mark.parametrize(("dtype", "bits"), [("bf16", np.uint16), ("f32", np.uint32)])
def test_bits_are_viewed_as_what_they_are_of(dtype: str, bits: type[np.generic]) -> None:
    """``astype`` would convert 0x3f80, which is 1.0 of bf16, to 16256.0."""
    wanted = replace(argument("x", "input"), dtype=DTYPES[dtype])
    with pytest.raises(UsageError, match="has dtype uint") as caught:
        check_argument(wanted, np.zeros(10, bits))
    assert caught.value.help is not None
    assert caught.value.help.startswith(f"pass x.view({wanted.dtype.python}) where it holds bits")


def test_numbers_of_another_type_are_converted() -> None:
    with pytest.raises(UsageError) as caught:
        check_argument(argument("x", "input"), BITS)
    assert caught.value.help == "pass x.astype(np.float32)"


def test_a_mask_is_not_ignored() -> None:
    masked = np.ma.masked_array(np.zeros(10, np.float32), [True] * 10)
    with pytest.raises(UsageError, match="masked array; its mask would be ignored") as caught:
        check_argument(argument("x", "input"), masked)
    assert caught.value.help == "pass x.filled(VALUE), or x.data for all elements"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(20, np.float32)[::2],
        np.zeros(10, np.float64),
        np.ma.masked_array(np.zeros(10, np.float32), [True] * 10),
        [0.0] * 10,
        np.zeros(41, np.uint8)[1:].view(np.float32),
    ],
    ids=["strided", "float64", "masked", "list", "unaligned"],
)
def test_no_copy_is_advised_for_an_output(array: object) -> None:
    """The copy would be written, and the caller's array not."""
    with pytest.raises(UsageError) as caught:
        check_output(OUTPUT, array)
    assert caught.value.help is not None
    assert caught.value.help.startswith(IN_THE_PLACE)


def test_inputs_may_have_names() -> None:
    """They are taken in the order of the signature, however they are passed."""
    assert (1, 2) == in_order(ADD, (1,), {"z": 2}) == in_order(ADD, (), {"z": 2, "x": 1})
    assert (1, 2, 3) == in_order(ADD, (1, 2, 3), {"z": 2})  # their number is refused later


@pytest.mark.parametrize(
    ("inputs", "named", "message", "help"),
    [
        ((1,), {"x": 2}, "input 'x' of 'add' is passed by position and by name", "it takes: x, z"),
        ((), {"x": 1}, "input 'z' of 'add' is missing", "it takes: x, z"),
        ((1, 2), {"w": 3}, "'add' has no input 'w'", "it takes: x, z"),
        ((1, 2), {"y": 3}, "'add' has no input 'y'", "outputs are passed as out=..."),
    ],
)
def test_names_that_do_not_fit(
    inputs: tuple[int, ...], named: dict[str, int], message: str, help: str
) -> None:
    """What is wrong is said, and what the kernel takes."""
    with pytest.raises(UsageError) as refused:
        in_order(ADD, inputs, named)
    assert (message, help) == (str(refused.value), refused.value.help)
