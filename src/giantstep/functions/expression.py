"""Text to tree: a small, closed language of one variable, read without ever running what is read.

The text is parsed to Python's syntax tree, and that tree is walked; whatever is not a number, `x`, `pi`, `e`,
arithmetic, a comparison or a call of a listed function is refused, with the column where it stands.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import partial, reduce

from ..errors import ExpressionError
from . import tree
from .names import DEFINITIONS, PARAMETERS, canonical, unknown
from .operations import ELEMENTARY
from .tree import Node

MAX_LENGTH = 1000
MAX_DEPTH = 100
MAX_EXPONENT = 64

_CONSTANTS = {"pi": math.pi, "e": math.e}
_SYNTAX = {"min": (2, math.inf), "max": (2, math.inf), "clip": (3, 3), "where": (3, 3)}  # how many arguments
_FOREIGN = re.compile(r"[^A-Za-z0-9_ .,()+\-*/<>=]")
_MISSPELT = (  # what makes a syntax error, and what to say of it
    (r"(?<![<>=])=(?!=)", "a function is an expression in x, without an ="),
    (r"[\d)]\s*(x\b|[a-z]+\()", "a product is written with a *, as in 2*x"),
)
_HINTS = {"^": "powers are written **", ":": "write the expression in x alone"}
_ARITHMETIC = {ast.Add: tree.add, ast.Sub: tree.sub, ast.Mult: tree.mul, ast.Div: tree.div}
_COMPARISONS = {ast.Lt: "less", ast.Gt: "less", ast.LtE: "at_most", ast.GtE: "at_most"}
_REFUSED: dict[type, str] = {
    ast.IfExp: "write where(condition, a, b) instead of if and else",
    ast.Attribute: "names with a dot are not read; write tanh(x), not np.tanh(x)",
    ast.Tuple: "one expression is read, not several with commas",
}


def parse(text: str, variables: Sequence[str] = ("x",)) -> Node:
    """The tree of a user's expression in x; ExpressionError with the offending column when there is none."""
    return _Reader(text, {name: Node("x", value=float(i)) for i, name in enumerate(variables)}).read()


def indices(text: str) -> list[int]:
    """Which of x1, x2, ... a text speaks of, sorted."""
    return sorted({int(found) for found in re.findall(r"\bx([0-9]{1,3})\b", text)})


def expand(text: str, argument: Node, parameters: Mapping[str, float] | None = None) -> Node:
    """The tree of a definition of ours, with a node in place of x and numbers in place of its parameters."""
    names = {name: tree.const(value) for name, value in (parameters or {}).items()}
    return _Reader(text, {"x": argument, **names}).read()


def compact(text: str) -> str:
    """An expression that `parse` accepts, without the spaces that mean nothing."""
    return re.sub(r" *([^A-Za-z0-9_. ]) *", r"\1", re.sub(" +", " ", text.strip(" ")))


def _opposite(condition: Node) -> Node:
    return tree.sub(tree.ONE, condition)


