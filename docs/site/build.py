"""The documentation as a site: ``python docs/site/build.py DIRECTORY``.

Pages have the same names as in the project, so that their links hold here and in a checkout. They
are those of the checkout, those that `catalogues` makes, and one for each other file of the project
that a page links to: no link leaves the site for a file. Warnings are errors.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from fnmatch import filter as filter_names
from pathlib import Path
from tempfile import TemporaryDirectory

try:
    from sphinx.cmd.build import build_main
except ImportError:
    sys.exit("the site is made with Sphinx: python -m pip install -e '.[docs]'")

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(PROJECT)]  # what tests know of pages is used here, too

import catalogues  # noqa: E402

from tests.documentation.blocks import DEFINED, FENCE, PAGES, Block  # noqa: E402
from tests.documentation.examples import diagnostics_of  # noqa: E402

OTHER_PAGES = (
    "CHANGELOG.md",
    "benchmarks/README.md",
    "benchmarks/notes/*.md",
    "examples/plugins/*/README.md",
)
PICTURES = ("docs/pictures/*.svg", "benchmarks/results/*.svg")

CATALOGUES = "catalogues"

CONTENTS: Mapping[str, tuple[str, ...]] = {
    "Begin": ("docs/tutorial.md", "catalogues/examples.md"),
    "Use it": (
        "docs/networks.md",
        "docs/python.md",
        "docs/embedding.md",
        "docs/other-machines.md",
        "docs/generated-c.md",
        "docs/verification.md",
        "docs/calibration.md",
        "docs/learned.md",
        "docs/filling.md",
        "docs/editors.md",
        "catalogues/commands.md",
    ),
    "Extend it": (
        "docs/write-a-rule.md",
        "docs/write-a-kernel.md",
        "docs/write-a-target.md",
        "docs/plugins.md",
        "rules/README.md",
        "examples/plugins/conv1d/README.md",
        "examples/plugins/integer_transposes/README.md",
        "examples/plugins/portable_vectors/README.md",
    ),
    "The languages": (
        "docs/language.md",
        "docs/specs.md",
        "docs/operators.md",
        "docs/rules.md",
        "docs/targets.md",
    ),
    "Catalogues": (
        "catalogues/operators.md",
        "catalogues/rules.md",
        "catalogues/targets.md",
        "catalogues/kernels.md",
        "catalogues/errors.md",
    ),
    "How it works": (
        "docs/search-in-pictures.md",
        "docs/search.md",
        "docs/explain.md",
        "docs/memo.md",
        "docs/cost-model.md",
        "docs/design.md",
        "docs/glossary.md",
    ),
    "Decisions": ("docs/decisions/README.md", "docs/decisions/0*.md"),
    "The project": (
        "CONTRIBUTING.md",
        "SECURITY.md",
        "benchmarks/README.md",
        "benchmarks/notes/README.md",
        "docs/dependencies.md",
        "CHANGELOG.md",
    ),
}
"""All pages in the order of the site, below the README; a pattern stands for what it matches."""

NEW = "Use it"
"""Where a page of `docs` stands that is not among them."""

NOTES = "benchmarks/notes/README.md"
"""The index below which notes stand, in the order of their numbers."""

LINK = re.compile(r"(?<=\]\()(?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
INCLUDE = re.compile(r"^<!-- include (?P<path>\S+) -->$", re.MULTILINE)


def build(directory: Path) -> int:
    """Write the site to a directory.

    Returns:
        The status of the command: 0 if there was not even a warning.
    """
    with TemporaryDirectory() as name:
        source = Path(name)
        _gather(source)
        options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE)]
        doctrees = ["-d", str(source / ".doctrees")]
        status = build_main([*options, *doctrees, str(source), str(directory)])
    if status == 0:
        shutil.copy(directory / "README.html", directory / "index.html")
    return status


def _gather(directory: Path) -> None:
    """Write all pages, and the pictures that they show."""
    found = _pages()
    files = {name: catalogues.file_page(PROJECT, name) for name in _linked(found)}
    names = {*found, *(f"{name}.md" for name in files)}
    for name, text in found.items():
        _write(directory / name, _converted(text, name, names))
    for name, text in files.items():
        _write(directory / f"{name}.md", f"---\norphan: true\n---\n\n{text}")
    for pattern in PICTURES:
        for path in PROJECT.glob(pattern):
            copy = directory / path.relative_to(PROJECT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


def _pages() -> dict[str, str]:
    """Pages by their names in the project, as they are written; the first has the contents."""
    others = [path for pattern in OTHER_PAGES for path in sorted(PROJECT.glob(pattern))]
    paths = [*PAGES, *others]
    found = {path.relative_to(PROJECT).as_posix(): path.read_text("utf-8") for path in paths}
    for name, text in catalogues.pages(PROJECT).items():
        found[f"{CATALOGUES}/{name}"] = text
    found["README.md"] += "".join(_contents(list(found)))
    found[NOTES] += "\n```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n```\n"
    return found


def _contents(pages: list[str]) -> Iterator[str]:
    """The contents of the site, as MyST writes them: a tree for each caption."""
    contents = {title: _matching(pages, patterns) for title, patterns in CONTENTS.items()}
    known = {name for names in contents.values() for name in names}
    unlisted = [name for name in pages if name.startswith("docs/") and name not in known]
    for title, names in contents.items():
        listed = [*names, *(unlisted if title == NEW else [])]
        lines = "\n".join(name.removesuffix(".md") for name in listed)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n"


def _matching(pages: list[str], patterns: tuple[str, ...]) -> list[str]:
    """The pages of each pattern; a name without a page stays, so that it is missed."""
    return [name for pattern in patterns for name in filter_names(pages, pattern) or [pattern]]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _linked(pages: Mapping[str, str]) -> set[str]:
    """Files and directories of the project that pages link to and that are no pages themselves."""
    targets = {
        _resolved(name, found["target"])
        for name, text in pages.items()
        for found in LINK.finditer(FENCE.sub("", text))
    }
    shown = {target for target in targets if (PROJECT / target).exists() and target not in pages}
    return {target for target in shown if not target.endswith(".svg")}


def _resolved(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def _converted(markdown: str, page: str, names: set[str]) -> str:
    """A page as Sphinx wants it, its links among the names."""
    text = INCLUDE.sub(lambda found: catalogues.quoted(PROJECT, found["path"]), markdown)
    return "".join(_parts(text, page, names))


def _parts(text: str, page: str, names: set[str]) -> Iterator[str]:
    end = 0
    for found in FENCE.finditer(text):
        yield _links(text[end : found.start()], page, names)
        yield _block(found, page)
        end = found.end()
    yield _links(text[end:], page, names)


def _links(text: str, page: str, names: set[str]) -> str:
    """Links to files that are no pages lead to the pages that show them."""

    def rewritten(found: re.Match[str]) -> str:
        target = found["target"]
        shown = f"{_resolved(page, target)}.md" in names and not target.endswith(".md")
        return f"{target.rstrip('/')}.md" if shown else found[0]

    return LINK.sub(rewritten, text)


def _block(found: re.Match[str], page: str) -> str:
    """A block with its caption; after an example that is refused, what is said of it."""
    fence, language, info = found["fence"], found["language"], found["info"].strip()
    block = Block(language, info, found["text"], 0, "")
    caption = _caption(block)
    head = f"{{code-block}} {language}\n:caption: {caption}\n" if caption else language
    shown = f"{fence}{head}\n{block.text}{fence}"
    if block.word != "bad" or not block.argument or language not in DEFINED:
        return shown
    errors = posixpath.relpath(f"{CATALOGUES}/errors.md", posixpath.dirname(page))
    link = f"[{block.argument}]({errors}#{block.argument.lower()})"
    said = catalogues.said(diagnostics_of(block, "example"))
    return f"{shown}\n\n{link} is what is said of it:\n\n```text\n{said}\n```"


def _caption(block: Block) -> str:
    match block.word:
        case "file" | "from":
            return block.argument
        case "good":
            return "right"
        case "bad":
            return "refused" if block.argument else "accepted, and not right"
        case "plugin":
            return "the module of a plugin"
    return ""


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
