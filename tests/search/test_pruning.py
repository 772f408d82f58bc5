"""Rules of thumb that leave programs out: each is known, asked for in one place, and switched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import morello
from morello.errors import UsageError
from morello.ir.pruning import PRUNINGS, SWITCH, prunes, switched_off
from morello.memo.fingerprint import Fingerprints
from tests.search.goals import matmul
from tests.search.machines import context

ENGINE = Path(morello.__file__).parent
ASKED = re.compile(r'prunes\("(\w+)"\)')


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """One that is read anew, during the test and after it."""
    switched_off.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    switched_off.cache_clear()


def test_each_is_asked_for_in_one_place() -> None:
    texts = [path.read_text() for path in ENGINE.rglob("*.py")]
    found = Counter(name for text in texts for name in ASKED.findall(text))
    assert found == dict.fromkeys(PRUNINGS, 1)


def test_each_is_in_force_unless_the_environment_says_otherwise(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv(SWITCH, "served,read_once")
    assert {name for name in PRUNINGS if not prunes(name)} == {"served", "read_once"}
    switched_off.cache_clear()
    environment.delenv(SWITCH)
    assert all(map(prunes, PRUNINGS))


def test_a_name_that_is_none_is_refused(environment: pytest.MonkeyPatch) -> None:
    environment.setenv(SWITCH, "served,serve")
    with pytest.raises(UsageError, match="names 'serve', which prunes nothing") as caught:
        prunes("served")
    assert "served" in (caught.value.help or "")


def test_pages_are_kept_apart(environment: pytest.MonkeyPatch) -> None:
    known = context("tiny.cached")
    family = matmul(3, 4, 2).spec(known.target).family
    found = [Fingerprints(known).of(family)]
    for names in ("served", "served,read_once"):
        environment.setenv(SWITCH, names)
        switched_off.cache_clear()
        found.append(Fingerprints(known).of(family))
    assert len(set(found)) == 3


TINY = "spec goal() {{ input x: f32[3, 5] input w: f32[5, 4] output y: f32[3, {}] y = {} }}"
GOALS = {
    "graph": TINY.format(4, "softmax(relu(scale(matmul(x, w), factor = 0.5)))"),
    "batch": """spec goal() {
        input x: f32[2, 3, 5] input w: f32[2, 5, 4] output y: f32[2, 3, 4] y = matmul(x, w) }""",
    "elementwise": """spec goal() {
        input x: f32[3, 5] input w: f32[3, 5] output y: f32[3, 5] y = mul(x, w) }""",
    "renamed": TINY.replace("[5, 4]", "[4, 5]").format(4, "matmul_nt(x, w)"),
    "slice": TINY.replace("[3, 5]", "[3, 9]").format(
        4, "matmul(slice_columns(x, before = 1, after = 3), w)"
    ),
    "convolution": """spec goal() {
        input x: f32[1, 4, 4, 2] input w: f32[3, 3, 2, 3] output y: f32[1, 2, 2, 3]
        y = conv2d_nhwc(x, w, stride = 1, dilation = 1) }""",
}
"""Of each kind of operation that prunings speak of."""

PROGRAM = """
import sys
import morello
kernel = morello.compile(sys.argv[1], target="x86.scalar", memo=morello.Memo())
kernel.verify()
print(kernel.cost)
"""

SEEN = {
    "graph": "inlined,read_once,served,statistics_near,sums_bring,sums_once,short_blocks",
    "batch": "batches",
    "elementwise": "elementwise_order,read_once",
    "renamed": "renamed,read_once",
    "slice": "slices_once",
    "convolution": "parts_first,visible",
}
"""What is switched off for each of them."""


@pytest.mark.slow
@pytest.mark.parametrize("name", GOALS)
def test_programs_without_them_are_right_and_no_dearer(name: str) -> None:
    cycles = []
    for off in ("", SEEN[name]):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, GOALS[name]],
            env={**os.environ, SWITCH: off},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        cycles.append(float(done.stdout))
    assert cycles[1] <= cycles[0]
