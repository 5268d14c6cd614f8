"""`Loss`: a convex loss of (label, output) with what theory and training need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import ParameterError, shown
from ..model.checks import a_function, a_text, finite_tuple, optional

_FAR = 1e15  # farthest a proximal point may lie from ω
_STEPS = 200


class Score(NamedTuple):
    """Proximal score f and its slope g = -∂f/∂ω."""

    f: np.ndarray
    g: np.ndarray


class Loss:
    """Your own convex loss, for `predict(..., loss=)` and `simulate(..., loss=)`.

    Parameters
    ----------
    value : callable
        ℓ(y, z), element by element: y is the label and z the output of the network. A check on a grid makes sure that ℓ
        is convex.
    derivative : callable
        The derivative of ℓ in z. The same check compares it with differences of ℓ.
    second_derivative : callable, optional
        The second derivative of ℓ in z. With it, answers are more exact and come faster; without it, giantstep takes
        finite differences.
    kinks : iterable of float, optional
        Where the derivative or its slope jumps: in y - z for a loss of that difference, in y·z otherwise. Averages are
        split there, and lose accuracy at those that are not named.
    name : str, optional
        Name of the function in messages and captions.

    Examples
    --------
    >>> loss = gs.Loss(
    ...     lambda y, z: 0.5 * (y - z) ** 2 + 0.1 * (y - z) ** 4,
    ...     lambda y, z: (z - y) + 0.4 * (z - y) ** 3,
    ...     lambda y, z: 1 + 1.2 * (z - y) ** 2,
    ...     name="quartic",
    ... )
    >>> loss.value(1.0, 0.0)
    0.6
    """

    name: str
    margin: bool = False  # for labels ±1 only
    residual: bool = False  # a function of y - z alone
    even: bool = False  # known not to change when label and output both change sign
    linear: bool = False  # a square: its score is a straight line
    continuous: bool = False  # known to have a derivative without jumps
    strip: float = 0.0  # |Im ω| up to which the score is analytic whatever V; 0 if nothing is known
    line: Any = None  # where the score is a straight line between two bounds: `a`, `low` and `high` of it

    def __init__(
        self,
        value: Callable[[Any, Any], Any],
        derivative: Callable[[Any, Any], Any],
        second_derivative: Callable[[Any, Any], Any] | None = None,
        *,
        kinks: Iterable[float] = (),
        name: str | None = None,
    ):
        self._value, self._derivative = a_function("value", value), a_function("derivative", derivative)
        self._second = optional(a_function, "second_derivative", second_derivative)
        self.kinks = finite_tuple("kinks", kinks)
        self.name = optional(a_text, "name", name) or getattr(value, "__name__", "own")
        _check_convex(self)
        self.residual = _depends_on_difference(value)

    def value(self, y: Any, z: Any) -> Any:
        """ℓ(y, z), on arrays of any array API library."""
        return self._value(y, z)

    def derivative(self, y: Any, z: Any) -> Any:
        """∂ℓ/∂z."""
        return self._derivative(y, z)

    def score(self, y: Any, omega: np.ndarray, V: np.ndarray) -> Score:
        """f and g at the proximal point, found inside a bracket that convexity guarantees."""
        y, omega, V = np.broadcast_arrays(*(np.asarray(a, float) for a in (y, omega, V)))
        with np.errstate(all="ignore"):
            z = self._proximal_point(y, omega, V)
            f = -np.asarray(self._derivative(y, z), float)
            shift = (z - omega) / V
            # at a jump of the derivative the force is what holds z there, not either one-sided slope
            step = 4.0 * np.spacing(np.abs(z) + np.abs(omega))
            f = np.where(np.abs(f - shift) * V > step, shift, f)
            f = np.clip(f, -self._derivative(y, z + step), -self._derivative(y, z - step))
            curvature = self._curvature(y, z)
            slope = np.where(np.isinf(curvature), 1.0 / V, curvature / (1.0 + V * curvature))
        return Score(f, slope)

    def _proximal_point(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """The root z of F(z) = z - ω + Vℓ'(y, z), to the last digit or so, by secants in a bracket (Illinois).

        F' ≥ 1 puts it between ω and ω - F(ω); the bracket is a little wider, for rounding. By hand, because
        `scipy.optimize.elementwise.find_root` takes 1.7 times as long for a curve with a loss of one's own.
        """

        def F(z: np.ndarray) -> np.ndarray:
            return np.nan_to_num(z - omega + V * np.asarray(self._derivative(y, z), float), nan=np.inf)

        a, Fa = omega, F(omega)
        b = a - 1.01 * np.clip(Fa, -_FAR, _FAR)
        Fb = F(b)
        for count in range(_STEPS):
            tolerance = 2.0 * np.spacing(np.abs(b))
            done = (np.abs(b - a) <= 2.0 * tolerance) | (Fb == 0.0)
            if done.all():
                break
            share = 0.5 if count % 3 == 2 else Fb / (Fb - Fa)  # where F jumps, secants alone creep
            step = np.maximum(np.abs(share * (b - a)), tolerance)
            x = np.where(done, b, b + np.copysign(step, a - b))
            Fx = F(x)
            crossed = (Fx > 0.0) != (Fb > 0.0)
            a, Fa = np.where(crossed, b, a), np.where(crossed, Fb, 0.5 * Fa)
            b, Fb = x, Fx
        return b

    def _curvature(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """ℓ''; infinite where the derivative jumps."""
        step = 1e-5 * (1.0 + np.abs(z))
        right, left = self._derivative(y, z + step), self._derivative(y, z - step)
        tiny = 64.0 * np.spacing(1.0 + np.abs(z))
        jump = np.abs(np.asarray(self._derivative(y, z + tiny)) - self._derivative(y, z - tiny))
        jumps = jump > 0.3 * np.abs(right - left) + 1e-9
        inside = (right - left) / (2.0 * step) if self._second is None else self._second(y, z)
        return np.where(jumps, np.inf, np.maximum(inside, 0.0))

    def breaks(self, y: float | np.ndarray, V: np.ndarray) -> np.ndarray:
        """Where the score bends as a function of ω, [..., k]: the images of the places where the derivative does."""
        y = np.asarray(y, float)
        found = [z + V * slope for z, slope in self.bent_outputs(y, V)]
        shape = np.broadcast_shapes(y.shape, V.shape)
        return np.moveaxis(np.reshape(found, (len(found), *shape)), 0, -1)

    def bent_outputs(self, y: np.ndarray, V: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Outputs at which the derivative bends or jumps, and its value there; if it jumps, on either side."""
        kinks = [y - kink if self.residual else kink / y for kink in self.kinks]
        steps = [(z, side * 64.0 * np.spacing(1.0 + np.abs(z))) for z in kinks for side in (-1.0, 1.0)]
        return [(z, self._derivative(y, z + step)) for z, step in steps]

    @cached_property
    def bends(self) -> tuple[float, ...]:
        """Residuals y - f at which the derivative bends or jumps; none of a loss of y·f, whose labels are two atoms."""
        at_rest = self.bent_outputs(np.zeros(()), np.zeros(())) if self.residual else []
        return tuple(sorted({-float(z) for z, _ in at_rest}))

    @property
    def spec(self) -> str:
        """Text from which `as_loss` makes this loss again; one's own has none."""
        if type(self) is Loss:
            raise ParameterError(f"loss {self.name!r} is made of Python callables and cannot be written as text")
        return self.name

    def __dir__(self) -> list[str]:
        """What tab completion offers: what a user has given, not what solvers ask."""
        offered = ("value", "derivative", "kinks", "name")
        return [name for name in super().__dir__() if name in offered or name.startswith("__")]

    def __repr__(self) -> str:
        return f"<Loss {self.name}>"


