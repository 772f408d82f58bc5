"""C that calls an emitted function many times, so that timing it does not time Python."""

from __future__ import annotations

from morello.runtime.signature import Signature


def repeat_name(function: str) -> str:
    """Name of the driver of a function."""
    return f"{function}_repeat"


def repeat_driver(signature: Signature, header: str) -> str:
    """A source that is built together with the function's.

    It defines ``void NAME_repeat(int64_t count, void *const *arguments, void *workspace)``, with
    ``size_t size`` after that where calls bring one. The call goes through a volatile pointer, so
    that no compiler can merge or drop calls.

    Args:
        signature: The function.
        header: Name of the header that declares it.
    """
    name, driver = signature.name, repeat_name(signature.name)
    # Names of parameters and variables begin with the function's: none can hide it.
    count, pointers, memory = f"{name}_count", f"{name}_arguments", f"{name}_memory"
    parameters = f"int64_t {count}, void *const *{pointers}, void *{memory}"
    first = []
    if signature.size is not None:
        first = [f"{name}_size"]
        parameters = f"{parameters}, size_t {name}_size"
    arguments = (f"{pointers}[{i}]" for i in range(len(signature.arguments)))
    passed = ", ".join([*first, *arguments, memory])
    return f"""#include <stdint.h>

#include "{header}"

void {driver}({parameters});

void {driver}({parameters}) {{
  __typeof__({name}) *volatile {name}_function = {name};
  for (int64_t {name}_i = 0; {name}_i < {count}; ++{name}_i) {{
    {name}_function({passed});
  }}
}}
"""
