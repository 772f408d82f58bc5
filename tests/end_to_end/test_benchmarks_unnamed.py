"""What ``benchmarks.unnamed`` draws are models, the same for a seed; and its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from benchmarks import unnamed
from benchmarks.unnamed_kinds import KINDS, Kind, draw


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_gives_models(kind: Kind, tmp_path: Path) -> None:
    """With the shapes that their words say, and others for other numbers."""
    words = []
    for number, (name, graph) in enumerate(draw(3, 11, [kind])):
        assert name == kind.__name__
        graph.write(path := tmp_path / f"{number}.onnx")
        onnx.checker.check_model(str(path), full_check=True)
        words.append(graph.what)
    assert len(set(words)) > 1


def test_a_longer_table_begins_as_a_shorter_one() -> None:
    """And another seed has other cases."""
    short, long = (
        [(k, g.what) for k, g in draw(n, 7, KINDS)] for n in (len(KINDS), 2 * len(KINDS))
    )
    assert long[: len(short)] == short
    assert [(k, g.what) for k, g in draw(len(KINDS), 8, KINDS)] != short


def test_the_table_has_what_failed_and_the_slowest_first() -> None:
    others = {"best": "A", "others": {"A": 1e-6, "B": 3e-6}}
    times = {"ours": 2e-6, **others, "import": 1.0, "predicted": 7000.0}
    records: list[dict[str, Any]] = [
        {"kind": "pool", "what": "fast", **times, "ratio": 2.0},
        {"kind": "pool", "what": "slow", **times, "ratio": 0.5},
        {"kind": "norm", "what": "odd", "failed": "no way"},
    ]
    lines = list(unnamed.table(records))
    assert "norm odd: no way" in lines[0]
    assert "| pool | 2 | 1.00 | 0.65 | 0.50 | 1.0 |" in lines
    assert lines[-2] == "| pool | slow | 2.0 | 1.0 | A | 0.50 | 3.5 |"
    gains = [{**record, "gain": 1.5} for record in records]
    assert list(unnamed.table(gains))[-1].startswith("\nagainst one thread: 1.50 times as fast")
    assert list(unnamed.table(records[2:])) == ["norm odd: no way\n"]