def _on_arrays(name: str, function: Callable[[Any, Any], Any], y: np.ndarray, z: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(function(y, z), float)
    except Exception as error:
        reason = f"does not accept arrays (y, z): {shown(error)}"
        raise ParameterError(f"{name} of the loss {reason}", name, function, reason) from error


def _check_convex(loss: Loss) -> None:
    z = np.linspace(-6.0, 6.0, 481)
    for y in (-1.0, 1.0):
        labels = np.full_like(z, y)
        value, slope = (
            _on_arrays("value", loss.value, labels, z),
            _on_arrays("derivative", loss.derivative, labels, z),
        )
        if value.shape != z.shape or slope.shape != z.shape:
            raise ParameterError(f"loss {loss.name!r} must act element by element on arrays (y, z)")
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            raise ParameterError(f"loss {loss.name!r} is not finite for every label and output; it must be")
        size = np.abs(slope).max() + 1e-300
        if np.diff(slope).min() < -1e-9 * size:
            at = z[np.diff(slope).argmin()]
            raise ParameterError(f"loss {loss.name!r} is not convex: its derivative falls near z = {at:.3g}")
        rise, low, high = np.diff(value), slope[:-1] * 0.025, slope[1:] * 0.025
        if np.any(rise < low - 1e-6 * size) or np.any(rise > high + 1e-6 * size):
            raise ParameterError(f"loss {loss.name!r}: derivative is not the derivative of value with respect to z")


def _depends_on_difference(value: Callable[[Any, Any], Any]) -> bool:
    z = np.linspace(-3.0, 3.0, 61)
    at_zero = np.asarray(value(np.zeros_like(z), z))
    moved = (np.asarray(value(np.full_like(z, y), z + y)) for y in (-1.0, 0.7, 2.0))
    return all(np.allclose(other, at_zero, rtol=1e-9, atol=1e-12) for other in moved)
