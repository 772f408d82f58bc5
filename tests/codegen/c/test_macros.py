"""Macros in C: what they know, and what is said of those that fail."""

from __future__ import annotations

import pytest

from morello.codegen.c.emitter import CEmitter
from morello.definitions import load_definitions
from morello.errors import MorelloError
from morello.ir.programs.emitted import EmitOptions
from morello.language.source import Source

from .build import call, program, tensor, whole
from .definitions import operation

MACROS = """
macro each(count, line) on x86.scalar
  "A line for each number."
  emit ```
    {% for i in range(count) %}
    {{ line(i) }}
    {% endfor %}
  ```

macro _held(level) on x86.scalar "What a level holds." emit ```{{ capacity(level) }}```

macro place(x, at) on x86.scalar
  "An element."
  emit ```
    {% if at >= 0 %}
    {{ x[at] }}
    {% endif %}
  ```
"""

KERNEL = """
kernel some on x86.scalar
  "Some lines."
  match  copy(X: s32[n] at l1, Y: s32[n] at l1)
  where  n == 2
  cost   scalar_load
  emit   ```
    TEMPLATE
    /* UNUSED {{ each(0, n) }} {{ place(X, 0) }} {{ _held("reg") }} */
  ```
"""


def lines(template: str, macros: str = MACROS) -> list[str]:
    """What the kernel's template becomes for two elements."""
    text = macros + KERNEL.replace("TEMPLATE", template)
    target = load_definitions([Source("some.mtarget", text)]).targets["x86.scalar"]
    x, y = (
        tensor(name, (2,), dtype="s32", role=r) for name, r in (("x", "input"), ("y", "output"))
    )
    body = call(target, "some", operation("copy", 1), whole(x), whole(y))
    source = CEmitter().emit(program(target, [x, y], body), EmitOptions()).source
    found = [line.strip() for line in source.split("\n")]
    end = next(i for i, line in enumerate(found) if "UNUSED" in line)
    return found[found.index("BEGIN;") + 1 : end]


def test_a_macro_is_given_values_and_macros() -> None:
    """Those of the template's own too, which know what the template knows."""
    own = "{% macro line(i) %}{{ Y[i] }} = {{ place(X, at=i) }} + {{ n }};{% endmacro %}"
    assert ["y[0] = x[0] + 2;", "y[1] = x[1] + 2;"] == lines(
        f"BEGIN;\n{own}\n{{{{ each(n, line) }}}}"
    )


def test_the_functions_of_templates_are_there() -> None:
    """Also in one whose name jinja2 would hide."""
    (line,) = lines("BEGIN;\n{{ _held('reg') }};")
    assert line == f"{load_definitions().targets['x86.scalar'].level_by_name['reg'].capacity};"


def test_what_a_template_sets_hides_a_macro() -> None:
    """Where it is set, and nowhere else."""
    own = "{% macro own() %}{% set place = n %}{{ place }}{% endmacro %}"
    assert ["2 x[1];"] == lines(f"BEGIN;\n{own}{{{{ own() }}}} {{{{ place(X, 1) }}}};")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{{ place(X, 2) }}",
            "kernel 'some' (some.mtarget:16:5): operand 'X': index [2] is outside its sizes [2]",
        ),
        (
            "{{ place(X, 'a') }}",
            "the template of kernel 'some' (some.mtarget:15:5) fails: '>=' not supported",
        ),
        (
            "{{ place(X, Y.b + 1) }}",
            "the template of kernel 'some' (some.mtarget:27:1) fails: there is no '.b' here",
        ),
    ],
)
def test_what_fails_is_said_of_its_line(template: str, message: str) -> None:
    """That of the macro, or that of the template."""
    with pytest.raises(MorelloError) as caught:
        lines(f"BEGIN;\n{template}")
    assert message in str(caught.value)
