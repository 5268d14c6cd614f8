"""Evaluation of a tree on arrays of any library: a flat list of steps in which equal parts are shared."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .elementary import ELEMENTARY
from .tree import Node, postorder

_QUIET = {"over": "ignore", "divide": "ignore", "invalid": "ignore", "under": "ignore"}


class Program:
    """A tree made ready to run: register 0 holds x, then the constants, then the result of each step."""

    def __init__(self, root: Node):
        self.constants: list[float] = []
        self.steps: list[tuple[str, float, tuple[int, ...]]] = []
        numbering: dict[Any, int] = {("x",): 0}
        register: dict[int, int] = {}
        order = postorder(root)
        for node in order:
            if node.op == "const" and (key := ("const", node.value)) not in numbering:
                numbering[key] = len(self.constants) + 1
                self.constants.append(node.value)
        first = len(self.constants) + 1
        for node in order:
            if node.op == "x":
                key = ("x",)
            elif node.op == "const":
                key = ("const", node.value)
            else:
                key = (node.op, node.value, tuple(register[id(arg)] for arg in node.args))
            if key not in numbering:
                numbering[key] = first + len(self.steps)
                self.steps.append(key)
            register[id(node)] = numbering[key]
        self.result = register[id(root)]
        self._finished = self._last_uses(first)
        self._bound: dict[Any, list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]]] = {}

    def __call__(self, x: Any) -> Any:
        """The function at x: a number, or an array of numpy, torch or another array API library."""
        if type(x) is np.ndarray and x.dtype.kind == "f":
            return self._numpy(x)
        if isinstance(x, (int, float)) and not isinstance(x, np.generic):
            return float(self._numpy(np.float64(x)))
        if isinstance(x, (np.ndarray, np.generic, list, tuple)):
            x = np.asarray(x)
            return self._numpy(x if x.dtype.kind == "f" else x.astype(float))[()]
        from array_api_compat import array_namespace, device

        xp = array_namespace(x)
        where = device(x)
        return self._run(x, xp, lambda value: xp.full((), value, dtype=x.dtype, device=where))

    def _numpy(self, x: Any) -> Any:
        with np.errstate(**_QUIET):  # branches that are not selected may overflow or divide by zero
            return self._run(x, np, x.dtype.type)

    def _run(self, x: Any, xp: Any, lift: Callable[[float], Any]) -> Any:
        registers = [x, *map(lift, self.constants)]  # constants of x's precision: nothing is promoted
        for function, args, finished in self._bind(xp):
            registers.append(function(*[registers[i] for i in args]))
            for i in finished:
                registers[i] = None
        if self.result < 1 + len(self.constants):  # x itself or a constant: a new array all the same
            return registers[self.result] + xp.zeros_like(x)
        return registers[self.result]

    def _bind(self, xp: Any) -> list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]]:
        if xp not in self._bound:
            self._bound[xp] = [
                (implementation(op, value, xp), args, finished)
                for (op, value, args), finished in zip(self.steps, self._finished, strict=True)
            ]
        return self._bound[xp]

    def _last_uses(self, first: int) -> list[tuple[int, ...]]:
        """For each step the registers that nothing uses after it, so that their memory is given back."""
        last = {i: step for step, (_, _, args) in enumerate(self.steps) for i in args if i >= first}
        return [tuple(i for i, at in last.items() if at == step) for step in range(len(self.steps))]


@lru_cache(maxsize=1024)
def implementation(op: str, value: float, xp: Any) -> Callable[..., Any]:
    """The array function that carries out one operation of the tree in the namespace `xp`."""
    if op in ELEMENTARY:
        return ELEMENTARY[op].build(xp)
    if op == "power":
        return _integer_power(int(value)) if float(value).is_integer() else lambda a: a**value
    names = {
        "max": "maximum",
        "min": "minimum",
        "select": "where",
        "and": "logical_and",
        "not": "logical_not",
    }
    return getattr(xp, names[op]) if op in names else _OPERATORS[op]


_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "less": operator.lt,
}


def _integer_power(exponent: int) -> Callable[[Any], Any]:
    """Repeated squaring: exact for small integers and many times faster than a general power."""

    def power(a: Any) -> Any:
        result, square, left = None, a, abs(exponent)
        while left:
            if left & 1:
                result = square if result is None else result * square
            left >>= 1
            if left:
                square = square * square
        return result if exponent > 0 else 1.0 / result

    return power
