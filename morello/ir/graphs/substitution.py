"""A declared meaning written for a graph: its tensors, its dimensions, numbers for scalars."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from morello.ir.operators import OperandIndex
from morello.language import ast
from morello.language.source import Span


class Substitution(Struct, frozen=True):
    """What stands in the place of the names of an operator's declaration.

    Attributes:
        tensors: The graph's tensor of each operand.
        accesses: How the graph's dimensions index those tensors.
        dims: What each dimension is in the graph's.
        scalars: Values of the scalars.
        values: Expressions in the place of tensors, where these are inlined.
    """

    tensors: Mapping[str, str]
    accesses: Mapping[str, tuple[OperandIndex, ...]]
    dims: Mapping[str, OperandIndex]
    scalars: Mapping[str, float]
    values: Mapping[str, ast.Expr]

    def statement(self, statement: ast.Statement) -> ast.Statement:
        """The whole statement."""
        target = self._element(statement.target)
        elsewhere = statement.elsewhere
        return ast.Statement(
            target,
            statement.update,
            self.expression(statement.value),
            None if elsewhere is None else self.expression(elsewhere),
            span=statement.span,
        )

    def expression(self, expr: ast.Expr) -> ast.Expr:
        """An expression of the meaning."""
        match expr:
            case ast.Element(tensor=tensor):
                inlined = self.values.get(self.tensors[tensor])
                return self._element(expr) if inlined is None else inlined
            case ast.Name(id=name, span=span):
                return self._name(name, expr, span)
            case ast.Unary(operator=operator, operand=operand, span=span):
                return ast.Unary(operator, self.expression(operand), span=span)
            case ast.Binary(operator=operator, left=left, right=right, span=span):
                sides = self.expression(left), self.expression(right)
                return ast.Binary(operator, *sides, span=span)
            case ast.Call(function=function, args=args, span=span):
                return ast.Call(function, tuple(map(self.expression, args)), span=span)
            case ast.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
                other = None if otherwise is None else self.expression(otherwise)
                parts = self.expression(then), self.expression(condition), other
                return ast.Conditional(*parts, span=span)
            case _:
                return expr

    def _name(self, name: str, expr: ast.Name, span: Span) -> ast.Expr:
        if name in self.scalars:
            return ast.Number(self.scalars[name], span=span)
        if name in self.dims:
            ((dim, factor), *more) = self.dims[name].terms
            assert (factor, more) == (1, []), f"'{name}' is a window of others"
            return ast.Name(dim, span=span)
        return expr

    def _element(self, element: ast.Element) -> ast.Element:
        tensor = self.tensors[element.tensor]
        indices = tuple(index.written(element.span) for index in self.accesses[tensor])
        return ast.Element(tensor, indices, span=element.span)
