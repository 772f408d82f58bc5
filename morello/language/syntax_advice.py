"""Advice for the usual mistakes: a table from what to do to broken texts that it applies to.

An error gets the advice if the parser fails on an example in the same state, could go on with the
same words, and found the same kind of word. The tests hold every example against its advice.
"""

from __future__ import annotations

from morello.language.grammars import Kind

Table = tuple[tuple[str, tuple[str, ...]], ...]

_RULE = 'rule a "s" match f: op '
_OP = "op a(X: T[i]) -> Y: T[i] { "
_KERNEL = 'kernel a on x "s" match '
_SPEC = "spec a() { "

_RULES: Table = (
    (
        'a rule says in a sentence what it does: rule NAME "..." match ...',
        ("rule a match",),
    ),
    (
        "give the matched operator a variable: match f: op",
        (
            'rule a "s" match op yield',
            'rule a "s" match accumulating op',
            'rule a "s" match f yield',
        ),
    ),
    (
        "the parts of a rule come in this order: match, choose, where, cost, yield",
        (
            _RULE + "where x(y) choose",
            _RULE + "where x choose",
            _RULE + "where x < 1 choose",
            _RULE + "cost x(y) where",
            _RULE + "cost x where",
            _RULE + "cost 1 where",
            _RULE + "cost x choose",
            _RULE + "cost 1 choose",
        ),
    ),
    (
        "a rule ends with its result: yield ...",
        (
            _RULE,
            _RULE + "rule",
            _RULE + "op",
            _RULE + "where x(y)",
            _RULE + "where x(y) rule",
            _RULE + "where x",
            _RULE + "where x rule",
            _RULE + "where x < 1",
            _RULE + "where x < 1 rule",
            _RULE + "choose d in x(y)",
            _RULE + "choose d in x(y) rule",
            _RULE + "cost 1",
            _RULE + "cost 1 rule",
            _RULE + "cost x",
            _RULE + "cost x rule",
            _RULE + "cost x(y)",
            _RULE + "cost x(y) rule",
        ),
    ),
    (
        "another operand in an operand's place is written f[X := Y]",
        (_RULE + "yield f[X =", _RULE + "yield f[X:", _RULE + "yield f[X,", _RULE + "yield f[X]"),
    ),
    (
        "a loop gives the dimension, the tile size and a body: for d step t { f }",
        (
            _RULE + "yield for d in",
            _RULE + "yield for d {",
            _RULE + "yield for d =",
            _RULE + "yield for d step t f",
            _RULE + "yield for d step t;",
        ),
    ),
    (
        "a placement has a body: with Y = X at level { ... }",
        (_RULE + "yield with Y = X {", _RULE + "yield with X at", _RULE + "yield with Y = X at l;"),
    ),
    (
        "give the tensor a variable in the match ('match f: matmul, Y: f.C'), then place that: "
        "with D = Y at level",
        (_RULE + "yield with Y = f.",),
    ),
    (
        "separate steps with ';'",
        (
            _RULE + "yield f f",
            _RULE + "yield { f f",
            _RULE + "yield g(X) f",
            _RULE + "yield { g(X) f",
            _RULE + "yield { g(X) for",
            _RULE + "yield for d step t { f } f",
            _RULE + "yield { for d step t { f } f",
        ),
    ),
    (
        "a step takes a condition without 'else': write a second step with the opposite condition",
        (_RULE + "yield f if a else", _RULE + "yield f if a(b) else"),
    ),
    (
        "a tensor has an element type and dimensions: A: T[m, k]",
        ("op a(A)", "op a(A,", "op a(A[", "op a(A: T)", "op a(A: T,"),
    ),
    (
        "the output follows an arrow: op NAME(inputs) -> C: T[m, n]",
        ("op a(X: T[i]) {", "op a(X: T[i]) Y", 'op a(X: T[i]) "s"'),
    ),
    (
        "a statement sets elements of the output: Y[i...] = ...",
        (_OP + "Y =", _OP + "Y +=", _OP + "Y max="),
    ),
    (
        "a statement is an element, then '=', '+=', 'max=' or 'min=', then a value; "
        "factors need an operator between them",
        (_OP + "Y[i] }", _OP + "Y[i] X", _OP + "Y[i] = X[i] X[i] }", _OP + "Y[i] -"),
    ),
)

