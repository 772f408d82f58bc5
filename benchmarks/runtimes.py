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


def pytorch(model: Path, threads: int) -> Run:
    """Its operators by ``onnx2torch``, traced, frozen and optimised at the first call.

    Raises:
        NotImplementedError: The model has a node that ``onnx2torch`` does not know.
    """
    import onnx  # noqa: PLC0415
    import onnx2torch  # noqa: PLC0415
    import onnxslim  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads)
    graph = onnxslim.slim(onnx.load(str(model)))  # constants as it wants them
    module = onnx2torch.convert(graph).eval()
    names = [value.name for value in graph.graph.input]
    traced: list[Any] = []

    def run(arrays: Arrays) -> list[Any]:
        tensors = tuple(torch.from_numpy(arrays[name]) for name in names)
        with torch.inference_mode():
            if not traced:
                frozen = torch.jit.freeze(torch.jit.trace(module, tensors))
                traced.append(torch.jit.optimize_for_inference(frozen))
            results = traced[0](*tensors)
        every = results if isinstance(results, tuple) else (results,)
        return [own.contiguous().numpy() for own in every]  # a transpose is not done before

    return run


FIRST = "ONNX Runtime"
"""The one that must be there: its results are what ours are compared with."""

RUNTIMES: dict[str, Callable[[Path, int], Run]] = {
    FIRST: onnx_runtime,
    "OpenVINO": openvino,
    "PyTorch": pytorch,
}


def opened(model: Path, threads: int) -> dict[str, Run]:
    """A model in every runtime that is installed and knows all of it, by name.

    Raises:
        ImportError: `FIRST` is not.
    """
    found = {FIRST: RUNTIMES[FIRST](model, threads)}
    for name, open_model in RUNTIMES.items():
        if name not in found:
            try:
                found[name] = open_model(model, threads)
            except (ImportError, NotImplementedError):
                continue
    return found
