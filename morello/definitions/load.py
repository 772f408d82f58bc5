"""All definitions that are in force: those of every plugin, and of files that the user adds.

Reads them, and has them checked all together, or takes what an earlier process has checked: the
same texts are checked once. Parsing and checking is `morello.definitions.check`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from morello.definitions.plugin_errors import FileError, isolate
from morello.definitions.profile import profile_path, profile_version, read_profile
from morello.definitions.store import Checked, from_bytes, to_bytes
from morello.errors import MorelloError, UsageError
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.ir.target import Target
from morello.language import spec_ast
from morello.language.diagnostics import Collector, Diagnostic, DiagnosticsError, render, suggestion
from morello.language.grammar_texts import grammar_texts
from morello.language.load import load_source
from morello.language.source import Source
from morello.plugins import BrokenPlugin, DefinitionFile, Emitter, PluginSet, load_plugins
from morello.plugins.resources import DEFINITION_SUFFIXES, load_resource
from morello.records import replace
from morello.startup.cache import entry, version_of

Check = Callable[[Sequence[Source], PluginSet], Checked]

_LOADING = threading.RLock()
"""What is installed is loaded once, by the first thread that asks."""


class Definitions(Struct, frozen=True):
    """Everything that a compile may use. ``broken`` plugins have given no definitions to it.

    ``calibration``: the files of specs to fit coefficients with; ``learning``: the lists of goals
    and the models of plugins; ``memos``: memos that they bring. ``warnings``: what the next version
    will not read.
    """

    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    targets: Mapping[str, Target]
    emitters: Mapping[str, Emitter]
    broken: tuple[BrokenPlugin, ...]
    calibration: tuple[DefinitionFile, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    learning: tuple[DefinitionFile, ...] = ()
    memos: tuple[Path, ...] = ()


def load_definitions(
    extra_files: Iterable[Source | str | Path] = (),
    plugins: PluginSet | None = None,
    *,
    fitted: bool = True,
    warn: bool = True,
) -> Definitions:
    """Read and check all definitions.

    Args:
        extra_files: Paths or texts of ``.mrules`` and ``.mtarget`` files, told apart by their
            names, beside those of the plugins. One that is a plugin's own file, or a copy of it,
            counts once.
        plugins: What plugins give; by default everything that is installed.
        fitted: Whether targets have the coefficients of this machine's profile, if it has one.
        warn: Whether a `FutureWarning` names what the next version will not read of the extra
            files. It is in ``warnings`` in any case.

    Raises:
        DiagnosticsError: All errors of the first stage, parsing or checking, that has any, but for
            those in plugins of other distributions: they are left out, and in ``broken``.
        UsageError: A file is of neither kind, or is no file.
        MorelloError: A file or the profile cannot be read.
    """
    if isinstance(extra_files, str | Path):
        raise UsageError(f"'{extra_files}' is one file", help=f"pass a list: ['{extra_files}']")
    extra = tuple(_extra(extra_files))
    if plugins is None and not extra:
        with _LOADING:
            return _installed_fitted(*profile_version()) if fitted else _installed()
    found = _load(extra, _installed_plugins() if plugins is None else plugins)
    for warning in found.warnings if warn else ():
        warnings.warn(render(warning), FutureWarning, stacklevel=2)
    return _fitted(found) if fitted else found


def _extra(files: Iterable[Source | str | Path]) -> Iterator[Source]:
    """The texts of files that the user adds.

    Raises:
        UsageError: They are no list of files.
    """
    if not isinstance(files, Iterable):
        raise _no_file(files)
    for file in files:
        if not isinstance(file, Source | str | Path):
            raise _no_file(file)
        yield file if isinstance(file, Source) else load_source(file)


def _no_file(found: object) -> UsageError:
    return UsageError(
        f"{found!r} ({type(found).__name__}) is no file of definitions",
        help="pass a list of paths, or of morello.Source",
    )


def calibration_specs(definitions: Definitions) -> list[Source]:
    """The specs that plugins give to fit coefficients with.

    Raises:
        MorelloError: A file cannot be read.
    """
    return [load_resource(file.resource, file.name) for file in definitions.calibration]


def _fitted(definitions: Definitions) -> Definitions:
    profile = read_profile(profile_path())
    if profile is None:
        return definitions
    targets = {name: profile.fitted(target) for name, target in definitions.targets.items()}
    return replace(definitions, targets=targets)


@cache
def _installed_fitted(path: Path | None, written: int) -> Definitions:
    """What is installed, as it is with the profile that was written then: always one object."""
    return _fitted(_installed())


@cache
def _installed_plugins() -> PluginSet:
    return load_plugins()


@cache
def _installed() -> Definitions:
    return _load((), _installed_plugins())


def _load(extra: Sequence[Source], plugins: PluginSet, check: Check | None = None) -> Definitions:
    """What a check says of all texts together; by default of those in the start-up cache too."""
    unique = _unique(extra)
    checked = check or _checked
    found, used, wrong = isolate(plugins, lambda some: checked(_sources(unique, some), some))
    broken = (*plugins.broken, *wrong)
    emitters = used.emitters
    return Definitions(
        found.operators,
        found.rules,
        found.targets,
        emitters,
        broken,
        used.calibration,
        found.warnings,
        used.learning,
        tuple(file.resource for file in used.memos if isinstance(file.resource, Path)),
    )


def check_edited(extra: Iterable[Source], plugins: PluginSet) -> Definitions:
    """The same as `load_definitions`, for texts that are still being written: nothing is kept.

    Raises:
        DiagnosticsError: As there.
        MorelloError: As there.
    """
    from morello.definitions.check import check_files  # noqa: PLC0415

    return _load(tuple(extra), plugins, lambda sources, some: check_files(sources, some.emitters))


def sources_in_force(extra: Iterable[Source], plugins: PluginSet) -> list[Source]:
    """The texts that definitions are in: those of plugins, and others in their place or beside.

    Raises:
        MorelloError: A file cannot be read.
    """
    return _sources(_unique(extra), plugins)


def _checked(sources: Sequence[Source], plugins: PluginSet) -> Checked:
    """The definitions in these files, from the start-up cache where they have been checked."""
    place = entry("definitions", *_key(sources, plugins))
    kept = place.read()
    checked = None if kept is None else from_bytes(kept)
    if checked is None:
        # Parsers and checks take longer to import than the cache takes to answer.
        from morello.definitions.check import check_files  # noqa: PLC0415

        checked = check_files(sources, plugins.emitters)
        data = to_bytes(checked)
        if data is not None:
            place.write(data)
    return checked


def _key(sources: Sequence[Source], plugins: PluginSet) -> Iterator[str]:
    """All that checked definitions depend on, besides this package and Python."""
    yield from map(version_of, ("jinja2", "lark"))  # parse and check
    yield from grammar_texts().values()
    yield from sorted({str(file.owner) for file in plugins.files})
    yield from (f"emitter {name}" for name in plugins.emitters)
    for source in sources:
        yield from (source.name, str(source.path), source.text)


def _unique(extra: Iterable[Source]) -> list[Source]:
    """What the user names, each file once, however its path is written."""
    found: dict[object, Source] = {}
    for source in extra:
        if not source.name.endswith(DEFINITION_SUFFIXES):
            raise UsageError(
                f"'{source.name}' is no file of definitions",
                help=f"their names end in {' or '.join(DEFINITION_SUFFIXES)}",
            )
        place = source.path.resolve() if source.path else source.name
        found[place, source.text] = source  # under the name that came last
    return list(found.values())


def _sources(extra: Sequence[Source], plugins: PluginSet) -> list[Source]:
    """Texts to load. What the user names replaces the same file of a plugin.

    That is the file itself, a copy of it, or a file of its name in a directory of its package's
    name: the source of what is installed, which may have been edited since.
    """
    named = {source.path.resolve() for source in extra if source.path}
    places = {"/".join(path.parts[-2:]) for path in named}
    texts = {(Path(source.name).name, source.text) for source in extra}
    installed = [
        _read(file)
        for file in plugins.files
        if file.name not in places
        and not (isinstance(file.resource, Path) and file.resource.resolve() in named)
    ]
    return [s for s in installed if (Path(s.name).name, s.text) not in texts] + list(extra)


def _read(file: DefinitionFile) -> Source:
    try:
        return load_resource(file.resource, file.name)
    except DiagnosticsError:
        raise
    except MorelloError as error:
        raise FileError(file.owner, error) from error


def check_target_of(
    file: spec_ast.SpecFile, definitions: Definitions, collector: Collector
) -> None:
    """Report a target that a file of specs names and that no plugin gives."""
    if file.target is None or file.target.id in definitions.targets:
        return
    name, span = file.target.id, file.target.span
    advice = suggestion(name, definitions.targets) or "install the plugin that has it"
    collector.error("P002", f"unknown target '{name}'", span, "not a target", advice)


def spec_errors(
    file: spec_ast.SpecFile, definitions: Definitions, defines: Mapping[str, int]
) -> list[Diagnostic]:
    """All errors of a file of specs: of the target that it names, and of every spec in it.

    Args:
        file: The parsed file.
        definitions: What it may use.
        defines: Values of parameters; of each spec those that it has count.
    """
    from morello.checking.specs import check_spec  # noqa: PLC0415

    collector = Collector()
    check_target_of(file, definitions, collector)
    found = list(collector.diagnostics)
    for name in dict.fromkeys(spec.name for spec in file.specs):
        parameters = {p.name for spec in file.specs if spec.name == name for p in spec.parameters}
        wanted = {key: value for key, value in defines.items() if key in parameters}
        try:
            check_spec(file, name, wanted, definitions.operators, Collector())
        except DiagnosticsError as error:
            found += error.diagnostics
    return found
