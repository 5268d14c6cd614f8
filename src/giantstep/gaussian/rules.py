"""Nodes and weights, three nested rules at once, and the error estimated from their differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

REACH = 9.0  # the normal density is 1e-18 there: enough for functions that do not grow fast
STRIDES = (1, 2, 4)
_BEND = 2.0  # distance from 0 at which the nodes of a line grow apart
_EVEN_REACH = 3.4  # in the variable of `even_pieces`: weights are 1e-18 of the largest there


def nested(stride: int) -> slice:
    """Which of the n-1 interior points belong to the rule with n/stride intervals."""
    return slice(stride - 1, None, stride)


def quarterable(intervals: float) -> int:
    """The least multiple of 4 that is enough: three nested rules can share its points."""
    return 4 * math.ceil(intervals / 4)


@lru_cache(maxsize=64)
def line_rule(n: int, reach: float = REACH) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Trapezoidal rule in t for E over z = 2 sinh t ~ N(0, 1): n-1 nodes within ±reach, and weights for each stride.

    Nodes are not evenly spaced on purpose. A function that oscillates has overtones in all that is made of it, such as
    1/(1 + f²), and one that fits an even spacing may fit those of all three rules: they agree, and all are wrong. Here
    no wave fits, and what one rule does not resolve the others do not resolve either.
    """
    end = np.arcsinh(reach / _BEND)
    t = end * (2.0 * np.arange(1, n) / n - 1.0)
    t[n // 2 - 1 : n // 2] = 0.0
    z = _BEND * np.sinh(t)
    weights = 2.0 * end / n * _BEND * np.cosh(t) * density(z)
    return z, tuple(stride * weights[nested(stride)] for stride in STRIDES)


@lru_cache(maxsize=64)
def fejer_rule(n: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Fejér's second rule on [-1, 1]: n-1 interior nodes, and weights for each stride."""

    from scipy.fft import dst

    def weights(n: int) -> np.ndarray:
        """4/n sin θ_j Σ_k sin(kθ_j)/k over odd k < n, θ_j = πj/n."""
        k = np.arange(1, n)
        return 2.0 / n * np.sin(np.pi * k / n) * np.asarray(dst((k % 2) / k, type=1))

    return -np.cos(np.pi * np.arange(1, n) / n), tuple(weights(n // stride) for stride in STRIDES)


@lru_cache(maxsize=64)
def legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(n)


def pieces(cuts: np.ndarray, fixed: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles and half widths [..., pieces, 1] of the pieces between `fixed` places, sorted, and `cuts` [..., k].

    Cuts outside of them give empty pieces.
    """
    ends = np.broadcast_to(fixed, (*cuts.shape[:-1], len(fixed)))
    edges = np.sort(np.concatenate([ends, np.clip(cuts, fixed[0], fixed[-1])], axis=-1), axis=-1)
    return 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None], 0.5 * np.diff(edges, axis=-1)[..., None]


def piecewise_rule(cuts: np.ndarray, n: int, reach: float = REACH) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Composite rule for E over N(0, 1), cut at `cuts` [..., k]: nodes [..., k + 3, n-1], and weights.

    Two fixed cuts at ±reach/3 keep every piece narrow enough for a few dozen points to resolve the Gaussian itself.
    """
    middle, half = pieces(cuts, (-reach, -reach / 3, reach / 3, reach))
    x, reference = fejer_rule(n)
    z = middle + half * x
    scale = half * density(z)
    return z, tuple(scale[..., nested(s)] * w for s, w in zip(STRIDES, reference, strict=True))


def even_pieces(low: float, high: float, cuts: np.ndarray, n: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """A rule for integrals from `low` to `high`, cut at `cuts` [..., k]: nodes [..., k + 1, n-1], and weights.

    On each piece the trapezoidal rule in t, z = middle + half·tanh(π/2 sinh t): about half as accurate, node by node,
    as `piecewise_rule`, but evenly spaced in a variable in which weights are analytic and die out at both ends, so that
    roots and poles there do no harm.
    """
    middle, half = pieces(cuts, (low, high))
    t = _EVEN_REACH * (2.0 * np.arange(1, n) / n - 1.0)
    u = 0.5 * np.pi * np.sinh(t)
    z = middle + half * np.tanh(u)
    weights = half * (np.pi * _EVEN_REACH / n) * np.cosh(t) / np.cosh(u) ** 2
    return z, tuple(stride * weights[..., nested(stride)] for stride in STRIDES)


def extrapolated_error(last: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """Error of the finest of three nested rules from the two differences between them.

    Geometric convergence squares the difference at each step (allow the power 3/2, for prefactors): then the
    finest rule is better than the middle one by at least the ratio seen. Otherwise there is an undeclared kink
    or jump, whose errors depend erratically on where it falls between two nodes, and two rules may agree by
    accident. But not three: for a single one, max(last, previous/4) bounds the trapezoidal rule's error.
    """
    geometric = last <= np.maximum(previous**1.5, 1e-15)
    gain = np.minimum(1.0, last / np.maximum(previous, 1e-300))
    return np.where(geometric, last * gain, np.maximum(last, 0.25 * previous)) + 4e-16


def density(z: np.ndarray | float) -> np.ndarray:
    """Of a standard normal variable."""
    return np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)
