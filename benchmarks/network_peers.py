"""Libraries that compute parts of networks: how each is called, on the same arrays as ours.

A maker takes the arrays of our arguments, the output last, and the number of threads, and returns
what is timed. It imports its library itself: one that is not installed leaves out that peer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], object]
Maker = Callable[[Sequence[Array], int], Call]

PYTORCH, ONEDNN, XNNPACK = "PyTorch", "oneDNN", "XNNPACK"


def _tensors(arrays: Sequence[Array], threads: int) -> tuple[Any, list[Any]]:
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch, [torch.from_numpy(array) for array in arrays[:-1]]


def pytorch(make: Callable[..., Call]) -> Maker:
    """What ``make`` makes of PyTorch's module and the inputs as its tensors."""

    def maker(arrays: Sequence[Array], threads: int) -> Call:
        torch, inputs = _tensors(arrays, threads)
        return make(torch, *inputs)

    return maker


def onednn_softmax(arrays: Sequence[Array], threads: int) -> Call:
    """Along rows, by way of PyTorch, of a tensor that is oneDNN's own."""
    torch, (x,) = _tensors(arrays, threads)
    own = x.to_mkldnn()
    return lambda: torch.softmax(own, dim=-1)


def onednn_convolution(arrays: Sequence[Array], threads: int) -> Call:
    """With picture and filters in the layouts that oneDNN likes best, by way of PyTorch."""
    torch, (x, filters) = _tensors(arrays, threads)
    own = x.permute(0, 3, 1, 2).contiguous().to_mkldnn()
    weights = torch._C._nn.mkldnn_reorder_conv2d_weight(
        filters.permute(3, 2, 0, 1).contiguous().to_mkldnn()
    )
    return lambda: torch.nn.functional.conv2d(own, weights)


def xnnpack_softmax(arrays: Sequence[Array], threads: int) -> Call:
    """Along rows, by way of LiteRT, of a model of this operation alone."""
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415

    x, _ = arrays
    interpreter = Interpreter(model_content=_softmax_model(x.shape), num_threads=threads)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, x)
    call: Call = interpreter._interpreter.Invoke  # what `invoke` calls after a check
    return call


def _softmax_model(shape: Sequence[int]) -> bytes:
    """A model in LiteRT's format: tensor 1 is the softmax of tensor 0."""
    import flatbuffers  # noqa: PLC0415
    from ai_edge_litert import schema_py_generated as schema  # noqa: PLC0415

    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SOFTMAX
    tensors = []
    for number, name in enumerate((b"x", b"y")):
        tensor = schema.TensorT()
        tensor.shape, tensor.name, tensor.buffer = list(shape), name, number + 1
        tensor.type = schema.TensorType.FLOAT32
        tensors.append(tensor)
    operator = schema.OperatorT()
    operator.inputs, operator.outputs = [0], [1]
    operator.builtinOptionsType = schema.BuiltinOptions.SoftmaxOptions
    operator.builtinOptions = schema.SoftmaxOptionsT()
    operator.builtinOptions.beta = 1.0
    graph = schema.SubGraphT()
    graph.tensors, graph.inputs, graph.outputs, graph.operators = tensors, [0], [1], [operator]
    model = schema.ModelT()
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    model.buffers = [schema.BufferT() for _ in range(3)]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