class _Reader:
    """One text being read; every refusal names the column."""

    def __init__(self, text: str, names: Mapping[str, Node]):
        self.text, self.names = text, names
        self.indent = len(text) - len(text.lstrip(" "))
        self.readers = {
            ast.Constant: self.constant,
            ast.Name: self.name,
            ast.UnaryOp: self.unary,
            ast.BinOp: self.binary,
            ast.BoolOp: self.logical,
            ast.Compare: self.comparison,
            ast.Call: self.call,
        }

    def read(self) -> Node:
        if len(self.text) > MAX_LENGTH:
            raise self.refuse(
                f"the expression has {len(self.text)} characters; at most {MAX_LENGTH} are read", MAX_LENGTH
            )
        if not self.text.strip(" "):
            raise self.refuse("the expression is empty; write a function of x", 0)
        if found := _FOREIGN.search(self.text):
            hint = _HINTS.get(found.group(), "use numbers, x, + - * / ** ( ) , < > and the listed functions")
            raise self.refuse(f"the character {found.group()!a} has no meaning here; {hint}", found.start())
        try:
            return self.visit(self._syntax_tree().body, 0)
        except RecursionError:  # the caller's own stack may be deep already
            raise self.refuse("the expression is nested too deeply; simplify it", 0) from None

    def refuse(self, reason: str, at: ast.AST | int) -> ExpressionError:
        column = at if isinstance(at, int) else getattr(at, "col_offset", 0) + self.indent
        return ExpressionError(reason, self.text, column)

    def _syntax_tree(self) -> ast.Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's advice on odd spellings is not meant for our user
                return ast.parse(self.text.strip(" "), mode="eval")
        except SyntaxError as error:
            column = min(max(0, (error.offset or 1) - 1) + self.indent, len(self.text))
            hint = next((hint for seen, hint in _MISSPELT if re.search(seen, self.text)), error.msg)
            raise self.refuse(f"this is not an expression: {hint}", column) from None
        except (ValueError, MemoryError, RecursionError):
            raise self.refuse("this cannot be read as an expression; shorten it", 0) from None

    def visit(self, node: ast.expr, depth: int) -> Node:
        """The tree of one piece of syntax, a real number or a condition; or a refusal."""
        if depth > MAX_DEPTH:
            raise self.refuse(f"the expression is nested more than {MAX_DEPTH} deep; simplify it", node)
        reader = self.readers.get(type(node))
        if reader is None:
            raise self.refuse(_REFUSED.get(type(node), "only arithmetic and the listed functions of x are read"), node)
        try:
            result = reader(node, depth + 1)
        except (ZeroDivisionError, OverflowError) as error:
            raise self.refuse("this number is not finite", node) from error
        if tree.is_const(result) and not math.isfinite(result.value):
            raise self.refuse("this number is not finite", node)
        return result

    def condition(self, node: ast.expr, depth: int) -> Node:
        condition = self.visit(node, depth)
        negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if negation or isinstance(node, ast.Compare | ast.BoolOp) or tree.is_const(condition):
            return condition
        raise self.refuse("a condition is needed here, such as x > 0", node)

    def constant(self, node: ast.Constant, depth: int) -> Node:
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return tree.const(float(node.value))
        raise self.refuse(f"{node.value!a:.20} is not a real number", node)

    def name(self, node: ast.Name, depth: int) -> Node:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in _CONSTANTS:
            return tree.const(_CONSTANTS[node.id])
        if canonical(node.id) or node.id in _SYNTAX:
            raise self.refuse(f"{node.id} is a function; write {node.id}(...)", node)
        if node.id == "x":
            raise self.refuse("x stands for a single direction, x1, x2, ... for several: use one or the other", node)
        variables = "the variable is x" if "x" in self.names else "the variables are x1, x2 and so on"
        raise self.refuse(f"{node.id[:40]!r} is not known; {variables}, the constants are pi and e", node)

    def unary(self, node: ast.UnaryOp, depth: int) -> Node:
        if isinstance(node.op, ast.Not):
            return _opposite(self.condition(node.operand, depth))
        operand = self.visit(node.operand, depth)
        return tree.neg(operand) if isinstance(node.op, ast.USub) else operand

    def binary(self, node: ast.BinOp, depth: int) -> Node:
        if type(node.op) in _ARITHMETIC:
            return _ARITHMETIC[type(node.op)](self.visit(node.left, depth), self.visit(node.right, depth))
        if isinstance(node.op, ast.Pow):
            return self._power(node, self.visit(node.left, depth), self.visit(node.right, depth))
        raise self.refuse("of the operations only + - * / and ** are read", node)

    def _power(self, node: ast.BinOp, base: Node, exponent: Node) -> Node:
        if tree.is_const(exponent):
            if abs(exponent.value) > MAX_EXPONENT:
                raise self.refuse(f"the exponent {exponent.value:g} is too large; at most {MAX_EXPONENT}", node.right)
            try:
                return tree.power(base, exponent.value)
            except ValueError:  # a root of a negative number
                raise self.refuse("this number is not real", node) from None
        if tree.is_const(base) and base.value > 0:
            return Node("exp", (tree.mul(tree.const(math.log(base.value)), exponent),))
        raise self.refuse("the exponent must be a number, or the base a positive one", node.right)

    def logical(self, node: ast.BoolOp, depth: int) -> Node:
        conditions = [self.condition(value, depth) for value in node.values]
        if isinstance(node.op, ast.And):
            return reduce(tree.mul, conditions)
        return _opposite(reduce(tree.mul, map(_opposite, conditions)))

    def comparison(self, node: ast.Compare, depth: int) -> Node:
        terms = [self.visit(term, depth) for term in (node.left, *node.comparators)]
        result = tree.ONE
        for sign, left, right in zip(node.ops, terms[:-1], terms[1:], strict=True):
            if type(sign) not in _COMPARISONS:
                raise self.refuse("only <, <=, > and >= compare; an equality holds at single points", node)
            if isinstance(sign, (ast.Gt, ast.GtE)):
                left, right = right, left
            result = tree.mul(result, tree.apply(_COMPARISONS[type(sign)], left, right))
        return result

    def call(self, node: ast.Call, depth: int) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self.refuse(_REFUSED.get(type(node.func), "only the listed functions can be called"), node.func)
        if node.keywords:
            raise self.refuse("arguments are given by position, without names", node.keywords[0].value)
        name = node.func.id if node.func.id in _SYNTAX else canonical(node.func.id)
        if name is None:
            raise self.refuse(unknown(node.func.id, also=(*ELEMENTARY, *_SYNTAX)), node)
        parameters = dict(PARAMETERS.get(name, {}))
        fewest, most = _SYNTAX.get(name, (1, 1 + len(parameters)))
        if not fewest <= len(node.args) <= most:
            allowed = {fewest: f"{fewest}", math.inf: f"at least {fewest}"}.get(most, f"{fewest} to {most}")
            raise self.refuse(f"{name} takes {allowed} argument(s), not {len(node.args)}", node)
        if name == "where":
            condition, a, b = node.args
            return tree.select(self.condition(condition, depth), self.visit(a, depth), self.visit(b, depth))
        first, *others = (self.visit(argument, depth) for argument in node.args)
        match name:
            case "clip":
                return tree.apply("min", tree.apply("max", first, others[0]), others[1])
            case "min" | "max":
                return reduce(partial(tree.apply, name), others, first)
            case _ if name in ELEMENTARY:
                return tree.apply(name, first)
        for parameter, value, at in zip(parameters, others, node.args[1:], strict=False):
            if not tree.is_const(value):
                raise self.refuse(f"the parameter {parameter} of {name} must be a number", at)
            parameters[parameter] = value.value
        return expand(DEFINITIONS[name], first, parameters)
