"""Which model ranks here: the user's own, or one that a plugin brings for this processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.plugins.records import DefinitionFile, Owner
from morello.ranking.files import model_of
from morello.ranking.model import About, ModelError, digest_of_costs
from morello.ranking.models import model_for, model_path
from morello.records import replace
from morello.resources import processor_model
from tests.ranking.test_model import stump


def test_a_model_is_for_a_target_a_processor_and_costs(
    definitions: Definitions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin's is passed over where one of them is another; the user's own is refused."""
    monkeypatch.delenv("MORELLO_MODEL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    target = definitions.targets["x86.scalar"]
    costs = digest_of_costs({n: c.value for n, c in target.every_coefficient.items()})
    about = About("x86.scalar", processor_model(), costs, 10, 2, "2026-01-01", 0.02, 1.0)
    owner = Owner("some", "1", "some", "some")
    shipped = []
    for number, own in enumerate(
        [
            replace(about, target="c.scalar"),
            replace(about, processor="another"),
            replace(about, costs="others"),
            about,
        ]
    ):
        file = tmp_path / f"{number}.npz"
        file.write_bytes(replace(stump(number), about=own).bytes)
        shipped.append(DefinitionFile(owner, f"some/{number}.npz", file))
    with pytest.raises(MorelloError, match=r"there is no model for 'x86\.scalar'"):
        model_for(target, shipped[:3])
    assert model_for(target, shipped).digest == replace(stump(3), about=about).digest
    path = model_path("x86.scalar")
    assert path is not None
    path.parent.mkdir(parents=True)
    wrong = ("a model for", "another processor", "other costs")
    for brought, message in zip(shipped[:3], wrong, strict=True):
        path.write_bytes(brought.resource.read_bytes())
        with pytest.raises(ModelError, match=message):
            model_for(target, shipped)


def test_shipped_models_correct_the_costs_that_are_shipped(
    definitions: Definitions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where this fails, costs have changed: train them anew (docs/learned.md), or remove them."""
    monkeypatch.delenv("MORELLO_MODEL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    shipped = [file for file in definitions.learning if file.name.endswith(".npz")]
    assert shipped
    for file in shipped:
        about = model_of(file.resource.read_bytes(), file.name).about
        monkeypatch.setattr(
            "morello.ranking.models.processor_model", lambda own=about: own.processor
        )
        assert model_for(definitions.targets[about.target], [file]).about == about
        assert about.evaluation["worse"] <= 0.01
