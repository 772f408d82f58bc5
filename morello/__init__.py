"""A compiler from small specifications of tensor computations to fast, self-contained C.

    kernel = morello.compile("matmul.mspec", defines={"N": 512})
    c = kernel(a, b)

The parts: `morello.language` reads files, `morello.spec` and `morello.rewriting` say what can be
done with what is to be computed, `morello.search` decides, `morello.program` is the result.
"""

from morello.compiler import Kernel
from morello.compiler import compile_spec as compile
from morello.errors import MorelloError

__version__ = "0.1.0"

__all__ = ["Kernel", "MorelloError", "__version__", "compile"]
