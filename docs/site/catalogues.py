"""The pages of the site that are made from what is there: definitions, codes, commands, files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

from click.testing import CliRunner

from morello.cli.main import main
from morello.definitions import Definitions, load_definitions
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.ir.target import Level, Microkernel, Target
from morello.language.codes import CODES, FAMILIES
from morello.language.diagnostics import Diagnostic, render
from morello.language.source import Source, Span
from morello.language.syntax import declaration_borders
from morello.startup.commands import SUMMARIES
from tests.checking.fail_cases import DIRECTORY as PLANTED
from tests.checking.fail_cases import diagnostics_in

HOMES = {
    "morello_aarch64": "targets/aarch64",
    "morello_c": "targets/c",
    "morello_rules": "rules",
    "morello_x86": "targets/x86",
}
"""Where the packages of definitions lie in the project."""

MARK = re.compile(r" #! .*$", re.MULTILINE)

LANGUAGES = {".mspec": "mspec", ".mrules": "mrules", ".mtarget": "mtarget"}
"""Those that blocks have colours for; what else there is, is plain text."""


def pages(project: Path) -> dict[str, str]:
    """Names and texts of all pages that are made.

    Args:
        project: The checkout.
    """
    definitions = load_definitions(fitted=False)
    return {
        "operators.md": _operators(project, definitions),
        "rules.md": _rules(project, definitions),
        "targets.md": _targets(definitions),
        "kernels.md": _kernels(definitions),
        "errors.md": _errors(project),
        "commands.md": _commands(),
        "examples.md": _examples(project),
    }


def file_page(project: Path, name: str) -> str:
    """The page of a file of the project, or of a directory: what is in it."""
    path = project / name
    if path.is_dir():
        files = sorted(child.name for child in path.iterdir() if not child.name.startswith("_"))
        return f"# {name}/\n\n" + "".join(f"* `{child}`\n" for child in files)
    return f"# {name}\n\n{quoted(project, name)}\n"


def quoted(project: Path, name: str) -> str:
    """A file of the project as a block."""
    text = (project / name).read_text(encoding="utf-8")
    return _block(text, _language(name))


def said(diagnostics: Iterable[Diagnostic]) -> str:
    """What a command prints of diagnostics."""
    return "\n\n".join(map(render, diagnostics))


def _block(text: str, language: str) -> str:
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _language(name: str) -> str:
    return LANGUAGES.get(Path(name).suffix, "text")


def _text(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _place(span: Span) -> str:
    """A link to a file of definitions, with the line."""
    name = _file(span)
    return f"[{name}](../{name}), line {span.line}"


def _file(span: Span) -> str:
    package, _, rest = span.source.name.partition("/")
    return f"{HOMES[package]}/{rest}"


def _shipped(span: Span) -> bool:
    return span.source.name.partition("/")[0] in HOMES


# ------------------------------------------------------------------------- definitions


def _operators(project: Path, definitions: Definitions) -> str:
    rules = [rule for rule in definitions.rules if _shipped(rule.declaration.span)]
    kernels = _all_kernels(definitions)

    def uses(operator: str) -> Iterator[str]:
        named = [r.name for r in rules if r.declaration.match.operator == operator]
        if named:
            yield "Rules that match it by name: " + _links(named, "rules.md") + "."
        match = [k.name for k in kernels if k.match.operator == operator]
        if match:
            yield "Kernels for it: " + _links(match, "kernels.md") + "."

    head = (
        "# Operators\n\nWhat specs may use. "
        "[The language](../docs/operators.md) says how they are declared."
    )
    return _definitions(project, head, definitions.operators.values(), uses)


def _rules(project: Path, definitions: Definitions) -> str:
    head = (
        "# Rules\n\nWhat may be computed in the place of what. "
        "[The language](../docs/rules.md) says how they are read; all are alternatives."
    )
    return _definitions(project, head, definitions.rules, lambda rule: ())


def _kernels(definitions: Definitions) -> str:
    head = (
        "# Kernels\n\nOf each target those that it adds to what it inherits. "
        "[The language](../docs/targets.md#kernels) says how they are read; files have their C."
    )
    parts = [head]
    for target, group in groupby(_all_kernels(definitions), lambda kernel: kernel.target):
        parts += [f"## {target}", *map(_kernel, group)]
    return "\n\n".join(parts) + "\n"


def _kernel(kernel: Microkernel) -> str:
    span = kernel.declaration.span
    end = span.source.text.index("emit", kernel.cost.span.end)  # after what else is said
    text = _text(Span(span.source, span.start, end)).rstrip()
    how = (
        "its C is a template"
        if kernel.template is not None
        else "its C follows from the definition"
    )
    parts = [f"### {kernel.name}", kernel.doc, _block(text, "mtarget")]
    return "\n\n".join([*parts, f"{_place(span)}; {how}."])


def _all_kernels(definitions: Definitions) -> list[Microkernel]:
    """Of all targets, each once."""
    targets = definitions.targets.values()
    found = {kernel.name: kernel for target in targets for kernel in target.kernels}
    return [kernel for kernel in found.values() if _shipped(kernel.declaration.span)]


def _definitions(
    project: Path,
    head: str,
    items: Iterable[Operator | Rule],
    uses: Callable[[str], Iterable[str]],
) -> str:
    """Those of one kind, by the files that they stand in, with what is said of uses of a name."""
    shipped = [item for item in items if _shipped(item.declaration.span)]
    parts = [head, _summary(shipped)]
    for file, group in groupby(shipped, _home):
        parts += [f"## {Path(file).name}", _comment(project / file)]
        for item in group:
            span = item.declaration.span
            parts += [f"### {item.name}", item.doc, _block(_text(span), "mrules")]
            parts += ["\n".join([f"{_place(span)}.", *uses(item.name)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _home(item: Operator | Rule) -> str:
    return _file(item.declaration.span)


def _summary(items: Iterable[Operator | Rule]) -> str:
    rows = [f"| [{item.name}](#{item.name}) | {_cell(item.doc)} |" for item in items]
    return "\n".join(["| Name | |", "| --- | --- |", *rows])


def _comment(path: Path) -> str:
    """What the comment at the top of a file says."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(line.removeprefix("#").strip() for line in lines[:first])


