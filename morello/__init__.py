"""A compiler from small specifications of tensor computations to fast, self-contained C.

    kernel = morello.compile("matmul.mspec", defines={"N": 512})
    c = kernel(a, b)

The parts: `morello.language` reads files, `morello.spec` and `morello.rewriting` say what can be
done with what is to be computed, `morello.search` decides, `morello.program` is the result.
"""

from typing import TYPE_CHECKING

from morello.errors import MorelloError

__version__ = "0.1.0"

__all__ = ["Kernel", "Measurement", "Memo", "MorelloError", "__version__", "compile"]

if TYPE_CHECKING:  # a type checker sees two plain names, and that there are no others
    from morello.compiler import Kernel
    from morello.compiler import compile_spec as compile
    from morello.measure import Measurement
    from morello.memo.memo import Memo
else:
    _ELSEWHERE = {
        "Kernel": ("compiler", "Kernel"),
        "Measurement": ("measure", "Measurement"),
        "Memo": ("memo.memo", "Memo"),
        "compile": ("compiler", "compile_spec"),
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