_TARGET: Table = (
    (
        'a coefficient has a value, the word cycles and a text: coefficient NAME = 1 cycles "..."',
        (
            "target a { coefficient b 1",
            'target a { coefficient b = 1 "s"',
            "target a { coefficient b = 1 }",
            "target a { coefficient b = 1 cycles }",
            "target a { coefficient b = c",
        ),
    ),
    (
        "units are KiB, MiB and GiB",
        (
            "target a { page 4 KB",
            "target a { level b { capacity 4 KB",
            "target a { level b { capacity_unit 4 KB",
        ),
    ),
    (
        'a kernel says in a sentence what it does: kernel NAME on TARGET "..." match ...',
        ("kernel a on x match", "kernel a on x.y match"),
    ),
    (
        "a kernel names its target: kernel NAME on TARGET",
        ("kernel a match", 'kernel a "s"'),
    ),
    (
        "a kernel says its cost in cycles before it is emitted: cost ...",
        (
            _KERNEL + "any op (any[n] at l) emit",
            _KERNEL + "m(A: f32[n] at l) emit",
            _KERNEL + "m(A: f32[n] at l) where a emit",
        ),
    ),
    (
        "what counts as 0 to a kernel is said after its cost: flushes subnormals",
        (
            _KERNEL + "any op (any[n] at l) flushes",
            _KERNEL + "m(A: f32[n] at l) flushes",
            _KERNEL + "m(A: f32[n] at l) where a flushes",
            _KERNEL + "any op (any[n] at l) cost 1 flushes emit",
            _KERNEL + "any op (any[n] at l) cost 1 flushes a",
        ),
    ),
    (
        "functions that are called before and after a kernel: between NAME and NAME",
        (
            _KERNEL + "any op (any[n] at l) between",
            _KERNEL + "any op (any[n] at l) cost 1 between emit",
            _KERNEL + "any op (any[n] at l) cost 1 between a emit",
            _KERNEL + "any op (any[n] at l) cost 1 between a b",
            _KERNEL + "any op (any[n] at l) cost 1 between a and emit",
        ),
    ),
    (
        "a kernel ends with 'emit definition' or with 'emit' and C in triple backticks",
        (
            _KERNEL + "any op (any[n] at l) cost 1",
            _KERNEL + "any op (any[n] at l) cost a",
            _KERNEL + "any op (any[n] at l) cost 1 kernel",
            _KERNEL + "any op (any[n] at l) cost a kernel",
            _KERNEL + "any op (any[n] at l) cost a emit {",
            _KERNEL + 'any op (any[n] at l) cost a emit "s"',
            _KERNEL + "any op (any[n] at l) cost a emit b",
        ),
    ),
    (
        "an operand says at which level it lives: A: f32[..., 1, n] at reg",
        (_KERNEL + "m(A: f32[n])", _KERNEL + "m(A: f32[n],", _KERNEL + "m(A: f32[n] layout"),
    ),
    (
        "the operands of a named operator have names: matmul(A: f32[..., 1, n] at reg, ...)",
        (_KERNEL + "m(f32[",),
    ),
    (
        "patterns for operands of any operator have no names: any op (f32[...] at l1), or "
        "pointwise op (f32[..., n] at reg vector 64; f32[...] at l1)",
        (
            _KERNEL + "any op (A:",
            _KERNEL + "any op (any[n] at l,",
            _KERNEL + "pointwise op (A:",
            _KERNEL + "pointwise op (any[n] at l; any[n] at l,",
            _KERNEL + "reduction op (any[n] at l; any[n] at l;",
        ),
    ),
    (
        'functions and macros say in a sentence what they are: function NAME on TARGET "..." emit',
        ("function a on x emit", "function a on x.y emit", "macro a(b) on x.y emit"),
    ),
    (
        "a function names its target: function NAME on TARGET",
        ("function a emit", 'function a "s"'),
    ),
    (
        "a function ends with 'emit' and its definition in C in triple backticks",
        (
            'function a on x "s"',
            'function a on x "s" kernel',
            'function a on x "s" emit {',
            'function a on x "s" emit "s"',
            'function a on x "s" emit definition',
        ),
    ),
    (
        "a macro names its parameters in parentheses: macro NAME(a, b) on TARGET",
        ("macro a on", 'macro a "s"', "macro a emit", "macro a for"),
    ),
    (
        "a macro names its target: macro NAME(a, b) on TARGET",
        ("macro a(b) emit", 'macro a(b) "s"'),
    ),
    (
        "a macro ends with 'emit' and C with jinja2 in triple backticks",
        (
            'macro a(b) on x "s"',
            'macro a(b) on x "s" kernel',
            'macro a(b) on x "s" emit {',
            'macro a(b) on x "s" emit "s"',
            'macro a(b) on x "s" emit definition',
        ),
    ),
    (
        "primitives are for an element type, a number of lanes and a target: "
        "primitives f32 x 16 on TARGET { ... }",
        ("primitives f32 on", "primitives f32 {", "primitives f32 x 16 {"),
    ),
    (
        "a primitive's cost is the name of one coefficient of the target: "
        'add "{0} + {1}" vector_op',
        (
            'primitives f32 x 4 on a { add "s" 2',
            'primitives f32 x 4 on a { add "s" 2.5',
            'primitives f32 x 4 on a { add "s" b *',
            'primitives f32 x 4 on a { add "s" b +',
            'primitives f32 x 4 on a { add "s" cost',
        ),
    ),
)