def _links(names: Iterable[str], page: str) -> str:
    return ", ".join(f"[{name}]({page}#{name})" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ------------------------------------------------------------------------- targets


def _targets(definitions: Definitions) -> str:
    head = (
        "# Targets\n\n[The language](../docs/targets.md) says how they are described. "
        "Where `morello calibrate` was run, its numbers count instead of these."
    )
    parts = [head]
    for target in definitions.targets.values():
        base = definitions.targets[target.lineage[-2]] if len(target.lineage) > 1 else None
        parts += [f"## {target.name}", target.doc, *_target(target, base)]
    return "\n\n".join(parts) + "\n"


def _target(target: Target, base: Target | None) -> Iterator[str]:
    if base is not None:
        yield f"It extends `{base.name}`."
    yield f"Flags: `{' '.join(target.flags)}`."
    rows = ["| Level | Capacity | |", "| --- | --- | --- |"]
    yield "\n".join([*rows, *map(_level, reversed(target.levels))])
    known = {} if base is None else base.every_coefficient
    new = {n: c for n, c in target.every_coefficient.items() if known.get(n) != c}
    if new:
        rows = ["| Coefficient | Cycles | What | From |", "| --- | ---: | --- | --- |"]
        rows += [
            f"| `{n}` | {c.value:g} | {_cell(c.doc)} | {_cell(c.source)} |" for n, c in new.items()
        ]
        yield "\n".join(rows)


def _level(level: Level) -> str:
    if not level.addressable:
        widths = " or ".join(map(str, level.vectors))
        return f"| {level.name} | {level.capacity} vectors | of {widths} bytes |"
    if level.capacity is not None:
        size = level.capacity * level.capacity_unit
        return f"| {level.name} | {size >> 10} KiB | in units of {level.capacity_unit >> 10} KiB |"
    kept = f"arguments of at most {level.arguments >> 20} MiB" if level.arguments else ""
    return f"| {level.name} | unlimited | {kept} |"


# ------------------------------------------------------------------------- errors


def _errors(project: Path) -> str:
    parts = [
        "# Errors",
        "What each code means, with a text that has the error and what is said of it.",
    ]
    examples = _planted()
    for letter, title in FAMILIES.items():
        parts.append(f"## {letter}: {title}")
        for code, sentence in CODES.items():
            if code[0] == letter:
                parts += [f"### {code}", sentence, *_error(project, examples.get(code))]
    return "\n\n".join(parts) + "\n"


def _error(project: Path, example: Diagnostic | None) -> Iterator[str]:
    if example is None:
        return
    shown = _alone(example)
    text = "\n".join(
        line if len(line) <= 160 else f"{line[:160]}..."
        for line in shown.span.source.text.splitlines()
    )
    yield _block(text, _language(shown.span.source.name))
    yield _block(render(shown).replace(f"{project}/", ""), "text")


@cache
def _planted() -> Mapping[str, Diagnostic]:
    """Of each code the planted error that is shown: one with advice, in a short declaration."""
    found: dict[str, list[Diagnostic]] = {}
    for path in sorted(PLANTED.iterdir()):
        for diagnostic in diagnostics_in(path):
            found.setdefault(diagnostic.code, []).append(diagnostic)
    return {code: min(some, key=_rank) for code, some in found.items()}


def _rank(diagnostic: Diagnostic) -> tuple[bool, int]:
    start, end = _declaration(diagnostic.span)
    return not diagnostic.help, end - start


def _declaration(span: Span) -> tuple[int, int]:
    """Where the declaration that a span is in begins and ends."""
    text = span.source.text
    if span.source.name.endswith(".toml"):
        return 0, len(text)
    borders = declaration_borders(text)
    start = max((b for b in borders if b <= span.start), default=0)
    end = min((b for b in borders if b > span.start), default=len(text))
    blank = text.rfind("\n\n#", start, end)
    return start, end if blank < 0 else blank


def _alone(diagnostic: Diagnostic) -> Diagnostic:
    """The same of the declaration alone, without the marks that the tests read."""
    span = diagnostic.span
    start, end = _declaration(span)
    text = MARK.sub("", span.source.text[start:end]).strip("\n")
    skipped = len(span.source.text[start:end]) - len(span.source.text[start:end].lstrip("\n"))
    suffix = Path(span.source.name).suffix
    source = Source("pyproject.toml" if suffix == ".toml" else f"example{suffix}", text)
    line = span.line - span.source.position(start + skipped)[0]
    begin = source.line_starts[line] + span.column - 1
    place = Span(source, begin, min(begin + span.end - span.start, len(text)))
    return Diagnostic(diagnostic.code, diagnostic.message, place, diagnostic.label, diagnostic.help)


# ------------------------------------------------------------------------- the rest


def _commands() -> str:
    parts = ["# Commands", "What `--help` prints of each."]
    for name in SUMMARIES:
        help = CliRunner().invoke(main, [name, "--help"]).output
        parts += [f"## morello {name}", _block(help, "text")]
    return "\n\n".join(parts) + "\n"


def _examples(project: Path) -> str:
    parts = ["# Examples", "The specs in `examples/`, each of which the tests compile and verify."]
    for path in sorted((project / "examples").glob("*.mspec")):
        parts += [f"## {path.name}", quoted(project, f"examples/{path.name}")]
    return "\n\n".join(parts) + "\n"
