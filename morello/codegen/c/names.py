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

_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while asm main

    alignas alignof bool catch class concept constexpr const_cast decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept nullptr operator private
    protected public reinterpret_cast requires static_assert static_cast template this
    thread_local throw true try typeid typename using virtual wchar_t xor and or not compl
    bitand bitor char16_t char32_t

    workspace slot thread_index
"""
"""Of C, of C++, and what generated files use themselves."""

_MACROS = """
    alloca and_eq assert be16toh be32toh be64toh cdecl complex errno far fpclassify htobe16
    htobe32 htobe64 htole16 htole32 htole64 hyper i386 imaginary interface iscanonical iseqsig
    isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal
    issignaling issubnormal isunordered iszero le16toh le32toh le64toh linux major makedev
    math_errhandling max min minor mips near noreturn not_eq offsetof or_eq pascal setjmp
    signbit small sparc stderr stdin stdout strdupa strndupa sun unix va_arg va_copy va_end
    va_start xor_eq
"""
"""Those that do not look like one, of several compilers and systems."""

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt
    ccos ccosh ceil cexp cimag clog clog10 conj copysign cos cosh cpow cproj creal csin csinh
    csqrt ctan ctanh drem erf erfc exp exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin
    fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10
    log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder
    remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh
    tgamma trunc y0 y1 yn
"""
"""Functions of math.h and complex.h, each for several types."""

_TYPES_OF_NUMBERS = ("", "f", "l", "f32", "f32x", "f64", "f64x", "f128")

_FUNCTIONS = """
    a64l abort abs aligned_alloc arc4random arc4random_buf arc4random_uniform at_quick_exit
    atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clearenv clock close dcgettext
    dgettext div drand48 drand48_r ecvt ecvt_r erand48 erand48_r execl execle execlp execv
    execve execvp exit explicit_bzero fcvt fcvt_r fd_mask fd_set feclearexcept fegetenv
    fegetexceptflag fegetround feholdexcept feraiseexcept fesetenv fesetexceptflag fesetround
    fetestexcept feupdateenv ffs ffsl ffsll fork fprintf fputc fputc_unlocked fputs
    fputs_unlocked free fscanf fwrite fwrite_unlocked gcvt getenv getloadavg gets getsubopt
    gettext imaxabs index initstate initstate_r isalnum isalpha isascii isblank iscntrl isdigit
    isgraph islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswdigit
    iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit jrand48 jrand48_r
    l64a labs lcong48 lcong48_r ldiv lgamma_r lgammaf_r lgammal_r llabs lldiv lrand48 lrand48_r
    malloc mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memmove mempcpy memset mkdtemp
    mkstemp mkstemps mktemp mrand48 mrand48_r nrand48 nrand48_r on_exit open posix_memalign
    printf pselect putc putc_unlocked putchar putchar_unlocked putenv puts qecvt qecvt_r qfcvt
    qfcvt_r qgcvt qsort quick_exit rand rand_r random random_r read realloc reallocarray
    realpath remove rename rindex rpmatch scanf seed48 seed48_r select setenv setstate
    setstate_r signal signgam snprintf sprintf srand srand48 srand48_r srandom srandom_r sscanf
    stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp strcoll strcoll_l strcpy strcspn
    strdup strerror strerror_l strerror_r strfmon strftime strlen strncasecmp strncasecmp_l
    strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr
    strtod strtof strtok strtok_r strtol strtold strtoll strtoq strtoul strtoull strtouq strxfrm
    strxfrm_l system time toascii tolower toupper towlower towupper u_char u_int u_long u_short
    uint ulong unsetenv ushort valloc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
    wcstombs wctomb write
"""
"""Functions and types that headers declare, or that compilers know without."""

RESERVED = frozenset(
    (
        *(_WORDS + _MACROS + _FUNCTIONS).split(),
        *(name + of for name in _MATHEMATICS.split() for of in _TYPES_OF_NUMBERS),
    )
)
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
    reserved = word in RESERVED or word.endswith("_t")  # which is for types
    return f"{word}_0" if reserved else word


def unique(text: str, taken: Set[str]) -> str:
    """An identifier that resembles ``text`` and is not taken."""
    word = identifier(text)
    candidate, number = word, 1
    while candidate in taken:
        number += 1
        candidate = f"{word}_{number}"
    return candidate
