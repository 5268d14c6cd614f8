"""Readouts of losses that have kinks, or may have: the simulation's fitters, with weights, and features in memory.

A kinked loss of the catalogue is positively homogeneous in s = y - z (hinge: in s = 1 - yz), so that a weight can go
into row and label. Leave-one-out outputs are approximate: samples at a kink stay there, the others keep their side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ConvergenceError
from ..losses import Clipped, Loss, Score
from ..simulation.interior import InteriorPoint
from ..simulation.newton import Newton
from .features import Features

FREE = 30.0
"""The constant feature of the intercept: rounding grows with its square, and matters where losses have kinks."""

_TOLERANCE = 1e-5  # relative suboptimality above which a fit is an error; `optimality_` has what it is
_AT_A_KINK = 1e-6  # distance from it, in units of labels


class Kinked:
    """One output: features, labels and weights [n], a loss; penalties one after the other."""

    def __init__(
        self, features: Features, labels: np.ndarray, weights: np.ndarray, loss: Loss, intercept: bool
    ):
        backend = features.backend
        phi = features.gathered()
        constant = backend.asarray(np.full((len(labels), int(intercept)), FREE))
        self.rows = backend.xp.concat([phi, constant], axis=1)
        self.labels, self.weights, self.loss, self.backend = labels, weights, loss, backend

    def fit(
        self, lam: float, start: np.ndarray | None = None, roughly: float = 0.0
    ) -> tuple[np.ndarray, float]:
        """The weights, that of the constant feature last, and a bound on the relative suboptimality.

        `roughly` is a bound that will do. It is not aimed at: to see which samples are at a kink takes a good fit.
        """
        backend, loss, w = self.backend, self.loss, self.weights
        if isinstance(loss, Clipped) and loss.a == 0:
            sign, goal = (self.labels, np.ones_like(w)) if loss.margin else (1.0, self.labels)
            rows = self.rows * backend.asarray(w * sign)[:, None]
            plain = Clipped(loss.name, 0.0, loss.low, loss.high)
            readout, gap = InteriorPoint(rows, w * goal, lam, plain, backend).solve(1e-15)
        else:
            begin = backend.zeros(self.rows.shape[1]) if start is None else backend.asarray(start)
            newton = Newton(self.rows, self.labels, lam, _Weighted(loss, w), backend)
            readout, gap = newton.solve(begin, 1e-22, _TOLERANCE, False)
        if not gap <= max(_TOLERANCE, roughly):
            raise ConvergenceError(
                f"the readout for loss = {loss.name!r} at lam = {lam:g} was found to a relative duality gap of"
                f" {gap:.1e} only, where {_TOLERANCE:.0e} is required; use a larger lam",
                None,
            )
        return backend.numpy(readout), gap

    def left_out(
        self, theta: np.ndarray, lam: float, part: Features, copies: np.ndarray | None
    ) -> np.ndarray:
        """Outputs at the first samples, `part` of the features, each left out; copies of an input one at a time."""
        rows, w = self.backend.numpy(self.rows), self.weights
        z = rows @ theta
        scale = np.full_like(z, _AT_A_KINK)  # outputs at a kink are on either side of it, by rounding
        bend = np.maximum(*(self.loss.score(self.labels, z + side * scale, scale).g for side in (-0.5, 0.5)))
        kink = bend * _AT_A_KINK > 0.5
        force = np.where(kink, 0.0, -w * self.loss.derivative(self.labels, z))
        bend = np.where(kink, 0.0, w * bend)
        inverse = np.linalg.inv(lam * np.eye(len(theta)) + rows.T @ (bend[:, None] * rows))
        moved = rows @ inverse
        h = (moved * rows).sum(axis=1)
        reach = h / np.maximum(1 - h * bend, 1e-12)
        if kink.any():  # these hold their outputs: what the others do must leave them where they are
            held, others = rows[kink], rows[kink] @ inverse
            kernel = held @ others.T
            kernel[np.diag_indices_from(kernel)] += 1e-10 * kernel.diagonal().max()
            holding = np.linalg.inv(kernel)
            force[kink] = holding @ (others @ (lam * theta - rows.T @ force))
            cross = moved @ held.T
            h = h - ((cross @ holding) * cross).sum(axis=1)
            reach = np.where(kink, 0.0, np.maximum(h, 0.0) / np.maximum(1 - h * bend, 1e-12))
            reach[kink] = 1 / holding.diagonal()
        return (z - reach * force)[: part.shape[0]]


class _Weighted(Loss):
    """Σ w ℓ as a sum of losses, for as many samples as there are weights."""

    def __init__(self, loss: Loss, weights: np.ndarray):
        self.loss, self.weights, self.name = loss, weights, loss.name

    def value(self, y: Any, z: Any) -> Any:
        return self.weights * self.loss.value(y, z)

    def derivative(self, y: Any, z: Any) -> Any:
        return self.weights * self.loss.derivative(y, z)

    def score(self, y: Any, omega: np.ndarray, V: np.ndarray) -> Score:
        f, g = self.loss.score(y, omega, self.weights * V)
        return Score(self.weights * f, self.weights * g)
