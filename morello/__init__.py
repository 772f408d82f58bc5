"""A compiler from small specifications of tensor computations to fast, self-contained C.

    kernel = morello.compile("matmul.mspec", defines={"N": 512})
    c = kernel(a, b)

What is listed here is the Python interface; ``docs/python.md`` explains it. Every error that a user
can cause is a `MorelloError`, with advice in its ``help``.

The parts: `morello.language` reads files, `morello.checking` says whether they mean something,
`morello.rewriting` what can be done with what is to be computed, `morello.search` decides, and
`morello.codegen` writes the program.
"""

from typing import TYPE_CHECKING

from morello.errors import MorelloError, UsageError

__version__ = "0.1.0"

__all__ = [
    "AnySizeKernel",
    "ArgumentInfo",
    "BoundCall",
    "Budget",
    "Definitions",
    "Diagnostic",
    "DiagnosticsError",
    "Kernel",
    "LoadedNetwork",
    "Machine",
    "Measurement",
    "Memo",
    "MismatchError",
    "MorelloError",
    "MultiTargetKernel",
    "NoImplementationError",
    "PackedWeight",
    "Plan",
    "Progress",
    "SearchStatistics",
    "Signature",
    "Size",
    "Source",
    "SpecBuilder",
    "Tensor",
    "Timing",
    "UsageError",
    "VerificationReport",
    "__version__",
    "compile",
    "compile_any_size",
    "compile_for",
    "load",
    "load_definitions",
]

if TYPE_CHECKING:  # a type checker sees plain names, and that there are no others
    from morello.any_size import AnySizeKernel, compile_any_size
    from morello.building.spec import SpecBuilder
    from morello.building.tensors import Tensor
    from morello.building.values import Size
    from morello.compiler import compile_for
    from morello.compiler import compile_spec as compile
    from morello.definitions import Definitions, load_definitions
    from morello.kernel import Kernel, MultiTargetKernel, SearchStatistics
    from morello.language.diagnostics import Diagnostic, DiagnosticsError
    from morello.language.source import Source
    from morello.memo.memo import Memo
    from morello.networks.loading import LoadedNetwork
    from morello.networks.loading import load_network as load
    from morello.reference.compare import MismatchError
    from morello.report.plan import Plan
    from morello.runtime.autotune import Measurement
    from morello.runtime.library import BoundCall
    from morello.runtime.passing import PackedWeight
    from morello.runtime.signature import ArgumentInfo, Signature
    from morello.runtime.timing import Timing
    from morello.search.planning.budget import Budget
    from morello.search.planning.unimplemented import NoImplementationError
    from morello.search.search import Progress
    from morello.toolchain.machine import Machine
    from morello.verify.program import VerificationReport
else:
    _ELSEWHERE = {
        "AnySizeKernel": ("any_size", "AnySizeKernel"),
        "ArgumentInfo": ("runtime.signature", "ArgumentInfo"),
        "BoundCall": ("runtime.library", "BoundCall"),
        "Budget": ("search.planning.budget", "Budget"),
        "Definitions": ("definitions", "Definitions"),
        "Diagnostic": ("language.diagnostics", "Diagnostic"),
        "DiagnosticsError": ("language.diagnostics", "DiagnosticsError"),
        "Kernel": ("kernel", "Kernel"),
        "LoadedNetwork": ("networks.loading", "LoadedNetwork"),
        "Machine": ("toolchain.machine", "Machine"),
        "Measurement": ("runtime.autotune", "Measurement"),
        "Memo": ("memo.memo", "Memo"),
        "MismatchError": ("reference.compare", "MismatchError"),
        "MultiTargetKernel": ("kernel", "MultiTargetKernel"),
        "NoImplementationError": ("search.planning.unimplemented", "NoImplementationError"),
        "PackedWeight": ("runtime.passing", "PackedWeight"),
        "Plan": ("report.plan", "Plan"),
        "Progress": ("search.search", "Progress"),
        "SearchStatistics": ("kernel", "SearchStatistics"),
        "Signature": ("runtime.signature", "Signature"),
        "Size": ("building.values", "Size"),
        "Source": ("language.source", "Source"),
        "SpecBuilder": ("building.spec", "SpecBuilder"),
        "Tensor": ("building.tensors", "Tensor"),
        "Timing": ("runtime.timing", "Timing"),
        "VerificationReport": ("verify.program", "VerificationReport"),
        "compile": ("compiler", "compile_spec"),
        "compile_any_size": ("any_size", "compile_any_size"),
        "compile_for": ("compiler", "compile_for"),
        "load": ("networks.loading", "load_network"),
        "load_definitions": ("definitions", "load_definitions"),
    }

    def __getattr__(name):
        """Import the compiler when it is first asked for: ``morello --help`` does without it."""
        if name not in _ELSEWHERE:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        from importlib import import_module  # noqa: PLC0415

        module, attribute = _ELSEWHERE[name]
        found = getattr(import_module(f"{__name__}.{module}"), attribute)
        globals()[name] = found
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
