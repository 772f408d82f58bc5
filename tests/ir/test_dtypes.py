"""Element types: how numpy holds them, and what is imported for them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from morello.ir.dtypes import BF16, DTYPES, F32, DType, floating_limits


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_numpy_holds_as_many_bytes(dtype: DType) -> None:
    assert dtype.bytes == dtype.numpy.itemsize
    assert DTYPES[dtype.name] is dtype


def test_advice_names_the_type_where_it_is() -> None:
    assert F32.python == "np.float32"
    assert BF16.python == "ml_dtypes.bfloat16"


def test_bf16_has_the_exponents_of_f32_and_eight_bits() -> None:
    wide, narrow = floating_limits(F32), floating_limits(BF16)
    assert narrow.eps == 2.0**-7
    assert narrow.smallest_normal == wide.smallest_normal == 2.0**-126
    assert narrow.smallest_subnormal == 2.0**-133
    assert narrow.max == (2 - 2.0**-7) * 2.0**127 < wide.max == float(np.finfo(np.float32).max)


@pytest.mark.process
def test_the_library_of_bf16_is_imported_only_for_it() -> None:
    """A start without bf16 does not wait for it."""
    code = (
        "import sys; import morello.compiler; from morello.definitions import load_definitions; "
        "load_definitions(); assert 'ml_dtypes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
