"""Averages of σ(a + h) and σ'(a + h) over h ~ N(0, c), which decide what a gradient step does to a row.

The spike shifts a neuron's pre-activation by a. The derivative is split as σ'(a + h) = s0 + s1 h + N(h): in a step, s0
moves the spike, s1 multiplies the row by a matrix, and N adds a random part. The same three parts decide how squared
row norms fluctuate.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import NotCovered
from ..functions import Function
from ..gaussian import (
    STRIDES,
    extrapolated_error,
    least_intervals,
    quarterable,
    resolution,
    round_up,
    sample,
    tail_reach,
)
from .shifted_moments import cache_parts, tabulated
from .symmetric import TINY

_TOLERANCE = 1e-13
_FIRST, _LAST = 64, 8192  # points per piece
_INNER_TOLERANCE = 1e-12
_FAINT = 1e-3  # of a slope, under which what is left of it beyond a line has an absolute error


_ODD = ("mean", "s1", "b3", "n21", "n31")  # averages that change sign with σ


class DerivativeMoments(NamedTuple):
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

    def at(self, nodes: np.ndarray) -> DerivativeMoments:
        """Some of the nodes, each as often as it is named."""
        return DerivativeMoments(*(part[..., nodes] for part in self))


def at_rest(activation: Function, biases: np.ndarray) -> tuple[DerivativeMoments, float]:
    """The averages for neurons without a spike, of unit rows, [1, K, 1], and their error, relative to their size."""
    columns = [_at_rest(activation, float(bias)) for bias in biases]
    moments = np.array([values for values, _ in columns]).T[:, None, :, None]
    return DerivativeMoments(*moments), max(error for _, error in columns)


@lru_cache
def _at_rest(activation: Function, bias: float) -> tuple[np.ndarray, float]:
    reach, shift = _reach(activation, 1.0, abs(bias)), abs(bias)
    least = [least_intervals(f, 1.0, reach, shift, shift) for f in (activation, activation.derivative)]
    n = max(_FIRST, quarterable(max(least)))
    while True:
        rules = [_averages(activation, np.array([bias]), np.ones(1), n, reach, stride) for stride in STRIDES]
        fine, middle, coarse = (np.array(rule)[:, 0] for rule in rules)
        sizes = _sizes(DerivativeMoments(*fine))
        last, previous = (np.abs(a - b) / sizes for a, b in pairwise((fine, middle, coarse)))
        error = float(extrapolated_error(last, previous).max())
        if error <= _TOLERANCE or 2 * n > _LAST:
            if activation.parity == "odd" and bias == 0.0:  # σ' is even: what is odd in h vanishes, without rounding
                fine[[DerivativeMoments._fields.index(name) for name in _ODD]] = 0.0
            return fine, error
        n *= 2


def _sizes(s: DerivativeMoments) -> np.ndarray:
    """What each of the averages is small or large against: a product of powers is as large as the powers themselves,
    which a parity may cancel."""
    whole = np.sqrt(s.s0**2 + s.s1**2 + s.n2)
    output = np.sqrt(s.mean**2 + whole**2)
    rest = np.sqrt(s.n2) + _FAINT * whole  # √E N²
    fourth = s.n4**0.25 + rest
    size = DerivativeMoments(
        output, whole, whole, whole**2, rest, rest, rest**2, rest**2, fourth**3, fourth**3, fourth**4,
    )  # fmt: skip
    return np.maximum(np.array(size), TINY)


def shifted(activation: Function, shift: np.ndarray, c: np.ndarray) -> tuple[DerivativeMoments, float]:
    """The averages at shifts [U, K, N], with variances c [U, K], and their error over the size of σ and σ'."""
    scale = np.sqrt(c)
    reach = _reach(activation, round_up(float(scale.max())), 0.0)
    rules = [resolution(f, shift, scale, reach, _INNER_TOLERANCE) for f in (activation, activation.derivative)]
    n, error = max(n for n, _ in rules), max(error for _, error in rules)

    def averages(at: np.ndarray, variance: np.ndarray) -> np.ndarray:
        parts = cache_parts(len(at), n)
        return np.concatenate([_averages(activation, at[p], variance[p], n, reach, 1) for p in parts], axis=-1)

    return DerivativeMoments(*tabulated(averages, shift, c)), error


def _averages(
    activation: Function, shift: np.ndarray, c: np.ndarray, n: int, reach: float, stride: int
) -> DerivativeMoments:
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
    parts = [N2, N * h2, N * h2 * h, N2 * h, N2 * h2, N2 * N, N2 * N * h, N2 * N2]
    return DerivativeMoments(E(value), s0, s1, *(E(part) for part in parts))


def check_slope_is_bounded(activation: Function) -> None:
    """Refuse an activation that is too steep somewhere for a step."""
    if poles := activation.derivative.poles:
        raise NotCovered(
            f"{activation.name}: its derivative is unbounded near x = {poles[0]:g}, and the theory of a gradient step"
            " needs one that is bounded; use a smoother activation, or SpikedRF, which needs no derivative",
            "activation",
        )


def _reach(activation: Function, scale: float, shift: float) -> float:
    return max(tail_reach(f, scale, shift) for f in (activation, activation.derivative))
