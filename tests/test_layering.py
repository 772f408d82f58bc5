"""The layers: who may import whom, read off the imports; and what the engine may name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path
from sys import stdlib_module_names

import pytest

from morello.codegen.c import morello_emitters
from morello.definitions import Definitions
from morello.language.functions import FUNCTIONS

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "morello": PROJECT / "morello",
    "morello_aarch64": PROJECT / "targets" / "aarch64",
    "morello_c": PROJECT / "targets" / "c",
    "morello_grammar": PROJECT / "grammar",
    "morello_rules": PROJECT / "rules",
    "morello_skeletons": PROJECT / "examples" / "skeletons",
    "morello_x86": PROJECT / "targets" / "x86",
}

BASE = {"morello.errors", "morello.records"}
TEXT = {*BASE, "morello.startup", "morello.language"}
DEFINED = {*TEXT, "morello.ir"}
REWRITING = {*DEFINED, "morello.rewriting"}
LOADED = {*REWRITING, "morello.checking", "morello.plugins", "morello.definitions"}
LOADED |= {"morello.resources"}
PLANNING = {*REWRITING, "morello.search.tables", "morello.search.planning"}
SOLVING = {*PLANNING, "morello.search.solving", "morello.resources", "morello.toolchain"}
SEARCH = {*SOLVING, "morello.search.results", "morello.search"}
REPORT = {*SEARCH, "morello.memo", "morello.report"}
CODE = {*REPORT, *LOADED, "morello.codegen"}
RUN = {*CODE, "morello.ranking", "morello.reference", "morello.runtime"}
VERIFIED = {*RUN, "morello.verify"}
API = {*VERIFIED, "morello.arguments", "morello.building", "morello.compiler", "morello.kernel"}

# Layer -> layers that it may import, besides itself. A layer is the modules whose name begins so;
# the longest such name counts.
ALLOWED: dict[str, set[str]] = {
    "morello.errors": set(),
    "morello.records": set(),  # what values are
    "morello.startup": set(),  # before all else, and what keeps the start short
    "morello.resources": BASE,  # what the machine has
    "morello.language": TEXT - {"morello.language"},  # text, syntax trees, expressions
    "morello.ir": TEXT,  # operators, Specs, targets, rules, programs
    "morello.checking": DEFINED,  # trees to definitions
    "morello.plugins": DEFINED,
    "morello.rewriting": DEFINED,
    "morello.definitions": LOADED - {"morello.definitions"},
    "morello.building": {*DEFINED, "morello.definitions"},  # specs from Python objects
    "morello.editor": LOADED,
    "morello.toolchain": {*BASE, "morello.resources", "morello.startup"},
    "morello.search.tables": REWRITING,
    "morello.search.planning": PLANNING - {"morello.search.planning"},
    "morello.search.solving": SOLVING - {"morello.search.solving"},
    "morello.search.results": SOLVING,
    "morello.search": SEARCH - {"morello.search"},
    "morello.report.pictures": set(),  # files of pictures
    "morello.memo": {*SEARCH, "morello.report.pictures"},
    "morello.report": REPORT - {"morello.report"},  # plans, alternatives, usage
    "morello.codegen": CODE - {"morello.codegen"},
    "morello.ranking": {*REPORT, "morello.plugins", "morello.resources"},  # plans, by a model
    "morello.reference": DEFINED,
    "morello.runtime": RUN - {"morello.runtime"},
    "morello.verify": RUN,
    "morello.kernel": VERIFIED,
    "morello.arguments": {*RUN, "morello.building"},
    "morello.compiler": API - {"morello.compiler"},
    "morello.networks": API,  # model files to libraries of kernels
    "morello": {*API, "morello.networks"},  # __init__ exports the Python API
    "morello.calibration": {*API, "morello"},
    "morello.filling": API,  # memos, ahead of compiles
    "morello.learning": {*API, "morello.calibration", "morello.filling", "morello.report.pictures"},
    "morello.cli": {
        *API,
        "morello",
        "morello.calibration",
        "morello.editor",
        "morello.filling",
        "morello.learning",
        "morello.networks",
    },
    "morello.__main__": {"morello.cli", "morello.startup"},
    "morello_aarch64": {"morello.plugins"},
    "morello_c": {"morello.plugins"},
    "morello_grammar": set(),
    "morello_skeletons": set(),
    "morello_rules": {"morello.plugins"},
    "morello_x86": {"morello.plugins"},
}

EXTRAS = {
    "morello.calibration.fitting": "calibrate",
    "morello.learning.contest": "dask",
    "morello.learning.remote": "dask",
    "morello.learning.network_learning": "learn-nn",
    "morello.learning.tree_learning": "learn",
    "morello.editor.server": "lsp",
    "morello.filling.cluster": "dask",
    "morello.filling.scheduler": "dask",
    "morello.learning.drawing": "pictures",
    "morello.memo.drawing": "pictures",
    "morello.report.pictures": "pictures",
    "morello.networks.onnx.file": "onnx",
    "morello.networks.onnx.running": "onnx-runtime",
    "morello.networks.onnx.simplifying": "onnx",
    "morello.networks.stablehlo.attributes": "jax",
    "morello.networks.stablehlo.file": "jax",
    "morello.networks.stablehlo.functions": "jax",
}
"""Modules that import what an extra brings; nothing imports them before it is needed."""

FORMAT = "morello.networks.stablehlo."
"""A format of files whose operations have lower-case names, some of which operators have, too."""

INSTRUCTION_SETS = re.compile(
    r"(?i)(?<![a-z])(x86|m?sse\d*|m?avx\w*|m?amx\w*|vnni|neon|sve|_mm\d*_\w+|zmm|ymm)(?![a-z0-9])"
)


def _modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for package, directory in PACKAGES.items():
        for path in sorted(directory.rglob("*.py")):
            parts = path.relative_to(directory).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            found[name] = path
    return found


MODULES = _modules()


@cache
def _imports(module: str) -> frozenset[str]:
    """Everything that a module imports: modules, or names in them where that is not known."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=origin, names=names, level=level):
                base = ".".join(package.split(".")[: 1 - level or None]) if level else ""
                origin = ".".join(filter(None, (base, origin)))
                members = {f"{origin}.{alias.name}" for alias in names}
                found |= {m if m in MODULES else origin for m in members}
    return frozenset(found)