_MSPEC: Table = (
    (
        "the target stands once, before the specs",
        ("target a target", "spec a() { } target"),
    ),
    (
        "parameters stand in parentheses, which may be empty: spec NAME() { ... }",
        ("spec a {", "spec a threads"),
    ),
    (
        "a tensor has an element type and a shape: input a: f32[M, K]",
        (_SPEC + "input a[", _SPEC + "input a f32", _SPEC + "input a;"),
    ),
    (
        "a shape follows the element type, f32[M, K]; that of a single number is f32[]",
        (
            _SPEC + "input a: f32 }",
            _SPEC + "input a: f32;",
            _SPEC + "input a: f32 input",
            _SPEC + "input a: f32 weight",
            _SPEC + "input a: f32 local",
            _SPEC + "input a: f32 output",
            _SPEC + "input a: f32 b",
            _SPEC + "input a: f32(",
            _SPEC + "input a: f32",
        ),
    ),
    (
        "'input', 'weight' and 'output' introduce tensors: choose another name",
        (_SPEC + "output =", _SPEC + "input =", _SPEC + "weight ="),
    ),
    (
        "'layout', 'panels' and 'stride' belong to the tensor before them: choose another name",
        (
            _SPEC + "input a: f32[M] layout =",
            _SPEC + "input a: f32[M] panels =",
            _SPEC + "input a: f32[M] stride =",
            _SPEC + "input a: f32[M] stride [",
        ),
    ),
    (
        "say what the tensor is: input, weight or output",
        (_SPEC + "a: f32",),
    ),
    (
        "operands are names of tensors: give every result a name, as in 't = add(a, b)'",
        (
            _SPEC + "a = b(c +",
            _SPEC + "a = b(c *",
            _SPEC + "a = b(c(",
            _SPEC + "a = b(2",
            _SPEC + "a = b(c, 2",
        ),
    ),
    (
        "operands come first, then scalars by name",
        (_SPEC + "a = b(c = 1, d)", _SPEC + "a = b(c = 1, d,", _SPEC + "a = b(c, d = 1, e)"),
    ),
    (
        "operators are calls: y = add(silu(x), x); arithmetic needs subscripts: y[i] = ...",
        (
            *(
                f"{_SPEC}a = {value} {sign}"
                for value in ("b", "b()", "b(c)", "b(c())", "b(c, d = 1)", "b(c = 1)")
                for sign in ("+", "-", "*", "/", "[")
            ),
            _SPEC + "a = b }",
            _SPEC + "a = b c",
            _SPEC + "a = 1",
            _SPEC + "a = 1.5",
            _SPEC + "a = -",
            _SPEC + "a = (",
        ),
    ),
)

ADVICE: dict[Kind, Table] = {"rules": _RULES, "target": _TARGET, "mspec": _MSPEC}
