"""Parts of networks against PyTorch, by turns in one process, and fused against the product alone.

``python -m benchmarks.networks`` compiles each work of `WORKS` and prints a table: times, the ratio
of PyTorch's time to ours in the same turn (above 1, ours is faster), and how long the search took.
Calls of ours come from C, those of PyTorch from Python, with nothing to be recorded for gradients:
that takes it a microsecond or two. With one thread, time is what the process used of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

import morello
from benchmarks.machine import environment, save
from morello.compiler import NATIVE
from morello.toolchain.compilers import find_compiler
from morello.toolchain.timing import Timing, contender, repeated, time_alternately

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

MATMUL = """spec matmul(M, K, N) threads {threads} {{
  input  x: f32[M, K]
  weight w: f32[K, N]
  output y: f32[M, N]
  y = matmul(x, w)
}}"""

OURS, ALONE, TORCH = "ours", "the product alone", "PyTorch"


@dataclass(frozen=True, slots=True)
class Work:
    """An example with sizes for its parameters.

    ``torch`` makes what computes the same, from PyTorch's module and our inputs as its tensors.
    ``alone``: it is a product with something fused to it, which is compared with the product alone.
    """

    name: str
    example: str
    sizes: dict[str, int]
    torch: Callable[..., Any]
    alone: bool = False

    def text(self, threads: int) -> str:
        """The spec, for so many threads."""
        text = (EXAMPLES / f"{self.example}.mspec").read_text()
        return text.replace(") {", f") threads {threads} {{", 1)


def _softmax(rows: int, columns: int) -> Work:
    return Work(
        f"softmax {rows} x {columns}",
        "softmax",
        {"B": rows, "V": columns},
        lambda torch, x: lambda: torch.softmax(x, dim=-1),
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
    return Work(name, "convolution", sizes, prepared)


def _attention(length: int) -> Work:
    def prepared(torch: Any, q: Any, k: Any, v: Any) -> Callable[[], Any]:
        keys = k.T.contiguous()  # as it likes them: one a row
        q, k, v = (x[None, None] for x in (q, keys, v))
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return Work(f"attention {length} x 64", "attention", {"S": length, "D": 64}, prepared)


WORKS = (
    *(_softmax(rows, columns) for columns in (512, 4096, 32768, 524288) for rows in (1, 8, 32)),
    Work(
        "matmul, bias, gelu 128 x 768 x 3072",
        "mlp",
        {"M": 128, "K": 768, "N": 3072},
        lambda torch, x, w, b: lambda: torch.nn.functional.gelu(torch.addmm(b, x, w)),
        alone=True,
    ),
    Work(
        "rms_norm, matmul 32 x 512 x 512",
        "rms_norm_matmul",
        {"M": 32, "K": 512, "N": 512},
        lambda torch, x, g, w: lambda: torch.nn.functional.rms_norm(x, x.shape[-1:], g, 1e-5) @ w,
    ),
    _convolution(56, 64),
    _convolution(28, 128),
    _attention(512),
    _attention(4096),
)


def measure(work: Work, threads: int, repeats: int) -> tuple[dict[str, Timing], float]:
    """Timings by contender, and seconds of the search."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads)
    began = time.process_time()
    kernel = morello.compile(work.text(threads), defines=work.sizes, target=NATIVE)
    searched = time.process_time() - began
    arrays = kernel.random_arguments()
    packed = [
        kernel.pack(a.name, x) if a.role == "weight" else x
        for a, x in zip(kernel.signature.arguments, arrays, strict=True)
    ]
    contenders = {OURS: contender(kernel.function, packed)}
    if work.alone:
        product = morello.compile(MATMUL.format(threads=threads), defines=work.sizes, target=NATIVE)
        own = product.random_arguments()
        own[1] = product.pack("w", own[1])
        contenders[ALONE] = contender(product.function, own)
    tensors = [torch.from_numpy(x) for x in arrays[:-1]]
    with torch.inference_mode():
        contenders[TORCH] = repeated(work.torch(torch, *tensors))
        clock = time.process_time_ns if threads == 1 else time.perf_counter_ns
        return time_alternately(contenders, repeats=repeats, clock=clock), searched


def _ratio(timings: dict[str, Timing], other: str) -> float:
    """Median over the turns of another one's time over ours."""
    pairs = zip(timings[other].runs, timings[OURS].runs, strict=True)
    return median(theirs / ours for theirs, ours in pairs)


def _record(work: Work, timings: dict[str, Timing], searched: float) -> dict[str, Any]:
    return {
        "work": work.name,
        "seconds": {name: found.median for name, found in timings.items()},
        "against": {name: _ratio(timings, name) for name in timings if name != OURS},
        "searched": searched,
    }


def _cells(record: dict[str, Any]) -> Iterator[str]:
    yield record["work"]
    yield f"{record['seconds'][OURS] * 1e6:,.1f} us"
    yield f"{record['seconds'][TORCH] * 1e6:,.1f} us"
    yield f"{record['against'][TORCH]:.2f}"
    alone = record["against"].get(ALONE)
    yield "" if alone is None else f"{1 / alone:.3f}"
    yield f"{record['searched']:.1f} s"


@click.command(help=__doc__)
@click.option("--threads", default=1, show_default=True)
@click.option("--repeats", default=21, show_default=True, help="Turns that count.")
@click.option("--only", default="", help="Works whose names contain this.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Where to write the record.")
def main(threads: int, repeats: int, only: str, path: Path | None) -> None:
    """The command."""
    head = ("work", OURS, TORCH, "against it", "times the product alone", "search")
    click.echo(f"| {' | '.join(head)} |\n| --- |{' ---: |' * (len(head) - 1)}")
    records = []
    for work in WORKS:
        if only in work.name:
            records.append(_record(work, *measure(work, threads, repeats)))
            click.echo(f"| {' | '.join(_cells(records[-1]))} |")
    if path is not None:
        document = {"environment": environment(find_compiler()), "threads": threads}
        save({**document, "repeats": repeats, "works": records}, path)


if __name__ == "__main__":
    main()
