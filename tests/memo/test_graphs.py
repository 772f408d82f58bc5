"""Pages of fused computations are known by their texts: verified, kept, and read back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import morello
from morello.codegen.goals import context_for
from morello.definitions import Definitions
from morello.memo.graphs import LONGEST, operator_named
from morello.memo.installed import Installed
from morello.memo.memo import Memo
from morello.memo.names import variant_of, variant_text
from morello.memo.store import Store
from morello.memo.verify import verify
from morello.rewriting.context import Context

CHAIN = """spec f(B = 3, N = 4, K = 2) {
  input x: f32[B, K] input w: f32[K, N] input b: f32[N] output y: f32[B, N]
  y = scale(relu(add_bias(matmul(x, w), b)), factor = 2)
}"""
SHARED = """spec f(B = 2, N = 5) {
  input x: f32[B, N] output y: f32[B, N]
  t = relu(x)
  y = add(softmax(t), mul(t, exp(t)))
}"""
TWICE = "spec f(N = 5) { input x: f32[N] output y: f32[N] y = add(x, neg(x)) }"
MIXED = """spec f(B = 2, N = 4) {
  input x: s8[B, N] output y: f32[B, N]
  local t: f32[B, N]
  t = copy(x)
  y = relu(scale(t, factor = -0.5))
}"""
SPECS = {"chain": CHAIN, "shared": SHARED, "twice": TWICE, "mixed": MIXED}


@pytest.fixture(scope="module")
def known(definitions: Definitions) -> Context:
    return context_for(definitions, definitions.targets["x86.scalar"])


@pytest.fixture(scope="module", params=SPECS)
def store(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    definitions: Definitions,
) -> Iterator[Store]:
    """What a compile leaves."""
    path = tmp_path_factory.mktemp("memo") / "memo.sqlite"
    with Memo.open(path, warn=pytest.fail) as memo:
        text = SPECS[request.param]
        morello.compile(text, target="x86.scalar", definitions=definitions, memo=memo)
        assert memo.store is not None
        yield memo.store


@pytest.mark.sample(2)
def test_every_page_is_known(store: Store, known: Context) -> None:
    """Its variant's text is read back, and has the fingerprint that it is kept under."""
    installed = Installed([known])
    rows = store.stats()
    assert any("/" in row.family for row in rows), "nothing was fused"
    assert [] == [r.family for r in rows if installed.find(r.fingerprint, r.family) is None]
    for row in rows:
        variant = variant_of(row.family, known)
        assert variant is not None
        assert row.family == variant_text(variant)


@pytest.mark.sample(2)
def test_every_page_is_verified(store: Store, known: Context) -> None:
    """None is passed over, and a sample of all is right."""
    found = verify(store, [known], cells=200, seed=1)
    assert (0, ()) == (found.unknown, found.differences)
    assert 200 == found.checked


TEXT = (
    "scale/2 factor=2.0:f32(relu/2:f32(add_bias/1:f32(X, B)), factor=2)"
    "(X: f32 mem [0, 1] packing 4, B: f32 mem [0] packing 2, scale: f32 mem [0, 1] packing 4)"
)
GRAPH = (
    "relu/2:f32 = {}; add/2:f32(relu, relu)"
    "(X: f32 mem [0, 1] packing 4, add: f32 mem [0, 1] packing 4)"
)


def test_the_texts_below_are_well_formed_but_for_what_is_changed(known: Context) -> None:
    assert variant_of(TEXT, known) is not None
    shared = GRAPH.replace("relu/2:f32 =", "relu =").format("relu/2:f32(X)")
    assert variant_of(shared, known) is not None


@pytest.mark.parametrize(
    "change",
    [
        ("scale/2", "scales/2"),
        ("scale/2", "scale/3"),
        ("scale/2", "scale/99"),
        ("relu/2", "relu/0"),
        ("relu/2:f32", "relu/2:f99"),
        ("factor=2.0", "factor=nan2"),
        ("factor=2.0", "factor=1.0"),
        (" factor=2.0", ""),
        ("(X, B)", "(X, Q)"),
        ("(X, B)", "(X)"),
        ("(X, B)", "(X, B, B)"),
        ("(X, B)", "(B, X)"),
        ("(X, B))", "(X, B)"),
        ("(X, B)", "(X, B))"),
        ("factor=2)", "factor=2),"),
        ("factor=2)", "factor=3)"),
        ("scale:", "scale2:"),
        ("mem [0] packing 2", "mem [0, 1] packing 4"),
        ("scale/2", "softmax/2"),
        ("X: f32", "X: f32 of f32"),
        ("X: f32", "X: f32 of f99"),
        ("scale: f32", "scale: f32 of s8"),
    ],
    ids=str,
)
def test_what_is_no_graph_is_none(change: tuple[str, str], known: Context) -> None:
    assert change[0] in TEXT
    assert variant_of(TEXT.replace(change[0], change[1], 1), known) is None


@pytest.mark.parametrize("place", ["1", "0", "-1", "x", "", "9" * 400])
def test_stand_ins_have_a_place(place: str, known: Context) -> None:
    text = TEXT.replace("factor=2.0", f"factor=${place}").replace("factor=2)", f"factor=${place})")
    assert (variant_of(text, known) is not None) == (place == "1")


@pytest.mark.parametrize("name", ["X", "add", "relu"])
def test_a_tensor_is_computed_once_and_from_others(name: str, known: Context) -> None:
    """In a file that somebody else wrote there may be a circle."""
    for value in (f"relu/2:f32({name})", "relu/2:f32(add)", "relu"):
        text = f"{name} = {value}; {name} = relu/2:f32(X); add/2:f32({name}, {name})"
        operands = "(X: f32 mem [0, 1] packing 4, add: f32 mem [0, 1] packing 4)"
        assert variant_of(text + operands, known) is None


def test_long_and_deep_texts_are_no_burden(known: Context) -> None:
    """Not nested until Python gives up, and not longer than is read at all."""
    depth = 2000
    operands = "(X: f32 mem [0, 1] packing 4, neg: f32 mem [0, 1] packing 4)"
    assert variant_of("neg/2:f32(" * depth + "Q" + ")" * depth + operands, known) is None
    assert variant_of("a/2:f32" + "(/)" * LONGEST + operands, known) is None


def test_statements_of_an_operator_have_names(known: Context) -> None:
    """Its own, a dot, and that of the tensor."""
    assert operator_named("matmul", known.operators) is known.operators["matmul"]
    for part in known.operators["softmax"].parts:
        assert operator_named(part.name, known.operators) is part
    for name in ("softmax.none", "matmul.C", "none.none", "."):
        assert operator_named(name, known.operators) is None
