"""Running the command in this process, in an empty directory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner, Result

from morello.cli.main import main
from morello.memo.place import VARIABLE

SMALL = """# A product that is searched in no time.
target {target}

spec product(M = 4, K = 3, N = 5) {{
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}}
"""

QUICK = """# A sum, of a third of the families of the product.
target {target}

spec sums(M = 4, N = 5) {{
  input  x: f32[M, N]
  input  z: f32[M, N] layout (1, 0)
  output y: f32[M, N]
  y = add(x, z)
}}
"""


class Run(Protocol):
    """Runs ``morello`` with these arguments."""

    def __call__(self, *arguments: str | Path, input: str | bytes | None = None) -> Result: ...


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, in an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str | Path, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, [str(a) for a in arguments], input=input)

    return invoke


@pytest.fixture(scope="session")
def target() -> str:
    """A target that every machine can run."""
    return "x86.scalar"


@pytest.fixture
def small_spec(_known_small_spec: None, tmp_path: Path, target: str) -> Path:
    """``product.mspec`` in the working directory; the user's memo has it."""
    path = tmp_path / "product.mspec"
    path.write_text(SMALL.format(target=target))
    return path


@pytest.fixture
def quick_spec(tmp_path: Path, target: str) -> Path:
    """``sums.mspec`` in the working directory: for tests that search again and again."""
    path = tmp_path / "sums.mspec"
    path.write_text(QUICK.format(target=target))
    return path


@pytest.fixture(scope="session")
def _solved_memo(tmp_path_factory: pytest.TempPathFactory, target: str) -> Path:
    """A memo that holds the small spec, made by the command."""
    directory = tmp_path_factory.mktemp("solved")
    path = directory / "memo.sqlite"
    arguments = ["compile", "-", "-o", str(directory / "product"), "--memo", str(path)]
    result = CliRunner().invoke(main, arguments, input=SMALL.format(target=target))
    assert (result.exit_code, result.stderr) == (0, "")
    return path


@pytest.fixture
def solved_memo(_solved_memo: Path, tmp_path: Path) -> Path:
    """A copy of it, ``memo.sqlite`` in the working directory."""
    return Path(shutil.copy(_solved_memo, tmp_path / "memo.sqlite"))


@pytest.fixture
def _known_small_spec(
    _solved_memo: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's memo has the small spec: most tests are not about how a program is found."""
    own = tmp_path_factory.mktemp("known") / "memo.sqlite"
    monkeypatch.setenv(VARIABLE, str(shutil.copy(_solved_memo, own)))
