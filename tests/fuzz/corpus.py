"""What is damaged: the texts of the project, and what is kept on a user's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from morello.definitions.profile import Profile, TargetProfile, write_profile
from morello.memo.codec import encode
from morello.memo.records import Record, sealed
from morello.memo.store import Store
from morello.memo.transfer import export_memo
from tests.fuzz.readers import STARTUP_USES, content_of, startup_file
from tests.memo.tables import page_like

PROJECT = Path(__file__).resolve().parents[2]

FOLDERS = ("rules", "targets", "examples", "tests")
TEXTS = {".mspec": "spec", ".mrules": "rules", ".mtarget": "target"}
SECONDS = 1_000_000_000.0
"""The time that is written into memos, so that their bytes are the same whenever they are made."""

_DECLARED = re.compile(r"^(?:op|target)\s+([\w.]+)", re.MULTILINE)
_WORD = re.compile(r"[\w.]+")


@dataclass(frozen=True, slots=True)
class Sound:
    """A file that may be damaged.

    Attributes:
        kind: Which reader takes it.
        name: Its file name.
        data: Its contents.
        beside: Of a file of definitions, the shipped ones that it refers to, and those that they
            do.
    """

    kind: str
    name: str
    data: bytes
    beside: tuple[Path, ...] = ()


FAMILIES = (
    "copy(X: f32 reg [0, 1] vector 4, Y: f32 l1 [0, 1] packing 4)",
    "matmul(A: f32 l1 [0, 1] packing 4, B: f32 l1 [1, 0] panels 16 packing 4, C: f32 l1 [0, 1]"
    " packing 4) threads 2",
    "accumulating row_sum(X: f32 in_l2 [0, 1] packing 4, Y: f32 in_l2 [0] packing 2)",
    "scale(X: f32 l1 [0] packing 2, Y: f32 in_l2 [0] packing 2) factor=2.0",
    "relu/2:f32(relu/2:f32(X))(X: f32 l1 [0, 1] packing 4, relu2: f32 l1 [0, 1] packing 4)",
    "relu = relu/1:f32(X); add/1:f32(relu, relu/1:f32(relu))(X: f32 l1 [0] packing 2,"
    " add: f32 l1 [0] packing 2)",
)
"""Texts of families, as memos hold them for the target of the readers."""


def corpus(directory: Path) -> list[Sound]:
    """All of it, in an order that is always the same.

    The start-up cache has to be on, and nobody else's.

    Args:
        directory: An empty one, for files that are made.
    """
    families = [Sound("family", "family", text.encode()) for text in FAMILIES]
    made = [*_memos(directory), *_profiles(directory), *_startup_files()]
    return [*_texts(), *families, *_projects(), *made]


# ------------------------------------------------------------------------- texts


def _texts() -> Iterator[Sound]:
    shipped = [file for folder in ("rules", "targets") for file in _files(PROJECT / folder)]
    declared = {file: set(_DECLARED.findall(file.read_text())) for file in shipped}
    for folder in FOLDERS:
        for file in _files(PROJECT / folder):
            data = file.read_bytes()
            beside: tuple[Path, ...] = ()
            if file.suffix != ".mspec":
                beside = _referred(file, data.decode(errors="replace"), declared)
            yield Sound(TEXTS[file.suffix], file.name, data, beside)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix in TEXTS)


def _referred(file: Path, text: str, declared: dict[Path, set[str]]) -> tuple[Path, ...]:
    """The files that declare what a text names, and what those name in turn, without itself."""
    found: dict[Path, None] = {}
    texts = [text]
    while texts:
        words = set(_WORD.findall(texts.pop()))
        for other, names in declared.items():
            if other != file and other not in found and names & words:
                found[other] = None
                texts.append(other.read_text())
    return tuple(sorted(found))


def _projects() -> Iterator[Sound]:
    lines = ("[tool.morello]", 'rules = ["rules/", "mine.mrules"]', 'kernels = ["fast.mtarget"]')
    yield Sound("project", "pyproject.toml", "\n".join(lines).encode())


# ------------------------------------------------------------------------- what a machine keeps


def _memos(directory: Path) -> Iterator[Sound]:
    path, exported = directory / "memo.sqlite", directory / "exported.sqlite"
    with Store.open(path, warn=_sound, clock=lambda: SECONDS) as store:
        for number in range(6):
            store.write(b"fingerprint", f"matmul[{number}](A: f32)", page_like(number))
        export_memo(store, exported)
    yield Sound("memo", path.name, path.read_bytes())
    yield Sound("export", exported.name, exported.read_bytes())
    for number in range(3):
        axes = sealed(Record(b"", "", page_like(number))).axes
        yield Sound("axes", "axes", axes)
        yield Sound("page", "page", content_of(encode(page_like(number))))


def _sound(message: str) -> None:
    raise AssertionError(message)


def _profiles(directory: Path) -> Iterator[Sound]:
    path = directory / "profile.json"
    fit = TargetProfile({"load": 0.5, "store": 1.0}, "2026-01-02", "gcc 12", "1", 40, 0.1, 0.4, 0.9)
    write_profile(path, Profile("processor", {"x86.avx2": fit, "x86.scalar": fit}))
    yield Sound("profile", path.name, path.read_bytes())


def _startup_files() -> Iterator[Sound]:
    """Those that the readers leave in the start-up cache of this process."""
    for name, use in STARTUP_USES.items():
        use()
        yield Sound(f"startup {name}", name, startup_file(name).read_bytes())
