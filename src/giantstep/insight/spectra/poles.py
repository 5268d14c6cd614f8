"""Averages of functions with poles near the real axis, by an evenly spaced rule.

E[φ/D] is Σ w_j φ_j/D_j up to exponentially small terms, unless D vanishes close to the real axis compared
with the distance of the nodes: then the sum turns a smooth tail of a spectrum into a comb of intervals. What a
simple pole contributes wrongly is known in closed form: with s its place in units of the node distance and R
its residue there, R(iπ sgn Im s + π cot πs). Functions known on the nodes alone are continued to s by the
polynomial through their neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_STENCIL = np.arange(-3, 5)  # nodes around the cell in which Re D changes sign
_CONTINUE = np.linalg.inv(np.vander(_STENCIL.astype(float), increasing=True)).T  # values to coefficients
_DISTANT = 4.0  # poles farther from the axis than this many node distances contribute e^-25 at most
_NEWTON_STEPS = 6
_NEGLIGIBLE = -30.0  # ln w of nodes that do not count
_ROUGH = 0.1  # a sixth difference of ln w that is none of a smooth function


class Crossings(NamedTuple):
    """The m places where some D comes so close to zero between two nodes that averages over them go wrong."""

    point: np.ndarray  # to which of the A averages each belongs, [m]
    nodes: np.ndarray  # the eight around it, [m, 8]
    log_weights: np.ndarray  # theirs, [m, 8]

    @staticmethod
    def of(D: np.ndarray, log_weights: np.ndarray) -> Crossings:
        """For D [A, N] and ln w [N]."""
        positive = np.real(D) > 0.0
        point, cell = np.nonzero(positive[:, 1:] != positive[:, :-1])
        here, after = D[point, cell], D[point, cell + 1]
        close = np.abs(np.imag(here)) < _DISTANT * np.abs(np.real(after - here))
        fits = (cell >= -_STENCIL[0]) & (cell < D.shape[1] - _STENCIL[-1])
        inner = close & fits & (log_weights[cell] > _NEGLIGIBLE)
        nodes = cell[inner, None] + _STENCIL
        return Crossings(point[inner], nodes, log_weights[nodes])

    def errors(self, D: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """What each adds to Σ_j w_j φ_j/D_j, [m, P], for D [m, 8] and φ [m, P, 8] on its nodes.

        Weights are continued by their logarithm, which for a Gaussian is a polynomial itself.
        """
        in_D, first = D @ _CONTINUE, -_STENCIL[0]
        s = D[:, first] / (D[:, first] - D[:, first + 1])
        for _ in range(_NEWTON_STEPS):
            value, slope = _polynomial(in_D, s)
            s = np.where(np.abs(s) < 2.0 * _DISTANT, s - value / slope, s)
        _, slope = _polynomial(in_D, s)
        usable = (np.abs(np.imag(s)) < _DISTANT) & (np.abs(np.real(s) - 0.5) < 2.0)
        s = np.where(usable, s, 0.5j)
        side = np.where(np.imag(s) >= 0, 1.0, -1.0)
        q = np.exp(2j * np.pi * side * s)
        weight = np.exp(_polynomial(self.log_weights @ _CONTINUE, s)[0])
        error = np.where(usable, 2j * np.pi * side * q / (q - 1.0) * weight / slope, 0.0)
        return error[:, None] * _polynomial(phi @ _CONTINUE, s[:, None])[0]

    def summed(self, errors: np.ndarray, count: int) -> np.ndarray:
        """Errors [m, ...] of the same average together, [A = count, ...]."""
        total = np.zeros((count, *errors.shape[1:]), complex)
        np.add.at(total, self.point, errors)
        return total


def continues(log_weights: np.ndarray) -> bool:
    """Whether a rule's weights are a smooth function of the node's number, so that sums over it can be corrected.

    The weights of an evenly spaced rule are, in whatever variable it is evenly spaced. So are those of several such
    rules one after the other, if each fades out at its ends. The weights for labels ±1 are not. The first node is left
    out: where the other nodes stand for two mirror images each, it stands for itself alone.
    """
    counted = np.flatnonzero(log_weights[1:] > _NEGLIGIBLE)
    runs = [log_weights[1:][run] for run in np.split(counted, np.flatnonzero(np.diff(counted) > 1) + 1)]
    return all(len(run) > 4 * len(_STENCIL) and np.abs(np.diff(run, n=6)).max() < _ROUGH for run in runs) and bool(
        len(counted)
    )


def _polynomial(coefficients: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and derivative of polynomials with coefficients [..., n] (constant first) at s."""
    value = coefficients[..., -1] + 0.0 * s
    slope = 0.0 * value
    for power in range(coefficients.shape[-1] - 2, -1, -1):
        slope = slope * s + value
        value = value * s + coefficients[..., power]
    return value, slope
