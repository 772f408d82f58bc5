"""A learned performance model: how far off a plan's predicted cost is.

It corrects the cost model of the target; it does not take its place. The logarithm of a program's
time is that of its predicted cycles, plus what *ensembles* of regression trees say of its features.
Each ensemble was trained on other goals than its fellows. Where they disagree about two programs,
nothing like them was measured.

A model is one ``.npz`` file of plain arrays, evaluated with numpy alone: nothing in it is run.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import MALFORMED, MorelloError
from morello.ir.numeric import Array
from morello.ranking.features import SCHEMA

FORMAT = 1

UNREADABLE = (*MALFORMED, OSError, EOFError, zipfile.BadZipFile, zlib.error)

LARGEST = 16 << 20
"""Bytes of a model's file: more is no model."""

ARRAYS = ("feature", "threshold", "left", "right", "value", "roots")

LESS = "less first: "
"""How the names of columns begin that compare a program with the first one."""

LEAF = -1
"""In the place of a feature."""


class ModelError(MorelloError):
    """A file is no model, or one that cannot be used."""


@dataclass(frozen=True)
class About:
    """What a model is for, and where it is from.

    ``costs``: the `digest_of_costs` of the target that it corrects. ``gain``: by how much, for
    sure, a program must be faster to be chosen instead of the search's.
    ``evaluation``: what it was worth on goals that it had not seen.
    """

    target: str
    processor: str
    costs: str
    programs: int
    goals: int
    date: str
    gain: float
    evaluation: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    """Ensembles of trees over named features.

    All trees are in one table of nodes: ``feature`` is the column that a node asks, or `LEAF`;
    what is at most its ``threshold`` goes ``left``, what is more ``right``; a leaf has a ``value``.
    ``roots`` has a row for each ensemble. A node's children come after it.

    A column is a feature; with `LESS` before its name, it is how much more of it a program has than
    the first one, the search's choice.
    """

    about: About
    columns: tuple[str, ...]
    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array
    roots: Array

    def corrections(self, described: Sequence[Mapping[str, float]]) -> Array:
        """By ensemble and program: how much its time over its predicted cycles is the first one's.

        That is a logarithm: 0 where the prediction of both is off alike.

        Args:
            described: Features of each program for one goal, by name; the search's choice first.
        """
        rows = rows_of(described, self.columns)
        at = np.broadcast_to(self.roots.ravel(), (len(rows), self.roots.size)).copy()
        programs = np.arange(len(rows))[:, None]
        while True:
            asked = self.feature[at]
            inner = asked != LEAF
            if not inner.any():
                break
            low = rows[programs, np.maximum(asked, 0)] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
        values = self.value[at].reshape(len(rows), *self.roots.shape)
        total: Array = values.sum(axis=2).T
        return total

    @cached_property
    def bytes(self) -> bytes:
        """Its file."""
        told = {"format": FORMAT, "schema": SCHEMA, "columns": self.columns, **asdict(self.about)}
        file = io.BytesIO()
        arrays = {name: getattr(self, name) for name in ARRAYS}
        np.savez_compressed(file, about=np.array(json.dumps(told)), **arrays)
        return file.getvalue()

    @property
    def digest(self) -> str:
        """What tells it from all others: of what it says, however it is kept."""
        parts = [json.dumps(asdict(self.about), sort_keys=True), *self.columns]
        text = "\n".join(parts).encode()
        return sha256(text + b"".join(getattr(self, n).tobytes() for n in ARRAYS)).hexdigest()[:16]


def digest_of_costs(coefficients: Mapping[str, float]) -> str:
    """What tells costs from others: those of a target by full name."""
    return sha256(repr(sorted(coefficients.items())).encode()).hexdigest()[:16]


def rows_of(described: Sequence[Mapping[str, float]], columns: Sequence[str]) -> Array:
    """Features of the programs for one goal by program and column; see `Model`."""
    names = [column.removeprefix(LESS) for column in columns]
    rows = np.array([[of.get(name, 0.0) for name in names] for of in described], np.float64)
    rows = rows.reshape(len(described), len(columns))
    compared = np.array([column.startswith(LESS) for column in columns], bool)
    return np.where(compared, rows - rows[:1], rows)


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
        arrays = {name: file[name] for name in ARRAYS}
    if told.pop("format") != FORMAT:
        raise ValueError("it is of another format")
    if told.pop("schema") != SCHEMA:
        raise ValueError("it is of another version, which knew programs by other features")
    columns = tuple(map(str, told.pop("columns")))
    found = Model(About(**told), columns, **arrays)
    _check(found)
    return found


def _check(model: Model) -> None:
    """Refuse trees that have no end, or ask what is not there; and gains that are none."""
    about = model.about
    if not all(isinstance(text, str) for text in (about.target, about.processor, about.costs)):
        raise ValueError("it does not say what it is for")
    if not 0 <= about.gain < 1:
        raise ValueError(f"nothing gains {about.gain}")
    nodes = len(model.feature)
    if any(len(getattr(model, name)) != nodes for name in ARRAYS[:-1]) or model.roots.ndim != 2:
        raise ValueError("its arrays do not fit")
    for name in ("feature", "left", "right", "roots"):
        if getattr(model, name).dtype.kind != "i":
            raise ValueError("its trees are no trees")
    inner = np.flatnonzero(model.feature != LEAF)
    places = np.arange(nodes)[inner]
    below = (model.left[inner], model.right[inner])
    ends = all(np.all((child > places) & (child < nodes)) for child in below)
    asked = np.all((model.feature >= LEAF) & (model.feature < len(model.columns)))
    begun = model.roots.size and np.all((model.roots >= 0) & (model.roots < nodes))
    numbers = np.all(np.isfinite(model.value)) and np.all(np.isfinite(model.threshold))
    if not (ends and asked and begun and numbers):
        raise ValueError("its trees are no trees")
