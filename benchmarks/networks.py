"""Parts of networks against libraries, by turns in one process, and against less work.

``python -m benchmarks.networks`` compiles each work of `WORKS` and prints a table: times, the ratio
of the best library's time to ours in the same turn (above 1, ours is faster); where something is
fused to a product, our time over that of the product alone; of softmax, the time of a copy over
ours, which is its share of the bandwidth; and how long the search took. Calls of ours come from C,
those of libraries from Python: that takes them a microsecond or two. With one thread, time is what
the process used of the processor; with several, each contender has a process of its own, which is
stopped while it is not its turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click

import morello
from benchmarks.apart import Apart, apart
from benchmarks.harness import wake
from benchmarks.machine import environment, save
from benchmarks.network_peers import (
    ONEDNN,
    PYTORCH,
    XNNPACK,
    Maker,
    onednn_convolution,
    onednn_softmax,
    pytorch,
    xnnpack_softmax,
)
from morello.memo.memo import Memo
from morello.runtime.target_choice import NATIVE
from morello.runtime.timing import Contender, Timing, contender, repeated, time_alternately
from morello.toolchain.compilers import find_compiler

Document = dict[str, Any]
Record = dict[str, Any]

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

MATMUL = """spec matmul(M, K, N) threads {threads} {{
  input  x: f32[M, K]
  weight w: f32[K, N]
  output y: f32[M, N]
  y = matmul(x, w)
}}"""

COPIED = """spec copied(B, V) threads {threads} {{
  input  x: f32[B, V]
  output y: f32[B, V]
  y = copy(x)
}}"""

OURS, ALONE, COPY = "ours", "the product alone", "a copy"

BESIDE = {ALONE: MATMUL, COPY: COPIED}
"""What else of ours a work may be compared with, in its sizes."""


@dataclass(frozen=True, slots=True)
class Work:
    """An example with sizes for its parameters.

    ``peers`` make what computes the same, by the library's name.
    ``beside``: which of `BESIDE` it is compared with, too.
    """

    name: str
    example: str
    sizes: dict[str, int]
    peers: Mapping[str, Maker]
    beside: str = ""

    def text(self, threads: int) -> str:
        """The spec, for so many threads."""
        text = (EXAMPLES / f"{self.example}.mspec").read_text()
        return text.replace(") {", f") threads {threads} {{", 1)


def _softmax(rows: int, columns: int) -> Work:
    return Work(
        f"softmax {rows} x {columns}",
        "softmax",
        {"B": rows, "V": columns},
        {
            PYTORCH: pytorch(lambda torch, x: lambda: torch.softmax(x, dim=-1)),
            ONEDNN: onednn_softmax,
            XNNPACK: xnnpack_softmax,
        },
        beside=COPY,
    )


def _convolution(side: int, channels: int) -> Work:
    def prepared(torch: Any, x: Any, filters: Any) -> Callable[[], Any]:
        """With channels last, which are fastest there too."""
        last = torch.channels_last
        picture = x.permute(0, 3, 1, 2)
        filters = filters.permute(3, 2, 0, 1).contiguous(memory_format=last)
        assert picture.is_contiguous(memory_format=last)
        return lambda: torch.nn.functional.conv2d(picture, filters)

    sizes = {"H": side, "W": side, "C": channels, "F": channels}
    name = f"convolution {side} x {side} x {channels}, 3 x 3 to {channels}"
    peers = {PYTORCH: pytorch(prepared), ONEDNN: onednn_convolution}
    return Work(name, "convolution", sizes, peers)


def _attention(length: int) -> Work:
    def prepared(torch: Any, q: Any, k: Any, v: Any) -> Callable[[], Any]:
        keys = k.T.contiguous()  # as it likes them: one a row
        q, k, v = (x[None, None] for x in (q, keys, v))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

    sizes, peers = {"S": length, "D": 64}, {PYTORCH: pytorch(prepared)}
    return Work(f"attention {length} x 64", "attention", sizes, peers)


def _rms_norm(torch: Any, x: Any, gain: Any) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], gain, 1e-5)


WORKS = (
    *(_softmax(rows, columns) for columns in (512, 4096, 32768, 524288) for rows in (1, 8, 32)),
    Work(
        "matmul, bias, gelu 128 x 768 x 3072",
        "mlp",
        {"M": 128, "K": 768, "N": 3072},
        {PYTORCH: pytorch(lambda t, x, w, b: lambda: t.nn.functional.gelu(t.addmm(b, x, w)))},
        beside=ALONE,
    ),
    Work(
        "rms_norm, matmul 32 x 512 x 512",
        "rms_norm_matmul",
        {"M": 32, "K": 512, "N": 512},
        {PYTORCH: pytorch(lambda t, x, g, w: lambda: _rms_norm(t, x, g) @ w)},
    ),
    _convolution(56, 64),
    _convolution(28, 128),
    _attention(512),
    _attention(4096),
)


def measure(work: Work, threads: int, repeats: int) -> tuple[dict[str, Timing], float]:
    """Timings by contender, and seconds of a search that knows nothing yet.

    With one thread all share a process, with several each has one of its own.
    """
    began = time.process_time()
    morello.compile(work.text(threads), defines=work.sizes, target=NATIVE, memo=Memo())
    searched = time.process_time() - began
    names = [OURS, *filter(None, [work.beside]), *work.peers]
    number = WORKS.index(work)
    with ExitStack() as processes:
        contenders = {
            name: _contender(number, threads, name)
            if threads == 1
            else processes.enter_context(apart(_contender, number, threads, name))
            for name in names
        }
        found = {name: one for name, one in contenders.items() if one is not None}
        clock = time.process_time_ns if threads == 1 else time.perf_counter_ns
        timings = time_alternately(
            found, repeats=repeats, clock=clock, before=lambda name: _wake(found[name])
        )
        return timings, searched


def _wake(one: Contender) -> None:
    """Have caches hold what they will of its own arrays, and its threads on processors."""
    if isinstance(one, Apart):
        one.wake()
    else:
        wake(partial(one, 1))


def _contender(number: int, threads: int, name: str) -> Contender | None:
    """One contender of one of `WORKS`; none if its library is not installed."""
    work = WORKS[number]
    text = BESIDE[name].format(threads=threads) if name in BESIDE else work.text(threads)
    kernel = morello.compile(text, defines=work.sizes, target=NATIVE)
    arrays = kernel.random_arguments()
    if name == OURS or name in BESIDE:
        packed = [
            kernel.pack(a.name, x) if a.role == "weight" else x
            for a, x in zip(kernel.signature.arguments, arrays, strict=True)
        ]
        return contender(kernel.function, packed)
    try:
        return repeated(work.peers[name](arrays, threads))
    except ImportError as error:
        click.echo(f"without {name}: {error}", err=True)
        return None


def _ratio(timings: dict[str, Timing], other: str) -> float:
    """Median over the turns of another one's time over ours."""
    pairs = zip(timings[other].runs, timings[OURS].runs, strict=True)
    return median(theirs / ours for theirs, ours in pairs)


