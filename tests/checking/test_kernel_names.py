"""Which kernels may have one name."""

from __future__ import annotations

import pytest

import morello
from morello.definitions import load_definitions
from morello.language.diagnostics import DiagnosticsError
from morello.language.source import Source

TEXT = """
target {name}.machine extends {base} "Some." {{ }}

kernel minus on {name}.machine
  "The other sign."
  match  neg(X: f32[1] at l1, Y: f32[1] at l1)
  cost   scalar_load / 8
  emit   ```
    {{{{ Y[0] }}}} = {value} - {{{{ X[0] }}}};
  ```
"""


def test_targets_that_share_nothing_may_have_kernels_of_one_name() -> None:
    """As two plugins may, whose authors never met."""
    text = TEXT.format(name="one", base="c.scalar", value="-0.0f")
    text += TEXT.format(name="other", base="c.scalar", value="(-0.0f)")
    found = load_definitions([Source("some.mtarget", text)])
    spec = "spec s() { input x: f32[3]\n output y: f32[3]\n y = neg(x) }"
    for name, value in (("one.machine", " -0.0f - "), ("other.machine", " (-0.0f) - ")):
        kernel = morello.compile(spec, target=name, definitions=found, memo=morello.Memo())
        assert value in kernel.source


@pytest.mark.parametrize("names", [("one", "other"), ("other", "one")])
def test_kernels_of_one_lineage_have_names_of_their_own(names: tuple[str, str]) -> None:
    """Whichever is declared first."""
    bases = {"one": "c.scalar", "other": "one.machine"}
    text = "".join(TEXT.format(name=n, base=bases[n], value="0.0f") for n in names)
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([Source("some.mtarget", text)])
    assert ["T040"] == [d.code for d in caught.value.diagnostics]
