"""A compiler from small specifications of tensor computations to fast, self-contained C.

    kernel = morello.compile("matmul.mspec", defines={"N": 512})
    c = kernel(a, b)

The parts: `morello.language` reads files, `morello.spec` and `morello.rewriting` say what can be
done with what is to be computed, `morello.search` decides, `morello.program` is the result.
"""

from typing import TYPE_CHECKING

from morello.errors import MorelloError

__version__ = "0.1.0"

__all__ = ["Kernel", "MorelloError", "__version__", "compile"]

if TYPE_CHECKING:  # a type checker sees two plain names, and that there are no others
    from morello.compiler import Kernel
    from morello.compiler import compile_spec as compile
else:
    _IN_THE_COMPILER = {"Kernel": "Kernel", "compile": "compile_spec"}

    def __getattr__(name):
        """Import the compiler when it is first asked for: ``morello --help`` does without it."""
        if name not in _IN_THE_COMPILER:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        from morello import compiler  # noqa: PLC0415

        found = globals()[name] = getattr(compiler, _IN_THE_COMPILER[name])
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