def _record(work: Work, timings: dict[str, Timing], searched: float) -> Record:
    return {
        "work": work.name,
        "seconds": {name: found.median for name, found in timings.items()},
        "against": {name: _ratio(timings, name) for name in timings if name != OURS},
        "searched": searched,
    }


def run(threads: int, repeats: int, only: str = "") -> Document:
    """The record of the works whose names contain a text, each printed when it is there."""
    records = []
    click.echo(_lines(_head()))
    for work in WORKS:
        if only in work.name:
            records.append(_record(work, *measure(work, threads, repeats)))
            click.echo(_line(_cells(records[-1])))
    document = {"environment": environment(find_compiler()), "threads": threads}
    return {**document, "repeats": repeats, "works": records}


def table(document: Document) -> str:
    """The record as a Markdown table."""
    return _lines(_head()) + "".join(f"\n{_line(_cells(one))}" for one in document["works"])


def _head() -> tuple[str, ...]:
    return ("work", OURS, "best library", "against it", f"times {ALONE}", f"of {COPY}", "search")


def _lines(head: tuple[str, ...]) -> str:
    return f"{_line(head)}\n| --- |{' ---: |' * (len(head) - 1)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _best(record: Record) -> str:
    """The library that was the fastest, of those that are installed."""
    seconds: dict[str, float] = record["seconds"]
    return min(sorted(seconds.keys() - {OURS, *BESIDE}), key=seconds.__getitem__)


def _cells(record: Record) -> Iterator[str]:
    best = _best(record)
    yield record["work"]
    yield f"{record['seconds'][OURS] * 1e6:,.1f} us"
    yield f"{best}, {record['seconds'][best] * 1e6:,.1f} us"
    yield f"{record['against'][best]:.2f}"
    alone = record["against"].get(ALONE)
    yield "" if alone is None else f"{1 / alone:.3f}"
    copied = record["against"].get(COPY)
    yield "" if copied is None else f"{copied:.2f}"
    yield f"{record['searched']:.1f} s"


@click.command(help=__doc__)
@click.option("--threads", default=1, show_default=True)
@click.option("--repeats", default=21, show_default=True, help="Turns that count.")
@click.option("--only", default="", help="Works whose names contain this.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Where to write the record.")
def main(threads: int, repeats: int, only: str, path: Path | None) -> None:
    """The command."""
    document = run(threads, repeats, only)
    if path is not None:
        save(document, path)


if __name__ == "__main__":
    main()
