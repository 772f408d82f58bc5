"""The progress bar: on terminals only, after a second only, and gone in the end."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from morello.cli import progress
from morello.cli.progress import ProgressBar
from morello.search.search import Progress


def _shown(terminal: bool, seconds: float, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(progress, "SHOWN_AFTER", seconds)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, _environ={"TERM": "xterm"})
    with ProgressBar(lambda: console) as bar:
        for done in range(4):
            bar(Progress(done_cells=done, total_cells=4, phase="solving"))
    return stream.getvalue()


def test_it_shows_the_phase_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a second is over; it erases itself (``ESC [ 2 K``) and shows the cursor again."""
    shown = _shown(True, -1.0, monkeypatch)
    assert "solving" in shown
    assert "75%" in shown
    assert "\x1b[2K" in shown.rpartition("solving")[2]


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar that only flashes is a disturbance."""
    assert _shown(True, 60.0, monkeypatch) == ""


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs stay readable."""
    assert _shown(False, -1.0, monkeypatch) == ""
