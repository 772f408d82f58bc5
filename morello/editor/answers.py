"""Answers about a place of a text: what may be written there, what it means, where that is from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lark import Token
from msgspec import Struct

from morello.editor.position import Place, bound_names, place_at
from morello.editor.symbols import Symbol
from morello.language.grammars import Kind
from morello.language.source import Source, Span

MOST_SHOWN = 8
"""Declarations of one name that are shown: targets have coefficients of the same name."""


class Suggestion(Struct, frozen=True):
    """One completion: ``kind`` is a symbol's, or ``keyword``; ``replaced`` gives way to it."""

    name: str
    kind: str
    detail: str
    doc: str
    replaced: Span


class Hover(Struct, frozen=True):
    """What is known of a word: Markdown, and where the word is."""

    text: str
    span: Span


def complete(
    source: Source, kind: Kind, offset: int, symbols: Sequence[Symbol]
) -> list[Suggestion]:
    """Everything that may be written at a place: keywords, and names of the kinds that may be."""
    place = place_at(source, kind, offset)
    if place is None:
        return []
    found = [Suggestion(word, "keyword", "", "", place.word) for word in place.keywords]
    if place.expected.new:
        return found
    named: dict[str, Suggestion] = {}
    for symbol in _fitting(place, kind, symbols):
        made = Suggestion(symbol.name, symbol.kind, symbol.signature, symbol.doc, place.word)
        named.setdefault(symbol.name, made)
    return [*sorted(named.values(), key=lambda s: s.name), *found]


def meanings(source: Source, kind: Kind, offset: int, symbols: Sequence[Symbol]) -> list[Symbol]:
    """The declarations of the word at a place; several where targets have each their own.

    Those of the target that the place is about come first, then those that it extends.
    """
    place = place_at(source, kind, offset)
    if place is None:
        return []
    found = [s for s in _fitting(place, kind, symbols) if s.name == place.text]
    lineage = _lineage(place.tokens, symbols)
    return sorted(
        found, key=lambda s: lineage.index(s.owner) if s.owner in lineage else len(lineage)
    )


def _lineage(tokens: Sequence[Token], symbols: Sequence[Symbol]) -> list[str]:
    """The target that a declaration is ``on``, and those that it extends, the nearest first."""
    words = [str(token) for token in tokens]
    if "on" not in words:
        return []
    after = words[words.index("on") + 1 :]
    dotted = (
        word for word, before in zip(after, [".", *after], strict=False) if "." in (word, before)
    )
    bases = {s.name: s.signature.rpartition(" extends ")[2] for s in symbols if s.kind == "target"}
    name, lineage = "".join(dotted), list[str]()
    while name in bases and name not in lineage:
        lineage.append(name)
        name = bases[name]
    return lineage


def hover(source: Source, kind: Kind, offset: int, symbols: Sequence[Symbol]) -> Hover | None:
    """What the word at a place means."""
    place = place_at(source, kind, offset)
    found = meanings(source, kind, offset, symbols)
    if place is None or not found:
        return None
    parts = list(dict.fromkeys(map(_described, found)))
    more = [f"... and {len(parts) - MOST_SHOWN} more"] if len(parts) > MOST_SHOWN else []
    return Hover("\n\n---\n\n".join([*parts[:MOST_SHOWN], *more]), place.word)


def definitions(source: Source, kind: Kind, offset: int, symbols: Sequence[Symbol]) -> list[Span]:
    """Where the word at a place is declared."""
    spans = (symbol.span for symbol in meanings(source, kind, offset, symbols))
    return list(dict.fromkeys(span for span in spans if span is not None))


def _fitting(place: Place, kind: Kind, symbols: Sequence[Symbol]) -> Iterator[Symbol]:
    """Symbols of the kinds that are expected; what the declaration itself names comes first."""
    kinds = place.expected.kinds
    bound = _bound(place, kind)
    if "variable" in kinds or place.expected.new:
        yield from (symbol for symbol in bound if "variable" in kinds or symbol.name == place.text)
    if "attribute" in kinds or "operand" in kinds:
        yield from _members(place, symbols, whole="attribute" in kinds)
    yield from (symbol for symbol in symbols if symbol.kind in kinds)


def _bound(place: Place, kind: Kind) -> list[Symbol]:
    source = place.word.source
    found: list[Symbol] = []
    for name, token in bound_names(kind, place.tokens).items():
        start = token.start_pos or 0
        if start == place.word.start and not place.expected.new:
            continue  # it is being written here: nothing that could be completed
        line = source.line(source.position(start)[0]).strip()
        found.append(Symbol("variable", name, line, span=Span(source, start, start + len(name))))
    return found


def _members(place: Place, symbols: Sequence[Symbol], *, whole: bool) -> Iterator[Symbol]:
    """Operands of the operator that is matched; after a dot scalars and dimensions as well."""
    operator = _matched(place.tokens)
    for symbol in symbols:
        if symbol.kind == "operator" and symbol.name == operator:
            for name, text in symbol.members:
                if whole or ":" in text:
                    yield Symbol("attribute", name, text, f"Of {symbol.name}.", symbol.span)


def _matched(tokens: Sequence[Token]) -> str:
    """The name of the operator that a rule or kernel matches, if it matches one by name."""
    types = [token.type for token in tokens]
    if "MATCH" not in types:
        return ""
    for number in range(types.index("MATCH") + 1, len(types)):
        if types[number] == "NAME" and types[number - 1] in ("MATCH", "COLON", "ACCUMULATING"):
            following = types[number + 1] if number + 1 < len(types) else ""
            if following != "COLON":
                return str(tokens[number])
        elif types[number] in ("COMMA", "OP", "WHERE"):
            return ""
    return ""


def _described(symbol: Symbol) -> str:
    code = "\n".join(filter(None, (symbol.signature, symbol.body)))
    owner = f"*on {symbol.owner}*" if symbol.owner and symbol.owner not in symbol.signature else ""
    return "\n\n".join(filter(None, (f"```morello\n{code}\n```", symbol.doc, owner)))
