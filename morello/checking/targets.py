"""From declared targets to checked ones, with everything that they inherit.

Codes ``T...`` are errors of a target, of its levels (`morello.checking.levels`), of its functions
(`morello.checking.functions`), macros (`morello.checking.macros`) or kernels
(`morello.checking.kernels`). The numbers in a target are not judged, only their form.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from morello.checking.definitions import check_definitions
from morello.checking.functions import check_functions
from morello.checking.kernels import check_kernels
from morello.checking.lanes import in_place
from morello.checking.levels import check_coefficients, check_levels
from morello.checking.macros import check_macros
from morello.checking.patterns import on_target
from morello.checking.primitives import check_primitives
from morello.ir.operators import Operator
from morello.ir.passes import PASSES
from morello.ir.target import Target
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.records import replace


def check_targets(
    files: Sequence[target_ast.TargetFile],
    operators: Mapping[str, Operator],
    collector: Collector,
    *,
    template_functions: Collection[str] | None = None,
) -> dict[str, Target]:
    """Check every target of all files together; a file may extend a target of another one.

    Args:
        files: Parsed ``.mtarget`` files, in any order.
        operators: Checked operators by name; kernels match them.
        collector: Takes the errors; the result may be used only if it stayed empty.
        template_functions: Functions that the templates of kernels may call; none accepts any,
            since each emitter brings its own.

    Returns:
        Targets by name, each after the one that it extends. One that inherits from an unknown
        target or from itself is left out.
    """
    declared = _declarations(files, collector)
    broken = _broken_bases(declared, collector)
    targets: dict[str, Target] = {}
    for name in _bases_first(declared, broken):
        declaration = declared[name]
        base = targets.get(declaration.base) if declaration.base else None
        targets[name] = _target(declaration, base, collector)
    written = check_primitives(files, targets, declared, collector)
    primitives = check_definitions(files, targets, declared, written, collector)
    functions = check_functions(files, targets, declared, collector)
    macros = check_macros(
        files, targets, declared, collector, template_functions=template_functions
    )
    kernels = check_kernels(
        files,
        targets,
        primitives,
        macros,
        declared,
        operators,
        collector,
        template_functions=template_functions,
    )
    return {
        name: replace(
            target,
            primitives=primitives[name],
            functions=functions[name],
            macros=macros[name],
            kernels=tuple(
                replace(kernel, match=on_target(kernel.match, target))
                for kernel in in_place(
                    [k for base in target.lineage for k in kernels.get(base, ())]
                )
            ),
        )
        for name, target in targets.items()
    }


def _declarations(
    files: Sequence[target_ast.TargetFile], collector: Collector
) -> dict[str, target_ast.TargetDecl]:
    declared: dict[str, target_ast.TargetDecl] = {}
    for declaration in chain.from_iterable(f.targets for f in files):
        first = declared.setdefault(declaration.name, declaration)
        if first is not declaration:
            message = f"target '{declaration.name}' is declared twice"
            help = f"the first one is at {first.name_span}; rename or remove one of them"
            collector.error("T001", message, declaration.name_span, "second declaration", help)
    return declared


def _broken_bases(declared: Mapping[str, target_ast.TargetDecl], collector: Collector) -> set[str]:
    """Report unknown and circular bases; the targets that cannot be built because of them."""
    broken: set[str] = set()
    for declaration in declared.values():
        base = declaration.base
        if base is not None and base not in declared:
            message = f"target '{declaration.name}' extends '{base}', which is not declared"
            place = within(declaration.span, base, after=declaration.name_span.end)
            collector.error("T002", message, place, "unknown", collector.suggestion(base, declared))
            broken.add(declaration.name)
    for declaration in declared.values():
        cycle = list(_cycle(declaration.name, declared))
        if cycle and declaration.name == min(cycle):
            path = " -> ".join(f"'{name}'" for name in (*cycle, cycle[0]))
            place = within(declaration.span, cycle[1 % len(cycle)], after=declaration.name_span.end)
            message = f"targets extend each other without end: {path}"
            collector.error("T003", message, place, help="let one of them extend nothing")
        broken.update(cycle)
    return broken


def _cycle(name: str, declared: Mapping[str, target_ast.TargetDecl]) -> Iterator[str]:
    """Names on the cycle of bases that leads from a target back to itself, if there is one."""
    path = [name]
    while (base := declared[path[-1]].base) in declared and base not in path:
        assert base is not None
        path.append(base)
    if base == name:
        yield from path


def _bases_first(
    declared: Mapping[str, target_ast.TargetDecl], broken: set[str]
) -> dict[str, None]:
    """Names of the targets that can be built, each after its base."""
    order: dict[str, None] = {}
    for name in declared:
        path = [name]
        while path[-1] not in broken and (base := declared[path[-1]].base) is not None:
            path.append(base)
        if path[-1] not in broken:
            order.update(dict.fromkeys(reversed(path)))
    return order


def _target(
    declaration: target_ast.TargetDecl, base: Target | None, collector: Collector
) -> Target:
    """The target without its primitives, functions and kernels."""
    _sizes(declaration, collector)
    for what, given in (
        ("emitter", declaration.emitter or (base and base.emitter)),
        ("sizes", declaration.sizes or (base and base.sizes)),
        ("page", declaration.page or (base and base.page)),
    ):
        if not given:
            message = f"target '{declaration.name}' has no {what}, and inherits none"
            advice = {
                "emitter": "write 'emitter NAME', or extend a target that has one",
                "sizes": "such as 'sizes 1, 2, 4, 8'",
                "page": "such as 'page 4 KiB'",
            }
            collector.error("T004", message, declaration.name_span, help=advice[what])
    _commands(declaration, collector)
    _passes(declaration, collector)
    own = check_coefficients(declaration.coefficients, collector)
    lineage = base.lineage if base else ()
    return Target(
        name=declaration.name,
        doc=declaration.doc,
        lineage=(*lineage, declaration.name),
        emitter=declaration.emitter or (base.emitter if base else ""),
        sizes=declaration.sizes or (base.sizes if base else ()),
        page=declaration.page or (base.page if base else 0),
        flags=_joined(base.flags if base else (), declaration.flags),
        headers=_joined(base.headers if base else (), declaration.headers),
        levels=check_levels(declaration, base.levels if base else (), collector),
        coefficients={**(base.coefficients if base else {}), **own},
        primitives={},
        functions={},
        kernels=(),
        features=_joined(base.features if base else (), declaration.features),
        implied=_joined(base.implied if base else (), declaration.implied),
        compiler=declaration.compiler or (base.compiler if base else ""),
        runner=declaration.runner or (base.runner if base else ""),
        passes=(base.passes if base else ()) if declaration.passes is None else declaration.passes,
    )


def _commands(declaration: target_ast.TargetDecl, collector: Collector) -> None:
    """Refuse commands whose quotes are not closed, or that are empty."""
    for what, given in (("compiler", declaration.compiler), ("runner", declaration.runner)):
        if given is None:
            continue
        try:
            words = shlex.split(given)
        except ValueError:
            words = []
        if not words:
            place = within(declaration.span, what, after=declaration.name_span.end)
            message = f"the {what} of target '{declaration.name}' is not a command"
            collector.error("T006", message, place, help="a program, with arguments if need be")


def _passes(declaration: target_ast.TargetDecl, collector: Collector) -> None:
    start = within(declaration.span, "passes", after=declaration.name_span.end).end
    for name in declaration.passes or ():
        if name not in PASSES:
            message = f"unknown pass '{name}'"
            place = within(declaration.span, name, after=start)
            collector.error("T007", message, place, help=collector.suggestion(name, PASSES))


def _joined(inherited: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*inherited, *own)))


def _sizes(declaration: target_ast.TargetDecl, collector: Collector) -> None:
    sizes = declaration.sizes
    if not sizes:
        return
    start = within(declaration.span, "sizes", after=declaration.name_span.end).end
    for smaller, larger in pairwise(sizes):
        if larger <= smaller:
            message = f"sizes must increase, but {larger} stands after {smaller}"
            place = within(declaration.span, str(larger), after=start)
            collector.error("T005", message, place)
            return
    if sizes[0] != 1:
        message = f"sizes must begin with 1, but they begin with {sizes[0]}"
        place = within(declaration.span, str(sizes[0]), after=start)
        help = "without 1, what larger tiles leave over could not be divided"
        collector.error("T005", message, place, help=help)
