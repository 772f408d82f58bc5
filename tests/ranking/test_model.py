"""Models are evaluated as they were trained, kept in files, and never trusted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.ranking.description import Description
from morello.ranking.files import model_of, read_model
from morello.ranking.model import LESS, About, ModelError
from morello.ranking.rank import ranking
from morello.ranking.trees import LEAF, Trees
from morello.records import replace

ABOUT = About("t", "p", "c", 10, 2, "2026-01-01", 0.02, 1.0)


def stump(value: float, column: str = f"{LESS}a") -> Trees:
    """Two ensembles of one tree: programs with more of a column than 0.5 take that much."""
    return Trees(
        ABOUT,
        (column,),
        np.array([0, LEAF, LEAF] * 2, np.int16),
        np.array([0.5, 0, 0] * 2),
        np.array([1, 1, 2, 4, 4, 5], np.int32),
        np.array([2, 1, 2, 5, 4, 5], np.int32),
        np.array([0, 0, value, 0, 0, 2 * value], np.float32),
        np.array([[0], [3]], np.int32),
    )


PROGRAMS = [Description({"a": a} if a else {}) for a in (2.0, 2.5, 3.0, 0.0)]


def test_programs_are_compared_with_the_first() -> None:
    """A leaf is reached by how much more a program has; at the threshold it goes left."""
    assert stump(1).corrections(PROGRAMS).tolist() == [[0, 0, 1, 0], [0, 0, 2, 0]]
    assert stump(1, "a").corrections(PROGRAMS).tolist() == [[1, 1, 1, 0], [2, 2, 2, 0]]
    assert stump(1).corrections([]).shape == (2, 0)


def test_the_choice_is_left_only_for_sure_gains() -> None:
    """The mean of both ensembles must stay below by a deviation, and by the model's gain."""
    predicted = [100.0, 100.0, 100.0, 101.0]
    sure = ranking(stump(-0.4), PROGRAMS, predicted)
    assert (sure.chosen, sure.order[0], sure.unsure) == (2, 2, False)
    assert sure.ratios[2] == pytest.approx(np.exp(-0.6))
    assert "chose another" in str(sure)
    small = ranking(stump(-0.01), PROGRAMS, predicted)
    assert (small.chosen, small.unsure) == (0, True)
    assert "unsure" in str(small)
    none = ranking(stump(0.4), PROGRAMS, predicted)
    assert (none.chosen, none.order[0], none.unsure) == (0, 0, False)
    assert "the search's choice" in str(none)
    about = replace(ABOUT, deviations=3.0)
    assert ranking(replace(stump(-0.4), about=about), PROGRAMS, predicted).chosen == 0
    disagreeing = replace(stump(0), value=np.array([0, 0, -1, 0, 0, 1], np.float32))
    assert ranking(disagreeing, PROGRAMS, predicted).chosen == 0


def test_a_model_is_the_same_from_its_file(tmp_path: Path) -> None:
    model = stump(0.25)
    path = tmp_path / "model.npz"
    path.write_bytes(model.bytes)
    again = read_model(path)
    assert (again.about, again.columns, again.digest) == (ABOUT, model.columns, model.digest)
    assert again.corrections(PROGRAMS).tolist() == model.corrections(PROGRAMS).tolist()
    assert stump(0.5).digest != model.digest


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", np.array([0, 1, 2, 4, 4, 5], np.int32)),  # a node below itself: no end
        ("right", np.array([9, 1, 2, 5, 4, 5], np.int32)),
        ("feature", np.array([1, LEAF, LEAF] * 2, np.int16)),  # there is no such column
        ("feature", np.array([-2, LEAF, LEAF] * 2, np.int16)),
        ("roots", np.array([[0], [6]], np.int32)),
        ("roots", np.zeros((2, 0), np.int32)),
        ("roots", np.array([0, 3], np.int32)),
        ("left", np.array([1.0, 1, 2, 4, 4, 5])),
        ("value", np.array([0, 0, np.nan, 0, 0, 0], np.float32)),
        ("threshold", np.zeros(3)),
        ("feature", np.array([{}] * 6, object)),  # would be run to be read
    ],
)
def test_trees_that_are_none_are_refused(name: str, value: np.ndarray) -> None:
    changes: dict[str, Any] = {name: value}
    wrong = replace(stump(1), **changes)
    with pytest.raises(ModelError, match="'it' is no model that can be used"):
        model_of(wrong.bytes, "it")


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Whatever is in them; a missing one says so."""
    good = stump(1).bytes
    file = io.BytesIO()
    np.savez(file, about=np.array(json.dumps({"format": 99})))
    flipped = good[:300] + bytes(255 - byte for byte in good[300:340]) + good[340:]
    abouts = [replace(ABOUT, gain=1.5), replace(ABOUT, gain=-5), replace(ABOUT, deviations=-1)]
    gains = [replace(stump(1), about=about).bytes for about in abouts]
    for contents in (b"", b"PK", good[:100], good[:-30], file.getvalue(), flipped, *gains):
        with pytest.raises(ModelError, match="no model"):
            model_of(contents, "it")
    with pytest.raises(ModelError, match="cannot read"):
        read_model(tmp_path / "missing.npz")
