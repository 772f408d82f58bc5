"""Which kinds of name may follow the tokens of a declaration that were read so far.

Kinds are those of `morello.editor.symbols`. The grammar says that a name may follow, and these
tables what it may be the name of.
"""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token
from msgspec import Struct

from morello.language.grammars import Kind


class Expected(Struct, frozen=True):
    """What a name may be the name of; ``new``: it is given here, to what is declared."""

    kinds: tuple[str, ...] = ()
    new: bool = False


VALUE = Expected(("variable", "function", "query"))
SIZE = Expected(("variable", "function"))
VARIABLE = Expected(("variable",))
OPERATOR = Expected(("operator",))
NEW = Expected((), new=True)

_DECLARES = {
    "RULE": "rule",
    "OP": "operator",
    "SPEC": "spec",
    "KERNEL": "kernel",
    "FUNCTION": "C function",
    "MACRO": "macro",
}
_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_ROLES = ("INPUT", "WEIGHT", "LOCAL", "OUTPUT")
_QUALIFIERS = ("PARALLEL", "ACCUMULATING", "SERIAL", "PREPACK", "ORDERED", "PRODUCING", "CONSUMING")
_STEP_BEGINS = (*_QUALIFIERS, "YIELD", "SEMICOLON", "LBRACE", "RBRACE")
_PARTS = ("MATCH", "EXCEPT", "CHOOSE", "IN", "WHERE", "COST", "YIELD", "EMIT")


def expected(kind: Kind, tokens: Sequence[Token]) -> Expected:
    """What a name after these tokens of one declaration may be."""
    types = [token.type for token in tokens]
    if not types:
        return Expected()
    before = types[-1]
    if _dotted(types) in ("TARGET", "EXTENDS", "ON"):
        return Expected(("target",), new=kind == "target" and _dotted(types) == "TARGET")
    if before == "DOT":
        return Expected(("attribute",))
    if before in _DECLARES and len(types) == 1:
        return Expected((_DECLARES[before],), new=True)
    brackets = _open(types)
    match types[0]:
        case "SPEC":
            return _in_spec(types, brackets)
        case "OP":
            return _in_operator(before, types, brackets)
        case "RULE":
            return _in_rule(types, brackets)
        case "KERNEL":
            return _in_kernel(types, brackets)
        case "TARGET":
            kinds = {"LEVEL": "level", "COEFFICIENT": "coefficient", "EMITTER": "emitter"}
            return Expected((kinds[before],)) if before in kinds else Expected()
        case "PRIMITIVES":
            return _in_primitives(before)
        case _:
            return Expected()


def _dotted(types: Sequence[str]) -> str:
    """The token before a name with dots that ends, or may begin, here."""
    last = len(types) - 1
    while last > 0 and types[last] == "DOT" and types[last - 1] == "NAME":
        last -= 2
    return types[last] if last >= 0 else ""


def _open(types: Sequence[str]) -> list[str]:
    """Brackets that are not closed, outermost first."""
    found: list[str] = []
    for type_ in types:
        if type_ in _OPENING:
            found.append(type_)
        elif found and type_ == _OPENING[found[-1]]:
            found.pop()
    return found


def _last(types: Sequence[str], wanted: Sequence[str]) -> int:
    return max((i for i, type_ in enumerate(types) if type_ in wanted), default=-1)


def _in_spec(types: Sequence[str], brackets: Sequence[str]) -> Expected:
    before = types[-1]
    if "LBRACE" not in types:
        return NEW if before in ("LPAR", "COMMA") and len(brackets) == 1 else SIZE
    if before == "COLON":
        return Expected(("dtype",))
    if before in _ROLES:
        return NEW
    if "LSQB" in brackets:
        return SIZE
    if brackets and brackets[-1] == "LPAR":
        return Expected(("operator", "variable", "function"))
    if before in ("ADD", "MAXIMUM", "MINIMUM") or [*types[-2:]] == ["RSQB", "ASSIGN"]:
        return Expected(("variable", "function"))  # the value of a statement with subscripts
    return OPERATOR if before == "ASSIGN" else VARIABLE


def _in_operator(before: str, types: Sequence[str], brackets: Sequence[str]) -> Expected:
    if before == "COLON":
        return Expected(("dtype",))
    if brackets and brackets[-1] == "LSQB":
        return VARIABLE
    heading = "LBRACE" not in types and "WHERE" not in types
    return NEW if heading and before != "DIVIDED" else VALUE


def _in_rule(types: Sequence[str], brackets: Sequence[str]) -> Expected:
    before = types[-1]
    part = _last(types, _PARTS)
    since = types[part:]
    match types[part] if part >= 0 else "":
        case "MATCH" | "EXCEPT" as word:
            if before in ("OF", "DOT") or since.count("COLON") > (word == "MATCH"):
                return VARIABLE
            named = before in ("COLON", "PARALLEL", "ACCUMULATING") or word == "EXCEPT"
            return OPERATOR if named and before != "ELEMENTWISE" else NEW
        case "CHOOSE":
            return NEW
        case "IN":
            return NEW if before == "COMMA" and not brackets else VALUE
        case "COST":
            return Expected((*VALUE.kinds, "coefficient"))
        case "YIELD":
            if before == "WITH":
                return NEW
            if before == "EQUAL" or (brackets and brackets[-1] == "LSQB"):
                return VARIABLE
            return Expected(("variable", "operator")) if before in _STEP_BEGINS else VALUE
        case "WHERE":
            return VALUE
        case _:
            return Expected()


def _in_kernel(types: Sequence[str], brackets: Sequence[str]) -> Expected:
    before = types[-1]
    part = _last(types, _PARTS)
    match types[part] if part >= 0 else "":
        case "MATCH":
            if before in ("MATCH", "ACCUMULATING"):
                return OPERATOR
            if before == "COLON":
                return Expected(("dtype",))
            if before in ("AT", "OR"):
                return Expected(("level",))
            if brackets and brackets[-1] == "LSQB":
                return VARIABLE
            return Expected(("operand", "dtype"))
        case "WHERE":
            return Expected((*VALUE.kinds, "level"))
        case "COST":
            return Expected((*VALUE.kinds, "coefficient", "level"))
        case _:
            return Expected()


def _in_primitives(before: str) -> Expected:
    if before == "PRIMITIVES":
        return Expected(("dtype",))
    if before == "STRING":
        return Expected(("coefficient", "entry"))
    return Expected(("entry",))
