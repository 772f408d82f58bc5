"""Specs back to text: whatever can be written, parsing the text gives the tree again."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.language.unparse_spec import unparse_specs
from tests.conftest import PROJECT

TEXT = """target x86.scalar

spec a(M, N = (M + 1) * 2, P = M - (N - 1)) threads P if M > 3 else 2 {
  input  x: f32[M, ceil_div(N, 4)] layout (1, 0)
  weight w: s8[] panels 16
  local  t: bf16[2 * -M]
  output y
  output z: u8[M, 3] layout (1, 0) panels (16, 4)
  y = add(relu(x), scale(w, factor = 1e-05))
  z = copy(y)
}

spec b() {
}

spec c(N = 2, M <= 4 * N) {
  input  x: f32[M, N] stride (2 * N, 1)
  output y
  y = relu(x)
}
"""


def test_all_that_can_be_written() -> None:
    """In the one way in which it is written."""
    assert TEXT == unparse_specs(parse_spec(Source("all.mspec", TEXT)))


@pytest.mark.parametrize(
    "path", sorted((PROJECT / "examples").glob("*.mspec")), ids=lambda p: p.name
)
def test_examples_come_back(path: Path) -> None:
    """To an equal tree; comments are not in trees."""
    tree = parse_spec(Source(path.name, path.read_text()))
    text = unparse_specs(tree)
    assert tree == parse_spec(Source("again", text))
    assert text == unparse_specs(parse_spec(Source("again", text)))
