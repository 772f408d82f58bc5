"""What counts as the definition of a function of a target."""

from __future__ import annotations

import pytest

from morello.definitions import load_definitions
from morello.language.diagnostics import DiagnosticsError
from morello.language.source import Source

TEXT = """target some.machine extends x86.scalar "Some." {{ }}

function twice_f32 on some.machine
  "Twice."
  emit ```
    {text}
  ```
"""


def test_the_type_may_have_attributes() -> None:
    """They have parentheses of their own."""
    text = "static inline float __attribute__((vector_size(16))) twice_f32(float x) { return 0; }"
    found = load_definitions([Source("some.mtarget", TEXT.format(text=text))])
    assert "twice_f32" in found.targets["some.machine"].functions


@pytest.mark.parametrize(
    "text",
    [
        "static inline float other(float x) { return twice_f32(x); }",
        "static inline float __attribute__((pure)) other(float twice_f32) { return twice_f32; }",
    ],
)
def test_a_call_is_no_definition(text: str) -> None:
    """Nor is a parameter of that name."""
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([Source("some.mtarget", TEXT.format(text=text))])
    assert ["T073"] == [d.code for d in caught.value.diagnostics]
