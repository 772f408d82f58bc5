"""C identifiers: legal, not reserved, and unlike any other in scope.

Which names are reserved does not depend on the machine: a header defines more macros under one
compiler, standard or system than under another. A name in the form of a macro, such as ``M_PI``,
is changed whether there is such a macro or not; the other macros are listed. A single capital, or
one with numbers only, such as ``A_2``, is the name of no macro but complex.h's ``I``.

No name from here begins or ends with an underscore. Names that end with one belong to the local
variables of kernel templates, which therefore never hide an argument, a buffer or a loop variable.
"""

from __future__ import annotations

import re
from collections.abc import Set

_RESERVED_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while asm main

    alignas alignof bool catch class concept constexpr const_cast decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept nullptr operator private protected
    public reinterpret_cast requires static_assert static_cast template this thread_local throw true
    try typeid typename using virtual wchar_t xor and or not compl bitand bitor char16_t char32_t

    size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL
    INFINITY NAN INT32_MAX INT32_MIN linux unix

    abs labs div ldiv exit abort malloc calloc realloc free aligned_alloc rand system signal remove
    rename time clock read write open close puts gets printf index memcpy memset memmove y0 y1 yn
    j0 j1 jn gamma signgam acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp
    exp2 expm1 frexp ilogb ldexp log log10 log1p log2 logb modf scalbn cbrt fabs hypot pow sqrt erf
    erfc lgamma tgamma ceil floor nearbyint rint lrint round lround trunc fmod remainder remquo
    copysign nan nextafter fdim fmax fmin fma sqrtf expf logf fabsf tanhf erff floorf rintf

    workspace slot thread_index
"""

RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words of C and C++, and what the headers that a source includes may define."""


_MACRO = re.compile(r"I|[A-Z](?!(_\d+)*$)[A-Z0-9_]\w*", flags=re.ASCII)
"""A capital, and another one, a digit or an underscore: ``M_PI``, ``INT8_C``, ``L_tmpnam``."""


def identifier(text: str) -> str:
    """A C (and C++) identifier that resembles ``text``."""
    word = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_")
    if not word or word[0].isdigit():
        word = f"v{word}"
    if _MACRO.fullmatch(word):
        return f"v_{word}"
    return f"{word}_0" if word in RESERVED else word


def unique(text: str, taken: Set[str]) -> str:
    """An identifier that resembles ``text`` and is not taken."""
    word = identifier(text)
    candidate, number = word, 1
    while candidate in taken:
        number += 1
        candidate = f"{word}_{number}"
    return candidate
