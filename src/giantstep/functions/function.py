"""`Function`: an activation or a target with what integration and training need to know about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..model.checks import a_function, a_text, finite_tuple, one_of, optional
from .breakpoints import poles
from .program import Program
from .properties import Parity, check_slope, lines_of, observed_parity
from .variation import LOCATED, Variation, kinks, narrow_parts, observe

Hyperplane = tuple[tuple[float, ...], float]
"""Unit normal n and offset c of n·z = c."""


class Function:
    """An activation or a target made of your own Python function.

    Names and expressions such as `"tanh(2*x)"` need none of this: giantstep finds their derivatives and breakpoints.

    Parameters
    ----------
    function : callable
        Takes an array and returns one of the same shape, element by element.
    derivative : callable or Function, optional
        Needed if a `Network` takes a step with this activation. giantstep compares it with differences of the function.
    breakpoints : iterable of float, optional
        Places where the function or one of its derivatives jumps. Integrals are split there. giantstep looks for others
        itself, and finds everything within |x| ≤ 5 that is at least 0.02 wide.
    name : str, optional
        Name of the function in messages and captions.
    parity : {"odd", "even"}, optional
        Symmetry of the function. Without it, giantstep checks the symmetry on a fine grid.

    Examples
    --------
    >>> softsign = gs.Function(lambda z: z / (1 + abs(z)), lambda z: 1 / (1 + abs(z)) ** 2, breakpoints=[0])
    >>> softsign.parity
    'odd'
    >>> net = gs.Network(softsign, eta=1, alpha0=1)
    >>> float(gs.predict(net, "sin", alpha=1, lam=0.1).test_error.round(3))
    0.201
    """

    name: str
    directions: int = 1  # how many variables it has; see `Joint` for several
    kinks: tuple[Hyperplane, ...] = ()  # of a function of several variables
    _function: Callable[..., Any]
    _derivative: Callable[[Any], Any] | None = None
    _breakpoints: tuple[float, ...] = ()
    _parity: Parity | None = None
    _spec: str | None = None  # of a function that was given as text,
    _program: Program | None = None  # and what computes it

    def __init__(
        self,
        function: Callable[[Any], Any],
        derivative: Callable[[Any], Any] | None = None,
        breakpoints: Iterable[float] = (),
        name: str | None = None,
        parity: Parity | None = None,
    ):
        self.__dict__.update(
            _function=a_function("function", function),
            _derivative=optional(a_function, "derivative", derivative),
            _breakpoints=finite_tuple("breakpoints", breakpoints),
            _parity=optional(one_of("odd", "even"), "parity", parity),
            name=optional(a_text, "name", name) or getattr(function, "__name__", type(function).__name__),
        )

    def __call__(self, x: Any, *more: Any) -> Any:
        """The function at x: a number, or an array of numpy, torch or another array API library."""
        if self._program is not None:
            return self._program(x, *more)
        if isinstance(x, (np.ndarray, np.generic, int, float)):
            return self._on_numpy(x, *more)
        from array_api_compat import array_namespace, device, is_torch_array

        xp = array_namespace(x)
        try:
            result = self._function(x, *more)
            if array_namespace(result) is xp:
                return self._of_same_shape(result, x)
        except (TypeError, RuntimeError, AttributeError):
            pass  # a callable made of numpy functions refuses other arrays: give it what it understands
        host = [one.detach().cpu().numpy() if is_torch_array(one) else np.asarray(one) for one in (x, *more)]
        return xp.asarray(self._on_numpy(*host), dtype=x.dtype, device=device(x))

    def _on_numpy(self, x: Any, *more: Any) -> Any:
        try:
            result = self._function(x, *more)
        except Exception as error:  # math.sin, `x if x > 0 else 0`, torch's x.relu(), or what it raises itself
            if np.ndim(x) == 0 or isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"{self.name!r} does not accept a numpy array ({error}); write it with numpy's functions, "
                "wrap it in numpy.vectorize, or give an expression in x as text"
            ) from error
        if not isinstance(result, np.ndarray | np.generic | int | float):
            result = np.array(result, dtype=np.asarray(x).dtype)[()]  # of JAX, say, whose arrays cannot be written to
        return self._of_same_shape(result, x)

    def _of_same_shape(self, result: Any, x: Any) -> Any:
        shape, wanted = getattr(result, "shape", ()), getattr(x, "shape", ())
        if shape == wanted:
            return result
        if shape == ():  # a constant, written as lambda x: 1.0
            return 0.0 * x + result
        raise ParameterError(
            f"{self.name!r} turned an array of shape {tuple(wanted)} into one of shape {tuple(shape)}; "
            "it must act element by element"
        )

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Where integrals are split, sorted: jumps and kinks, named or found, and the ends of narrow parts."""
        named = self._breakpoints
        places = tuple(sorted({*named, *kinks(self, observe(self, named, LOCATED))}))
        return tuple(sorted({*places, *narrow_parts(observe(self, places, LOCATED), places)}))

    def variation(self, far: float) -> Variation:
        """How fast it varies for |x| ≤ far or somewhat farther."""
        return observe(self, self.breakpoints, LOCATED * 2.0 ** max(0, math.ceil(math.log2(far / LOCATED))))

    @cached_property
    def poles(self) -> list[float]:
        """Breakpoints next to which it has no bound, such as 0 of the derivative of sqrt(abs(x))."""
        return poles(self, self.breakpoints)

    @cached_property
    def lines(self) -> np.ndarray | None:
        """Value at 0 and slope of its lines, [pieces, 2], if it is straight between its breakpoints; else None."""
        return lines_of(self, self.breakpoints)

    @property
    def has_derivative(self) -> bool:
        """Whether `derivative` is there to be used."""
        return self._derivative is not None

    @cached_property
    def derivative(self) -> Function:
        """The derivative, itself a Function; ParameterError when there is none, or another function's."""
        if self._derivative is None:
            raise ParameterError(
                f"the derivative of {self.name!r} is needed and not known; pass Function(f, derivative=...), or"
                " write the function as an expression in x, which needs no derivative"
            )
        slope = self._derivative
        if not isinstance(slope, Function):
            slope = Function(slope, breakpoints=self.breakpoints, name=f"{self.name}'")
        check_slope(self, slope, self.name)
        return slope

    @cached_property
    def parity(self) -> Parity | None:
        """Whether the function is "odd" or "even"; None if it is neither."""
        return self._parity or observed_parity(self, self.breakpoints)

    @property
    def has_spec(self) -> bool:
        """Whether `spec` is there to be used."""
        return self._spec is not None

    @property
    def spec(self) -> str:
        """Text from which `as_function` makes this function again; a user's callable has none."""
        if self._spec is None:
            raise ParameterError(
                f"{self.name!r} is a Python callable and cannot be written as text; "
                "use a name of the catalogue or an expression in x to store or share it"
            )
        return self._spec

    @property
    def _identity(self) -> tuple[Any, ...]:
        made_of = self._spec or (id(self._function), id(self._derivative), self._breakpoints, self._parity)
        return made_of, self.directions, self.kinks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Function):
            return NotImplemented
        return type(self) is type(other) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"a Function cannot be changed; make a new one to give it another {name}")
