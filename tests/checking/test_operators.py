"""Operators: what a checked declaration gives, and what is no error."""

from __future__ import annotations

from morello.checking.operators import check_operators
from morello.ir.operators import Operation
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from tests.checking.fail_cases import RULES, shipped_operators, shipped_rules
from tests.checking.texts import operators, shown, source

CONVOLUTION = """
    op conv2d(X: T[n, ci, 2 * h + r, w + s], W: T[co, ci, r, s]) -> Y: T[n, co, h, w]
      "Convolution, two steps at a time along h."
    {
      Y[n, co, h, w] += X[n, ci, 2 * h + r, w + s] * W[co, ci, r, s]
    }
"""


def test_shipped_operators_are_right() -> None:
    """Nothing is wrong with what the project ships, and nothing is lost."""
    text = "".join(path.read_text(encoding="utf-8") for path in RULES.glob("*.mrules"))
    declared = {line.split("(")[0][3:] for line in text.split("\n") if line.startswith("op ")}
    assert declared == set(shipped_operators())


def test_convolution() -> None:
    """Sums and factors in the indices of an input are kept."""
    operation = Operation(operators(CONVOLUTION)["conv2d"], 0)
    assert operation.dims == ("n", "co", "h", "w", "ci", "r", "s")
    assert operation.reduced_dims == ("ci", "r", "s")
    assert operation.operands[0][2].terms == (("h", 2), ("r", 1))


def test_meaning_may_be_conditional() -> None:
    """Comparisons, conditions, scalars and functions may stand in a meaning."""
    text = """
        op leaky(X: T[i...]; slope, limit) -> Y: T[i...] {
          Y[i...] = min(X[i...], limit) if X[i...] > 0 else X[i...] * slope
        }
    """
    assert operators(text)["leaky"].scalars == ("slope", "limit")


def test_no_inputs() -> None:
    """Dimensions of the output need no input where there is none."""
    text = "op zeros() -> Y: f32[i, j] { Y[i, j] = 0 }"
    assert operators(text)["zeros"].inputs == ()


def test_duplicate_names_the_other_place() -> None:
    """The second declaration is the error; the help leads to the first."""
    text = "op zeros() -> Y: f32[i] { Y[i] = 0 }\nop zeros() -> Y: f32[i] { Y[i] = 0 }\n"
    collector = Collector()
    check_operators([parse_rules(source(text, "mrules"))], collector)
    (diagnostic,) = collector.diagnostics
    assert shown(diagnostic) == ("O001", 2, 4, "operator 'zeros' is declared twice")
    assert "test.mrules:1:4" in diagnostic.help


def test_duplicates_across_files() -> None:
    """Files are checked together."""
    collector = Collector()
    check_operators([*shipped_rules(), *shipped_rules()], collector)
    assert {d.code for d in collector.diagnostics} == {"O001"}
    assert len(collector.diagnostics) == len(shipped_operators())


def test_advice() -> None:
    """What is nearly right is said in the help."""
    text = "op relu(X: f23[i]) -> Y: T[i] { Y[i] = maxx(X, 0) }"
    collector = Collector()
    check_operators([parse_rules(source(text, "mrules"))], collector)
    by_code = {d.code: d.help for d in collector.diagnostics}
    assert "write X[i]" in by_code["K001"]
    assert by_code["K002"] == "did you mean 'max'?"
    assert "element types are f32, f16" in by_code["O004"]


def test_sizes_are_scalars_that_nobody_gives() -> None:
    """One for each dimension that a meaning asks for, also of an operator of several statements."""
    text = """
        op spread(X: T[i..., j]; limit) -> Y: T[i..., j]
        {
          M[i...] += X[i..., j] / size(j)
          Y[i..., j] = min(abs(X[i..., j] - M[i...]), limit) * size(j)
        }
    """
    spread = operators(text)["spread"]
    assert (("limit", "size(j)"), ("j",), ("limit",)) == (
        spread.scalars,
        spread.sizes,
        spread.given_scalars,
    )
    assert [("size(j)",), ("limit", "size(j)")] == [part.scalars for part in spread.parts]


def test_scalars_that_are_whole_numbers() -> None:
    """Factors and sizes are at least 1; what only shifts an index may be 0."""
    text = """
        op windows(X: T[stride * i + r, j]; stride, window, value) -> Y: T[i, j] divided j
          where size(r) == window
        {
          Y[i, j] max= X[stride * i + r, j] * value
        }
    """
    operator = operators(text)["windows"]
    assert {"stride": 1, "window": 1} == operator.least
    assert (("r", "window"),) == operator.stated
    assert ("j",) == operator.tileable


def test_margins_have_the_values_of_scalars() -> None:
    """An operation knows numbers: where an index begins, and how many elements there are."""
    text = """
        op frame(X: T[i, j]; low, high, value) -> Y: T[low + i + 2 * high, j] {
          Y[low + i + 2 * high, j] = X[i, j] elsewhere value
        }
    """
    operator = operators(text)["frame"]
    assert {"low": 0, "high": 0} == operator.least
    scalars = (("low", 3.0), ("high", 1.0), ("value", 0.5))
    [own, other] = Operation(operator, 0, False, scalars).operands[1]
    assert (3, 2, None) == (own.low, own.high, own.alone)
    assert 5 + 4 == own.extent({"i": 4, "j": 7})
    assert "j" == other.alone
    assert ("j",) == Operation(operator, 0, False, scalars).divisible_dims
    nothing = tuple((name, 0.0) for name, _ in scalars)
    assert ("i", "j") == Operation(operator, 0, False, nothing).divisible_dims
