"""Evaluation of a tree on arrays of any library: a flat list of steps in which equal parts are shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operations import implementation
from .tree import Node, postorder


class Program:
    """A tree made ready to run: its operations in order, and after each the values that nothing needs any more."""

    def __init__(self, root: Node):
        self._root, later = root, set[Node]()
        self.steps: list[tuple[Node, set[Node]]] = []
        for node in reversed(postorder(root)):
            self.steps.append((node, set(node.args) - later))
            later |= {root, *node.args}
        self.steps.reverse()

    def __call__(self, x: Any, *more: Any) -> Any:
        """The function at x: a number, or an array of numpy, torch or another array API library."""
        if isinstance(x, (int, float)) and not isinstance(x, np.generic):
            return float(self._run(tuple(map(np.float64, (x, *more))), np, np.float64))
        if isinstance(x, (np.ndarray, np.generic, list, tuple)):
            arrays = [one if one.dtype.kind == "f" else one.astype(float) for one in map(np.asarray, (x, *more))]
            return self._run(tuple(arrays), np, arrays[0].dtype.type)[()]
        from array_api_compat import array_namespace, device

        xp = array_namespace(x)
        where = device(x)
        return self._run((x, *more), xp, lambda value: xp.full((), value, dtype=x.dtype, device=where))

    def _run(self, x: tuple[Any, ...], xp: Any, lift: Callable[[float], Any]) -> Any:
        values: dict[Node, Any] = {}
        with np.errstate(all="ignore"):  # branches that are not selected may overflow or divide by zero
            for node, finished in self.steps:
                if node.op == "x":
                    values[node] = x[int(node.value)]
                elif node.op == "const":
                    values[node] = lift(node.value)  # of x's precision: nothing is promoted
                else:
                    operation = implementation(node.op, node.value, xp)
                    values[node] = operation(*[values[arg] for arg in node.args])
                for arg in finished:
                    del values[arg]  # memory is given back
        result = values[self._root]
        return result if self._root.args else result + xp.zeros_like(x[0])  # a new array in any case
