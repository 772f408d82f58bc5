"""What ONNX files compute, by runtimes that share no code with this project.

ONNX Runtime is in the extra ``onnx-runtime``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from morello.errors import MorelloError
from morello.ir.numeric import Array

Arrays = Mapping[str, Array]


def run_onnx(path: str | Path, inputs: Arrays) -> tuple[str, list[Array]]:
    """The outputs of a model, and what has computed them.

    That is ONNX Runtime where it is installed and takes the model; else the package ``onnx``, in
    which each operator is some lines of numpy.

    Args:
        path: The file.
        inputs: By name.

    Raises:
        MorelloError: Neither runs it; what the last one says.
    """
    said = ""
    for run in (_by_onnx_runtime, _by_onnx):
        try:
            return run(str(path), inputs)
        except ImportError:
            continue
        except Exception as error:  # each runtime has errors of its own
            said = " ".join(str(error).split())[:200]
    raise MorelloError(f"'{path}' runs in no other runtime: {said}")


def _by_onnx_runtime(path: str, inputs: Arrays) -> tuple[str, list[Array]]:
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # it says warnings and errors on the terminal itself
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return f"ONNX Runtime {onnxruntime.__version__}", session.run(None, dict(inputs))


def _by_onnx(path: str, inputs: Arrays) -> tuple[str, list[Array]]:
    import onnx  # noqa: PLC0415
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415

    evaluated = ReferenceEvaluator(path).run(None, dict(inputs))
    return f"the reference of onnx {onnx.__version__}", list(evaluated)
