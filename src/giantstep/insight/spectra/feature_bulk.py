"""The bulk of the feature covariance ΨᵀΨ/p: the equations for its resolvent, at complex λ.

They are those of the fit's responses (V1, V2) with λ → z = -x - iη; the density is Im V2 / π. Near the real
axis averages over κ of 1/D, D = 1 + μ1²V1 + μ2²V2, have poles close to the real κ axis wherever samples of
that κ have their eigenvalues near x: `poles` keeps them right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotCovered
from ...functions import as_function
from ...theory.bulk import Bulk
from ...theory.equations.averages import symmetric
from ...theory.features import STEEPEST, Features, Table, steepness
from ...theory.labels import OneDirection
from .halfplane import Image, differentiated
from .poles import Crossings
from .resolvent import ResolventBulk

if TYPE_CHECKING:
    from ...theory.problem import Problem

_POINTS, _USUAL = 128, 1.5  # half the κ intervals that resolve features up to this spike over √c
_RARE = 6.0  # |κ| beyond which inputs (2e-9 of them) do not count for the extent of the spectrum


class FeatureBulk(ResolventBulk):
    """The features of one first layer with K groups at one α and β."""

    def __init__(self, features: Features, bulk: Bulk, alpha: float, beta: float):
        super().__init__(bulk, beta)
        self.features, self.alpha, pack = features, alpha, self.pack
        self.kappa, self._w = features.kappa[0, 0], features.weights[0]
        mu1, mu2sq = features.mu1[0], features.mu2sq[0]
        self.phi = np.concatenate([mu1[pack.rows] * mu1[pack.cols], mu2sq])  # [P, N]
        self._log_w = np.log(self._w)
        self._weighted = (self._w * self.phi).T.astype(complex)
        rows, cols = np.triu_indices(pack.size)
        self._pairs = (self._w * self.phi[rows] * self.phi[cols]).T.astype(complex)
        self._in_D = (self.phi * pack.counts[:, None]).astype(complex)

    def D(self, V: np.ndarray) -> np.ndarray:
        """1 + V(κ), [A, N]."""
        return 1.0 + V @ self._in_D

    def conjugates(self, V: np.ndarray) -> Image:
        """V̂ = (α/β) E[φ/D], packed [A, P], and its derivative by V, -(α/β) E[φφᵀ/D²]; what poles near the axis add to
        that comes by differences."""

        D = self.D(V)
        gain, poles = 1.0 / D, Crossings.of(D, self._log_w)
        hats = gain @ self._weighted
        slopes = -symmetric((gain * gain) @ self._pairs, self.pack.size) * self.pack.counts
        if len(poles.point):
            phi, in_D = (np.moveaxis(values[:, poles.nodes], 0, 1) for values in (self.phi, self._in_D))
            added = differentiated(
                lambda V: poles.errors(1.0 + (V[:, None] @ in_D)[:, 0], phi), V[poles.point]
            )
            hats, slopes = (
                known + poles.summed(more, len(V)) for known, more in zip((hats, slopes), added, strict=True)
            )
        ratio = self.alpha / self.beta
        return Image(ratio * hats, ratio * slopes)

    def largest(self) -> float:
        """A bound on the bulk's upper edge, up to inputs with |κ| > 6."""
        typical = np.abs(self.kappa) < _RARE
        mu1 = np.sqrt((self.features.mu1[0][:, typical] ** 2).max())
        mu2 = np.sqrt(self.features.mu2sq[0][:, typical].max())
        c, a, b = self.largest_covariance(), np.sqrt(self.alpha), np.sqrt(self.beta)
        return float((mu1 * np.sqrt(c) * (1 + b) * (a + 1) + mu2 * (a + b)) ** 2 / self.beta)

    def moments(self) -> tuple[float, float]:
        n, ratio = self.bulk.weights, self.alpha / self.beta
        c = self.bulk.c[0]
        overlap = self.bulk.norm_overlap()
        CC = np.outer(c, c) if overlap is None else overlap[0]
        mu1, mu2sq = self.features.mu1[0], self.features.mu2sq[0]
        t = c[:, None] * mu1**2 + mu2sq
        Et, total = t @ self._w, n @ t
        cross = (mu1 * self._w) @ mu1.T
        first = ratio * float(n @ Et)
        second = ratio * float(self._w @ total**2) + ratio**2 * float(n @ Et**2)
        return first, second + self.alpha**2 / self.beta * float(n @ (CC * cross**2) @ n)

    @property
    def mass_at_zero(self) -> float:
        """1 - rank/p: of features that are all linear there are as many directions as of inputs that vary, at most."""
        linear = self.features.mu2sq[0].sum(axis=0) @ self._w
        rest = (self.features.mu0[0] ** 2 + self.features.mu1[0] ** 2).sum(axis=0) @ self._w
        directions = min(self.beta, float(self.bulk.rank()[0])) if linear <= 1e-20 * rest else self.beta
        return max(0.0, 1.0 - min(self.alpha, directions) / self.beta)


def feature_table(problem: Problem, u: int) -> Features:
    """Coefficients of one first layer on an evenly spaced rule in κ that resolves them."""
    chunk = np.array([u])
    frame, c = problem.frame(chunk), problem.c[chunk]
    steep = steepness(frame.b, c)[0]
    if steep > STEEPEST:
        raise NotCovered(
            f"the spike is {steep:.3g} times as long as the other part of a row, √c: spectra are resolved up to"
            f" {STEEPEST:g} times; use a weaker spike, or simulate_spectrum"
        )
    points = _POINTS * 2 ** int(np.ceil(np.log2(max(steep / _USUAL, 1.0))))
    unseen = replace(frame, gamma=0.0 * frame.gamma)  # no target that would call for cuts
    return Table(problem.activation, OneDirection(as_function("x")), unseen, c, problem.biases, points).at(1)[
        0
    ]
