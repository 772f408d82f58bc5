"""Kinds of expressions: every name, function, attribute and argument held against the tables.

The tables are in `morello.language.functions`. An expression that is wrong has the kind
``UNKNOWN``, which fits everywhere, so that one mistake is one error. Kind ``size`` is a number that
comes from ``tile_sizes``; it is accepted wherever a number is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct, field

from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.folding import constant, contradiction
from morello.language.functions import ATTRIBUTES, FUNCTIONS, Signature
from morello.language.places import text_of, within
from morello.records import replace


class Typed(Struct, frozen=True):
    """Kind of a value. ``sized``: it depends on the Spec's sizes, so it is an array over a box.

    ``members``: what else it has by name, each with its kind, such as operands of an operation.
    """

    kind: str
    sized: bool = False
    members: tuple[tuple[str, str], ...] = ()


UNKNOWN = Typed("unknown")
NUMBER = Typed("number")
TRUTH = Typed("truth")
LIST = "list of "


CHOICES = {
    "dim": "dimensions are chosen, such as 'choose d in output_dims(f)', or an operator's: f.m",
    "layout": "layouts are chosen: 'choose layout in layouts(X, level)'",
    "level": "a rule names no level of a target; it chooses one: 'choose level in nearer(X.level)'",
}
"""What rules choose, for `KnownNames.choices`."""

INFINITE = frozenset({"inf", "infinity"})
FINITE = "infinity has no name; the numbers of f32 go from -3.4028235e38 to 3.4028235e38"


class Around(Struct, frozen=True):
    """What a spec has around a statement's expression, for advice only.

    Attributes:
        parameters: Names that stand for numbers, which are in their place already.
        operators: Names of operators, which take tensors instead of elements.
    """

    parameters: Collection[str] = ()
    operators: Collection[str] = ()


NOTHING_AROUND = Around()


class KnownNames(Struct, frozen=True):
    """What an expression may refer to.

    Attributes:
        names: Variables with their kinds.
        functions: Functions that may be called.
        numbers: Further names that are numbers (coefficients); none accepts any name.
        element: Kind of an element of a tensor, and its checks; none where elements mean nothing.
        advice: Help for an unknown name, instead of the nearest known one, if it returns a text.
        around: What else advice may name.
        choices: How the variables of a kind come to be, for the help of an unknown name there.
    """

    names: Mapping[str, Typed]
    functions: Mapping[str, Signature] = field(default_factory=lambda: FUNCTIONS)
    numbers: Collection[str] | None = ()
    element: Callable[[ast.Element], Typed] | None = None
    advice: Callable[[str], str] = lambda name: ""
    around: Around = NOTHING_AROUND
    choices: Mapping[str, str] = field(default_factory=dict)

    def wanting(self, kind: str) -> KnownNames:
        """The same, where a name has to be of this kind."""
        if kind not in self.choices:
            return self

        def advice(name: str) -> str:
            return "" if get_close_matches(name, self.names, n=1) else self.choices[kind]

        return replace(self, advice=advice)


def article(kind: str) -> str:
    """A kind with its article: ``an operand``, ``a level``."""
    shown = "truth value" if kind == "truth" else kind
    return f"{'an' if shown[0] in 'aeiou' else 'a'} {shown}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 dimension``, ``2 dimensions``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def fits(found: Typed, expected: str) -> bool:
    """Whether a value of the kind found may stand where the other is expected."""
    if found is UNKNOWN or found.kind == expected:
        return True
    return found.kind == "size" and expected == "number"


def expect(
    expr: ast.Expr,
    expected: str,
    scope: KnownNames,
    collector: Collector,
    *,
    code: str = "K005",
    what: str = "",
) -> Typed:
    """Infer a kind and report it if it is not the expected one.

    Args:
        expr: The expression.
        expected: The kind that is wanted here.
        scope: Names and functions.
        collector: Takes the errors.
        code: Code of the error for a wrong kind.
        what: What the expression is for, such as ``a guard``; begins the message.

    Returns:
        The kind, or ``UNKNOWN`` if it was wrong.
    """
    asked = scope.wanting(expected) if isinstance(expr, ast.Name) else scope
    found = infer(expr, asked, collector)
    if fits(found, expected):
        return found
    if found.kind.startswith(LIST) and code == "K005":
        return _list_elsewhere(expr, found, collector)
    subject = f"{what} must be {article(expected)}" if what else f"expected {article(expected)}"
    message = f"{subject}, found {article(found.kind)}"
    collector.error(code, message, expr.span, f"this is {article(found.kind)}")
    return UNKNOWN


def expect_guards(
    guards: Sequence[ast.Expr],
    scope: KnownNames,
    collector: Collector,
    *,
    kind: str,
    never: str,
    unreduced: Sequence[ast.Expr] = (),
) -> None:
    """Report guards that are no conditions (code ``kind``), or that can never hold (``never``).

    ``unreduced``: what holds besides, where what is matched reduces nothing.
    """
    sound = []
    for guard in guards:
        before = len(collector.diagnostics)
        expect(guard, "truth", scope, collector, code=kind, what="a guard")
        if len(collector.diagnostics) == before:
            sound.append(guard)
    found = contradiction(sound, unreduced)
    if found is None:
        return
    condition, other = found
    message, help = "this guard can never hold", "it is false for every Spec"
    if other in unreduced:
        help = "what is matched has no reduction that could still be started"
    elif other is not None:
        message = "these guards can never hold together"
        help = f"'{text_of(other.span)}' excludes it"
    collector.error(never, message, condition.span, "always false", help)


def infer(expr: ast.Expr, scope: KnownNames, collector: Collector) -> Typed:
    """Kind of an expression; what is wrong in it goes to the collector."""
    found = NUMBER
    match expr:
        case ast.Name():
            found = _name(expr, scope, collector)
        case ast.Attribute():
            found = _attribute(expr, scope, collector)
        case ast.Call():
            found = _call(expr, scope, collector)
        case ast.Unary(operator=operator, operand=operand):
            kind = "number" if operator == "-" else "truth"
            found = Typed(kind, expect(operand, kind, scope, collector).sized)
        case ast.Binary():
            found = _binary(expr, scope, collector)
        case ast.Conditional():
            found = _conditional(expr, scope, collector)
        case ast.Element():
            found = _element(expr, scope, collector)
    return found


def _list_elsewhere(expr: ast.Expr, found: Typed, collector: Collector) -> Typed:
    collector.error(
        "K006",
        f"{article(found.kind)} can only be chosen from",
        expr.span,
        "used as a value",
        help="write 'choose variable in ...' and use the variable here",
    )
    return UNKNOWN


def _name(node: ast.Name, scope: KnownNames, collector: Collector) -> Typed:
    if node.id in scope.names:
        return scope.names[node.id]
    if scope.numbers is None or node.id in scope.numbers:
        return NUMBER
    if node.id in scope.functions:
        count = len(scope.functions[node.id].arguments)
        advice = f"'{node.id}' is a function of {count}: write {node.id}(...)"
    else:
        advice = scope.advice(node.id) or (FINITE if node.id.lower() in INFINITE else "")
    known = [*scope.names, *scope.numbers, *scope.around.parameters]
    help = advice or collector.suggestion(node.id, known)
    collector.error("K001", f"unknown name '{node.id}'", node.span, "not known here", help)
    return UNKNOWN


def _attribute(node: ast.Attribute, scope: KnownNames, collector: Collector) -> Typed:
    base = infer(node.base, scope, collector)
    if base is UNKNOWN:
        return UNKNOWN
    kind = ATTRIBUTES.get((base.kind, node.name)) or dict(base.members).get(node.name)
    if kind is not None:
        return Typed(kind, base.sized)
    known = [name for owner, name in ATTRIBUTES if owner == base.kind]
    known += [name for name, _ in base.members]
    help = collector.suggestion(node.name, known) or f"{article(base.kind)} has no attributes"
    place = within(node.span, node.name, after=node.base.span.end + 1)
    message = f"{article(base.kind)} has no attribute '{node.name}'"
    collector.error("K003", message, place, "unknown attribute", help)
    return UNKNOWN


def _call(node: ast.Call, scope: KnownNames, collector: Collector) -> Typed:
    signature = scope.functions.get(node.function)
    place = within(node.span, node.function)
    if signature is None:
        for argument in node.args:
            infer(argument, scope, collector)
        if node.function in scope.around.operators:
            help = (
                f"'{node.function}' is an operator, and operators take whole tensors: "
                f"write h = {node.function}(...) before, and read elements of h here"
            )
        else:
            help = collector.suggestion(node.function, scope.functions) or (
                f"functions are {', '.join(sorted(scope.functions))}"
                f"{'; operators take whole tensors' if scope.element is not None else ''}"
            )
        message = f"unknown function '{node.function}'"
        collector.error("K002", message, place, "not a function", help)
        return UNKNOWN
    if _wrong_count(node, signature, scope, collector):
        return UNKNOWN
    repeated = len(node.args) - len(signature.arguments)
    kinds = (signature.arguments + signature.arguments[-1:] * repeated)[: len(node.args)]
    found = [
        expect(argument, kind, scope, collector)
        for argument, kind in zip(node.args, kinds, strict=True)
    ]
    if node.function == "ceil_div":
        _divisor(node.args[1], collector)
    return Typed(signature.result, signature.sized or any(f.sized for f in found))


def _wrong_count(
    node: ast.Call, signature: Signature, scope: KnownNames, collector: Collector
) -> bool:
    wanted, given = len(signature.arguments), len(node.args)
    fewest = wanted - signature.optional
    if fewest <= given <= wanted or (signature.variadic and given > wanted):
        return False
    for argument in node.args:
        infer(argument, scope, collector)
    more = " or more" if signature.variadic else ""
    count = f"{fewest} or {wanted}" if signature.optional else f"{wanted}{more}"
    noun = "argument" if count == "1" else "arguments"
    form = f"{node.function}({signature.form})"
    collector.error(
        "K004",
        f"'{node.function}' takes {count} {noun}, {given} given",
        node.span,
        f"{given} given",
        help=f"{form}: {signature.doc}",
    )
    return True


def _divisor(expr: ast.Expr, collector: Collector) -> None:
    value = constant(expr)
    if value is not None and value == 0:
        collector.error("K008", "division by zero", expr.span, "this is 0")


def _binary(node: ast.Binary, scope: KnownNames, collector: Collector) -> Typed:
    match node.operator:
        case "and" | "or":
            kind, result = "truth", "truth"
        case "==" | "!=":
            return _equality(node, scope, collector)
        case "<" | "<=" | ">" | ">=":
            kind, result = "number", "truth"
        case _:
            kind, result = "number", "number"
    sides = [expect(side, kind, scope, collector) for side in (node.left, node.right)]
    if node.operator in {"/", "//", "%"}:
        _divisor(node.right, collector)
    return Typed(result, any(s.sized for s in sides))


def _equality(node: ast.Binary, scope: KnownNames, collector: Collector) -> Typed:
    left, right = infer(node.left, scope, collector), infer(node.right, scope, collector)
    for side, found in ((node.left, left), (node.right, right)):
        if found.kind.startswith(LIST):
            _list_elsewhere(side, found, collector)
            return TRUTH
    if not fits(left, right.kind) and not fits(right, left.kind):
        message = f"{article(left.kind)} is never equal to {article(right.kind)}"
        collector.error("K005", message, node.span, "different kinds")
    return Typed("truth", left.sized or right.sized)


def _conditional(node: ast.Conditional, scope: KnownNames, collector: Collector) -> Typed:
    condition = expect(node.condition, "truth", scope, collector)
    # Without 'else' the value is 0 where the condition does not hold.
    if node.otherwise is None:
        then = expect(node.then, "number", scope, collector)
        return Typed("number", condition.sized or then.sized)
    then = infer(node.then, scope, collector)
    if then is UNKNOWN:
        infer(node.otherwise, scope, collector)
        return UNKNOWN
    kind = "number" if then.kind == "size" else then.kind
    other = expect(node.otherwise, kind, scope, collector)
    return Typed(kind, condition.sized or then.sized or other.sized)


def _element(node: ast.Element, scope: KnownNames, collector: Collector) -> Typed:
    if scope.element is not None:
        return scope.element(node)
    collector.error(
        "K007",
        f"'{node.tensor}[...]': elements of tensors have a meaning in operators only",
        node.span,
        "not allowed here",
    )
    return UNKNOWN
