"""Expression trees, with the simplifications that keep derivatives cheap to evaluate.

A node is an operation on other nodes. There is one node for each different operation: what is written twice is the same
object, is differentiated once and computed once. So a tree is in general a directed acyclic graph; every pass over it
walks `postorder`, which visits each node once.

Operations: x, const, add, sub, mul, chain, div, neg, power, max, min, less, at_most, select and the names of
`operations.ELEMENTARY`. A condition is a number: a comparison is 1 where it holds and 0 elsewhere, "a and b" is a
product, "not a" is 1 - a.
"""

from __future__ import annotations

import math
from collections.abc import Container
from weakref import WeakValueDictionary

import numpy as np

from .operations import implementation

_MAY_OVERFLOW = frozenset({"div", "sqrt", "log", "log1p", "exp", "expm1", "sinh", "cosh"})  # or have no value


class Node:
    """One operation; `value` is the number of a `const`, the exponent of a `power` and the index of a variable.

    A `wild` node may be infinite or undefined somewhere, because of a division by zero, an overflow or the like in it.
    """

    op: str
    args: tuple[Node, ...]
    value: float
    wild: bool
    __slots__ = ("__weakref__", "args", "op", "value", "wild")

    def __new__(cls, op: str, args: tuple[Node, ...] = (), value: float = 0.0) -> Node:
        node = _KNOWN.get((op, args, value))
        if node is None:
            node = super().__new__(cls)
            root = op == "power" and (value < 0 or not float(value).is_integer())
            wild = root or op in _MAY_OVERFLOW or any(arg.wild for arg in args)
            node.op, node.args, node.value, node.wild = op, args, value, wild
            _KNOWN[op, args, value] = node
        return node


_KNOWN: WeakValueDictionary[tuple[str, tuple[Node, ...], float], Node] = WeakValueDictionary()

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


def apply(op: str, *args: Node) -> Node:
    """An operation on nodes; on numbers, its value."""
    if not all(map(is_const, args)):
        return Node(op, args)
    with np.errstate(all="ignore"):
        return const(float(implementation(op, 0.0, np)(*(np.float64(arg.value) for arg in args))))  # type: ignore[arg-type]


def add(a: Node, b: Node) -> Node:
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    return sub(a, b.args[0]) if b.op == "neg" else apply("add", a, b)


def sub(a: Node, b: Node) -> Node:
    if is_const(b, 0):
        return a
    return neg(b) if is_const(a, 0) else apply("sub", a, b)


def neg(a: Node) -> Node:
    return a.args[0] if a.op == "neg" else apply("neg", a)


def mul(a: Node, b: Node) -> Node:
    if is_const(b):
        a, b = b, a  # numbers first, so that products of numbers meet and fold
    if is_const(a, 0):
        return ZERO
    if is_const(a, 1):
        return b
    if is_const(a, -1):
        return neg(b)
    if is_const(a) and b.op == "mul" and is_const(b.args[0]):
        return mul(apply("mul", a, b.args[0]), b.args[1])
    return apply("mul", a, b)


def chain(a: Node, b: Node) -> Node:
    """The product of two slopes, which is 0 where one of them is, whatever the other: inf and undefined included.

    A branch that is not taken has slope 0. What it would have been there does not matter, as in the derivative of
    sqrt(max(x, 0)) for x < 0.
    """
    if is_const(a) or is_const(b) or not (a.wild or b.wild):
        return mul(a, b)
    return Node("chain", (a, b, ZERO))


def div(a: Node, b: Node) -> Node:
    """a/b; anything by the number zero raises ZeroDivisionError."""
    if is_const(b, 0):
        raise ZeroDivisionError
    if is_const(b, 1):
        return a
    return ZERO if is_const(a, 0) else apply("div", a, b)


def power(base: Node, exponent: float) -> Node:
    """base**exponent for a fixed exponent."""
    if exponent == 0:
        return ONE
    if exponent == 1:
        return base
    if is_const(base):
        return const(math.pow(base.value, exponent))
    return Node("sqrt", (base,)) if exponent == 0.5 else Node("power", (base,), exponent)


def select(condition: Node, a: Node, b: Node) -> Node:
    """a where the condition holds, b elsewhere."""
    if is_const(condition):
        return a if condition.value else b
    if a is b or (is_const(a) and is_const(b, a.value)):
        return a
    if is_const(b, 0) and is_const(a, 1):
        return condition
    return Node("select", (condition, a, b))
