"""Fixtures that several directories of tests use."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import numpy.testing  # noqa: F401 - older ones start a process when they are first imported
import pytest
from hypothesis import HealthCheck, settings

from morello.definitions import Definitions, load_definitions
from morello.resources import available_cores
from morello.rewriting.context import forget_contexts
from morello.search.planning import budget
from morello.search.solving.compiled import compiled_solver
from morello.startup.entry_points import GROUP, installed_points
from morello.startup.process import OBJECTS
from morello.toolchain.build import STANDARD_FLAGS
from morello.toolchain.compilers import Compiler, find_compiler

SLOW = [HealthCheck.too_slow]  # other tests run beside these: nothing may depend on the clock
settings.register_profile(
    "same", derandomize=True, max_examples=50, deadline=None, suppress_health_check=SLOW
)
settings.register_profile("long", max_examples=1000, deadline=None, suppress_health_check=SLOW)
settings.load_profile("same")  # --hypothesis-profile=long comes later, and counts more

gc.set_threshold(OBJECTS)  # a twentieth of a run's time

os.environ["MORELLO_MEMO"] = "off"  # tests that want one name it
os.environ["MORELLO_PROFILE"] = "off"

HEADERS = ("stddef.h", "stdint.h", "stdlib.h", "math.h", "immintrin.h", "string.h")
"""Of vector targets' sources, in order: gcc takes four times as long for them as for a kernel."""

PROJECT = Path(__file__).resolve().parent.parent

UNIT = frozenset(("building", "checking", "editor", "ir", "language", "reference", "rewriting"))
"""Directories of quick tests that start no process, a C compiler neither."""


def pytest_configure() -> None:
    """Plugins are found where they are installed, so that a new one needs an installation."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = set(project["entry-points"][GROUP].items())
    missing = wanted - {(point.name, point.value) for point in installed_points()}
    if missing:
        names = ", ".join(sorted(name for name, _ in missing))
        raise pytest.UsageError(
            f"plugins of pyproject.toml are not installed: {names}; "
            "call 'python -m pip install -e .[test]' again"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they are, and which cases of a test are slow.

    Tests in the directories of `UNIT` have the mark ``unit``, but for those with ``process`` and
    slow ones. Of a test with the mark ``sample(n)`` all cases but n become ``slow``. The n have the
    least checksums of their parameters: so they are spread over all of these, and are always the
    same.
    """
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        sample = same[0].get_closest_marker("sample")
        if sample is not None:
            for item in sorted(same, key=_checksum)[sample.args[0] :]:
                item.add_marker("slow")
    for item in items:
        directory = item.path.relative_to(PROJECT / "tests").parts[0]
        others = map(item.get_closest_marker, ("process", "slow"))
        if directory in UNIT and not any(others):
            item.add_marker("unit")


def _checksum(case: pytest.Item) -> int:
    return crc32(case.nodeid.partition("[")[2].encode())


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    """The machine's."""
    return find_compiler()


@pytest.fixture
def _own_contexts() -> Iterator[None]:
    """For tests that replace parts of the engine: searches before and after share nothing."""
    forget_contexts()
    yield
    forget_contexts()


@pytest.fixture
def kept_to_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets of Specs are: none are allowed for what plans of coarser targets would take.

    What tests search is so small that it is never worth those.
    """
    monkeypatch.setattr(budget, "PLANS", 0)


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a program that acts as a compiler: a shell script of that name."""

    def write(name: str, script: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    return write


@pytest.fixture(autouse=True)
def _unit_tests_start_no_process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As their mark says."""
    if request.node.get_closest_marker("unit") is not None:

        def refuse(*arguments: object, **options: object) -> None:
            raise AssertionError(f"a unit test starts a process: {arguments[1:2]}")

        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
        monkeypatch.setattr("os.fork", refuse)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core; none besides this one where only files or single tests are named.

    Their output is then there as it comes, and the first of them begins at once.
    """
    files_alone = all(".py" in argument for argument in config.args)
    return 0 if files_alone else available_cores()


@pytest.fixture(scope="session", autouse=True)
def _own_cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the processes that they start, neither read nor fill the user's caches.

    All processes of a run keep in one file what `tests.end_to_end.kernels` solves.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("MORELLO_TEST_KERNELS", str(shared / "kernels.memo"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _solver_is_built(_own_cache_directory: None) -> None:
    """Before the first search, which may be in a test that starts no process."""
    compiled_solver()


@pytest.fixture(scope="session", autouse=True)
def _searches_take_one_core() -> Iterator[None]:
    """In whole runs, where each core has a process of tests: two would take a third more time.

    Commands that tests start search as they do for a user, and tests of several processes name
    how many.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr("morello.search.search.available_cores", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _headers_are_read_once(_own_cache_directory: None) -> Iterator[None]:
    """In whole runs gcc finds vector targets' headers precompiled, where it looks for the first.

    It ignores what was made with other flags than its own: sanitized builds, as clang's, read what
    the sources say.
    """
    directory = Path(os.environ["MORELLO_TEST_KERNELS"]).with_name("headers")
    gcc = shutil.which("gcc")
    if gcc is None or "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPATH", str(directory))
        with suppress(FileExistsError):  # another process makes them
            _precompile(gcc, directory)
        yield


def _precompile(gcc: str, directory: Path) -> None:
    """Those that programs for two targets, built to be called from Python, read."""
    directory.mkdir()
    found = directory / f"{HEADERS[0]}.gch"
    found.mkdir()
    text = directory / "all.h"
    text.write_text("".join(f"#include <{header}>\n" for header in HEADERS))
    targets = load_definitions().targets
    for name in ("x86.avx2", "x86.avx512"):
        made = directory / name
        flags = (*STANDARD_FLAGS, *targets[name].flags, "-shared", "-fPIC")
        command = (gcc, *flags, "-x", "c-header", str(text), "-o", str(made))
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            made.rename(found / name)


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def definitions() -> Definitions:
    """Everything that the installed plugins define."""
    return load_definitions()
