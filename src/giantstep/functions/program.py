"""Evaluation of a tree on arrays of any library: a flat list of steps in which equal parts are shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operations import implementation
from .tree import Node, postorder


class Program:
    """A tree made ready to run: the first registers hold the variables, then the constants, then each step's result."""

    def __init__(self, root: Node, variables: int = 1):
        order = postorder(root)
        self.constants = sorted({node.value for node in order if node.op == "const"})
        self.steps: list[tuple[str, float, tuple[int, ...]]] = []
        constants = {value: variables + i for i, value in enumerate(self.constants)}
        first = variables + len(constants)
        steps: dict[Any, int] = {}
        register: dict[Node, int] = {}
        for node in order:
            if node.op in ("x", "const"):
                register[node] = int(node.value) if node.op == "x" else constants[node.value]
                continue
            step = (node.op, node.value, tuple(register[arg] for arg in node.args))
            if step not in steps:
                steps[step] = first + len(self.steps)
                self.steps.append(step)
            register[node] = steps[step]
        self.result, self._given = register[root], first
        self.key = (tuple(self.constants), tuple(self.steps), self.result)  # equal for equal computations
        self._finished = self._last_uses(first)

    def __call__(self, x: Any, *more: Any) -> Any:
        """The function at x: a number, or an array of numpy, torch or another array API library."""
        if type(x) is np.ndarray and x.dtype.kind == "f":
            return self._run((x, *more), np, x.dtype.type)
        if isinstance(x, (int, float)) and not isinstance(x, np.generic):
            return float(self._run(tuple(map(np.float64, (x, *more))), np, np.float64))
        if isinstance(x, (np.ndarray, np.generic, list, tuple)):
            arrays = [np.asarray(one) for one in (x, *more)]
            arrays = [one if one.dtype.kind == "f" else one.astype(float) for one in arrays]
            return self._run(tuple(arrays), np, arrays[0].dtype.type)[()]
        from array_api_compat import array_namespace, device

        xp = array_namespace(x)
        where = device(x)
        return self._run((x, *more), xp, lambda value: xp.full((), value, dtype=x.dtype, device=where))

    def _run(self, x: tuple[Any, ...], xp: Any, lift: Callable[[float], Any]) -> Any:
        registers = [*x, *map(lift, self.constants)]  # constants of x's precision: nothing is promoted
        with np.errstate(all="ignore"):  # branches that are not selected may overflow or divide by zero
            for (op, value, args), finished in zip(self.steps, self._finished, strict=True):
                registers.append(implementation(op, value, xp)(*[registers[i] for i in args]))
                for i in finished:
                    registers[i] = None
        if self.result < self._given:  # x itself or a constant: a new array all the same
            return registers[self.result] + xp.zeros_like(x[0])
        return registers[self.result]

    def _last_uses(self, first: int) -> list[tuple[int, ...]]:
        """For each step the registers that nothing uses after it, so that their memory is given back."""
        last = {i: step for step, (_, _, args) in enumerate(self.steps) for i in args if i >= first}
        finished: list[tuple[int, ...]] = [()] * len(self.steps)
        for i, step in last.items():
            finished[step] += (i,)
        return finished