def _layer(module: str) -> str:
    candidates = [
        layer
        for layer in ALLOWED
        if module == layer
        or module.startswith(f"{layer}.")
        or (layer.endswith("_") and module.startswith(layer))
    ]
    return max(candidates, key=len)


def test_the_layers_have_an_order() -> None:
    """The table itself has no cycle; `TopologicalSorter` raises if it does."""
    order = list(TopologicalSorter(ALLOWED).static_order())
    assert set(order) == set(ALLOWED)


@pytest.mark.parametrize("module", MODULES)
def test_imports_follow_the_layers(module: str) -> None:
    """A module imports from its own layer and from those below it."""
    layer = _layer(module)
    wrong = {
        name
        for name in _imports(module)
        if name.split(".")[0] in PACKAGES and _layer(name) not in {layer, *ALLOWED[layer]}
    }
    assert wrong == set()


def test_modules_import_no_circle() -> None:
    """Nor for types alone."""
    imports = {
        module: {name for name in _imports(module) if name in MODULES and name != module}
        for module in MODULES
    }
    TopologicalSorter(imports).prepare()  # raises, and names the circle


def test_few_modules_lie_in_the_root() -> None:
    """What is not in a room has to be there."""
    loose = {name for name in MODULES if re.fullmatch(r"morello(\.\w+)?", name)}
    loose -= {name for name in loose if MODULES[name].name == "__init__.py" and "." in name}
    rooms = {
        "morello",
        *(
            f"morello.{n}"
            for n in [
                "__main__",
                "any_size",
                "arguments",
                "compiler",
                "errors",
                "kernel",
                "records",
                "resources",
            ]
        ),
    }
    assert loose == rooms


def test_the_engine_imports_no_target_and_no_rules() -> None:
    """They arrive by entry point; this follows from the table, and is said once more."""
    outside = {"morello_aarch64", "morello_c", "morello_x86", "morello_rules", "targets", "rules"}
    engine = [module for module in MODULES if module.split(".")[0] == "morello"]
    wrong = {(m, i) for m in engine for i in _imports(m) if i.split(".")[0] in outside}
    assert wrong == set()


@cache
def _providers() -> Mapping[str, list[str]]:
    return packages_distributions()


def _normal(distribution: str) -> str:
    """Versions of one may differ in its name: ``ml-dtypes``, ``ml_dtypes``."""
    return distribution.lower().replace("_", "-")


