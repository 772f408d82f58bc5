"""Fingerprints: what changes them and what does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from morello.checking.specs import check_spec
from morello.codegen.goals import goal_specs
from morello.definitions import Definitions, load_definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.memo.fingerprint import BYTES, Fingerprints
from morello.records import replace
from morello.rewriting.context import Context
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import FLAT, context, load_target
from tests.search.solved import solved

SHIPPED = "x86.avx512"
MATMUL = matmul(3, 4, 2)


def fingerprint(used: Context, wanted: Wanted = MATMUL) -> bytes:
    """Of a goal's family."""
    return Fingerprints(used).of(wanted.spec(used.target).family)


def _flat(old: str = "", new: str = "") -> Context:
    """The target with three registers, a part of its text exchanged."""
    assert old in FLAT
    known = context("tiny.flat")
    return replace(known, target=load_target(FLAT.replace(old, new) if old else FLAT))


def _of(definitions: Definitions, target: str = SHIPPED) -> Context:
    return Context(definitions.targets[target], definitions.operators, definitions.rules)


def _with(text: str, suffix: str, target: str = SHIPPED) -> Context:
    """What is shipped, and a file of the user's."""
    return _of(load_definitions([Source(f"mine{suffix}", text)]), target)


def _edited(project: Path, folder: str, edit: Callable[[str], str]) -> Context:
    """What is shipped, with files of a folder edited."""
    paths = [p for p in sorted((project / folder).iterdir()) if p.suffix in (".mrules", ".mtarget")]
    sources = [Source(str(path), edit(path.read_text()), path) for path in paths]
    return _of(load_definitions(sources))


# ------------------------------------------------------------------------- what keeps it

