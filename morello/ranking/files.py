"""Models in files, which are never trusted."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import MALFORMED
from morello.ranking.features import SCHEMA
from morello.ranking.model import FORMAT, About, Model, ModelError
from morello.ranking.network import Network
from morello.ranking.trees import Trees

KINDS: Mapping[str, type[Model]] = {one.kind: one for one in (Trees, Network)}

UNREADABLE = (*MALFORMED, OSError, EOFError, zipfile.BadZipFile, zlib.error)

LARGEST = 16 << 20
"""Bytes of a model's file: more is no model."""


def read_model(path: Path) -> Model:
    """Read a model's file.

    Raises:
        ModelError: It is no model, of another format, or for other features.
    """
    try:
        with path.open("rb") as file:
            contents = file.read(LARGEST + 1)
    except OSError as error:
        raise ModelError(f"cannot read '{path}': {(error.strerror or '').lower()}") from error
    return model_of(contents, str(path))


def model_of(contents: bytes, name: str) -> Model:
    """The model in a file's bytes; errors call it by this name.

    Raises:
        ModelError: As `read_model`.
    """
    try:
        return _model(contents)
    except UNREADABLE as error:
        help = "'morello learn train' makes one of a corpus"
        raise ModelError(f"'{name}' is no model that can be used: {error}", help=help) from error


def _model(contents: bytes) -> Model:
    if len(contents) > LARGEST:
        raise ValueError("it is too large")
    with np.load(io.BytesIO(contents), allow_pickle=False) as file:
        if sum(info.file_size for info in file.zip.infolist()) > LARGEST:
            raise ValueError("it is too large")
        told: dict[str, Any] = json.loads(str(file["about"]))
        if told.pop("format") != FORMAT:
            raise ValueError("it is of another format")
        if told.pop("schema") != SCHEMA:
            raise ValueError("it is of another version, which knew programs by other features")
        kind = KINDS[told.pop("kind")]
        arrays = {name: file[name] for name in kind.ARRAYS}
    names = {name: tuple(map(str, told.pop(name))) for name in kind.NAMES}
    found = kind(about=_checked(About(**told)), **names, **arrays)
    found.check()
    return found


def _checked(about: About) -> About:
    """Refuse what says nothing, and gains that are none."""
    if not all(isinstance(text, str) for text in (about.target, about.processor, about.costs)):
        raise ValueError("it does not say what it is for")
    if not 0 <= about.gain < 1:
        raise ValueError(f"nothing gains {about.gain}")
    if not 0 <= about.deviations < 100:
        raise ValueError(f"nothing is sure by {about.deviations} deviations")
    return about
