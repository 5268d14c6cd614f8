"""Text to tree: a small, closed language of one variable, read without ever running what is read.

The text is parsed to Python's syntax tree, and that tree is walked; whatever is not a number, `x`, `pi`, `e`,
arithmetic, a comparison or a call of a listed function is refused, with the column where it stands.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping

import numpy as np

from ..errors import ExpressionError
from . import tree
from .elementary import ELEMENTARY
from .names import DEFINITIONS, canonical, unknown
from .program import implementation
from .tree import Node

MAX_LENGTH = 1000
MAX_DEPTH = 100
MAX_EXPONENT = 64

_CONSTANTS = {"pi": math.pi, "e": math.e}
_SYNTAX = ("min", "max", "clip", "where")
_FOREIGN = re.compile(r"[^A-Za-z0-9_ .,()+\-*/<>=]")
_HINTS = {"^": "powers are written **", "=": "a function is an expression in x, without ="}


def parse(text: str) -> Node:
    """The tree of a user's expression in x; ExpressionError with the offending column when there is none."""
    return _Reader(text, {"x": tree.X}).read()


def expand(text: str, argument: Node, parameters: Mapping[str, float] | None = None) -> Node:
    """The tree of a definition of ours, with a node in place of x and numbers in place of its parameters."""
    names = {name: tree.const(value) for name, value in (parameters or {}).items()}
    return _Reader(text, {"x": argument, **names}).read()


def normalised(text: str) -> str:
    """An expression that `parse` accepts, in uniform spelling: equal texts up to spaces become equal."""
    return ast.unparse(ast.parse(text.strip(), mode="eval"))


