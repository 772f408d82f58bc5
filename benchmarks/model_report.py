"""What the record of `benchmarks.model` says of predictions: how they rank, and what that costs.

* *Spearman*: the rank correlation of predicted with measured cycles, 1 where the order is the same.
  Once of all programs of a product, once without the best by prediction, which are much alike.
* *Repeatable*: the same of the measurement with itself: medians of every other turn with those of
  the rest. Where programs are equally fast, nothing can rank them better than that.
* *Regret*: how much slower the program that is best by prediction is than the fastest one of the
  best by prediction, and than the fastest one of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.report import size_text
from morello.calibration.fitting import rank_correlation

Record = dict[str, Any]

HEAD = (
    "size (M x K x N)",
    "programs",
    "Spearman",
    "of those drawn",
    "repeatable",
    "measured over predicted",
    "slowest over fastest",
    "regret among the best",
    "among all",
)


def spearman(records: Sequence[Record]) -> float:
    """Over the programs of some products."""
    return _correlation(
        [(p["predicted"], p["cycles"]) for record in records for p in record["programs"]]
    )


def spearman_by_volume(records: Sequence[Record]) -> float:
    """The same of cycles for each multiplication: a large product is not dear for being large."""
    return _correlation(
        [
            (p["predicted"] / record["volume"], p["cycles"] / record["volume"])
            for record in records
            for p in record["programs"]
        ]
    )


def repeatable(record: Record) -> float:
    """Rank correlation of one half of the turns with the other."""
    return _correlation([p["halves"] for p in record["programs"]])


def _correlation(pairs: Sequence[Sequence[float]]) -> float:
    if len(pairs) < 2:
        return 0.0
    predicted, measured = np.array(pairs).T
    return rank_correlation(predicted, measured)


def regret(record: Record, *, among_all: bool = False) -> float:
    """Time of the first choice over that of the fastest, less 1."""
    programs = record["programs"]
    first = next(p["cycles"] for p in programs if p["place"] == 1)
    rivals = [p["cycles"] for p in programs if among_all or p["place"] is not None]
    return float(first / min(rivals) - 1)


def table(document: Record) -> str:
    """A row for each product, as a Markdown table; the last row has the medians."""
    records = document["cases"]
    rows = [list(HEAD), ["---", *["---:"] * (len(HEAD) - 1)]]
    numbers = [_numbers(record) for record in records]
    for record, row in zip(records, numbers, strict=True):
        rows.append([size_text(record), str(len(record["programs"])), *_texts(row)])
    medians = [median(column) for column in zip(*numbers, strict=True)]
    rows.append(["median", "", *_texts(medians)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def summary(document: Record) -> str:
    """Over all products, in a sentence."""
    records = document["cases"]
    count = sum(len(record["programs"]) for record in records)
    return (
        f"Over all {count} programs, no two with the same text: Spearman "
        f"{spearman(records):.3f} of cycles, {spearman_by_volume(records):.3f} of cycles "
        "for each multiplication."
    )


def _numbers(record: Record) -> tuple[float, ...]:
    cycles = [p["cycles"] for p in record["programs"]]
    drawn = [p for p in record["programs"] if p["place"] is None]
    return (
        spearman([record]),
        spearman([{**record, "programs": drawn}]),
        repeatable(record),
        median(p["cycles"] / p["predicted"] for p in record["programs"]),
        max(cycles) / min(cycles),
        regret(record),
        regret(record, among_all=True),
    )


def _texts(numbers: Sequence[float]) -> list[str]:
    return [f"{n:.2f}" for n in numbers[:5]] + [f"{n:.1%}" for n in numbers[5:]]
