r"""Message passing on labels with noise that depend on two or three directions (note 14 of the theory, section 6).

The overlaps Q [k, k] of estimates and directions are a fixed point of

    Q = (1 + αI)⁻¹ αI,    I(Q) = E_ω ∫ ∇Z ∇Zᵀ/Z dy,    Z(y, ω) = E_z φ_Δ(y - g(z)),    z ~ N(ω, 1 - Q),  ω ~ N(0, Q).

In the eigenbasis of Q the law of z given ω is a product: Z on all y and ω is one tensor, contracted axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import combinations_with_replacement

import numpy as np

from ...gaussian import density
from ...model.target import Target
from .rules import Map, contracted, information, split

MOST_DIRECTIONS = 3
_REACH = {2: 6.5, 3: 5.8}  # of z and of noise, in standard deviations, by the number of directions
_AXIS = {2: (0.1, 20), 3: (0.4, 10)}  # largest step of z and number of nodes of ω along each direction
_KINKED = {2: 2.0, 3: 1.5}  # times as many nodes of z for functions with kinks
_FINEST = {2: 160, 3: 30}  # most steps of z to either side
_PER_WIDTH = 1.4  # nodes of z within a standard deviation of what is not known of it,
_PER_NOISE = 1.8  # and of labels within one of their noise
_STEP = 0.6  # of z, over the noise, at most
_BLOCK = 1 << 21  # numbers in memory at a time
_START = 1e-3  # overlap from which message passing starts
_TINY = 1e-7  # overlap at which I is linear in Q
_TOLERANCE, _ROUNDS = 1e-7, 300
# every so many moves the next ones are taken at once, if each is smaller than the one before by this factor
_EXTRAPOLATED, _SLOWEST = 3, 0.9
_FINER = 1.5  # times as fine a rule tells the error


class SeveralOverlaps:
    """State evolution of one target with noise."""

    def __init__(self, target: Target):
        self.function, self.k, self.noise = (target.function, target.directions, float(np.asarray(target.noise)))
        revealed, self.variance = self.evaluate(np.zeros((self.k, self.k)))
        at_once = np.trace(revealed) > _TOLERANCE
        self.thresholds = {"alpha_weak": 0.0 if at_once else self._weak_recovery()}

    def evaluate(self, Q: np.ndarray, finer: float = 1.0) -> tuple[np.ndarray, float]:
        """I(Q) and the test error."""
        q, U = np.linalg.eigh(Q)
        q = np.clip(q, 0.0, 1.0 - _TOLERANCE)
        (widest, count), reach = _AXIS[self.k], _REACH[self.k]
        widest /= _KINKED[self.k] if self.function.kinks else 1.0
        x, w = np.polynomial.hermite_e.hermegauss(int(finer * count))
        axes: list[np.ndarray] = []
        maps: list[Map] = []
        for variance in q:
            s = np.sqrt(1.0 - variance)
            step = min(widest, s / _PER_WIDTH, _STEP * self.noise) / finer
            half = min(int(np.ceil(reach / step)), int(finer * _FINEST[self.k]))
            z, dz = np.linspace(-reach, reach, 2 * half + 1, retstep=True)
            u = (z[:, None] - np.sqrt(variance) * x) / s
            axes.append(z)
            maps.append((density(u) * dz / s, u * density(u) * dz / s**2))
        weights = reduce(np.multiply.outer, [w / w.sum()] * self.k)
        z = np.stack(np.meshgrid(*axes, indexing="ij"))
        g = np.asarray(self.function(*np.tensordot(U, z, 1)))
        likely, tail = g[(z**2).sum(axis=0) < reach**2], reach * self.noise
        y = np.arange(likely.min() - tail, likely.max() + tail, self.noise / _PER_NOISE)
        parts = split(y, max(1, _BLOCK // g.size))
        laws = (density(np.subtract.outer(part, g) / self.noise) for part in parts)
        revealed = sum(information(A, maps, weights / _PER_NOISE) for A in laws)
        mean, square = contracted(np.stack([g, g**2]), maps)[0]
        return U @ revealed @ U.T, float((weights * (square - mean**2)).sum())

    def _weak_recovery(self) -> float:
        """α above which Q = 0 is not stable, where I(0) = 0: one over the largest eigenvalue of I'(0)."""
        pairs = combinations_with_replacement(np.eye(self.k), 2)
        Q = np.array([_TINY * np.outer(a + b, a + b) for a, b in pairs])  # they span all symmetric matrices
        revealed = np.array([self.evaluate(one)[0] for one in Q])
        slope = np.linalg.pinv(Q.reshape(len(Q), -1)) @ revealed.reshape(len(Q), -1)
        return float(1.0 / np.linalg.eigvals(slope).real.max())

    def curve(self, alpha: np.ndarray, report: Callable[[float], None]) -> dict[str, np.ndarray]:
        """Q [N, k, k], test errors and their estimated relative errors for α [N], each from where the last ended."""
        Q, identity = np.zeros((self.k, self.k)), np.eye(self.k)
        overlap, (error, estimate) = np.zeros((len(alpha), self.k, self.k)), np.empty((2, len(alpha)))
        for done, at in enumerate(np.argsort(alpha).tolist(), start=1):
            if alpha[at] > self.thresholds["alpha_weak"]:
                Q = Q + _START * identity
            Q, error[at], estimate[at] = self._fixed_point(Q, float(alpha[at]))
            overlap[at] = Q
            report(done / len(alpha))
        return {"overlap": overlap, "test_error": error, "quadrature_error": estimate}

    def _fixed_point(self, Q: np.ndarray, alpha: float) -> tuple[np.ndarray, float, float]:
        """Where message passing ends that starts at Q, the test error there, and its estimated relative error."""
        error, move, rates = 0.0, np.ones_like(Q), [0.0]
        for turn in range(_ROUNDS):
            revealed, error = self.evaluate(Q)
            before, move = move, _step(revealed, alpha) - Q
            rates.append(float(np.linalg.norm(move) / np.linalg.norm(before)))
            if np.abs(move).max() < _TOLERANCE:
                break
            Q = Q + move / (1.0 - rates[-1] if turn % _EXTRAPOLATED == 0 and rates[-1] < _SLOWEST else 1.0)
        finer, finer_error = self.evaluate(Q, _FINER)
        moved = np.abs(_step(finer, alpha) - Q).sum() / max(1.0 - max(rates[-_EXTRAPOLATED:]), _START)
        return Q, error, (abs(finer_error - error) + moved * self.variance) / error


def _step(information: np.ndarray, alpha: float) -> np.ndarray:
    return np.linalg.solve(np.eye(len(information)) + alpha * information, alpha * information)
