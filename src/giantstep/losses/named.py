"""The losses that text can name: square, Huber, absolute, pinball, logistic, hinge, squared hinge, exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError
from .base import Loss, Score

_EXP_LIMIT = 700.0  # exp() of more overflows
_LAST_STEP = 1e-8  # of Newton's method, whose next one would be less than its square


@dataclass(frozen=True, repr=False)
class Clipped(Loss):
    """Losses whose score is a clipped straight line, f = clip(s/(a + V), low, high), s = y - ω or 1 - yω.

    ℓ = max over low ≤ p ≤ high of p s - a p²/2: square (a = 1, no bounds), Huber (a = 1, ±δ), absolute
    (a = 0, ±1), pinball (a = 0, τ - 1 and τ); with `margin`, where f points along y: hinge (a = 0, 0 and 1)
    and squared hinge (a = 1, 0 and no bound).
    """

    name: str
    a: float
    low: float
    high: float
    margin: bool = False

    def __post_init__(self) -> None:
        self.__dict__.update(
            residual=not self.margin,
            even=self.margin or self.low == -self.high,
            linear=self.a > 0 and self.low == -math.inf and self.high == math.inf and not self.margin,
            continuous=self.a > 0,
            line=self,
        )

    def value(self, y: Any, z: Any) -> Any:
        s = 1 - y * z if self.margin else y - z
        force = self._force(s)
        return force * s - 0.5 * self.a * force * force

    def derivative(self, y: Any, z: Any) -> Any:
        return -y * self._force(1 - y * z) if self.margin else -self._force(y - z)

    def _force(self, s: Any) -> Any:
        """dℓ/ds; 0 where it jumps, at s = 0."""
        xp = _namespace(s)
        if self.a > 0:
            return xp.clip(s / self.a, self.low, self.high)
        flat = 0.0 * s
        return xp.where(s > 0, flat + self.high, xp.where(s < 0, flat + self.low, flat))

    def score(self, y: Any, omega: np.ndarray, V: np.ndarray) -> Score:
        along = (1.0 - y * omega if self.margin else y - omega) / (self.a + V)
        force = np.clip(along, self.low, self.high)
        slope = np.where((along > self.low) & (along < self.high), 1.0 / (self.a + V), 0.0)
        return Score(y * force if self.margin else force, slope)

    def bent_outputs(self, y: np.ndarray, V: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        bounds = [
            y * bound if self.margin else bound * np.ones_like(y)
            for bound in (self.low, self.high)
            if math.isfinite(bound)
        ]
        return [(y - self.a * bound, -bound) for bound in bounds]


@dataclass(frozen=True, repr=False)
class Logistic(Loss):
    """ln(1 + exp(-yz))."""

    name: str = "logistic"
    margin = even = continuous = True
    strip = math.pi  # ω = z + Vℓ'(z) turns back where Im z = π, and there Im ω = π

    def value(self, y: Any, z: Any) -> Any:
        xp = _namespace(z)
        return xp.logaddexp(xp.zeros_like(z), -y * z)

    def derivative(self, y: Any, z: Any) -> Any:
        xp = _namespace(z)
        return -y * xp.exp(-xp.logaddexp(xp.zeros_like(z), y * z))

    def score(self, y: Any, omega: np.ndarray, V: np.ndarray) -> Score:
        # x = y z*, the root of x - V h(x) - u, which is concave right of 0 and convex left of it: Newton's steps
        # from where it is not positive on the right, and not negative on the left, are monotone
        u = np.minimum(y * np.asarray(omega, float), _EXP_LIMIT)  # beyond, the score is 0 to any precision
        x = np.where(u + 0.5 * V > 0.0, np.maximum(u, 0.0), np.minimum(u + V, 0.0))
        for _ in range(100):
            h, curvature = _sigmoid_and_slope(x)
            change = (u + V * h - x) / (1.0 + V * curvature)
            x = x + change
            if np.all(np.abs(change) <= _LAST_STEP * (1.0 + np.abs(x))):
                break
        h, curvature = _sigmoid_and_slope(x)
        return Score(y * h, curvature / (1.0 + V * curvature))

    def bent_outputs(self, y: np.ndarray, V: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """No true ones; but for large V the score bends where Vh(z) and Vh(-z) fall below one."""
        knee = np.log1p(V)
        return [(y * x, -y / (1.0 + np.exp(x))) for x in (-knee, knee)]


@dataclass(frozen=True, repr=False)
class Exponential(Loss):
    """exp(-yz), the loss of boosting."""

    name: str = "exponential"
    margin = even = continuous = True
    strip = math.pi  # as for the logistic loss

    def value(self, y: Any, z: Any) -> Any:
        return _namespace(z).exp(-y * z)

    def derivative(self, y: Any, z: Any) -> Any:
        return -y * _namespace(z).exp(-y * z)

    def score(self, y: Any, omega: np.ndarray, V: np.ndarray) -> Score:
        from scipy.special import wrightomega

        u = y * np.asarray(omega, float)
        pull = wrightomega(np.log(V) - u)  # w = V h solves w + ln w = ln V - u
        return Score(y * pull / V, pull / V / (1.0 + pull))

    def bent_outputs(self, y: np.ndarray, V: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """No true ones; the score bends from a straight line to an exponential where V h = 1."""
        return [(y * np.log(V), -y / V)]


def huber(delta: float = 1.0) -> Loss:
    """Half the square of y - z up to |y - z| = delta, linear beyond."""
    if not 0.0 < delta < math.inf:
        raise ParameterError(f"huber: delta = {delta:g} must be a positive, finite number")
    return Clipped(f"huber:{delta:.15g}", 1.0, -delta, delta)


def pinball(tau: float = 0.5) -> Loss:
    """tau·(y - z) above the output, (1 - tau)·(z - y) below it: its minimiser is the tau-quantile."""
    if not 0.0 < tau < 1.0:
        raise ParameterError(f"pinball: tau = {tau:g} must lie between 0 and 1")
    return Clipped(f"pinball:{tau:.15g}", 0.0, tau - 1.0, tau)


square = Clipped("square", 1.0, -math.inf, math.inf)
_PLAIN: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        square,
        Clipped("absolute", 0.0, -1.0, 1.0),
        Clipped("hinge", 0.0, 0.0, 1.0, margin=True),
        Clipped("squared_hinge", 1.0, 0.0, math.inf, margin=True),
        Logistic(),
        Exponential(),
    )
}
_WITH_PARAMETER = {"huber": huber, "pinball": pinball}
NAMES = tuple(sorted([*_PLAIN, "huber:delta", "pinball:tau"]))


def as_loss(given: str | Loss) -> Loss:
    """The loss that a text such as "logistic" or "huber:0.5" names, or the given one."""
    if isinstance(given, Loss):
        return given
    if not isinstance(given, str):
        raise ParameterError(f"loss = {given!r} is neither a name nor a Loss; use one of {', '.join(NAMES)}")
    name, colon, parameter = given.strip().lower().partition(":")
    name = name.strip().replace("-", "_").replace(" ", "_")
    if name in _PLAIN and not colon:
        return _PLAIN[name]
    if name not in _WITH_PARAMETER:
        raise ParameterError(f"loss = {given!r} is unknown; use one of {', '.join(NAMES)}; in Python also a Loss")
    try:
        numbers = [float(parameter)] if colon else []
    except ValueError:
        raise ParameterError(f"loss = {given!r}: {parameter!r} is not a number; write {name}:0.5, say") from None
    return _WITH_PARAMETER[name](*numbers)


def _namespace(x: Any) -> Any:
    """The array library of x; for numpy itself, without the time that importing its array API takes."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def _sigmoid_and_slope(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """h = sigmoid(-x) and h(1 - h), to their own last digits in both tails."""
    growth = np.exp(x)
    h = 1.0 / (1.0 + growth)
    return h, growth * h * h
