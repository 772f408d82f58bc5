"""A progress bar for what takes more than a second, on a terminal only, gone when it is done."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from morello.compiler import Progress as Step

PATIENCE = 1.0
"""Seconds before anything is shown."""


class ProgressBar:
    """A callback for `compile_spec`; use it in a ``with`` statement."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._display: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._display is not None:
            self._display.stop()

    def __call__(self, step: Step) -> None:
        """Show how far the work is; the first second shows nothing."""
        if self._display is None and not self._due():
            return
        if self._display is None:
            self._display = self._begin()
        self._display.update(
            self._task, description=step.phase, completed=step.done_cells, total=step.total_cells
        )

    def _due(self) -> bool:
        return self._console.is_terminal and time.monotonic() - self._start > PATIENCE

    def _begin(self) -> Progress:
        display = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = display.add_task("", total=None)
        display.start()
        return display