@pytest.mark.parametrize("module", MODULES)
def test_only_declared_distributions_are_imported(module: str) -> None:
    """What is imported is in the standard library, in the project, or in its dependencies."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    optional = list(project["optional-dependencies"].get(EXTRAS.get(module, ""), []))
    for text in optional:  # an extra may name others
        own = re.fullmatch(r"morello\[([\w-]+)\]", text)
        optional += project["optional-dependencies"][own[1]] if own else []
    texts = (*project["dependencies"], *optional)
    declared = {_normal(re.split(r"[^\w-]", text)[0]) for text in texts}
    providers = _providers()
    for name in {i.split(".")[0] for i in _imports(module)} - set(stdlib_module_names):
        # One that is not installed here is taken for the distribution of its name.
        distributions = {_normal(d) for d in providers.get(name, (name,))}
        assert name in PACKAGES or distributions & declared, f"{name} is not declared"


# ------------------------------------------------------------------------- names


_BEFORE_DOCSTRING = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def _code(text: str) -> Iterator[tokenize.TokenInfo]:
    """Identifiers and string literals. Docstrings and comments may give examples."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and before in _BEFORE_DOCSTRING
        if token.type in (tokenize.NAME, tokenize.STRING) and not docstring:
            yield token
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def _engine_code() -> Iterator[tuple[str, tokenize.TokenInfo]]:
    for module, path in MODULES.items():
        if module.split(".")[0] == "morello":
            yield from ((module, token) for token in _code(path.read_text()))


def _names_one(token: tokenize.TokenInfo, names: Collection[str]) -> bool:
    if token.type == tokenize.STRING:
        return token.string.strip("rbfuRBFU\"'") in names
    return token.string in names and _distinctive(token.string)


def _words_of_the_languages(definitions: Definitions) -> set[str]:
    """Words of the languages themselves: functions, keywords, trees, entries of primitives."""
    grammars = "\n".join(p.read_text() for p in PACKAGES["morello_grammar"].glob("*.lark"))
    primitives = [p for t in definitions.targets.values() for p in t.primitives.values()]
    entries = {entry for p in primitives for entry in p.entries}
    keywords = re.findall(r'"([a-z_]+)"', grammars)
    trees = re.findall(r"^\??([a-z_]+):", grammars, re.MULTILINE)
    return {*FUNCTIONS, *keywords, *trees, *entries}


def _defined_names(definitions: Definitions) -> set[str]:
    targets = definitions.targets.values()
    return {
        *definitions.operators,
        *definitions.targets,
        *definitions.emitters,
        *(rule.name for rule in definitions.rules),
        *(kernel.name for target in targets for kernel in target.kernels),
        *(name for target in targets for name in target.coefficients),
        *(level.name for target in targets for level in target.levels),
    }


def _distinctive(name: str) -> bool:
    """Whether it can only be meant: an identifier ``copy`` or ``element`` may be a plain word."""
    return bool(re.search(r"[_.\d]", name)) or name in {"matmul", "relu", "softmax", "conv"}


def test_the_engine_names_no_definition(definitions: Definitions) -> None:
    """Operators, rules, kernels, targets, levels and coefficients are data to the engine.

    Its own emitter is named once, where it is given to targets.
    """
    names = _defined_names(definitions) - _words_of_the_languages(definitions)
    names -= set(morello_emitters())
    found = {
        f"{module}:{token.start[0]}: {token.string}"
        for module, token in _engine_code()
        if _names_one(token, names) and not module.startswith(FORMAT)
    }
    assert found == set()


def test_the_engine_names_no_instruction_set() -> None:
    """Not even in a message: what a machine can do is in the files of a target."""
    found = {
        f"{module}:{token.start[0]}: {token.string}"
        for module, token in _engine_code()
        if INSTRUCTION_SETS.search(token.string)
    }
    assert found == set()


def test_the_search_for_names_finds_what_is_planted() -> None:
    """The two tests above are not blind: literals and telling identifiers are seen, in code."""
    text = '''"""About matmul."""

def copy(array):
    """matmul"""  # matmul
    if array == "matmul":
        return matmul(array, "copy", '-mavx2', "x86_c")
'''
    found = [token for token in _code(text) if _names_one(token, {"matmul", "copy"})]
    assert [token.string for token in found] == ['"matmul"', "matmul", '"copy"']
    assert [t.string for t in _code(text) if INSTRUCTION_SETS.search(t.string)] == [
        "'-mavx2'",
        '"x86_c"',
    ]
