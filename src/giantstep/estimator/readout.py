"""The readout: ridge regression, or a smooth convex loss, with leave-one-out predictions of each sample.

Minimised is Σ w ℓ(y, φ·a/√p + b) + lam/2 |a|². With the centred features Ψ = √w (φ - m)/√p and ΨᵀΨ = V s Vᵀ, the fit of
the square loss, and the same without one sample, follow for every penalty from t = Vᵀ(φ - m)/√p:

    f = ȳ + Σ t c/(s + lam),  c = Σ w t (y - ȳ),   h = w (Σ t²/(s + lam) + 1/Σw),   f without it = (f - h y)/(1 - h).

For other losses the fit is Newton's, and the sample is left out to one Newton step, with H the Hessian at the minimum:

    f without it = f + h w ℓ'/(1 - h w ℓ''),  h = tᵀH⁻¹t.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from ..errors import ConvergenceError
from ..losses import Loss, square

_LAMS = 10 ** np.linspace(-9, 1, 41)
"""Penalties of ridge regression that are compared, for each unit of the samples' weight."""

_FREE = 1e-6
"""Penalty of the intercept over that of the weights, for losses other than square: what makes them strictly convex."""

_ROUGH, _TINY = 1e-3, 1e-9
"""Relative gains below which a Newton step is the last: where penalties are compared, and in the end. The second is
also the least 1 - h, the scale at which ℓ'' is asked for, and 1 over the largest loss of a left out sample."""

_STEPS = 100  # of Newton's method, at most


class LeftOut(NamedTuple):
    """Losses of samples that were left out, at several penalties."""

    lams: np.ndarray
    losses: np.ndarray  # [n, lams], summed over outputs
    judges: np.ndarray  # weights of the samples that count [n]
    theta: np.ndarray | None = None  # where Newton's method was at the best penalty

    @property
    def means(self) -> np.ndarray:
        """Mean losses [lams]."""
        return self.judges @ self.losses / self.judges.sum()

    @property
    def lam(self) -> float:
        """The best penalty."""
        return float(self.lams[self.means.argmin()])

    @property
    def least(self) -> np.ndarray:
        """Losses at the best penalty [n]."""
        return self.losses[:, self.means.argmin()]


