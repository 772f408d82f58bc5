"""Contests in rounds: what is measured next depends on what the first programs took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from morello.records import replace
from morello.runtime.autotune import Contestant, Measurement, Result

Kernel = TypeVar("Kernel", bound=Contestant[object])
Report = TypeVar("Report")


def rounds_of(count: int) -> list[int]:
    """How many programs each round adds: half of all, then twice a quarter."""
    quarter = count // 4
    return [size for size in (count - 2 * quarter, quarter, quarter) if size]


@dataclass
class Rounds(Generic[Kernel, Report]):
    """Programs that are written, measured with the fastest one known, and remembered.

    Attributes:
        order: Places of plans by what they promise, given what those took that were measured.
        write: The program of a plan.
        hold: A contest between programs.
    """

    order: Callable[[Mapping[int, float]], Sequence[int]]
    write: Callable[[int], Kernel]
    hold: Callable[[Sequence[Kernel]], Result[Report]]

    _kernels: dict[str, Kernel] = field(default_factory=dict, init=False)
    _rows: dict[str, Measurement] = field(default_factory=dict, init=False)
    _texts: dict[int, str] = field(default_factory=dict, init=False)

    def run(self, count: int) -> tuple[Kernel, Result[Report]]:
        """The fastest of so many programs that differ, and what there is to say of all.

        The first one is that of the first plan. Rows are in the order of predicted cost.

        Raises:
            MorelloError: As the contest does.
        """
        best: str | None = None
        for size in rounds_of(count):
            new = self._new(size)
            if best is None or new:
                best, result = self._round(best, new)
        first = next(iter(self._kernels))
        others = sorted((t for t in self._kernels if t != first), key=self._cost)
        order = [first, *others]
        rows = tuple(
            replace(self._rows[text], rank=place, chosen=text == best)
            for place, text in enumerate(order, 1)
        )
        assert best is not None
        return self._kernels[best], replace(result, winner=order.index(best), measurements=rows)

    def _cost(self, text: str) -> float:
        return self._rows[text].predicted_cycles

    def _new(self, size: int) -> list[str]:
        """So many programs that were not there, of the most promising plans."""
        measured = {p: self._rows[t].seconds for p, t in self._texts.items() if t in self._rows}
        new: list[str] = []
        for place in self.order(measured):
            if place in self._texts:
                continue
            kernel = self.write(place)
            self._texts[place] = kernel.source
            if kernel.source not in self._kernels:
                self._kernels[kernel.source] = kernel
                new.append(kernel.source)
                if len(new) == size:
                    break
        return new

    def _round(self, best: str | None, new: Sequence[str]) -> tuple[str, Result[Report]]:
        """Measure new programs beside the fastest one; times are as it was measured before."""
        texts = [*([best] if best is not None else []), *new]
        result = self.hold([self._kernels[text] for text in texts])
        scale = 1.0
        if best is not None:
            scale = self._rows[best].seconds / result.measurements[0].seconds
        for text, row in zip(texts, result.measurements, strict=True):
            self._rows.setdefault(text, _scaled(row, scale))
        return texts[result.winner], result


def _scaled(row: Measurement, scale: float) -> Measurement:
    low, high = row.quartiles
    return replace(
        row,
        seconds=row.seconds * scale,
        quartiles=(low * scale, high * scale),
        measured_cycles=None if row.measured_cycles is None else row.measured_cycles * scale,
    )
