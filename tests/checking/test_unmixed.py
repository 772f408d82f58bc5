"""Statements that move elements and compute with them, taken apart."""

from __future__ import annotations

import pytest

from morello.definitions import load_definitions
from morello.ir.operators import Operator
from morello.language.indices import written
from morello.language.source import Source

RULE = """
rule by_another
  "It is what an operator means that somebody else knows."
  match  f: it
  yield  copy(f.X[i], f.Y)
"""


def _operator(head: str, statement: str, more: str = "") -> Operator:
    stated = "where size(j) == 2" if "j" in head else ""
    text = f'op it({head} "It." {stated} {{ {statement} }}\n{more}'
    return load_definitions([Source("it.mrules", text)]).operators["it"]


def _parts(operator: Operator) -> list[str]:
    """What each statement computes of what."""
    return [
        " <- ".join(f"{p.name}[{written(p.indices)}]" for p in (part.output, *part.inputs))
        for part in operator.parts
    ]


CASES: dict[str, tuple[str, str, list[str]]] = {
    "a slice": ("X: T[low + i + high]; low, high) -> Y: T[i]", "Y[i] = X[low + i + high]", []),
    "no margins": ("X: T[2 * i]) -> Y: T[i]", "Y[i] = X[2 * i] * 2", []),
    "computed with": (
        "X: T[low + i + high]; low, high) -> Y: T[i]",
        "Y[i] = X[low + i + high] * 2",
        ["X_seen[i] <- X[low + i + high]", "Y[i] <- X_seen[i]"],
    ),
    "in steps": (
        "X: T[2 * i + high]; high) -> Y: T[i]",
        "Y[i] = X[2 * i + high]",
        ["X_seen[i_seen] <- X[i_seen + high]", "Y[i] <- X_seen[2 * i]"],
    ),
    "rows": (
        "X: T[2 * i + j], Z: T[i]) -> Y: T[2 * i + j]",
        "Y[2 * i + j] = X[2 * i + j] * Z[i]",
        [
            "X_seen[i, j] <- X[2 * i + j]",
            "Y_inside[i, j] <- X_seen[i, j] <- Z[i]",
            "Y[2 * i + j] <- Y_inside[i, j]",
        ],
    ),
    "a diagonal": (
        "X: T[low + i, i]; low) -> Y: T[i]",
        "Y[i] = X[low + i, i]",
        ["X_seen[i, i_seen] <- X[low + i, i_seen]", "Y[i] <- X_seen[i, i]"],
    ),
    "a frame": (
        "X: T[i]; low) -> Y: T[low + i]",
        "Y[low + i] = X[i] + 1 elsewhere 0",
        ["Y_inside[i] <- X[i]", "Y[low + i] <- Y_inside[i]"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_moves_or_computes(name: str) -> None:
    """Those that do both become several."""
    head, statement, expected = CASES[name]
    assert _parts(_operator(head, statement)) == expected


def test_what_a_rule_names_stays_as_it_is() -> None:
    """The rule says how it is computed."""
    head, statement, _ = CASES["computed with"]
    assert _operator(head, statement, RULE).parts == ()
