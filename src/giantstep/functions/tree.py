"""Expression trees in one variable, with the simplifications that keep derivatives cheap to evaluate.

A node is an operation on other nodes. Nodes are compared by identity and shared freely, so a tree is in
general a directed acyclic graph; every pass over it walks `postorder`, which visits each node once.

Real operations: x, const, add, sub, mul, chain, div, neg, power, max, min, select, number and the names of
`elementary.ELEMENTARY`. Conditions, which are true or false: less, at_most, and, not; `number` makes one 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, field

from .bounds import bounds, may_fail

CONDITIONS = frozenset({"less", "at_most", "and", "not"})


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One operation; `value` is the number of a `const` and the exponent of a `power`.

    What is known of every node: numbers `low` and `high` between which it always is, and whether it may be infinite
    or undefined somewhere (`wild`), because of a division by zero, an overflow or the like in it.
    """

    op: str
    args: tuple[Node, ...] = ()
    value: float = 0.0
    low: float = field(init=False)
    high: float = field(init=False)
    wild: bool = field(init=False)

    def __post_init__(self) -> None:
        ranges = [(arg.low, arg.high) for arg in self.args]
        low, high = bounds(self.op, self.args, ranges, self.value)
        wild = may_fail(self.op, ranges, self.value) or any(arg.wild for arg in self.args)
        for name, known in (("low", low), ("high", high), ("wild", wild)):
            object.__setattr__(self, name, known)


X = Node("x")
ZERO = Node("const", value=0.0)
ONE = Node("const", value=1.0)


def postorder(root: Node, known: Container[Node] = ()) -> list[Node]:
    """Every node below `root` once, arguments before the operations that use them; not what is below `known` ones."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack = [(root, False)]
    while stack:
        node, arguments_done = stack.pop()
        if arguments_done:
            order.append(node)
        elif node not in seen and node not in known:
            seen.add(node)
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return order


def const(value: float) -> Node:
    return ZERO if value == 0 else ONE if value == 1 else Node("const", value=float(value))


def is_const(node: Node, value: float | None = None) -> bool:
    return node.op == "const" and (value is None or node.value == value)


def add(a: Node, b: Node) -> Node:
    if is_const(a) and is_const(b):
        return const(a.value + b.value)
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    if b.op == "neg":
        return sub(a, b.args[0])
    return Node("add", (a, b))


def sub(a: Node, b: Node) -> Node:
    if is_const(a) and is_const(b):
        return const(a.value - b.value)
    if is_const(b, 0):
        return a
    if is_const(a, 0):
        return neg(b)
    return Node("sub", (a, b))


def neg(a: Node) -> Node:
    if is_const(a):
        return const(-a.value)
    if a.op == "neg":
        return a.args[0]
    return Node("neg", (a,))


def mul(a: Node, b: Node) -> Node:
    if is_const(b):
        a, b = b, a  # numbers first, so that products of numbers meet and fold
    if is_const(a):
        if is_const(b):
            return const(a.value * b.value)
        if a.value == 0:
            return ZERO
        if a.value == 1:
            return b
        if a.value == -1:
            return neg(b)
        if b.op == "mul" and is_const(b.args[0]):
            return mul(const(a.value * b.args[0].value), b.args[1])
    return Node("mul", (a, b))


def chain(a: Node, b: Node) -> Node:
    """The product of two slopes, which is 0 where one of them is, whatever the other: inf and undefined included.

    A branch that is not taken has slope 0. What it would have been there does not matter, as in the derivative of
    sqrt(max(x, 0)) for x < 0.
    """
    if a.op == "number":
        a, b = b, a
    if b.op == "number":
        return select(b.args[0], a, ZERO)
    if is_const(a) or is_const(b) or not (a.wild or b.wild):
        return mul(a, b)
    return Node("chain", (a, b, ZERO))


def div(a: Node, b: Node) -> Node:
    """a/b; a quotient of numbers by zero raises ZeroDivisionError."""
    if is_const(b):
        if is_const(a):
            return const(a.value / b.value)
        if b.value == 0:
            raise ZeroDivisionError
        if b.value == 1:
            return a
    if is_const(a, 0):
        return ZERO
    return Node("div", (a, b))


def power(base: Node, exponent: float) -> Node:
    """base**exponent for a fixed exponent."""
    if exponent == 0:
        return ONE
    if exponent == 1:
        return base
    if is_const(base):
        return const(math.pow(base.value, exponent))
    if exponent == 0.5:
        return Node("sqrt", (base,))
    return Node("power", (base,), exponent)


def absolute(a: Node) -> Node:
    return a if a.low >= 0 else Node("abs", (a,))


def larger(a: Node, b: Node) -> Node:
    if is_const(b) and a.low >= b.value:
        return a
    return const(max(a.value, b.value)) if is_const(a) and is_const(b) else Node("max", (a, b))


def smaller(a: Node, b: Node) -> Node:
    if is_const(b) and a.high <= b.value:
        return a
    return const(min(a.value, b.value)) if is_const(a) and is_const(b) else Node("min", (a, b))


def less(a: Node, b: Node) -> Node:
    """The condition a < b; between numbers it is the number 1 or 0."""
    return const(a.value < b.value) if is_const(a) and is_const(b) else Node("less", (a, b))


def at_most(a: Node, b: Node) -> Node:
    """The condition a <= b, which is not the opposite of b < a: neither holds where one of them is undefined."""
    return const(a.value <= b.value) if is_const(a) and is_const(b) else Node("at_most", (a, b))


def both(a: Node, b: Node) -> Node:
    if is_const(a):
        return b if a.value else ZERO
    if is_const(b):
        return a if b.value else ZERO
    return Node("and", (a, b))


def either(a: Node, b: Node) -> Node:
    return opposite(both(opposite(a), opposite(b)))


def opposite(a: Node) -> Node:
    if is_const(a):
        return const(not a.value)
    return a.args[0] if a.op == "not" else Node("not", (a,))


def select(condition: Node, a: Node, b: Node) -> Node:
    """a where the condition holds, b elsewhere."""
    if is_const(condition):
        return a if condition.value else b
    if a is b or (is_const(a) and is_const(b, a.value)):
        return a
    if is_const(b, 0) and is_const(a, 1):
        return number(condition)
    if is_const(b, 0) and a.op == "number":
        return number(both(condition, a.args[0]))
    return Node("select", (condition, a, b))


def number(condition: Node) -> Node:
    """1 where the condition holds and 0 elsewhere; what is a real number already stays as it is."""
    return Node("number", (condition, ONE)) if condition.op in CONDITIONS else condition


def horner(coefficients: tuple[float, ...], argument: Node) -> Node:
    """The polynomial c0 + c1 x + c2 x² + ... of a node, by Horner's rule."""
    result = ZERO
    for coefficient in reversed(coefficients):
        result = add(const(coefficient), mul(argument, result))
    return result
