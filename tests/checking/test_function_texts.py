"""What counts as the definition of a function of a target."""

from __future__ import annotations

import pytest

import morello
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


OWN = """
target {name}.machine extends c.scalar "Some." {{ }}

function mine on {name}.machine
  "Its own."
  emit ```
    static inline float mine(float x) {{ return {value}; }}
  ```
primitives f32 x 1 on {name}.machine {{ neg "mine({{0}})" scalar_op }}
"""


def test_targets_that_share_nothing_may_have_functions_of_one_name() -> None:
    """Each calls its own; a target that extends one of them has that one."""
    text = OWN.format(name="one", value="-x") + OWN.format(name="other", value="0 - x")
    text += 'target third.machine extends other.machine "Has one, too." { }'
    found = load_definitions([Source("some.mtarget", text)])
    texts = {
        name: t.functions["mine"].text for name, t in found.targets.items() if "machine" in name
    }
    assert "return -x" in texts["one.machine"]
    assert "return 0 - x" in texts["other.machine"] == texts["third.machine"]
    spec = "spec s() { input x: f32[3]\n output y: f32[3]\n y = neg(x) }"
    for name, body in texts.items():
        kernel = morello.compile(spec, target=name, definitions=found, memo=morello.Memo())
        assert body in kernel.source


def test_functions_of_one_lineage_have_names_of_their_own() -> None:
    """Also where the target that extends the other one is another one's base, or comes first."""
    text = OWN.format(name="one", value="-x").replace("extends c.scalar", "extends other.machine")
    text += OWN.format(name="other", value="0 - x")
    with pytest.raises(DiagnosticsError) as caught:
        load_definitions([Source("some.mtarget", text)])
    assert ["T070"] == [d.code for d in caught.value.diagnostics]
