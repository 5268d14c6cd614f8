"""The equations of a spectrum: those of the fit's responses (V1, V2) with λ → z = -x - iη, closed at complex z.

The density is Im ΣV2/π. Near the real axis averages over κ of 1/D, D = 1 + μ1²V1 + μ2²V2, have poles close to the real
κ axis wherever samples of that κ have their eigenvalues near x: `poles` keeps them right. Rows by themselves have the
spectrum of features that are linear in the input, on infinitely many samples.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotCovered
from ...functions import as_function
from ...theory.bulk import Bulk
from ...theory.bulk.pencil.resolvent import UnclosedResolvent
from ...theory.equations.averages import symmetric
from ...theory.equations.response import Response, respond
from ...theory.features import STEEPEST, Features, Table, steepness
from ...theory.labels import OneDirection
from ...theory.symmetric import packing
from .halfplane import TINY, Image, differentiated, in_half_plane
from .poles import Crossings
from .sample_unknowns import SampleUnknowns, largest_covariance

if TYPE_CHECKING:
    from ...theory.problem import Problem

_POINTS, _USUAL = 128, 1.5  # half the κ intervals that resolve features up to this spike over √c
_RARE = 6.0  # |κ| beyond which inputs (2e-9 of them) do not count for the extent of the spectrum
_ENDLESS = 1e40  # alpha at which nothing is left of the samples


class SpectralEquations:
    """Features of one first layer with K groups at one α and β.

    Unknowns are V, packed [P], and, where batches have shaped the rows, how their samples answer.
    """

    def __init__(self, features: Features, bulk: Bulk, alpha: float, beta: float):
        self.features, self.bulk, self.alpha, self.beta = features, bulk, alpha, beta
        self.pack = pack = packing(len(bulk.weights))
        self.entries = pack.pairs + np.arange(pack.groups)  # those of V2, whose sum is the trace
        self.samples = SampleUnknowns(bulk)
        self.powers = np.concatenate([-np.ones(pack.size), np.zeros(self.samples.size)])
        at_infinity = pack.pack(np.diag(bulk.weights * bulk.c[0]), bulk.weights)  # no samples in sight
        self.start = np.concatenate([at_infinity.astype(complex), self.samples.start])
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
            added = differentiated(lambda V: poles.errors(1.0 + (V[:, None] @ in_D)[:, 0], phi), V[poles.point])
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
        c, a, b = largest_covariance(self.bulk), np.sqrt(self.alpha), np.sqrt(self.beta)
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

    def unpack(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unknowns [A, ...] as the responses V [A, P] and the samples' answers Y."""
        return V[:, : self.pack.size], V[:, self.pack.size :]

    def respond(self, V: np.ndarray, hats: np.ndarray, z: np.ndarray) -> Response:
        """What the rows make of V̂ at z."""
        own, Y = self.unpack(V)
        beta = np.full((1, len(z)), self.beta)
        return respond(self.samples.unclosed(Y), own[None], hats[None], beta, z[None])

    def step(self, V: np.ndarray, z: np.ndarray) -> Image:
        """The image of V under the equations at z: V̂ from V, then the rows' response to V̂."""
        own, _ = self.unpack(V)
        hats, slopes = self.conjugates(own)
        found = self.respond(V, hats, z)
        by_own = np.eye(own.shape[-1]) - found.left[0] - found.by_hat[0] @ slopes
        if not self.samples.size:
            return Image(found.V[0], by_own)
        rows, m, pairs = found.resolvent, self.samples.size, self.pack.pairs
        assert isinstance(rows, UnclosedResolvent)
        X, R = rows.X[0], rows.X.shape[-1]
        zz = slice(R - self.pack.groups, None)
        by_Vt = np.concatenate(self._Vt_by_V(found, own), axis=1)
        pencil = np.zeros((1, len(z), m + by_Vt.shape[1], R, R), complex)
        pencil[:, :, :m], pencil[0, :, m:, zz, zz] = self.samples.units, -by_Vt
        moved = -rows.change(pencil)[0]  # dX for each unknown answer, then each entry of Ṽ, [A, m + ..., R, R]
        by_Y, pushed = moved[:, :m], moved[:, m:]
        values, along = self.samples.image(X, np.concatenate([by_Y, pushed], axis=1))
        Y_by_own = along[:, :, m : m + pairs] @ slopes[:, :pairs]
        Y_by_own[:, :, pairs:] += along[:, :, m + pairs :]
        own_by_Y = self._V_by_Y(found, by_Y[:, :, zz, zz])
        top = np.concatenate([by_own, own_by_Y], axis=2)
        bottom = np.concatenate([Y_by_own, along[:, :, :m]], axis=2)
        return Image(np.concatenate([found.V[0], values], axis=1), np.concatenate([top, bottom], axis=1))

    def _Vt_by_V(self, found: Response, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How Ṽ moves with each entry of V̂1 and with each V2, [A, pairs, K, K] and [A, K, K, K]."""
        root, group = found.root[0], np.arange(self.pack.groups)
        by_hat = (root[:, :, None] * root[:, None, :])[:, None] * self.pack.units
        Vt = found.resolvent.Vt[0] / self.pack.vector(own)[:, :, None]  # rows over their own V2
        by_V2 = np.zeros((len(own), len(group), len(group), len(group)), complex)
        by_V2[:, group, group, :] += 0.5 * Vt
        by_V2[:, group, :, group] += 0.5 * np.moveaxis(Vt, 0, 1)
        return by_hat, by_V2

    def _V_by_Y(self, found: Response, dX: np.ndarray) -> np.ndarray:
        """How V moves with the samples' answers, [A, P, m], for changes of X_zz [A, m, K, K]: T̂ = -X_zz."""
        root, Vt, pack = found.root[0], found.resolvent.Vt[0], self.pack
        dV1 = -dX * (root[:, :, None] * root[:, None, :])[:, None] / self.beta
        dpull = np.diagonal(-dX @ Vt[:, None], axis1=-2, axis2=-1) / root[:, None] ** 2
        V2 = pack.vector(found.V[0])
        dV2 = -(V2**2 / self.bulk.weights)[:, None] * dpull
        return np.swapaxes(pack.pack(dV1, dV2), -1, -2)

    def inside(self, V: np.ndarray) -> np.ndarray:
        own, Y = self.unpack(V)
        V2 = self.pack.vector(own)
        found = in_half_plane(self.pack.matrix(own))
        for s in range(self.pack.groups):
            found &= in_half_plane(V2[:, s, None, None])
        return found & self.samples.inside(Y, np.sqrt(self.beta * V2))

    def sizes(self, V: np.ndarray) -> np.ndarray:
        own, Y = self.unpack(V)
        pack = self.pack
        leading = np.abs(np.diagonal(pack.matrix(own), axis1=-2, axis2=-1))
        V1 = np.sqrt(leading[:, pack.rows] * leading[:, pack.cols])
        return np.concatenate([V1, np.abs(pack.vector(own)), self.samples.sizes(Y)], axis=1) + TINY


def rows_alone(bulk: Bulk, beta: float) -> SpectralEquations:
    """The rows W by themselves: WWᵀ is what linear features of size √(β/α) have as α → ∞."""
    one = np.ones((1, len(bulk.weights), 1))
    linear = Features(0.0 * one[:, :1], one[:, 0], 0.0 * one, np.sqrt(beta / _ENDLESS) * one, 0.0 * one, 0.0 * one)
    return SpectralEquations(linear, bulk, _ENDLESS, beta)


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
    return Table(problem.activation, OneDirection(as_function("x")), unseen, c, problem.biases, points).at(1)[0]