class _Reader:
    """One text being read; every refusal names the column."""

    def __init__(self, text: str, names: Mapping[str, Node]):
        self.text, self.names = text, names

    def read(self) -> Node:
        self._check_characters()
        body = self._syntax_tree().body
        try:
            return tree.number(self.visit(body, 0))
        except RecursionError:
            raise ExpressionError("the expression is nested too deeply", self.text) from None

    def refuse(self, reason: str, at: ast.AST | int) -> ExpressionError:
        column = at if isinstance(at, int) else getattr(at, "col_offset", 0) + self._indent
        return ExpressionError(reason, self.text, column)

    @property
    def _indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" "))

    def _check_characters(self) -> None:
        if len(self.text) > MAX_LENGTH:
            raise self.refuse(
                f"the expression has {len(self.text)} characters, at most {MAX_LENGTH} are read", MAX_LENGTH
            )
        if not self.text.strip(" "):
            raise self.refuse("the expression is empty; write a function of x", 0)
        if found := _FOREIGN.search(self.text):
            hint = _HINTS.get(found.group(), "use numbers, x, + - * / ** ( ) , < > and the listed functions")
            raise self.refuse(
                f"the character {ascii(found.group())} has no meaning here; {hint}", found.start()
            )

    def _syntax_tree(self) -> ast.Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's advice on odd spellings is not meant for our user
                return ast.parse(self.text.strip(" "), mode="eval")
        except SyntaxError as error:
            column = max(0, (error.offset or 1) - 1) + self._indent
            hint = _HINTS["="] if re.search(r"(?<![<>=])=(?!=)", self.text) else f"({error.msg})"
            raise self.refuse(f"this is not an expression {hint}", min(column, len(self.text))) from None
        except (ValueError, MemoryError, RecursionError):
            raise self.refuse("this cannot be read as an expression; shorten it", 0) from None

    def visit(self, node: ast.expr, depth: int) -> Node:
        """The tree of one piece of syntax, or a refusal."""
        if depth > MAX_DEPTH:
            raise self.refuse(f"the expression is nested more than {MAX_DEPTH} deep; simplify it", node)
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.refuse(
                _REFUSED.get(type(node), "only arithmetic and listed functions of x are read"), node
            )
        try:
            result: Node = method(node, depth + 1)
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise self.refuse("this number is not finite", node) from None
        if tree.is_const(result) and not math.isfinite(result.value):
            raise self.refuse("this number is not finite", node)
        return result

    def _real(self, node: ast.expr, depth: int) -> Node:
        return tree.number(self.visit(node, depth))

    def _condition(self, node: ast.expr, depth: int) -> Node:
        condition = self.visit(node, depth)
        if condition.op in tree.CONDITIONS or tree.is_const(condition):
            return condition
        raise self.refuse("a condition is needed here, such as x > 0", node)

    def _constant(self, node: ast.Constant, depth: int) -> Node:
        if type(node.value) not in (int, float):
            raise self.refuse(f"{ascii(node.value)[:20]} is not a real number", node)
        return tree.const(float(node.value))

    def _name(self, node: ast.Name, depth: int) -> Node:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in _CONSTANTS:
            return tree.const(_CONSTANTS[node.id])
        if canonical(node.id) or node.id in _SYNTAX:
            raise self.refuse(f"{node.id} is a function; write {node.id}(...)", node)
        raise self.refuse(
            f"{node.id[:40]!r} is not known; the variable is x, the constants are pi and e", node
        )

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Node:
        if isinstance(node.op, ast.Not):
            return tree.opposite(self._condition(node.operand, depth))
        operand = self._real(node.operand, depth)
        if isinstance(node.op, ast.USub):
            return tree.neg(operand)
        return operand

    def _binop(self, node: ast.BinOp, depth: int) -> Node:
        combine = {ast.Add: tree.add, ast.Sub: tree.sub, ast.Mult: tree.mul, ast.Div: tree.div}.get(
            type(node.op)
        )
        if combine is None and not isinstance(node.op, ast.Pow):
            raise self.refuse("of the operations only + - * / and ** are read", node)
        left, right = self._real(node.left, depth), self._real(node.right, depth)
        return combine(left, right) if combine else self._power(left, right, node)

    def _power(self, base: Node, exponent: Node, node: ast.BinOp) -> Node:
        if tree.is_const(exponent):
            if abs(exponent.value) > MAX_EXPONENT:
                raise self.refuse(
                    f"the exponent {exponent.value:g} is too large; at most {MAX_EXPONENT}", node.right
                )
            return tree.power(base, exponent.value)
        if tree.is_const(base) and base.value > 0:
            rate = 1.0 if base.value == math.e else math.log(base.value)
            return Node("exp", (tree.mul(tree.const(rate), exponent),))
        raise self.refuse("the exponent must be a number, or the base a positive one", node.right)

    def _boolop(self, node: ast.BoolOp, depth: int) -> Node:
        join = tree.both if isinstance(node.op, ast.And) else tree.either
        result = self._condition(node.values[0], depth)
        for value in node.values[1:]:
            result = join(result, self._condition(value, depth))
        return result

    def _compare(self, node: ast.Compare, depth: int) -> Node:
        terms = [self._real(term, depth) for term in (node.left, *node.comparators)]
        result = tree.ONE
        for sign, left, right in zip(node.ops, terms[:-1], terms[1:], strict=True):
            if isinstance(sign, (ast.Lt, ast.Gt)):
                step = tree.less(left, right) if isinstance(sign, ast.Lt) else tree.less(right, left)
            elif isinstance(sign, (ast.LtE, ast.GtE)):
                step = tree.less(right, left) if isinstance(sign, ast.LtE) else tree.less(left, right)
                step = tree.opposite(step)
            else:
                raise self.refuse("only <, <=, > and >= compare; an equality holds on single points", node)
            result = tree.both(result, step)
        return result

    def _call(self, node: ast.Call, depth: int) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self.refuse("only the listed functions can be called", node.func)
        if node.keywords:
            raise self.refuse("arguments are given by position, without names", node.keywords[0].value)
        name = node.func.id
        if name in _SYNTAX:
            return self._built_in(name, node, depth)
        known = canonical(name)
        if known is None:
            raise self.refuse(unknown(name, also=(*ELEMENTARY, *_SYNTAX)), node)
        definition = DEFINITIONS.get(known) if known not in ELEMENTARY else None
        parameters = definition.parameters if definition else ()
        self._count(node, known, 1, 1 + len(parameters))
        arguments = [self._real(argument, depth) for argument in node.args]
        if definition is None:
            return _apply(known, arguments[0])
        given = dict(parameters)
        for (parameter, _), value, at in zip(parameters, arguments[1:], node.args[1:], strict=False):
            if not tree.is_const(value):
                raise self.refuse(f"the parameter of {known} must be a number", at)
            given[parameter] = value.value
        return expand(definition.text, arguments[0], given)

    def _built_in(self, name: str, node: ast.Call, depth: int) -> Node:
        if name == "where":
            self._count(node, name, 3, 3)
            condition = self._condition(node.args[0], depth)
            return tree.select(condition, self._real(node.args[1], depth), self._real(node.args[2], depth))
        self._count(node, name, *((3, 3) if name == "clip" else (2, MAX_LENGTH)))
        values = [self._real(argument, depth) for argument in node.args]
        if name == "clip":
            return tree.smaller(tree.larger(values[0], values[1]), values[2])
        result = values[0]
        for value in values[1:]:
            result = tree.smaller(result, value) if name == "min" else tree.larger(result, value)
        return result

    def _count(self, node: ast.Call, name: str, fewest: int, most: int) -> None:
        if not fewest <= len(node.args) <= most:
            allowed = (
                f"{fewest}" if fewest == most else f"at least {fewest}" if most > 9 else f"{fewest} or {most}"
            )
            raise self.refuse(f"{name} takes {allowed} argument(s), not {len(node.args)}", node)


_REFUSED: dict[type, str] = {
    ast.IfExp: "write where(condition, a, b) instead of if and else",
    ast.Attribute: "attributes (names with a dot) are not read",
    ast.Tuple: "one expression is read, not several with commas",
    ast.Lambda: "write the expression in x alone, without lambda",
}


def _apply(name: str, argument: Node) -> Node:
    """An elementary function of a node; of a number, its value."""
    if not tree.is_const(argument):
        return Node(name, (argument,))
    with np.errstate(all="ignore"):
        return tree.const(float(implementation(name, 0.0, np)(np.float64(argument.value))))