@dataclass(frozen=True)
class Readout:
    """Features φ [n, p] of samples in the basis of their principal directions.

    In it a fit is θ [k + 1, outputs], the intercept last.
    """

    t: np.ndarray  # [n, k]
    s: np.ndarray  # [k]
    basis: np.ndarray  # V/√p [p, k]
    mean: np.ndarray  # m [p]; 0 without an intercept
    labels: np.ndarray  # [n, outputs]
    weights: np.ndarray  # [n]
    judges: np.ndarray  # weights of the samples whose losses count when they are left out [n]
    intercept: bool

    def left_out(self, loss: Loss, lam: float | None) -> LeftOut:
        """Losses of left out samples at lam, or where it is None at all penalties that are compared."""
        if loss == square:
            return self._ridge_left_out(_LAMS * self.weights.sum() if lam is None else np.array([lam]))
        if lam is None:
            return self._search(loss, self.left_out(square, None).lam / 10)  # other losses mostly bend less
        theta, losses = self._newton(loss, lam, None, _ROUGH)
        return LeftOut(np.array([lam]), losses[:, None], self.judges, theta)

    def fit(self, loss: Loss, lam: float, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Weights a/√p [outputs, p] and intercepts b [outputs] that minimise the loss at lam; θ begins at `start`."""
        if loss == square:
            theta = np.vstack([self._coefficients * self._shrink(np.array([lam])), self._label_mean])
        else:
            theta, _ = self._newton(loss, lam, start, _TINY)
        weights = (self.basis @ theta[:-1]).T
        return weights, self.intercept * theta[-1] - weights @ self.mean

    def _ridge_left_out(self, lams: np.ndarray) -> LeftOut:
        shrink, squares = self._shrink(lams), np.zeros((len(self.t), len(lams)))
        h = self.weights[:, None] * (self.t**2 @ shrink + self.intercept / self.weights.sum())
        for y, c, mean in zip(self.labels.T, self._coefficients.T, self._label_mean, strict=True):
            f = mean + self.t @ (c[:, None] * shrink)
            squares += ((y[:, None] - f) / np.maximum(1 - h, _TINY)) ** 2
        return LeftOut(lams, squares, self.judges)

    def _search(self, loss: Loss, lam: float) -> LeftOut:
        """From lam on by decades, up or down, until left out samples lose more."""
        low, high = _LAMS[[0, -1]] * self.weights.sum()
        lam, best, fits, means = max(lam, low), 0, {}, {}
        for direction in (0, 1, -1):
            while (decade := best + direction) not in means and low <= lam * 10.0**decade <= high:
                means[decade] = np.inf
                with suppress(ConvergenceError):  # so small a penalty that Newton's method fails
                    start = fits[best][0] if best in fits else None
                    fits[decade] = self._newton(loss, lam * 10.0**decade, start, _ROUGH)
                    means[decade] = self.judges @ fits[decade][1]
                if means[decade] >= means[best] < np.inf:
                    break
                best = decade
        if not fits:
            raise ConvergenceError(f"the readout for loss = {loss.name!r} did not converge at any lam", None)
        losses = np.stack([losses for _, losses in fits.values()], axis=1)
        return LeftOut(lam * 10.0 ** np.array(list(fits)), losses, self.judges, fits[best][0])

    def _newton(
        self, loss: Loss, lam: float, start: np.ndarray | None, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """θ, and losses of left out samples [n], summed over outputs."""
        t = np.column_stack([self.t, np.full(len(self.t), float(self.intercept))])
        penalty = np.append(np.full(self.t.shape[1], lam), _FREE * lam)
        theta = np.zeros((t.shape[1], self.labels.shape[1])) if start is None else start.copy()
        losses = np.zeros(len(t))
        for k, y in enumerate(self.labels.T):
            theta[:, k], slope, curvature, factor = _minimise(loss, t, y, self.weights, penalty, theta[:, k], tolerance)
            h = (solve_triangular(factor, t.T, lower=True) ** 2).sum(axis=0)
            z = t @ theta[:, k] + h * slope / np.maximum(1 - h * curvature, _TINY)
            with np.errstate(over="ignore"):
                losses += np.minimum(loss.value(y, z), 1 / _TINY)
        return theta, losses

    @property
    def _label_mean(self) -> np.ndarray:
        return self.intercept * (self.weights @ self.labels / self.weights.sum())

    @property
    def _coefficients(self) -> np.ndarray:
        return self.t.T @ (self.weights[:, None] * (self.labels - self._label_mean))

    def _shrink(self, lams: np.ndarray) -> np.ndarray:
        """1/(s + lam) [k, lams]; 0 where s + lam is rounding, as in the smallest of all fits at lam = 0."""
        total = self.s[:, None] + lams
        rounding = max(self.t.shape) * np.finfo(float).eps * self.s.max(initial=0.0)
        return np.where(total > rounding, 1 / np.where(total > 0, total, 1.0), 0.0)


def decompose(phi: np.ndarray, labels: np.ndarray, weights: np.ndarray, judges: np.ndarray, intercept: bool) -> Readout:
    """The features of all samples, ready for every penalty."""
    n, p = phi.shape
    mean = intercept * (weights @ phi / weights.sum())
    psi = phi - mean
    psi *= np.sqrt(weights / p)[:, None]
    if n < p:
        s, left = np.linalg.eigh(psi @ psi.T)
        full = s > n * np.finfo(float).eps * s[-1]
        s, basis = s[full], psi.T @ (left[:, full] / np.sqrt(s[full]))
    else:
        s, basis = np.linalg.eigh(psi.T @ psi)
    t = (psi @ basis) / np.sqrt(weights)[:, None]
    return Readout(t, np.maximum(s, 0.0), basis / np.sqrt(p), mean, labels, weights, judges, intercept)


def _minimise(
    loss: Loss, t: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: np.ndarray, theta: np.ndarray, tolerance: float
) -> tuple[np.ndarray, ...]:
    """θ at the minimum of F = Σ w ℓ(y, t·θ) + ½ Σ penalty θ², for one output.

    Also w ℓ', w ℓ'' and Cholesky's factor of the Hessian where the last step began.
    """

    @np.errstate(over="ignore")
    def objective(theta: np.ndarray) -> float:
        return float(w @ loss.value(y, t @ theta) + penalty @ theta**2 / 2)

    for _ in range(_STEPS):
        z, value = t @ theta, objective(theta)
        slope = w * loss.derivative(y, z)
        curvature = w * loss.score(y, z, np.full_like(z, _TINY)).g
        rows = np.sqrt(curvature)[:, None] * t
        try:
            factor = np.linalg.cholesky(rows.T @ rows + np.diag(penalty))
        except np.linalg.LinAlgError:
            break
        gradient = t.T @ slope + penalty * theta
        step = -cho_solve((factor, True), gradient)
        gain = -float(gradient @ step) / 2
        if gain <= tolerance * value:
            return theta + step, slope, curvature, factor
        length = 1.0
        while objective(theta + length * step) > value - length * gain / 2 and length > _TINY:
            length /= 2
        theta = theta + length * step
    raise ConvergenceError(
        f"the readout for loss = {loss.name!r} did not converge at lam = {penalty[0]:g}; use a larger lam", None
    )
