"""A progress bar for what takes more than a second, on a terminal only, gone when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from morello.search.search import Progress as Step

SHOWN_AFTER = 1.0
"""Seconds before anything is shown."""


class ProgressBar:
    """A callback for `compile_spec`; use it in a ``with`` statement.

    ``console`` is asked for when there is something to show, and `rich` is imported then.
    """

    def __init__(self, console: Callable[[], Console]) -> None:
        self._console = console
        self._start = time.monotonic()
        self._display: Progress | None = None
        self._task: TaskID | None = None

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
        if self._display is None or self._task is None:
            self._display, self._task = self._begin()
        description = step.phase
        if step.families:
            description += f" {step.total_cells:,} Specs in {step.families:,} families"
        total = step.total_cells or None  # not known yet: the bar only moves
        self._display.update(
            self._task, description=description, completed=step.done_cells, total=total
        )

    def _due(self) -> bool:
        return time.monotonic() - self._start > SHOWN_AFTER and self._console().is_terminal

    def _begin(self) -> tuple[Progress, TaskID]:
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        display = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            console=self._console(),
            transient=True,
        )
        task = display.add_task("", total=None)
        display.start()
        return display, task
