"""`Formula`: a Function known as a tree, from which derivative, breakpoints and parity follow."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..errors import NotCovered, ParameterError
from . import breakpoints as broken
from . import calculus
from .elementary import Parity
from .function import Function
from .program import Program
from .symmetry_and_slope import observed_parity
from .tree import Node, postorder

DERIVATIVE_PREFIX = "d/dx "
MAX_NODES = (
    3000  # whose derivative is taken: a text has a thousand at most, its derivatives several times that
)


class Formula(Function):
    """A named function or an expression; made by `as_function`, equal when their `spec` is."""

    _tree: Node
    _program: Program
    _spec: str

    def __init__(self, tree: Node, spec: str, name: str, breakpoints: tuple[float, ...] | None = None):
        """`breakpoints` are those of the tree, where they are known already."""
        self.__dict__.update(_tree=tree, _program=Program(tree), _spec=spec, name=name)
        if breakpoints is not None:
            self.__dict__["_known_breakpoints"] = breakpoints

    def __call__(self, x: Any, *more: Any) -> Any:
        """The function at x: a number, or an array of numpy, torch or another array API library."""
        return self._program(x, *more)

    @cached_property
    def _known_breakpoints(self) -> tuple[float, ...]:  # type: ignore[override]
        """Where the function or its derivative jumps, for |x| <= 40, sorted."""
        return broken.breakpoints(self._tree)

    @cached_property
    def parity(self) -> Parity | None:
        """Whether the function is "odd" or "even"; None if it is neither."""
        return calculus.proven_parity(self._tree) or observed_parity(self, self.breakpoints)

    @cached_property
    def _jumps(self) -> list[float]:
        return broken.jumps(self._tree, self._known_breakpoints)

    @property
    def has_derivative(self) -> bool:
        """Whether the function is continuous, so that its derivative is a function."""
        return not self._jumps

    @cached_property
    def derivative(self) -> Function:
        """The derivative, itself a Function; ParameterError when the function jumps.

        At a point where there is none it has the value of one side, or 0 (see `calculus.derivative`).
        """
        if self._jumps:
            raise NotCovered(
                f"{self.name!r} jumps at x = {self._jumps[0]:g}, so its derivative is not a function and a "
                "gradient step cannot use it; use SpikedRF, which needs no derivative, or a continuous activation"
            )
        if len(postorder(self._tree)) > MAX_NODES:
            raise ParameterError(f"{self.name!r} is too long to take its derivative; simplify the expression")
        slope = calculus.derivative(self._tree)
        # it is made of the same parts, so that it breaks at the same places
        return Formula(slope, DERIVATIVE_PREFIX + self.spec, f"{self.name}'", self.breakpoints)

    @property
    def has_spec(self) -> bool:
        return True

    @property
    def spec(self) -> str:
        """Text from which `as_function` makes this function again."""
        return self._spec

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (self._spec,)

    def __reduce__(self) -> tuple[Any, ...]:
        from .catalogue import as_function

        return as_function, (self.spec,)
