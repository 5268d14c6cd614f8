"""What a step sees of neurons whose pre-activations are shifted by their spike: averages of σ and σ' over h ~ N(0, c).

The derivative is split as σ'(a + h) = s0 + s1 h + N(h). Of a step along a row, s0 moves the spike, s1 a matrix that
multiplies the row, and N adds a random part. The same three parts decide how squared row norms fluctuate.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..gaussian import STRIDES, extrapolated_error, points_needed, round_up, sample, tail_reach
from .smoothed import tabulated

_TOLERANCE = 1e-13
_FIRST, _LAST = 64, 8192  # points per piece
_INNER_TOLERANCE = 1e-12
_BLOCK = 1 << 16  # function values in flight


class MeanSlopes(NamedTuple):
    """The few that decide spikes and row norms; see `Slopes`."""

    mean: np.ndarray
    s0: np.ndarray
    s1: np.ndarray
    n2: np.ndarray

    def at(self, nodes: np.ndarray) -> MeanSlopes:
        """Some of the nodes, each as often as it is named."""
        return MeanSlopes(*(part[..., nodes] for part in self))


class Slopes(NamedTuple):
    """Averages at given shifts a and variances c, all of one shape [..., K, N]."""

    mean: np.ndarray  # E σ
    s0: np.ndarray  # E σ'
    s1: np.ndarray  # E[h σ']/c
    n2: np.ndarray  # E N², "s2²" for short
    b2: np.ndarray  # E N h²
    b3: np.ndarray  # E N h³
    n21: np.ndarray  # E N² h
    n22: np.ndarray  # E N² h²
    n3: np.ndarray  # E N³
    n31: np.ndarray  # E N³ h
    n4: np.ndarray  # E N⁴

    def at(self, nodes: np.ndarray) -> Slopes:
        """Some of the nodes, each as often as it is named."""
        return Slopes(*(part[..., nodes] for part in self))


def at_rest(activation: Function, biases: np.ndarray, c: float) -> tuple[Slopes, float]:
    """Those of neurons without a spike, [K, 1], and the error of their integrals over √E of their squares."""
    columns = [_at_rest(activation, float(bias), c) for bias in biases]
    parts = (
        np.array([[value] for value in part]) for part in zip(*(found for found, _ in columns), strict=True)
    )
    return Slopes(*parts), max(error for _, error in columns)


@lru_cache(maxsize=256)
def _at_rest(activation: Function, bias: float, c: float) -> tuple[tuple[float, ...], float]:
    reach = _reach(activation, np.sqrt(c), abs(bias))
    n = _FIRST
    while True:
        found = [
            _averages(activation, np.array([bias]), np.array([c]), n, reach, stride) for stride in STRIDES
        ]
        fine, middle, coarse = (np.array(one)[:, 0] for one in found)
        # a product of powers is as large as the powers themselves, which a parity may cancel
        size = np.sqrt(np.maximum(fine[1] ** 2 + c * fine[2] ** 2 + fine[3], 1e-300))
        error = extrapolated_error(np.abs(fine - middle) / size, np.abs(middle - coarse) / size)[1:4].max()
        if error <= _TOLERANCE or 2 * n > _LAST:
            return tuple(map(float, _exact_zeros(activation, bias, fine))), float(error)
        n *= 2


def _exact_zeros(activation: Function, bias: float, values: np.ndarray) -> np.ndarray:
    """For an odd activation without a bias σ' is even: what is odd in h vanishes, not just to rounding."""
    if activation.parity == "odd" and bias == 0.0:
        values[[Slopes._fields.index(name) for name in ("mean", "s1", "b3", "n21", "n31")]] = 0.0
    return values


def shifted_means(activation: Function, shift: np.ndarray, c: np.ndarray) -> MeanSlopes:
    """The few at shifts [U, K, N], with variances c [U, K]."""
    n, reach = _rule(activation, shift, c)

    def averages(at: np.ndarray, variance: np.ndarray) -> np.ndarray:
        parts = []
        for a, v in _pieces(at, variance, n):
            scale = np.sqrt(v)
            slope = sample(activation.derivative, a, scale, n, reach).moments()
            value = sample(activation, a, scale, n, reach).moments()
            parts.append(np.stack([value.mean, slope.mean, slope.first / scale, slope.remainder]))
        return np.concatenate(parts, axis=-1)

    return MeanSlopes(*tabulated(averages, shift, c))


def shifted(activation: Function, shift: np.ndarray, c: np.ndarray) -> Slopes:
    """All of them at shifts [U, K, N], with variances c [U, K]."""
    n, reach = _rule(activation, shift, c)

    def averages(at: np.ndarray, variance: np.ndarray) -> np.ndarray:
        parts = [np.stack(_averages(activation, a, v, n, reach, 1)) for a, v in _pieces(at, variance, n)]
        return np.concatenate(parts, axis=-1)

    return Slopes(*tabulated(averages, shift, c))


def _pieces(shift: np.ndarray, c: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Few enough at a time to stay in cache."""
    count = max(1, shift.size * n // _BLOCK)
    return zip(np.array_split(shift, count), np.array_split(c, count), strict=True)


def _rule(activation: Function, shift: np.ndarray, c: np.ndarray) -> tuple[int, float]:
    """Points per piece that resolve averages at all these shifts, and how far out they go."""
    span, widest = round_up(float(np.abs(shift).max(initial=0.0))), round_up(float(np.sqrt(c.max())))
    reach = _reach(activation, widest, 0.0)
    n = max(
        points_needed(f, widest, reach, span, _INNER_TOLERANCE) for f in (activation, activation.derivative)
    )
    return n, reach


def _averages(
    activation: Function, shift: np.ndarray, c: np.ndarray, n: int, reach: float, stride: int
) -> Slopes:
    """All of them by the rule with every `stride`-th of n points; shift and c [N]."""
    scale = np.sqrt(c)
    slope, z, w = sample(activation.derivative, shift, scale, n, reach, activation.breakpoints).nodes(stride)
    h = scale[:, None] * z
    value = np.asarray(activation(shift[:, None] + h))

    def E(f: np.ndarray) -> np.ndarray:
        return np.einsum("nz,nz->n", f, w) if w.ndim == 2 else f @ w

    s0, s1 = E(slope), E(slope * h) / c
    N = slope - s0[:, None] - s1[:, None] * h
    h2, N2 = h * h, N * N
    rest = (N2, N * h2, N * h2 * h, N2 * h, N2 * h2, N2 * N, N2 * N * h, N2 * N2)
    return Slopes(E(value), s0, s1, *(E(part) for part in rest))


def _reach(activation: Function, scale: float, shift: float) -> float:
    return max(tail_reach(f, scale, shift) for f in (activation, activation.derivative))