KEEPING = {
    "an operator": (
        ".mrules",
        'op twice(X: T[i...]) -> Y: T[i...] "Twice." { Y[i...] = X[i...] + X[i...] }',
    ),
    "a rule for another operator": (
        ".mrules",
        """rule relayout "Another layout for a sum."
           match  f: add, X: operand of f
           choose level in nearer(X.level), layout in layouts(X, level), vector in vectors(X, level)
           where  reads(f, X), not writes(f, X), distance(level) <= nearest(f)
           yield  with Y = X at level layout layout vector vector { copy(X, Y); f[X := Y] }""",
    ),
    "a kernel for another dtype": (
        ".mtarget",
        """kernel integers on x86.avx512 "Integers."
           match  accumulating matmul(A: s32[..., 1, 1] at l1, B: s32[..., 1, 1] at l1,
                                      C: s32[..., 1, 1] at l1)
           cost   scalar_op
           emit   definition""",
    ),
    "a kernel for another operator": (
        ".mtarget",
        """kernel sums on x86.avx512 "Sums."
           match  add(X: f32[..., n] at l1, Z: f32[..., n] at l1, Y: f32[..., n] at l1)
           cost   vector_op
           emit   definition""",
    ),
    "a kernel of mixed dtypes that wants nothing new": (
        ".mtarget",
        """kernel mixed on x86.avx512 "Integers in, floating point out."
           match  accumulating matmul(A: s32[..., 1, 1] at l1, B: s32[..., 1, n] at reg vector 64,
                                      C: f32[..., 1, n] at reg vector 64)
           cost   vector_op
           emit   definition""",
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("what", KEEPING)
def test_what_a_family_cannot_use_keeps_it(what: str) -> None:
    suffix, text = KEEPING[what]
    assert fingerprint(context(SHIPPED)) == fingerprint(_with(text, suffix))


def test_what_it_can_use_is_told_apart() -> None:
    """The additions above do change the families that they are for."""
    for what, changed in (
        ("a rule for another operator", elementwise("add", 5)),
        ("a kernel for another dtype", matmul(3, 4, 2, "s32")),
        ("a kernel for another operator", elementwise("add", 5)),
    ):
        suffix, text = KEEPING[what]
        assert fingerprint(context(SHIPPED), changed) != fingerprint(_with(text, suffix), changed)


def _commented(text: str) -> str:
    """Comments and empty lines before the clauses of the languages, and longer sentences."""
    words = ("match", "where", "cost", "emit", "yield", "choose", "level", "coefficient")
    lines = [
        f"\n  # remark\n    {line}" if line.strip().startswith(words) else line
        for line in text.splitlines()
    ]
    longer = re.sub(r'(?m)^( *".*)"$', r'\1 That is all."', "\n".join(lines))
    return f"# first\n\n{longer}"


@pytest.mark.parametrize("folder", ["rules", "targets/c", "targets/x86"])
def test_comments_places_and_sentences_keep_it(project: Path, folder: str) -> None:
    used = _edited(project, folder, _commented)
    assert context(SHIPPED).rules != used.rules or context(SHIPPED).target != used.target
    assert fingerprint(context(SHIPPED)) == fingerprint(used)


def test_orders_keep_it() -> None:
    known, random = context(SHIPPED), Random(0)
    kernels, rules = list(known.target.kernels), list(known.rules)
    random.shuffle(kernels)
    random.shuffle(rules)
    operators = {name: known.operators[name] for name in reversed(list(known.operators))}
    coefficients = dict(reversed(list(known.target.coefficients.items())))
    primitives = dict(reversed(list(known.target.primitives.items())))
    target = replace(
        known.target, kernels=tuple(kernels), coefficients=coefficients, primitives=primitives
    )
    assert fingerprint(known) == fingerprint(Context(target, operators, tuple(rules)))


def test_what_is_only_emitted_keeps_it() -> None:
    """The C text of kernels, macros, primitives, functions; a target's name, flags and headers."""
    known = context(SHIPPED)
    kernels = tuple(replace(k, template=k.template and "other();") for k in known.target.kernels)
    primitives = {
        key: replace(p, entries={n: (f"other{t}", c) for n, (t, c) in p.entries.items()})
        for key, p in known.target.primitives.items()
    }
    target = replace(known.target, name="other", flags=(), headers=(), kernels=kernels)
    target = replace(target, primitives=primitives, functions={}, macros={})
    assert fingerprint(known) == fingerprint(replace(known, target=target))


@pytest.mark.slow
def test_hash_seeds_keep_it(project: Path) -> None:
    program = (
        "from tests.memo import test_fingerprint as here\n"
        "print(here.fingerprint(here.context(here.SHIPPED)).hex(), end='')"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=project,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert fingerprint(context(SHIPPED)).hex() == done.stdout


def test_it_is_the_same_for_all_places_and_layouts() -> None:
    """Those are in the family, which a memo knows anyway; sixteen bytes each."""
    known = context(SHIPPED)
    first = fingerprint(known, matmul(3, 4, 2))
    assert BYTES == len(first)
    assert first == fingerprint(known, matmul(300, 5, 7, B=(1, 0)))
    assert first != fingerprint(known, copy(3, 4))
    assert first != fingerprint(known, matmul(3, 4, 2, "s32"))
    assert first != fingerprint(known, matmul(3, 4, 2, threads=2))


def test_threads_count_only_where_there_are_some() -> None:
    """What entering a parallel loop costs is nothing to serial work."""
    known = _flat()
    dearer = _flat("fork_join    = 7", "fork_join    = 8")
    assert fingerprint(known) == fingerprint(dearer)
    two, three = matmul(3, 4, 2, threads=2), matmul(3, 4, 2, threads=3)
    assert fingerprint(known, two) != fingerprint(dearer, two)
    assert fingerprint(known, two) == fingerprint(known, three)


# ------------------------------------------------------------------------- what changes it

CHANGING = {
    "a coefficient of a kernel": ("vector_load  = 1 ", "vector_load  = 2 "),
    "a coefficient of a rule": ("loop_step    = 1 ", "loop_step    = 2 "),
    "a coefficient of a primitive": ("scalar_op    = 0.75", "scalar_op    = 0.8"),
    "a coefficient of a level": ("fetch_strided = 5 ", "fetch_strided = 6 "),
    "another coefficient for a primitive": (
        'add "({0} + {1})" scalar_op',
        'add "({0} + {1})" scalar_load',
    ),
    "no such primitive": ('add "({0} + {1})" scalar_op;', ""),
    "a guard": ("where  free(reg) >= 1", "where  free(reg) >= 2"),
    "a cost": ("cost   arithmetic(f) + scalar_load", "cost   arithmetic(f)"),
    "a pattern": ("C: f32[..., 2, n] at reg", "C: f32[..., 3, n] at reg"),
    "a kernel's name": ("kernel load_x2", "kernel load_two"),
    "a capacity": ("capacity 3 vectors", "capacity 4 vectors"),
    "vector widths": ("vector 4, 8; not", "vector 4, 8, 16; not"),
    "a line": ("level mem { line 8", "level mem { line 16"),
    "tile sizes": ("sizes 1, 2", "sizes 1, 2, 4"),
    "the page": ("page 8", "page 16"),
}


@pytest.mark.parametrize("what", CHANGING)
def test_what_a_family_could_use_changes_it(what: str) -> None:
    old, new = CHANGING[what]
    assert fingerprint(_flat()) != fingerprint(_flat(old, new))


RULES = {
    "a guard": ("or distance(level) <= 1", "or distance(level) <= 2"),
    "a choice": ("choose d in reduced_dims(f)", "choose d in output_dims(f)"),
    "a cost": (
        "(fetch(X, level) if reads(f, X)) + (store",
        "2 * (fetch(X, level) if reads(f, X)) + (store",
    ),
    "a rule's name": ("rule accumulate", "rule begin"),
    "an operator's meaning": ("A[b..., m, k] * B", "A[b..., m, k] + B"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("what", RULES)
def test_what_rules_and_operators_say_changes_it(project: Path, what: str) -> None:
    old, new = RULES[what]
    assert any(old in path.read_text() for path in (project / "rules").glob("*.mrules"))
    used = _edited(project, "rules", lambda text: text.replace(old, new))
    assert fingerprint(context(SHIPPED)) != fingerprint(used)


ADDED = {
    "a kernel": (
        ".mtarget",
        """kernel mine on x86.avx512 "One product."
           match  accumulating matmul(A: f32[..., 1, 1] at l1, B: f32[..., 1, 1] at l1,
                                      C: f32[..., 1, 1] at l1)
           cost   scalar_op
           emit   definition""",
    ),
    "a rule": (
        ".mrules",
        """rule twice "Begin anew."
           match  f: accumulating op
           choose d in output_dims(f), t in tile_sizes(d)
           yield  for d step t { f }""",
    ),
    "a rule for what others yield": (
        ".mrules",
        """rule split_copy "Copy by halves."
           match  f: copy
           choose d in output_dims(f), t in tile_sizes(d)
           yield  for d step t { f }""",
    ),
    "a kernel of other dtypes that wants a new layout of one": (
        ".mtarget",
        """kernel mixed on x86.avx512 "Integers in, floating point out."
           match  accumulating matmul(A: s32[..., 1, 1] at l1,
                                      B: f32[..., 2, n] at l1 layout (1, 0),
                                      C: s32[..., 1, n] at l1)
           cost   vector_op
           emit   definition""",
    ),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_added_and_could_be_used_changes_it(what: str) -> None:
    suffix, text = ADDED[what]
    assert fingerprint(context(SHIPPED)) != fingerprint(_with(text, suffix))


def test_what_a_statement_is_seen_as_changes_it() -> None:
    """Of another set of operators it may be another one, though its own text is the same."""
    known = context(SHIPPED)
    text = """spec s() { input x: f32[5, 2, 7]; input w: f32[7, 2, 3]; output y: f32[5, 2, 3]
      y[m, b, n] += x[m, b, k] * w[k, b, n] }"""
    tree, found = parse_spec(Source("s.mspec", text)), set()
    for left_out in ("", "matmul", "relu"):
        operators = {name: o for name, o in known.operators.items() if name != left_out}
        goal = check_spec(tree, None, {}, operators, Collector())
        (spec,) = goal_specs(known.target, goal)
        found.add(Fingerprints(known).of(spec.family))
    assert len(found) == 2


def test_a_family_below_a_goal_has_its_own() -> None:
    """That of the operator which it is of: a copy below a product is as good as any copy."""
    fingerprints = Fingerprints(context("tiny.flat"))
    goal = copy(2, 2).spec(context("tiny.flat").target).family
    operator = goal.operation.operator
    below = solved("tiny.flat", MATMUL).tables
    copies = [v.family for v in below if v.family.operation.operator == operator]
    assert copies
    assert {fingerprints.of(goal)} == {fingerprints.of(f) for f in copies}
