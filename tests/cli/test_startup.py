"""What is put aside while the command is being imported comes back, as it was."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from morello.startup.process import BLAS_THREADS, begin


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)
    gc.enable()
    gc.unfreeze()


def test_everything_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector, Ctrl-C, and the environment of what the command starts."""
    monkeypatch.delenv(BLAS_THREADS, raising=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    finish = begin()
    assert not gc.isenabled()
    assert os.environ[BLAS_THREADS] == "1"
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    finish()
    assert gc.isenabled()
    assert BLAS_THREADS not in os.environ
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of threads, and an interrupt that is ignored."""
    monkeypatch.setenv(BLAS_THREADS, "3")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    finish = begin()
    during = (os.environ[BLAS_THREADS], signal.getsignal(signal.SIGINT))
    finish()
    assert during == ("3", signal.SIG_IGN)
    assert (os.environ[BLAS_THREADS], signal.getsignal(signal.SIGINT)) == during


def test_nothing_is_looked_through_at_exit() -> None:
    """Garbage in a cycle is left alone: what would say that it was found is silent."""
    program = """
from morello.startup.process import begin
class Cycle:
    def __init__(self):
        self.itself = self
    def __del__(self):
        print("found")
begin()()
Cycle()
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert ran.stdout == b""
