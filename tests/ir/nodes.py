"""A few operators, and a short way to write operations on tensors by name."""

from __future__ import annotations

from collections.abc import Mapping

from morello.checking.operators import check_operators
from morello.ir.graphs.graph import Node
from morello.ir.operators import Operation, Operator
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from morello.language.source import Source

OPERATORS = """
op product(A: T[b..., m, k], B: U[b..., k, n]) -> C: V[b..., m, n] "Product."
{ C[b..., m, n] += A[b..., m, k] * B[b..., k, n] }

op negate(X: T[i...]) -> Y: T[i...] "Negation." { Y[i...] = -X[i...] }

op turned(X: T[i, j]) -> Y: T[j, i] "Transpose." { Y[j, i] = X[i, j] }

op plus(X: T[i...], Z: T[i...]) -> Y: T[i...] "Sum." { Y[i...] = X[i...] + Z[i...] }

op biased(X: T[i, j], B: T[j]) -> Y: T[i, j] "Sum of rows." { Y[i, j] = X[i, j] + B[j] }

op times(X: T[i...]; factor) -> Y: T[i...] "Multiple." { Y[i...] = X[i...] * factor }

op largest(X: T[i, j]) -> Y: T[i] "Row maximum." { Y[i] max= X[i, j] }

op framed(X: T[h]; edge) -> Y: T[edge + h + edge] "In a frame."
{ Y[edge + h + edge] = X[h] elsewhere 0 }

op rows(X: T[n, h + r], W: T[r]) -> Y: T[n, h] divided n "Correlations."
{ Y[n, h] += X[n, h + r] * W[r] }

op pairs(X: T[2 * h + r]; width) -> Y: T[h] where size(r) == width { Y[h] max= X[2 * h + r] }

op merged(X: T[i, j]; width) -> Y: T[width * i + j] where size(j) == width
{ Y[width * i + j] = X[i, j] }

op split(X: T[width * i + j]; width) -> Y: T[i, j] where size(j) == width
{ Y[i, j] = X[width * i + j] }

op window(X: T[h + r], W: T[r]) -> Y: T[h] "Correlation." { Y[h] += X[h + r] * W[r] }

op less(X: T[i, j], M: T[i]) -> Y: T[i, j] "Less than the row's." { Y[i, j] = X[i, j] - M[i] }

op weighted(X: T[i, j], V: T[j, d]) -> O: T[i, d]
  "Sums of rows, weighted by what is left without the row maximum."
{
  M[i] max= X[i, j]
  D[i, j] = X[i, j] - M[i]
  O[i, d] += D[i, j] * V[j, d]
}

op centred(X: T[i, j]) -> Y: T[i, j]
  "What is left without the row maximum, over the sum of that."
{
  M[i] max= X[i, j]
  D[i, j] = X[i, j] - M[i]
  S[i] += D[i, j]
  Y[i, j] = D[i, j] / S[i]
}
"""


def declared() -> Mapping[str, Operator]:
    """The operators by name."""
    collector = Collector()
    found = check_operators([parse_rules(Source("test.mrules", OPERATORS))], collector)
    collector.raise_if_any()
    return found


class Nodes:
    """Writes nodes shortly: ``nodes("product", "a", "b", "c")``."""

    def __init__(self, operators: Mapping[str, Operator]) -> None:
        self.operators = operators

    def __call__(self, name: str, *tensors: str, rank: int = 2, **scalars: float) -> Node:
        operator = self.operators[name]
        own = {"product": 0}.get(name, rank if operator.group else 0)
        return Node(Operation(operator, own, False, tuple(scalars.items())), tensors)
