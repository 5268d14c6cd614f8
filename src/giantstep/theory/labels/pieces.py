"""Functions and laws on Gauss nodes between edges of a line: read off them, and carried over to them."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..upto import upto

_MANY = 512  # values of a law from which on it is sorted
_LOST = 1e-17  # coefficient of a series, over the largest, that no sum would feel


@lru_cache(maxsize=64)
def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(count)


def table_nodes(edges: np.ndarray, count: int) -> np.ndarray:
    """Gauss nodes between edges, end to end."""
    x, _ = gauss(count)
    return np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * x for a, b in pairwise(edges)])


@lru_cache(maxsize=64)
def _interpolation(count: int) -> np.ndarray:
    """From values of Legendre polynomials to those of Lagrange's through the nodes, [count, count]."""
    x, _ = gauss(count)
    return np.linalg.inv(np.polynomial.legendre.legvander(x, count - 1))


def spread(y: np.ndarray, weights: np.ndarray, edges: np.ndarray, count: int) -> np.ndarray:
    """The laws of y [N, J] with weights [N, rows, J] on the nodes between edges: [N, rows, nodes].

    Averages of functions that polynomials of degree `count` - 1 resolve between edges are kept; weights may be
    negative.
    """
    N, rows, J = weights.shape
    if J < _MANY:
        flat = np.moveaxis(weights, 1, 0).reshape(rows, -1)
        return gathered(y.reshape(-1), flat, np.repeat(upto(N), J), N, edges, count).swapaxes(0, 1)
    return np.stack([carried(at, own, edges, count) for at, own in zip(y, weights, strict=True)])


def carried(y: np.ndarray, weights: np.ndarray, edges: np.ndarray, count: int) -> np.ndarray:
    """The same for one law, of y [J] with weights [rows, J]: [rows, nodes]."""
    piece, t = _placed(y, edges)
    if (np.diff(piece) < 0).any():
        order = np.argsort(piece.astype(np.uint16), kind="stable")
        piece, t, weights = piece[order], t[order], weights[:, order]
    basis = np.polynomial.legendre.legvander(t, count - 1)
    found = np.zeros((len(weights), len(edges) - 1, count))
    ends = np.searchsorted(piece, np.arange(len(edges)))
    for p in np.flatnonzero(np.diff(ends)):  # as matrix products, of polynomials that are still in the cache
        there = slice(ends[p], ends[p + 1])
        found[:, p] = weights[:, there] @ basis[there]
    return (found @ _interpolation(count)).reshape(len(weights), -1)


def gathered(
    y: np.ndarray, weights: np.ndarray, which: np.ndarray, laws: int, edges: np.ndarray, count: int
) -> np.ndarray:
    """The same for `laws` of different lengths, end to end: y [Q] with weights [rows, Q] belongs to law `which` [Q].

    [rows, laws, nodes].
    """
    pieces = len(edges) - 1
    piece, t = _placed(y, edges)
    place, size = which * pieces + piece, laws * pieces
    found = np.empty((len(weights), size, count))
    last, now = np.zeros_like(t), np.ones_like(t)
    for degree in range(count):  # averages of Legendre's polynomials, by their recurrence
        for row, w in enumerate(weights):
            found[row, :, degree] = np.bincount(place, w * now, size)
        last, now = now, ((2 * degree + 1) * t * now - degree * last) / (degree + 1)
    return (found @ _interpolation(count)).reshape(len(weights), laws, -1)


def _placed(y: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which piece each y lies in, and where in there, from -1 to 1."""
    piece = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
    left, right = edges[piece], edges[piece + 1]
    return piece, (2.0 * y - left - right) / (right - left)


def interpolated(table: np.ndarray, edges: np.ndarray, count: int, at: np.ndarray) -> np.ndarray:
    """Functions given on the nodes between edges [nodes, F] at other places: [F, ...], by Clenshaw's recurrence."""
    at = np.clip(at, edges[0], edges[-1])
    piece, t = _placed(at, edges)
    values = table.reshape(len(edges) - 1, count, -1)
    series = np.einsum("ki,pif->kfp", _interpolation(count), values)  # Legendre coefficients of each piece
    size = np.abs(series).max(axis=2)
    last = int(np.flatnonzero((size > _LOST * size.max(axis=0)).any(axis=1)).max(initial=0))
    after, now = np.zeros((table.shape[-1], *at.shape)), series[last][:, piece]
    for k in range(last - 1, -1, -1):
        after, now = now, series[k][:, piece] + (2 * k + 1) / (k + 1) * t * now - (k + 1) / (k + 2) * after
    return now
