"""Averages over κ of functions times products of the features' coefficients, of which all equations are made.

All arrays are [U, A, ...]: U first layers, each with A settings of the readout; N nodes in κ come last. A
average is one matrix product with a table that is made once per rule, when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..features import Features
from ..modes import Modes, mean_functions
from ..symmetric import TINY, packing, product, triangle, upper_triangle

# |κ|² that a millionth of all inputs exceeds, by the number of directions: scipy.special.chdtri(directions, 1e-6)
_RARE = {1: 23.928126976934827, 2: 27.631021115928547, 3: 30.664849706213598, 4: 33.37684158171984}


Average = Callable[[np.ndarray], np.ndarray]
"""From f [U, A, N] to averages [U, A, ...] over κ."""


class Averages:
    """The features' quadratic basis φ = (μ1μ1ᵀ, μ2²) and functions g of the mean modes, and averages over them."""

    def __init__(self, features: Features, modes: Modes):
        self.features = features
        pack = packing(features.mu0.shape[1])
        self._weights = features.weights[:, None, :]
        quadratic = features.mu1[:, pack.rows] * features.mu1[:, pack.cols]
        self.phi = np.concatenate([quadratic, features.mu2sq], axis=1)  # [U, P, N]
        self.means = mean_functions(features, modes)  # [U, means·K, N]
        self.mu1, self.dmu0 = features.mu1, features.dmu0
        size = features.mu0**2 + features.mu1**2 + features.mu2sq
        self.size = (self._weights * size).sum(axis=(1, 2))[:, None]  # [U, 1]
        self._kappa = features.kappa
        self.typical = (self._weights * self.phi).sum(axis=-1)  # E φ, [U, P]

    def table(self, functions: np.ndarray) -> np.ndarray:
        """Weighted functions of κ [U, X, N] as the right factor of a matrix product, [U, N, X]."""
        return np.ascontiguousarray(np.swapaxes(self._weights * functions, -1, -2))

    def _against(self, functions: np.ndarray) -> Average:
        """Averages against functions of κ, [U, X, N]."""
        table = self.table(functions)
        return lambda f: f @ table

    def _against_products(self, functions: np.ndarray) -> Average:
        """Averages against their products, as symmetric matrices."""
        rows, cols = upper_triangle(functions.shape[1])
        table = self.table(functions[:, rows] * functions[:, cols])
        return lambda f: symmetric(f @ table, functions.shape[1])

    @cached_property
    def hats(self) -> Average:
        """E[φ f], [U, A, P]."""
        return self._against(self.phi)

    @cached_property
    def squares(self) -> Average:
        """E[φ φᵀ f], [U, A, P, P]."""
        return self._against_products(self.phi)

    @cached_property
    def on_means(self) -> Average:
        """E[g f], [U, A, means·K]."""
        return self._against(self.means)

    @cached_property
    def mean_pairs(self) -> Average:
        """E[g gᵀ f], [U, A, means·K, means·K]."""
        return self._against_products(self.means)

    @cached_property
    def tilts(self) -> Average:
        """E[∂μ0/∂c ∂μ0/∂cᵀ f], [U, A, K, K]."""
        return self._against_products(self.dmu0)

    def on_mu1(self, f: np.ndarray) -> np.ndarray:
        """E[μ1 f_m] for several f [U, A, k, N] on one rule: [U, A, k, K]."""
        return f @ self.table(self.mu1)[:, None]

    @cached_property
    def mean_products(self) -> np.ndarray:
        """The products of mean modes, upper triangle, [U, F(F+1)/2, N]."""
        rows, cols = upper_triangle(self.means.shape[1])
        return self.means[:, rows] * self.means[:, cols]

    def mean(self, f: np.ndarray) -> np.ndarray:
        """E[f], [U, A]."""
        return (f @ self._weights.swapaxes(-1, -2))[..., 0]

    def due_to_rare(self, error: np.ndarray, fit: np.ndarray, spread: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Share [U, A] of E[error] that inputs make which are rarer than one in a million.

        A test input brings its own error (κ) [U, A, N]. A training input whose fit fluctuates by `fit` (κ), in units of
        α/β, moves the norms q by `spread` of φ fit, and thereby every error.
        """
        distance = (self._kappa**2).sum(axis=1)
        rare = self._weights * (distance > _RARE[self._kappa.shape[1]])[:, None]
        own = (error * rare).sum(axis=-1)
        moved = spread((fit * rare) @ self.phi.swapaxes(-1, -2))
        typical = self.typical[:, None] * packing(self.mu1.shape[1]).counts
        total = self.mean(error)
        return (own + (moved * typical).sum(axis=-1)) / np.maximum(np.abs(total), TINY)

    def tail(self, f: np.ndarray) -> np.ndarray:
        """Size of f φ at both outermost nodes, for a typical φ of the features, over E[f φ]."""
        ends = [0, -1]
        far = (self._kappa[:, :, [0, -1]] ** 2).sum(axis=1)
        density = np.exp(-0.5 * far) * (far > 0.5 * far.max())  # half a rule begins in the middle
        size = np.abs(f[..., ends]) * (density * self.phi[..., ends].sum(axis=1))[:, None]
        return 2.0 * size.max(axis=-1) / (np.abs(self.hats(f).sum(axis=-1)) + TINY)


def apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Stacked matrix times vector."""
    return product(matrix, vector[..., None])[..., 0]


def symmetric(entries: np.ndarray, size: int) -> np.ndarray:
    """Full symmetric matrices from their upper triangles."""
    return entries.take(triangle(size), axis=-1)
