"""Runtimes that compute ONNX models: each as a call of named arrays, with all of its optimisations.

To add one, write a function that takes the file and the number of threads, and imports its library
itself, and give it a place in `RUNTIMES`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]
Run = Callable[[Arrays], list[Any]]


def onnx_runtime(model: Path, threads: int) -> Run:
    """Its session."""
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(model), options)
    return lambda arrays: list(session.run(None, arrays))


def openvino(model: Path, threads: int) -> Run:
    """One request, which computes in `f32` and does not copy the arrays."""
    import openvino  # noqa: PLC0415

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(core.read_model(str(model)), "CPU", settings)
    request = compiled.create_infer_request()

    def run(arrays: Arrays) -> list[Any]:
        found = request.infer(arrays, share_inputs=True, share_outputs=True)
        return [found[output] for output in compiled.outputs]

    return run


FIRST = "ONNX Runtime"
"""The one that must be there: its results are what ours are compared with."""

RUNTIMES: dict[str, Callable[[Path, int], Run]] = {FIRST: onnx_runtime, "OpenVINO": openvino}


def opened(model: Path, threads: int) -> dict[str, Run]:
    """A model in every runtime that is installed, by name.

    Raises:
        ImportError: `FIRST` is not.
    """
    found = {FIRST: RUNTIMES[FIRST](model, threads)}
    for name, open_model in RUNTIMES.items():
        if name not in found:
            try:
                found[name] = open_model(model, threads)
            except ImportError:
                continue
    return found
