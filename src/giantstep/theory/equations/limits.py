"""The limit λ → 0 of the square loss: which equations hold on which side of the interpolation threshold."""

from __future__ import annotations

import numpy as np

from ..features import Features
from ..labels import Label
from ..problem import Problem
from ..status import DIVERGES, RARE_INPUTS
from .means import Readout

_ABSURD = 1e9  # error of an interpolating readout, over E y², beyond which the limit counts as infinite
_THRESHOLD = 1e-8  # distance from the interpolation threshold within which a point is on it
_VANISHING = 1e-20  # E μ2² over E σ² under which an activation is linear
_AT_THE_THRESHOLD = {
    np.inf: {"test_error", "q1", "q2", "V1", "V2"},
    np.nan: {"m", "zeta", "psi", "chi", "nu", "test_error_01"},
    0.0: {"train_error", "train_loss", "train_error_01", "quadrature_error"},
}


class Limits:
    """The limits λ = 0: which side of the interpolation threshold a point is on, and what that implies.

    There are p features, but if they are all linear in x (μ2 = 0) only min(p, d) directions. Fewer samples
    than that interpolate: V = v/λ diverges, and the equations are those for v. More samples: V is finite,
    except that p ≥ d linear features leave V2 = ∞ with no effect, which a very small λ stands for. Then the fit
    does not depend on how many features there are beyond d, but its norm does: of all readouts with the same
    Wᵀa/√p = θ the smallest has |a|²/p = θᵀ(WᵀW)⁻¹θ, which is |θ|²/(c(β - 1)) for rows of one kind.
    """

    def __init__(self, problem: Problem, chunk: np.ndarray, block: np.ndarray, features: Features, label: Label):
        place = np.ix_(chunk, block)
        alpha, beta, lam, noise, d = (
            a[place] for a in (problem.alpha, problem.beta, problem.lam, problem.noise, problem.d)
        )
        w = features.weights
        self._power = (w * label.t2).sum(axis=-1)[:, None] + noise**2
        mean_row_covariance, self.error = None, np.zeros(d.shape)
        if not np.all(np.isinf(d)):
            mean_row_covariance, error = problem.first_layers.mean_row_covariance(chunk)
            self.error = error[:, None] / d  # of the test error, in which it has an effect of order 1/d
        ridgeless = lam == 0.0
        self.readout = Readout(alpha, beta, lam, noise, d, ridgeless, mean_row_covariance)
        self.diverging = self._interpolates = self._idle = ridgeless
        if not ridgeless.any():
            return
        spectrum = problem.first_layers.layer.at(chunk).spectrum
        linear_part = (w * (features.mu0**2 + features.mu1**2).sum(axis=1)).sum(axis=-1)
        rest = (w * features.mu2sq.sum(axis=1)).sum(axis=-1)
        linear = (rest <= _VANISHING * linear_part)[:, None]
        directions = np.where(linear, np.minimum(beta, spectrum.rank[:, None]), beta)
        self.diverging = ridgeless & (np.abs(alpha - directions) <= _THRESHOLD)
        self._interpolates = ridgeless & (alpha < directions) & ~self.diverging
        self._idle = ridgeless & linear & (beta >= spectrum.rank[:, None]) & ~self._interpolates
        slope = (w[:, None] * features.mu1**2).sum(axis=(1, 2))[:, None]
        lam = np.where(self._interpolates | self.diverging, 1.0, lam)
        lam = np.where(self._idle, 1e-11 * alpha * slope, lam)
        c = problem.c[chunk]
        alike = self._idle & (c.shape[1] * spectrum.count == 1)
        self._spare = np.where(alike, c[:, :1] * (beta - 1.0), np.nan)  # c(β - 1)
        beta = np.where(alike, np.maximum(beta, 2.0), beta)  # V2 → ∞ slowly near β = 1
        self.readout = Readout(alpha, beta, lam, noise, d, self._interpolates, mean_row_covariance)

    def apply(self, answers: dict[str, np.ndarray]) -> None:
        """Put infinities where the limit has them."""
        if not (self.diverging.any() or self._interpolates.any() or self._idle.any()):
            return
        idle = np.isfinite(self._spare)
        along = (answers["zeta"][idle] ** 2).sum(axis=1)
        with np.errstate(divide="ignore"):  # at β = 1 no direction is spare, and the norm is infinite
            answers["q2"][idle] = (answers["q1"][idle][:, 0] + along) / self._spare[idle][:, None]
        absurd = self._interpolates & ~(answers["test_error"] <= _ABSURD * self._power)
        answers["code"][absurd] = RARE_INPUTS  # where an activation saturates, tails underflow before they are followed
        answers["V1"][self._interpolates] = np.inf
        answers["V2"][self._interpolates | self._idle] = np.inf
        for value, names in _AT_THE_THRESHOLD.items():
            for name in answers.keys() & names:
                answers[name][self.diverging] = value
        answers["code"][self.diverging] = DIVERGES
