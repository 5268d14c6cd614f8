r"""Message passing on labels with noise that depend on two or three directions (note 14 of the theory, section 6).

The overlaps Q [k, k] of estimates and directions are a fixed point of

    Q = (1 + αI)⁻¹ αI,    I(Q) = E_ω ∫ ∇Z ∇Zᵀ/Z dy,    Z(y, ω) = E_z φ_Δ(y - g(z)),    z ~ N(ω, 1 - Q),  ω ~ N(0, Q).

In the eigenbasis of Q the law of z given ω is a product: Z on all y and ω is one tensor, contracted axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...gaussian import density
from ...model.target import Target
from ...theory.labels import SeveralDirections, labels_of

_REACH = {2: 6.5, 3: 5.8}  # of z and of noise, in standard deviations, by the number of directions
_AXIS = {2: (0.2, 20), 3: (0.4, 10)}  # largest step of z and number of nodes of ω along each direction
MOST_DIRECTIONS = 3
_FINEST = {2: 160, 3: 40}  # most nodes of z along each
_FINER = {2: (1.0, 2.0, 4.0), 3: (1.0, 1.5)}  # rules that are tried
_ENOUGH = 1e-5  # relative change from one to the next
_PER_WIDTH = 1.4  # nodes of z within a standard deviation of what is not known of it,
_PER_NOISE = 1.8  # and of labels within one of their noise
_BLOCK = 1 << 21  # numbers in memory at a time
_START = 1e-3  # overlap from which message passing starts
_TOLERANCE, _ROUNDS = 1e-7, 300
_SMALL = 0.02  # moves of Q from which on the next ones follow from them, if they become smaller
_CHECK = 1.5  # times as fine a rule tells the error


class SeveralOverlaps:
    """State evolution of one target with noise."""

    def __init__(self, target: Target):
        law = labels_of(target)
        assert isinstance(law, SeveralDirections)
        self.function, self.k, self.noise = (
            target.function,
            target.directions,
            float(np.asarray(target.noise)),
        )
        self.reach, self.square, size = _REACH[self.k], law.moments()[2], np.inf
        first = second = np.zeros(0)
        for rule in _FINER[self.k]:
            self.finer = rule
            first, second = self._revealed_at_once()
            before, size = size, np.trace(first) + np.trace(second)
            if abs(size - before) < _ENOUGH * size:
                break
        weak = 0.0 if np.trace(first) > _TOLERANCE else float(1.0 / np.linalg.eigvals(second).real.max())
        self.thresholds = {"alpha_weak": weak}

    def _grid(self, V: np.ndarray, finer: float = 1.0) -> list[np.ndarray]:
        """Nodes of z along each eigenvector of Q."""
        finer *= self.finer
        steps = np.minimum(_AXIS[self.k][0], np.sqrt(V) / _PER_WIDTH) / finer
        counts = np.minimum(np.ceil(self.reach / steps), finer * _FINEST[self.k] // 2).astype(int)
        return [self.reach * np.linspace(-1.0, 1.0, 2 * count + 1) for count in counts]

    def _labels(self, axes: list[np.ndarray], U: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], float]:
        """g on the grid, blocks of y, and their distance; only labels of z within a ball count."""
        z = np.stack(np.meshgrid(*axes, indexing="ij"))
        g = np.asarray(self.function(*np.tensordot(U, z, 1)))
        likely = g[(z**2).sum(axis=0) < self.reach**2]
        step, tail = self.noise / _PER_NOISE, self.reach * self.noise
        y = np.arange(likely.min() - tail, likely.max() + tail, step)
        return g, np.array_split(y, -(-len(y) * g.size // _BLOCK)), step / self.noise

    def evaluate(self, Q: np.ndarray, finer: float = 1.0) -> tuple[np.ndarray, float]:
        """I(Q) and the test error."""
        q, U = np.linalg.eigh(Q)
        q = np.clip(q, 0.0, 1.0 - _TOLERANCE)
        axes = self._grid(1.0 - q, finer)
        x, w = np.polynomial.hermite_e.hermegauss(int(finer * _AXIS[self.k][1]))
        w = w / w.sum()
        weights, maps = np.ones(()), []
        for z, variance in zip(axes, q, strict=True):
            u = (z[:, None] - np.sqrt(variance) * x) / np.sqrt(1.0 - variance)
            B = density(u) * ((z[1] - z[0]) / np.sqrt(1.0 - variance))
            maps.append((B, u * B / np.sqrt(1.0 - variance)))
            weights = np.multiply.outer(weights, w)
        g, blocks, step = self._labels(axes, U)
        information = np.zeros((self.k, self.k))
        for y in blocks:
            Z, slopes = _contracted(density((y.reshape(-1, *[1] * self.k) - g) / self.noise), maps)
            scaled = slopes * np.sqrt(step * weights / np.maximum(Z, np.finfo(float).tiny))
            flat = scaled.reshape(self.k, -1)
            information += flat @ flat.T
        mean, _ = _contracted(g[None], maps)
        return U @ information @ U.T, self.square - float((weights * mean[0] ** 2).sum())

    def _revealed_at_once(self) -> tuple[np.ndarray, np.ndarray]:
        """I(0), and the matrix [k², k²] of M ↦ E_y[G M G], G(y) = E[zzᵀ - 1 | y], of which αM is I near Q = M = 0."""
        axes = self._grid(np.ones(self.k))
        g, blocks, step = self._labels(axes, np.eye(self.k))
        z = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(self.k, -1)
        w = np.prod([density(a) * (x[1] - x[0]) for a, x in zip(z, axes, strict=True)], axis=0)
        products = (z[:, None] * z - np.eye(self.k)[..., None]).reshape(self.k**2, -1)
        powers = np.concatenate([np.ones((1, len(w))), z, products]) * w
        first, second = np.zeros((self.k, self.k)), np.zeros((self.k**2, self.k**2))
        for y in blocks:
            Z, *rest = powers @ density((g.reshape(-1, 1) - y) / self.noise)
            linear, square = np.split(np.array(rest) * np.sqrt(step / Z), [self.k])
            first += linear @ linear.T
            square = square.reshape(self.k, self.k, -1)
            second += np.einsum("aby,cdy->acbd", square, square).reshape(second.shape)
        return first, second

    def curve(self, alpha: np.ndarray, report: Callable[[float], None]) -> dict[str, np.ndarray]:
        """Q [N, k, k], test errors and their estimated relative errors for α [N], each from where the last ended."""
        Q, identity = np.zeros((self.k, self.k)), np.eye(self.k)
        overlap, (error, estimate) = np.zeros((len(alpha), self.k, self.k)), np.empty((2, len(alpha)))
        for done, at in enumerate(np.argsort(alpha).tolist(), start=1):
            samples = float(alpha[at])
            beyond = samples > self.thresholds["alpha_weak"]
            Q, error[at] = self._fixed_point(Q + _START * identity if beyond else Q, samples)
            overlap[at], estimate[at] = Q, self._relative_error(Q, samples, float(error[at]))
            report(done / len(alpha))
        return {"overlap": overlap, "test_error": error, "quadrature_error": estimate}

    def _relative_error(self, Q: np.ndarray, alpha: float, error: float) -> float:
        """That of the test error at a fixed point: what a finer rule moves, and what that moves."""
        information, finer_error = self.evaluate(Q, _CHECK)
        estimate = abs(finer_error - error)
        if Q.any():
            moved = _step(information, alpha) - Q
            again = _step(self.evaluate(Q + moved)[0], alpha) - Q
            rate = np.linalg.norm(again) / max(np.linalg.norm(moved), _TOLERANCE)
            estimate += np.abs(moved).sum() * self.square / max(1.0 - rate, _START)
        return estimate / error

    def _fixed_point(self, Q: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
        """Where message passing ends that starts at Q, which is not far beyond it; and the test error there.

        Moves that are small and become smaller follow the last two of them (Anderson's method), which takes a third to
        a half of the rounds. Where they grow, Q leaves a fixed point that is not stable.
        """
        last: list[np.ndarray] = []
        error = 0.0
        for _ in range(_ROUNDS):
            information, error = self.evaluate(Q)
            move = _step(information, alpha) - Q
            size = np.abs(move).max()
            if size < _TOLERANCE:
                break
            before, last, Q = last, [Q, move], Q + move
            if before and size < min(_SMALL, np.abs(before[1]).max()):
                change, change_of_move = last[0] - before[0], last[1] - before[1]
                share = (move * change_of_move).sum() / (change_of_move**2).sum()
                Q = Q - share * (change + change_of_move)
        return Q, error


def _step(information: np.ndarray, alpha: float) -> np.ndarray:
    return np.linalg.solve(np.eye(len(information)) + alpha * information, alpha * information)


def _contracted(A: np.ndarray, maps: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """A [y, z...] averaged over every z given ω [y, ω...], and its derivative along each ω [k, y, ω...]."""
    slopes: list[np.ndarray] = []
    for B, derivative in maps:
        slopes = [np.tensordot(slope, B, (1, 0)) for slope in slopes] + [np.tensordot(A, derivative, (1, 0))]
        A = np.tensordot(A, B, (1, 0))
    return A, np.stack(slopes)
