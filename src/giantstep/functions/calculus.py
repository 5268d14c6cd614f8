"""Derivatives of trees by the chain rule."""

from __future__ import annotations

from . import tree
from .expression import expand
from .operations import ELEMENTARY
from .tree import Node, postorder


def derivative(root: Node, known: dict[Node, Node] | None = None, variable: int = 0) -> Node:
    """The derivative with respect to x, or to one of x1, x2, ..., wherever it exists; jumps, if any, are left out.

    At a point where there is none it has the value of one side, or 0: that of the second argument where those of
    max or min are equal, 0 where a root or a power begins with infinite slope at a kink (sqrt(abs(x)) at 0). `known`
    are derivatives that have been taken already; those taken now are added to it.
    """
    slopes = {} if known is None else known
    for node in postorder(root, slopes):
        slopes[node] = _slope(node, [slopes[arg] for arg in node.args], variable)
    return slopes[root]


def _slope(node: Node, slopes: list[Node], variable: int) -> Node:
    """The chain rule at one node, given the derivatives of its arguments."""
    args = node.args
    match node.op:
        case "x":
            return tree.const(node.value == variable)
        case "const" | "less" | "at_most":
            return tree.ZERO
        case "add" | "sub" | "neg":
            return getattr(tree, node.op)(*slopes)
        case "mul" | "chain":
            return tree.add(tree.chain(slopes[0], args[1]), tree.chain(args[0], slopes[1]))
        case "div":
            above = tree.sub(slopes[0], tree.chain(node, slopes[1]))
            return tree.chain(above, tree.div(tree.ONE, args[1]))
        case "power":
            outer = tree.mul(tree.const(node.value), tree.power(args[0], node.value - 1))
            return tree.chain(outer, slopes[0])
        case "max":
            return tree.select(tree.apply("less", args[1], args[0]), *slopes)
        case "min":
            return tree.select(tree.apply("less", args[0], args[1]), *slopes)
        case "select":
            return tree.select(args[0], slopes[1], slopes[2])
        case _:
            return tree.chain(expand(ELEMENTARY[node.op].derivative, args[0]), slopes[0])
