"""Which model ranks for a target on this machine.

The user's own is one file for each processor and target, in the user's data directory; the
environment variable `VARIABLE` names another, or ``off``. Where there is none, a plugin may bring
one that was trained on processors of this model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from morello.errors import MorelloError
from morello.ir.target import Target
from morello.plugins.records import DefinitionFile
from morello.plugins.resources import MODEL_SUFFIX
from morello.ranking.files import model_of, read_model
from morello.ranking.model import Model, ModelError, digest_of_costs
from morello.resources import OFF, file_word, own_file, path_in, processor_model

VARIABLE = "MORELLO_MODEL"


def model_path(target: str) -> Path | None:
    """Where this machine's model for a target is, whether it exists or not; none if off."""
    return own_file(VARIABLE, "models", f"{file_word(processor_model())}-{target}{MODEL_SUFFIX}")


def model_for(target: Target, shipped: Sequence[DefinitionFile]) -> Model:
    """The model that ranks for a target here: the user's own, or a plugin's.

    Args:
        target: The target, with its costs.
        shipped: What plugins bring: `Definitions.learning`.

    Raises:
        MorelloError: There is none, or it cannot be used.
    """
    path = model_path(target.name)
    if path is None:
        raise MorelloError(f"models are switched off: {VARIABLE} is '{OFF}'")
    named = path_in(VARIABLE) is not None
    if named or path.exists():
        model = read_model(path)
        own = model.about.target
        if own != target.name:
            raise ModelError(f"'{path}' is a model for '{own}', not for '{target.name}'")
        if not named and model.about.processor != processor_model():
            raise ModelError(
                f"'{path}' was trained on another processor: {model.about.processor}",
                help=f"measure this one, or name the file in {VARIABLE} to use it all the same",
            )
        if not _corrects(model, target):
            raise ModelError(
                f"'{path}' was trained for other costs of '{own}' than it has now",
                help="'morello learn check --update', then 'morello learn train': nothing is "
                "measured again",
            )
        return model
    for file in shipped:
        if file.name.endswith(MODEL_SUFFIX):
            model = model_of(file.resource.read_bytes(), file.name)
            trained_for = (model.about.target, model.about.processor)
            here = (target.name, processor_model())
            if trained_for == here and _corrects(model, target):
                return model
    raise MorelloError(
        f"there is no model for '{target.name}' on this processor",
        help="'morello learn collect' measures programs, 'morello learn train' makes one of them",
    )


def _corrects(model: Model, target: Target) -> bool:
    """Whether the target's costs are those that the model was trained to correct."""
    values = {name: c.value for name, c in target.every_coefficient.items()}
    return model.about.costs == digest_of_costs(values)
