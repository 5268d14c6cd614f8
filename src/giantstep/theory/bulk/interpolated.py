"""One group's bulk along the line of Ṽ, then a number: solved on a few nodes, it serves any number of readouts.

T̂ = (1/d) tr (C⁻¹ + Ṽ)⁻¹ and the forms Ĝ are resolvents of positive matrices: as functions of Ṽ they are singular on
the negative axis alone, and so as functions of ln Ṽ analytic up to |Im| = π, whatever the spectrum of C. Over a range
of width w polynomials through n Chebyshev nodes converge as ρ⁻ⁿ, ρ = x + √(1 + x²) with x = 2π/w: 20 nodes are exact to
rounding for a factor of 8 in Ṽ, 50 for 1000. They are summed by the barycentric formula,

    f(t) = Σ_j w_j f_j/(t - t_j) / Σ_j w_j/(t - t_j),      w_j = (-1)^j √(1 - t_j²).

What is interpolated is of one size throughout, so that its relative precision is, too: T̂ falls as 1/(1 + v), v = cṼ,
its derivatives fall as the square of that, and modes that are rows, W d̂, as its root.
"""

from __future__ import annotations

from functools import cached_property
from math import log

import numpy as np

from ...functions.chebyshev import through
from ..modes import Modes
from ..symmetric import TINY
from .base import Bulk, Resolvent
from .pencil import TrainedBulk, TrainedResolvent

WORTHWHILE = 24  # readouts on a first layer from which a line is less work than solving for each readout
_LEAST, _MOST = 4e-6, 5e11  # the v between which there is a line
_MARGIN = 0.2  # by which it reaches farther than it was asked for: a search goes on nearby
_EXACT = -log(np.finfo(float).epsneg)  # -ln of what polynomials leave out: rounding


class ChebyshevLine:
    """The exact bulk of U first layers of one group on nodes from the least to the largest ln v that was asked for."""

    def __init__(self, bulk: TrainedBulk):
        self.bulk = bulk
        self.low, self.high = np.inf, -np.inf
        self.overlap: np.ndarray | None = None  # (1/d) tr C², [U, 1, 1], as soon as there are nodes

    def cover(self, low: float, high: float) -> None:
        """Solve for the nodes of a line that reaches so far."""
        if self.low <= low and high <= self.high:
            return
        c = self.bulk.c
        self.low, self.high = min(low - _MARGIN, self.low), max(high + _MARGIN, self.high)
        nodes = int(np.ceil(_EXACT / np.arcsinh(2.0 * np.pi / (self.high - self.low))))
        self.points, _ = through(nodes)
        self.bary = np.sqrt(1.0 - self.points**2)
        self.bary[1::2] *= -1.0
        v = np.zeros(nodes + 1)  # the last one, 0, is not of the line: it tells tr C²
        v[:-1] = np.exp(0.5 * (self.low + self.high + (self.high - self.low) * self.points))
        at = TrainedResolvent(self.bulk, (v / c)[..., None, None], None)
        tangent, leak = at.slopes
        self.overlap = tangent[:, -1, 0]

        def over(size: np.ndarray, *parts: np.ndarray) -> np.ndarray:
            values = np.concatenate([part[:, :-1].reshape(len(c), nodes, -1) for part in parts], axis=-1)
            return values / size

        self.responses = over(_response_sizes(v[:-1]), at.T, tangent, leak)
        self.forms = over(_form_sizes(v[:-1], self.bulk.modes), at.forms(), at.form_slopes)

    def basis(self, v: np.ndarray) -> np.ndarray:
        """From values at the nodes to those at v [U, A]: [U, A, nodes]."""
        t = (2.0 * np.log(v) - (self.low + self.high)) / (self.high - self.low)
        distance = t[..., None, :] - self.points[:, None]
        distance[distance == 0.0] = TINY**0.5  # on a node its own value is all that counts
        basis = np.divide(self.bary[:, None], distance, out=distance)
        basis /= basis.sum(axis=-2, keepdims=True)
        return basis.swapaxes(-1, -2)


class InterpolatedBulk(Bulk):
    """The exact bulk of a `part` of the first layers on a line, each of one group."""

    def __init__(self, line: ChebyshevLine, part: slice):
        whole = line.bulk
        self.line, self.part = line, part
        self.weights, self.modes, self.c = whole.weights, whole.modes, whole.c[part]

    @staticmethod
    def both(bulk: TrainedBulk) -> tuple[InterpolatedBulk, ...]:
        """The bulks of U first layers on both of their rules, from 2U on one line."""
        line = ChebyshevLine(bulk)
        return tuple(InterpolatedBulk(line, part) for part in bulk.parts)

    @cached_property
    def bulk(self) -> TrainedBulk:
        """The one that is interpolated."""
        return self.line.bulk.at(self.part)

    def resolvent(self, Vt: np.ndarray) -> Resolvent:
        if np.iscomplexobj(Vt):
            return self.bulk.resolvent(Vt)
        v = Vt[..., 0, 0] * self.c  # [U, A]
        least, most = float(v.min()), float(v.max())
        if not (least >= _LEAST and most <= _MOST):
            return self.bulk.resolvent(Vt)
        self.line.cover(log(least), log(most))
        return InterpolatedResolvent(self, Vt, v)

    def norm_overlap(self) -> np.ndarray | None:
        known = self.line.overlap
        return self.bulk.norm_overlap() if known is None else known[self.part]


def _response_sizes(v: np.ndarray) -> np.ndarray:
    """What T̂, -dT̂/dṼ and d(T̂Ṽ)/dṼ are measured in, [..., 3]."""
    sizes = np.empty((*v.shape, 3))
    sizes[..., 0] = 1.0 / (1.0 + v)
    sizes[..., 1:] = (sizes[..., 0] ** 2)[..., None]
    return sizes


def _form_sizes(v: np.ndarray, modes: Modes) -> np.ndarray:
    """What entries of Ĝ and dĜ/dṼ are measured in, [..., 2·modes²]."""
    whole = (1.0 / (1.0 + v))[..., None]
    root = np.ones((*v.shape, modes.count))
    root[..., : modes.own.start] = np.sqrt(whole)
    sizes = np.empty((*v.shape, 2, modes.count, modes.count))
    np.multiply(root[..., :, None], root[..., None, :], out=sizes[..., 0, :, :])
    sizes[..., 1, :, :] = (whole * whole)[..., None]
    return sizes.reshape(*v.shape, -1)


class InterpolatedResolvent(Resolvent):
    """The polynomials at one Ṽ per grid point, where v = cṼ, [U, A]."""

    def __init__(self, bulk: InterpolatedBulk, Vt: np.ndarray, v: np.ndarray):
        self.Vt, self._bulk, self._v = Vt, bulk, v
        line, part = bulk.line, bulk.part
        self._basis = line.basis(v)
        found = (self._basis @ line.responses[part]) * _response_sizes(v)
        self.T = found[..., :1, None]
        self._slopes = found[..., 1:, None, None, None]

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        return self._slopes[:, :, 0], self._slopes[:, :, 1]

    @cached_property
    def _forms(self) -> np.ndarray:
        """Ĝ and its derivative, [U, A, 2, modes, modes]."""
        bulk, count = self._bulk, self._bulk.modes.count
        found = (self._basis @ bulk.line.forms[bulk.part]) * _form_sizes(self._v, bulk.modes)
        return found.reshape(*found.shape[:2], 2, count, count)

    def forms(self) -> np.ndarray:
        return self._forms[:, :, 0, :, None, :, None]

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return np.swapaxes(u, -1, -2) @ self._forms[:, :, 1] @ u
