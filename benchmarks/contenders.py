"""Who takes part, as data: the compiled spec, its peers, plain loops, and the machine's limits.

Each is a C file in ``benchmarks/c/`` with the functions of ``contender.h``, linked with a library.
To add a peer, write its C file, and its entry in `PEERS`. How they are built is in
`benchmarks.building`; how they are run, in `benchmarks.worker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

Variables = Mapping[str, str]

OWN, OWN_PACKED = "morello", "morello packed"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to use a library. ``name`` is added to the contender's name.

    ``role`` is ``own`` (the compiled spec), ``peer`` (a library, or plain C), ``own packed`` and
    ``packed`` (those that got B ahead and keep it in a layout of their own) or a limit of the
    machine, which computes no product: ``limit`` of all, ``plain limit`` of those that find B as
    it is, ``packed limit`` of the others. ``most_flops`` leaves out products that would take
    minutes.
    """

    name: str = ""
    role: str = "peer"
    vectors_only: bool = False
    most_flops: float = inf


@dataclass(frozen=True, slots=True)
class Contender:
    """A C file, how it is built, and in what environment it runs.

    Attributes:
        name: What tables call it.
        source: The file in ``benchmarks/c/``.
        install: The command that installs its library; none where none is needed.
        variants: In the order in which the C file counts them.
        dtypes: The keys of `benchmarks.cases.ELEMENTS` that it can do.
        places: Directories, each by its name in braces in ``flags`` and link arguments: that of a
            file of an installed Python distribution, as the file and the distributions that may
            have it.
        flags: Of the compiler, before the source.
        for_target: Whether it also gets the flags of the target.
        link: Arguments after the source.
        link_threads: Those instead when there are several threads; none where it has but one.
        environment: Variables that must be set before the library is loaded, by target.
    """

    name: str
    source: str
    install: str = ""
    variants: tuple[Variant, ...] = (Variant(),)
    dtypes: tuple[str, ...] = ("f32",)
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    for_target: bool = False
    link: tuple[str, ...] = ()
    link_threads: tuple[str, ...] | None = None
    environment: Mapping[str, Variables] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Of its variants, in order."""
        return [f"{self.name} {variant.name}".rstrip() for variant in self.variants]


# ------------------------------------------------------------------------------- libraries

_BLAS = (Variant(), Variant("gemv", vectors_only=True))
_OPENBLAS = {
    "x86.avx512": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "x86.avx2": {"OPENBLAS_CORETYPE": "Haswell"},
}
_ONEDNN = (Variant(), Variant("packed", "packed"))
# What it is linked with itself may be beside it: the path must count for that too.
_ONEDNN_LINK = (
    "-L{libraries}",
    "-Wl,-rpath,{libraries}",
    "-Wl,--disable-new-dtags",
    "-ldnnl",
    "-lstdc++",
)
_HELD_ONEDNN = {
    "x86.avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"},
    "x86.avx512": {  # with its extensions, but for tiles of matrices
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16",
        "DNNL_MAX_CPU_ISA": "AVX512_CORE_BF16",
    },
    "x86.amx": {},  # with those
}


def _blas(prefix: str, about: str) -> tuple[str, ...]:
    return (f"-DSGEMM={prefix}cblas_sgemm", f"-DSGEMV={prefix}cblas_sgemv", f"-DABOUT={about}")


def _mkl(layer: str, *libraries: str) -> tuple[str, ...]:
    archives = (f"{{libraries}}/libmkl_{name}.a" for name in ("intel_lp64", layer, "core"))
    # Linked statically, its symbols hidden: it may meet other BLAS libraries in one process.
    group = ("-Wl,--exclude-libs,ALL", "-Wl,--start-group", *archives, "-Wl,--end-group")
    return (*group, *libraries, "-lpthread", "-lm", "-ldl")


PEERS = (
    Contender(
        name="OpenBLAS (pip)",
        source="blas.c",
        install="python -m pip install scipy-openblas32",
        variants=_BLAS,
        places={"libraries": ("libscipy_openblas.so", "scipy-openblas32")},
        flags=_blas("scipy_", "scipy_openblas_get_config"),
        link=("-L{libraries}", "-Wl,-rpath,{libraries}", "-lscipy_openblas"),
        link_threads=("-L{libraries}", "-Wl,-rpath,{libraries}", "-lscipy_openblas"),
        environment=_OPENBLAS,
    ),
    Contender(
        name="OpenBLAS (Debian)",
        source="blas.c",
        install="apt-get install libopenblas-serial-dev",
        variants=_BLAS,
        flags=_blas("", "openblas_get_config"),
        link=("-lopenblas",),
        environment=_OPENBLAS,
    ),
    Contender(
        name="MKL",
        source="mkl.c",
        install="python -m pip install mkl-static mkl-include",
        variants=(
            Variant(),
            Variant("JIT"),
            Variant("packed", "packed"),
            Variant("gemv", vectors_only=True),
        ),
        dtypes=("f32", "bf16", "u8s8"),
        places={
            "headers": ("mkl.h", "mkl-include"),
            "libraries": ("libmkl_core.a", "mkl-static"),
        },
        flags=("-isystem{headers}",),
        link=_mkl("sequential"),
        link_threads=_mkl("gnu_thread", "-lgomp"),
        environment={
            "x86.avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
            "x86.avx512": {"MKL_ENABLE_INSTRUCTIONS": "AVX512_E3"},
            "x86.amx": {},
        },
    ),
    Contender(
        name="LIBXSMM",
        source="libxsmm.c",
        install="apt-get install libxsmm-dev",
        link=("-Wl,--exclude-libs,ALL", "-lxsmm", "-lxsmmnoblas", "-lpthread", "-lm", "-ldl"),
        environment={
            "x86.avx512": {"LIBXSMM_TARGET": "skx"},
            "x86.avx2": {"LIBXSMM_TARGET": "hsw"},
        },
    ),
    Contender(
        name="oneDNN (Debian)",
        source="onednn.cc",
        install="apt-get install libdnnl-dev",
        variants=_ONEDNN,
        dtypes=("f32", "bf16", "u8s8"),
        link=("-ldnnl", "-lstdc++"),
        link_threads=("-ldnnl", "-lstdc++"),
        environment=_HELD_ONEDNN,
    ),
    Contender(
        name="oneDNN (pip)",
        source="onednn.cc",
        install="python -m pip install onednn-cpu-gomp onednn-devel-cpu-gomp",
        variants=_ONEDNN,
        dtypes=("f32", "bf16", "u8s8"),
        places={
            "headers": ("dnnl.hpp", "onednn-devel", "onednn-devel-cpu-gomp"),
            "libraries": ("libdnnl.so.3", "onednn", "onednn-cpu-gomp"),
        },
        flags=("-isystem{headers}",),
        link=_ONEDNN_LINK,
        link_threads=_ONEDNN_LINK,
        environment=_HELD_ONEDNN,
    ),
    Contender(
        name="BLIS",
        source="blas.c",
        install="apt-get install libblis-serial-dev",
        variants=_BLAS,
        flags=_blas("", "bli_info_get_version_str"),
        link=("-lblis",),
        environment={  # numbers of its 0.9: 0 is skx, as is any name; 3 is haswell
            "x86.avx512": {"BLIS_ARCH_TYPE": "0"},
            "x86.avx2": {"BLIS_ARCH_TYPE": "3"},
        },
    ),
    Contender(
        name="Eigen",
        source="eigen.cc",
        install="apt-get install libeigen3-dev",
        for_target=True,
        link=("-lstdc++",),
        link_threads=("-fopenmp", "-lstdc++"),
    ),
)

# ------------------------------------------------------------------------------- the others

COMPILED = Contender(name=OWN, source="morello.c", variants=(Variant(role="own"),))
"""Built with the emitted C and its flags, for each case; what it can do is what compiles."""

COMPILED_PACKED = Contender(
    name=OWN_PACKED,
    source="morello.c",
    variants=(Variant(role="own packed"), Variant("reading", "packed limit")),
    flags=("-DPACKED",),
)
"""The same with B as a weight; and reading once what was packed."""

SPECS = (COMPILED, COMPILED_PACKED)

LOOPS = Contender(
    name="loop",
    source="loops.c",
    variants=(
        Variant("ijk", most_flops=2 * 512**3),
        Variant("ikj", most_flops=2 * 1024**3),
        Variant("kij", most_flops=2 * 512**3),
    ),
    flags=("-ffast-math", "-mtune=native"),
    for_target=True,
    link_threads=("-fopenmp",),
)
"""Built for each case: its sizes are known to the C compiler, which may reorder its sums."""

LIMITS = (
    Contender(
        name="arithmetic",
        source="arithmetic.c",
        variants=(Variant(role="limit"),),
        flags=("-ffp-contract=fast",),
        for_target=True,
        link_threads=("-fopenmp",),
    ),
    Contender(
        name="reading",
        source="reading.c",
        variants=(Variant(role="plain limit"),),
        dtypes=("f32", "bf16", "f32bf16", "u8s8"),
        for_target=True,
        link_threads=("-fopenmp",),
    ),
)
"""No product of B as it is can take less than the longer of the two."""


def limits(role: str) -> tuple[str, str]:
    """Roles of the limits of a role."""
    return "limit", "packed limit" if role.endswith("packed") else "plain limit"
