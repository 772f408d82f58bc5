"""Every error of this package arrives whole in another process."""

from __future__ import annotations

import copy
import importlib
import multiprocessing
import pickle
import pkgutil
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

import morello
from morello.checking.goal_list import GoalListError
from morello.definitions import Definitions
from morello.definitions.plugin_errors import FileError
from morello.errors import InternalError, MorelloError, UsageError
from morello.filling.work import OtherDefinitionsError, UnfitWorkerError, UnwritableError
from morello.filling.workers import LostWorkerError
from morello.language.diagnostics import DiagnosticsError
from morello.learning.collect import BusyError
from morello.learning.corpus import CorpusError
from morello.learning.recipe import RecipeError
from morello.learning.training import LearningError
from morello.memo.codec import DamagedPageError, decode
from morello.memo.memo import Memo
from morello.networks.kinds import UnsupportedNodeError
from morello.networks.network import Node
from morello.plugins.loading import PluginError
from morello.plugins.records import Owner
from morello.ranking.model import ModelError
from morello.reference.compare import MismatchError
from morello.search.planning.demand import TooManySpecsError
from morello.search.planning.families import TooManyFamiliesError
from morello.search.planning.unimplemented import NoImplementationError
from morello.verify.kernel_executions import WrongKernelError
from morello.verify.kernel_instances import kernel_instances
from morello.verify.rule_instances import rule_instances
from morello.verify.rules import WrongRuleError
from morello.verify.sandbox import NotBuiltError

Make = Callable[[Definitions], MorelloError]

WRONG = "spec s(D = 8) { input x: f32[D] output y: f32[E] y = rellu(x) }"
NO_WAY = "spec s(D = 8) { input x: s32[D] output y: s32[D] y = exp(x) }"


def _compile(text: str, definitions: Definitions) -> MorelloError:
    """The error of a compile."""
    with pytest.raises(MorelloError) as caught:
        morello.compile(text, target="x86.scalar", definitions=definitions, memo=Memo())
    return caught.value


def _damaged(_: Definitions) -> MorelloError:
    with pytest.raises(DamagedPageError) as caught:
        decode(b"no page")
    return caught.value


def _wrong_kernel(definitions: Definitions) -> MorelloError:
    target = definitions.targets["x86.avx2"]
    kernel = next(k for k in target.kernels if k.match.kind == "named")  # accepts few families
    instance = next(iter(kernel_instances(target, kernel, definitions.operators, 1)))
    return WrongKernelError(kernel, instance, "it computes something else")


def _wrong_rule(definitions: Definitions) -> MorelloError:
    rule = definitions.rules[0]
    return WrongRuleError(rule, next(rule_instances(definitions, rule, 1)), "it yields a sum")


MAKE: dict[type[MorelloError], Make] = {
    MorelloError: lambda _: MorelloError("what is wrong", help="what to do"),
    InternalError: lambda _: InternalError("an invariant"),
    BusyError: lambda _: BusyError("other work"),
    CorpusError: lambda _: CorpusError("no group"),
    GoalListError: lambda _: GoalListError("no list"),
    LearningError: lambda _: LearningError("too little", help="collect more"),
    LostWorkerError: lambda _: LostWorkerError("it is gone"),
    ModelError: lambda _: ModelError("no model"),
    OtherDefinitionsError: lambda _: OtherDefinitionsError("others", help="install the same"),
    RecipeError: lambda _: RecipeError("no plan"),
    UnfitWorkerError: lambda _: UnfitWorkerError("unfit"),
    UnwritableError: lambda _: UnwritableError("full", help="make room"),
    UsageError: lambda _: UsageError("a wrong use", help="another"),
    DiagnosticsError: lambda known: _compile(WRONG, known),
    NoImplementationError: lambda known: _compile(NO_WAY, known),
    TooManyFamiliesError: lambda _: TooManyFamiliesError(100),
    TooManySpecsError: lambda _: TooManySpecsError(1000),
    MismatchError: lambda _: MismatchError("y", (1, 2), (0.5, 0.25), 1e-6, "3 of 4 elements"),
    DamagedPageError: _damaged,
    FileError: lambda _: FileError(
        Owner("other", "1.0", "rules", "other_rules"), MorelloError("unreadable", help="mend")
    ),
    PluginError: lambda _: PluginError("a hook is missing", help="write it"),
    UnsupportedNodeError: lambda _: UnsupportedNodeError(
        Node("Sin", "a", ("x",), ("y",)), "there is no translation of this operator"
    ),
    NotBuiltError: lambda _: NotBuiltError("the C compiler failed\n  | a.c:1: error: no"),
    WrongKernelError: _wrong_kernel,
    WrongRuleError: _wrong_rule,
}
"""How an error of each class comes about."""


def _classes() -> set[type[MorelloError]]:
    """All error classes of the package, in whatever module they are."""
    for module in pkgutil.walk_packages(morello.__path__, "morello."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {MorelloError, *_below(MorelloError)}


def _below(kind: type[MorelloError]) -> Iterator[type[MorelloError]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)


def _state(error: MorelloError) -> dict[str, str]:
    """What an error says, attribute by attribute; sets sorted, as a copy may order them anew."""

    def sort(found: re.Match[str]) -> str:
        return "{" + ", ".join(sorted(found[1].split(", "))) + "}"

    return {name: re.sub(r"\{([^{}]*)\}", sort, repr(value)) for name, value in vars(error).items()}


def test_every_class_is_tried() -> None:
    """A new error class has to be added to the table above."""
    own = {kind for kind in _classes() if kind.__module__.startswith("morello.")}
    assert own == set(MAKE)


@pytest.mark.parametrize("kind", MAKE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_an_error_is_pickled_whole(
    kind: type[MorelloError],
    again: Callable[[MorelloError], MorelloError],
    definitions: Definitions,
) -> None:
    """Class, message, advice and every attribute survive; so do notes."""
    error = MAKE[kind](definitions)
    error.add_note("seen at noon")
    found = again(error)
    assert (kind, str(error), error.args) == (type(found), str(found), found.args)
    assert _state(error) == _state(found)


def _raise(text: str) -> None:
    morello.compile(text, target="x86.scalar", memo=Memo())


@pytest.mark.parametrize(
    ("text", "kind"), [(WRONG, DiagnosticsError), (NO_WAY, NoImplementationError)]
)
def test_a_process_pool_raises_what_its_process_raised(
    text: str, kind: type[MorelloError], definitions: Definitions
) -> None:
    """An error that cannot be read there would break the pool."""
    expected = _compile(text, definitions)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(kind) as caught:
            pool.submit(_raise, text).result(timeout=120)
        assert pool.submit(len, text).result(timeout=120) == len(text)
    assert str(expected) == str(caught.value)
