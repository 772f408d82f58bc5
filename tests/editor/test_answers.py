"""Completion, hover and definitions at places of texts; ``|`` is the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.editor.answers import complete, definitions, hover
from morello.editor.workspace import Workspace, kind_of
from morello.language.grammars import SUFFIXES
from morello.language.source import Span

PROJECT = Path(__file__).resolve().parent.parent.parent
RULE = 'rule mine\n  "Mine."\n  match  f: op, X: operand of f\n'
KERNEL = 'kernel k on x86.avx2\n  "Mine."\n  match  add(X: f32[..., n] at reg vector 32)\n'


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


class Asked:
    """A text with a cursor in it, opened as a file of a kind."""

    def __init__(self, workspace: Workspace, suffix: str, text: str) -> None:
        path = PROJECT / f"asked.{suffix}"
        offset = text.index("|")
        workspace.update(path, text[:offset] + text[offset + 1 :])
        self.source = workspace.source(path)
        kind = kind_of(path)
        assert kind is not None
        self.place = (self.source, kind, offset, workspace.symbols(path))
        workspace.close(path)

    def names(self) -> dict[str, str]:
        """What may be written, with its kind."""
        return {found.name: found.kind for found in complete(*self.place)}

    def hover(self) -> str:
        found = hover(*self.place)
        return "" if found is None else found.text

    def definitions(self) -> list[Span]:
        return definitions(*self.place)


@pytest.mark.parametrize(
    ("suffix", "text", "some", "none"),
    [
        ("mspec", "target x86.|", {"x86.avx2": "target"}, {"matmul"}),
        ("mspec", "spec s(N = 4) {\n  a = |", {"matmul": "operator"}, {"N", "x86.avx2", "tile"}),
        ("mspec", "spec s(N = 4) {\n  in|", {"input": "keyword"}, {"matmul", "rule"}),
        ("mspec", "spec s(N = 4) {\n  input a: |", {"bf16": "dtype"}, {"matmul", "N"}),
        (
            "mspec",
            "spec s(N = 4) {\n  input a: f32[|",
            {"N": "variable", "min": "function"},
            {"f32"},
        ),
        ("mspec", "spec s(|) {}", {}, {"N", "matmul"}),
        ("mspec", "spec s(N = 4) {\n input a: f32[N]\n b = relu(|", {"a": "variable"}, {"f32"}),
        ("mrules", "rule x |", {}, {"matmul"}),
        ("mrules", 'rule x "x" match f: |', {"matmul": "operator", "op": "keyword"}, {"f", "min"}),
        ("mrules", f"{RULE} choose d in |", {"output_dims": "query", "X": "variable"}, {"matmul"}),
        ("mrules", f"{RULE} choose |", {}, {"output_dims", "X"}),
        ("mrules", f"{RULE} where X.|", {"level": "attribute"}, {"X", "matmul"}),
        (
            "mrules",
            'rule x "x" match f: matmul where f.|',
            {"A": "attribute", "k": "attribute"},
            {"f"},
        ),
        ("mrules", f"{RULE} cost |", {"loop_step": "coefficient", "steps": "query"}, {"matmul"}),
        (
            "mrules",
            f"{RULE} yield |",
            {"copy": "operator", "f": "variable", "for": "keyword"},
            {"min"},
        ),
        ("mrules", f"{RULE} yield with |", {}, {"X", "copy"}),
        ("mrules", f"{RULE} yield with Y = X at |", {"X": "variable", "Y": "variable"}, {"copy"}),
        ("mrules", "op o(X: T[i, j]) -> Y: T[i] { Y[i] = |", {"X": "variable"}, {"T", "copy"}),
        ("mtarget", "target mine extends |", {"x86.scalar": "target"}, {"add"}),
        ("mtarget", 'target mine "x" { coefficient |', {"loop_step": "coefficient"}, {"add"}),
        ("mtarget", 'target mine "x" { emitter |', {"c11": "emitter"}, {"add"}),
        ("mtarget", 'kernel k on x86.avx2 "x" match |', {"matmul": "operator"}, {"f32"}),
        ("mtarget", 'kernel k on x86.avx2 "x" match add(|', {"X": "attribute"}, {"matmul"}),
        ("mtarget", 'kernel k on x86.avx2 "x" match add(X: f32[n] at |', {"reg": "level"}, {"add"}),
        ("mtarget", f"{KERNEL} cost |", {"vector_op": "coefficient", "n": "variable"}, {"matmul"}),
        (
            "mtarget",
            'primitives f32 x 4 on x86.avx2 { add "+" |',
            {"vector_op": "coefficient"},
            {"f"},
        ),
    ],
)
def test_completion(
    workspace: Workspace, suffix: str, text: str, some: dict[str, str], none: set[str]
) -> None:
    """Names of the kinds that may stand there, and no others."""
    found = Asked(workspace, suffix, text).names()
    assert some.items() <= found.items()
    assert none.isdisjoint(found)


@pytest.mark.parametrize("text", ["# spec |", 'rule a "spec |', "spec s(N = 4) { # |"])
def test_nothing_is_completed_in_comments_and_texts(workspace: Workspace, text: str) -> None:
    """Words there are words."""
    assert Asked(workspace, "mrules", text).names() == {}


def test_errors_before_the_place_do_not_matter(workspace: Workspace) -> None:
    """What cannot be read is passed over, in the declaration and before it."""
    text = 'rule broken "x" match match !\nop o(X: T[i] ? ] -> Y: T[i]\n{ Y[i] = |'
    assert Asked(workspace, "mrules", text).names()["X"] == "variable"


@pytest.mark.parametrize(
    ("suffix", "text", "said", "file"),
    [
        ("mspec", "spec s(N = 4) {\n a = mat|mul(b, c)\n}", "Matrix product", "matmul.mrules"),
        ("mspec", "target |x86.avx2", "target x86.avx2 extends", "avx2.mtarget"),
        ("mspec", "target x86.avx2|", "target x86.avx2 extends", "avx2.mtarget"),
        ("mspec", "spec s(N = 4) {\n input a: f32[|N]", "spec s(N = 4)", "asked.mspec"),
        ("mrules", f"{RULE} cost loop_st|ep yield f", "coefficient loop_step =", "scalar.mtarget"),
        ("mrules", f"{RULE} where re|ads(f, X) yield f", "Whether old contents matter", ""),
        ("mrules", f"{RULE} yield co|py(X, f.out)", "op copy(", "basic.mrules"),
        ("mrules", 'rule |mine "Mine." match f: op yield f', "Mine.", "asked.mrules"),
        (
            "mtarget",
            f"{KERNEL} cost vector_op| emit definition",
            "vector operation",
            "scalar.mtarget",
        ),
        (
            "mtarget",
            'kernel |k on x86.avx2 "Mine." match any op (f32 at reg) cost 0 emit definition',
            "kernel k on x86.avx2",
            "asked.mtarget",
        ),
        (
            "mtarget",
            'macro |twice(a, b) on x86.avx2 "Mine." emit ```{{ a }}```',
            "macro twice(a, b) on x86.avx2",
            "asked.mtarget",
        ),
    ],
)  # fmt: skip
def test_hover_and_definition(
    workspace: Workspace, suffix: str, text: str, said: str, file: str
) -> None:
    """What a name means, and where it is declared: in the text, or in a file that is installed."""
    asked = Asked(workspace, suffix, text)
    assert said in asked.hover()
    places = [Path(span.source.name).name for span in asked.definitions()]
    assert places[:1] == ([file] if file else [])


def test_a_hover_shows_the_statements_of_an_operator(workspace: Workspace) -> None:
    """Its whole meaning."""
    text = "spec s(N = 4) {\n a = soft|max(b)\n}"
    shown = Asked(workspace, "mspec", text).hover()
    assert "op softmax(" in shown
    assert shown.count("\n", 0, shown.index("```\n")) > 3


@pytest.mark.parametrize("suffix", [suffix[1:] for suffix in SUFFIXES.values()])
def test_every_prefix_of_a_text_has_an_answer(workspace: Workspace, suffix: str) -> None:
    """However much is written: no place of no half-written text is an exception."""
    path = {
        "mrules": PROJECT / "rules" / "basic.mrules",
        "mtarget": PROJECT / "targets" / "x86" / "avx2.mtarget",
        "mspec": PROJECT / "examples" / "matmul.mspec",
    }[suffix]
    text = path.read_text(encoding="utf-8")[:1200]
    for end in range(0, len(text), 41):
        assert Asked(workspace, suffix, f"{text[:end]}|").place
        asked = Asked(workspace, suffix, f"{text[:end]}|{text[end:]}")
        asked.hover()
        assert isinstance(asked.names(), dict)
