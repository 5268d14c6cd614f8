"""Averages by an evenly spaced rule of functions with poles near the real axis.

E[φ/D] is Σ w_j φ_j/D_j up to exponentially small terms, unless D vanishes close to the real axis compared
with the distance of the nodes: then the sum turns a smooth tail of a spectrum into a comb of intervals. What a
simple pole contributes wrongly is known in closed form: with s its place in units of the node distance and R
its residue there, R(iπ sgn Im s + π cot πs). Functions known on the nodes alone are continued to s by the
polynomial through their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Near = Callable[[np.ndarray, np.ndarray], np.ndarray]

_STENCIL = np.arange(-3, 5)  # nodes around the cell in which Re D changes sign
_CONTINUE = np.linalg.inv(np.vander(_STENCIL.astype(float), increasing=True)).T  # values to coefficients
_DISTANT = 4.0  # poles farther from the axis than this many node distances contribute e^-25 at most
_NEWTON_STEPS = 6
_FELT, _ROUGH = (
    -30.0,
    0.1,
)  # ln w of nodes that count, and a sixth difference of ln w that is none of a smooth function


def pole_correction(D: np.ndarray, phi: Near, count: int, log_weights: np.ndarray) -> np.ndarray:
    """What to add to Σ_j w_j φ_j/D_j: [A, P] for D [A, N] and ln w [N]; phi(points, nodes) has the P = `count` values
    of φ [m, P, 8] at some nodes [m, 8] of m points.

    Weights are continued by their logarithm, which for a Gaussian is a polynomial itself.
    """
    total = np.zeros((len(D), count), complex)
    real, imaginary = np.real(D), np.imag(D)
    rise = np.abs(np.diff(real, axis=1))
    crossing = (real[:, :-1] * real[:, 1:] <= 0.0) & (np.abs(imaginary[:, :-1]) < _DISTANT * rise)
    point, cell = np.nonzero(crossing)
    inner = (cell >= 3) & (cell < D.shape[1] - 4)
    point, cell = point[inner], cell[inner]
    if not len(point):
        return total
    nodes = cell[:, None] + _STENCIL
    in_D = D[point[:, None], nodes] @ _CONTINUE
    s = D[point, cell] / (D[point, cell] - D[point, cell + 1])
    for _ in range(_NEWTON_STEPS):
        value, slope = _polynomial(in_D, s)
        s = np.where(np.abs(s) < 2.0 * _DISTANT, s - value / slope, s)
    _, slope = _polynomial(in_D, s)
    usable = (np.abs(np.imag(s)) < _DISTANT) & (np.real(s) > -1.5) & (np.real(s) < 2.5)
    s = np.where(usable, s, 0.5j)
    side = np.where(np.imag(s) >= 0, 1.0, -1.0)
    q = np.exp(2j * np.pi * side * s)
    weight = np.exp(_polynomial(log_weights[nodes] @ _CONTINUE, s)[0])
    error = np.where(usable, 2j * np.pi * side * q / (q - 1.0) * weight / slope, 0.0)
    at_pole, _ = _polynomial(phi(point, nodes) @ _CONTINUE, s[:, None])
    np.add.at(total, point, error[:, None] * at_pole)
    return total


def continues(log_weights: np.ndarray) -> bool:
    """Whether a rule's weights are a smooth function of the node's number, so that sums over it can be corrected.

    Those of an evenly spaced rule are, in whatever variable; those of pieces, or of labels ±1, are not. A first node
    that stands for itself alone among mirror images does not count.
    """
    inner = log_weights[1:][log_weights[1:] > _FELT]
    return len(inner) > 4 * len(_STENCIL) and bool(np.abs(np.diff(inner, n=6)).max() < _ROUGH)


def _polynomial(coefficients: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and derivative of polynomials with coefficients [..., n] (constant first) at s."""
    value = coefficients[..., -1] + 0.0 * s
    slope = 0.0 * value
    for power in range(coefficients.shape[-1] - 2, -1, -1):
        slope = slope * s + value
        value = value * s + coefficients[..., power]
    return value, slope
