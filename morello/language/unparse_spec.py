"""Syntax trees of ``.mspec`` files back to text, a line for each tensor and statement.

Parsing the text gives an equal tree. Comments are not in trees.
"""

from __future__ import annotations

from morello.language import spec_ast
from morello.language.ast import Name
from morello.language.unparse import unparse


def unparse_specs(file: spec_ast.SpecFile) -> str:
    """The text of a whole file, with a line break at its end."""
    target = [f"target {file.target.id}\n"] if file.target else []
    return "\n".join([*target, *(_spec(spec) for spec in file.specs)])


def _spec(spec: spec_ast.SpecDecl) -> str:
    parameters = ", ".join(_parameter(p) for p in spec.parameters)
    threads = "" if spec.threads is None else f" threads {unparse(spec.threads)}"
    width = max((len(tensor.role) for tensor in spec.tensors), default=0)
    lines = [
        f"spec {spec.name}({parameters}){threads} {{",
        *(f"  {_tensor(tensor, width)}" for tensor in spec.tensors),
        *(f"  {unparse_use(use)}" for use in spec.uses),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parameter(parameter: spec_ast.SpecParameter) -> str:
    if parameter.limit is not None:
        return f"{parameter.name} <= {unparse(parameter.limit)}"
    default = "" if parameter.default is None else f" = {unparse(parameter.default)}"
    return parameter.name + default


def _tensor(tensor: spec_ast.TensorDecl, width: int) -> str:
    """The line of a tensor; ``width`` is that of the longest role."""
    text = f"{tensor.role:<{width}} {tensor.name}"
    if tensor.dtype is None:
        return text
    text += f": {tensor.dtype}[{', '.join(unparse(extent) for extent in tensor.shape)}]"
    if tensor.order is not None:
        text += f" layout ({', '.join(map(str, tensor.order))})"
    if tensor.panel is not None:
        text += f" panels {tensor.panel}"
    if tensor.strides is not None:
        text += f" stride ({', '.join(map(unparse, tensor.strides))})"
    return text


def unparse_use(use: spec_ast.OperatorUse | spec_ast.Statement) -> str:
    """The line of a statement."""
    if isinstance(use, spec_ast.Statement):
        rest = "" if use.elsewhere is None else f" elsewhere {unparse(use.elsewhere)}"
        return f"{unparse(use.target)} {use.update} {unparse(use.value)}{rest}"
    return f"{use.result} = {_call(use.call)}"


def _call(call: spec_ast.OperatorCall) -> str:
    operands = [a.id if isinstance(a, Name) else _call(a) for a in call.arguments]
    scalars = [f"{name} = {unparse(value)}" for name, value in call.scalars]
    return f"{call.operator}({', '.join([*operands, *scalars])})"
