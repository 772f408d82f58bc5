"""What reads each kind of file, through the loaders that the commands use.

A reader takes the bytes of a file and a directory of its own. It ends, or raises: a `MorelloError`
that is no internal one is a diagnostic, and as good as an answer.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path

import platformdirs

from morello.codegen.goals import context_for
from morello.definitions import Definitions, load_definitions, spec_errors
from morello.definitions.profile import read_profile
from morello.definitions.project_files import project_sources
from morello.language.diagnostics import DiagnosticsError
from morello.language.grammars import load
from morello.language.load import source_from_bytes
from morello.language.parse import parse_spec
from morello.memo.codec import decode, decode_axes
from morello.memo.installed import Installed
from morello.memo.memo import Memo
from morello.memo.names import variant_of
from morello.memo.store import Store
from morello.memo.transfer import import_memo
from morello.plugins import PluginSet, load_plugins
from morello.plugins.templates import compile_template

Reader = Callable[[bytes, Path, tuple[Path, ...]], None]

TARGET = "x86.scalar"


@cache
def installed() -> Definitions:
    """What specs are checked against."""
    return load_definitions(fitted=False)


@cache
def _without_files() -> PluginSet:
    """The plugins' emitters alone: files of definitions come with what they refer to."""
    plugins = load_plugins()
    return plugins.without_definitions([plugin.owner for plugin in plugins.plugins])


# ------------------------------------------------------------------------- texts


def _spec(data: bytes, _: Path, __: tuple[Path, ...]) -> None:
    file = parse_spec(source_from_bytes(data, "damaged.mspec"))
    DiagnosticsError(spec_errors(file, installed(), {}))  # writes their text


def _definitions(suffix: str) -> Reader:
    def read(data: bytes, _: Path, beside: tuple[Path, ...]) -> None:
        source = source_from_bytes(data, f"damaged.{suffix}")
        load_definitions([source, *beside], _without_files(), fitted=False, warn=False)

    return read


def _project(data: bytes, directory: Path, _: tuple[Path, ...]) -> None:
    (directory / "pyproject.toml").write_bytes(data)
    project_sources(directory)


def _profile(data: bytes, directory: Path, _: tuple[Path, ...]) -> None:
    path = directory / "profile.json"
    path.write_bytes(data)
    profile = read_profile(path)
    assert profile is not None, "the file is there"
    for target in installed().targets.values():
        profile.fitted(target)


# ------------------------------------------------------------------------- memos


def _memo(data: bytes, directory: Path, _: tuple[Path, ...]) -> None:
    """Open it as a compile does, and read all of it."""
    path = directory / "memo.sqlite"
    path.write_bytes(data)
    context = context_for(installed(), installed().targets[TARGET])
    with Memo.open(path, warn=_nothing) as memo:
        assert memo.store is not None, "a path is named"
        memo.store.stats()
        for record in memo.store.records():
            variant_of(record.family, context)
            memo.store.find(record.fingerprint, record.family, record.page.axes)
        memo.store.gc(max_bytes=1 << 10)


@cache
def _usable() -> Installed:
    return Installed([context_for(installed(), installed().targets[TARGET])])


def _family(data: bytes, _: Path, __: tuple[Path, ...]) -> None:
    """The text of a family, as the commands that look into a memo read it."""
    _usable().find(b"fingerprint", data.decode(errors="replace"))


def _export(data: bytes, directory: Path, _: tuple[Path, ...]) -> None:
    path = directory / "exported.sqlite"
    path.write_bytes(data)
    with Store.open(directory / "memo.sqlite", warn=_nothing) as store:
        import_memo(store, path, warn=_nothing)


def _page(data: bytes, _: Path, __: tuple[Path, ...]) -> None:
    """A page whose content is damaged, and whose checksum is right all the same."""
    rest = len(data).to_bytes(4, "little") + zlib.compress(data, 1)
    digest = blake2b(b"\1", digest_size=16)
    digest.update(bytes(8) + rest)
    page = decode(b"\1" + digest.digest() + rest)
    page.choice_at([axis[0] for axis in page.axes])


def content_of(page: bytes) -> bytes:
    """What `_page` reads: the content of a page as it is encoded."""
    return zlib.decompress(page[21:])


def _axes(data: bytes, _: Path, __: tuple[Path, ...]) -> None:
    decode_axes(data)


def _nothing(_: str) -> None:
    """Warnings are answers too."""


# ------------------------------------------------------------------------- start-up files


def _use_definitions() -> None:
    source = source_from_bytes(b'op same(X: T[i]) -> Y: T[i] "A copy." { Y[i] = X[i] }', "a.mrules")
    load_definitions([source], _without_files(), fitted=False, warn=False)


def _use_parser() -> None:
    load("mspec")


def _use_template() -> None:
    compile_template("{{ name }}")


STARTUP_USES = {
    "definitions": _use_definitions,
    "parser-mspec": _use_parser,
    "template": _use_template,
}
"""What reads and writes a start-up file, by the beginning of its name."""


def startup_file(name: str) -> Path:
    """The newest file of a name in the start-up cache."""
    directory = platformdirs.user_cache_path("morello", appauthor=False) / "startup"
    return max(directory.glob(f"{name}-*"), key=lambda path: path.stat().st_mtime_ns)


def _startup(name: str) -> Reader:
    def read(data: bytes, _: Path, __: tuple[Path, ...]) -> None:
        path = startup_file(name)
        path.write_bytes(data)
        os.chmod(path, 0o600)
        STARTUP_USES[name]()

    return read


READERS: dict[str, Reader] = {
    "spec": _spec,
    "rules": _definitions("mrules"),
    "target": _definitions("mtarget"),
    "project": _project,
    "profile": _profile,
    "memo": _memo,
    "export": _export,
    "family": _family,
    "page": _page,
    "axes": _axes,
    **{f"startup {name}": _startup(name) for name in STARTUP_USES},
}
"""Readers by the kind of file."""
