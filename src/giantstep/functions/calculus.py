"""Derivatives of trees by the chain rule, and parity where the form of the tree proves it."""

from __future__ import annotations

from . import tree
from .elementary import ELEMENTARY, Parity
from .expression import expand
from .tree import Node, postorder


def derivative(root: Node) -> Node:
    """The derivative with respect to x wherever it exists; jumps, if there are any, are left out."""
    slopes: dict[int, Node] = {}
    for node in postorder(root):
        slopes[id(node)] = _slope(node, [slopes[id(arg)] for arg in node.args])
    return slopes[id(root)]


def _slope(node: Node, slopes: list[Node]) -> Node:
    """The chain rule at one node, given the derivatives of its arguments."""
    args = node.args
    match node.op:
        case "x":
            return tree.ONE
        case "const" | "number" | "less" | "and" | "not":
            return tree.ZERO
        case "add":
            return tree.add(*slopes)
        case "sub":
            return tree.sub(*slopes)
        case "neg":
            return tree.neg(slopes[0])
        case "mul":
            return tree.add(tree.mul(slopes[0], args[1]), tree.mul(args[0], slopes[1]))
        case "div":
            return tree.div(tree.sub(slopes[0], tree.mul(node, slopes[1])), args[1])
        case "power":
            outer = tree.mul(tree.const(node.value), tree.power(args[0], node.value - 1))
            return tree.mul(outer, slopes[0])
        case "max":
            return tree.select(tree.less(args[1], args[0]), *slopes)
        case "min":
            return tree.select(tree.less(args[0], args[1]), *slopes)
        case "select":
            return tree.select(args[0], slopes[1], slopes[2])
        case _:
            if tree.is_const(slopes[0], 0):
                return tree.ZERO
            return tree.mul(expand(ELEMENTARY[node.op].derivative, args[0]), slopes[0])


def proven_parity(root: Node) -> Parity | None:
    """Odd or even when that follows from the parts of the tree; None when they do not tell."""
    parities: dict[int, Parity | None] = {}
    for node in postorder(root):
        parities[id(node)] = _parity(node, [parities[id(arg)] for arg in node.args])
    return parities[id(root)]


def _parity(node: Node, parts: list[Parity | None]) -> Parity | None:
    if node.op == "x":
        return "odd"
    if all(part == "even" for part in parts):  # numbers included: they have no parts
        return "even"
    if None in parts:
        return None
    match node.op:
        case "add" | "sub" | "neg":
            return parts[0] if len(set(parts)) == 1 else None
        case "mul" | "div":
            return "even" if parts[0] == parts[1] else "odd"
        case "power" if float(node.value).is_integer():
            return "odd" if node.value % 2 else "even"
        case "select":
            return "odd" if parts == ["even", "odd", "odd"] else None
        case op if op in ELEMENTARY:
            return ELEMENTARY[op].parity
    return None
