"""One group's bulk along the line of Ṽ, then a number: solved on a few nodes, it serves any number of readouts.

T̂ = (1/d) tr (C⁻¹ + Ṽ)⁻¹ and the forms Ĝ are resolvents of positive matrices: as functions of Ṽ they are singular on
the negative axis alone, and so as functions of ln Ṽ analytic up to |Im| = π, whatever the spectrum of C. On a panel of
width ln 8 the series through n nodes converges as 6⁻ⁿ: 20 of them are exact to rounding.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from ..upto import upto
from .base import Bulk, Resolvent
from .pencil import Exact

WORTHWHILE = 24  # readouts on a first layer from which panels are less work than solving for each readout
_NODES = 20
_PANEL = np.log(8.0)
_LEAST, _PANELS = -6, 19  # the lowest panel, counted from Ṽ = 1/c, and how many there may be
_POINTS = chebyshev.chebpts1(_NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_POINTS, _NODES - 1))


class Along(Bulk):
    """The exact bulk of U first layers of one group; panels are solved when a Ṽ first falls on them."""

    def __init__(self, bulk: Exact, coarser: Along | None = None):
        self.bulk, self.weights, self.modes, self.c = bulk, bulk.weights, bulk.modes, bulk.c
        self._coarser = coarser
        self._answers: dict[
            int, list[np.ndarray]
        ] = {}  # of samples, at the nodes of each panel that is solved
        table = (len(bulk.c), _PANELS, _NODES)
        self.responses = np.empty((*table, 3))  # series of T̂, of -dT̂/dṼ and of d(T̂Ṽ)/dṼ
        self.forms = np.empty((*table, 2, self.modes.count**2))  # of Ĝ and dĜ/dṼ
        self._solved = np.zeros(_PANELS, bool)

    @staticmethod
    def nested(fine: Exact, middle: Exact, coarse: Exact) -> tuple[Along, Along, Along]:
        """Bulks on three nested rules, each of which starts from the next coarser one."""
        last = Along(coarse)
        second = Along(middle, last)
        return Along(fine, second), second, last

    def resolvent(self, Vt: np.ndarray) -> Resolvent:
        if np.iscomplexobj(Vt):
            return self.bulk.resolvent(Vt)
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.log(Vt[..., 0, 0] * self.c) / _PANEL - _LEAST  # [U, A], in panels
        if not (place.min() >= 0.0 and place.max() < _PANELS):
            return self.bulk.resolvent(Vt)
        panel = place.astype(int)
        panels = slice(int(panel.min()), int(panel.max()) + 1)
        self._cover(np.arange(panels.start, panels.stop))
        return AlongResolvent(self, Vt, panels, panel, 2.0 * (place - panel) - 1.0)

    def norm_overlap(self) -> np.ndarray:
        return self.bulk.norm_overlap()

    def _answers_on(self, panels: np.ndarray) -> list[np.ndarray]:
        """What samples answer at the nodes of some panels, [U, nodes, Q, Q] per level: where a finer rule starts."""
        self._cover(panels)
        found = [self._answers[int(panel)] for panel in panels]
        return [np.concatenate(level, axis=1) for level in zip(*found, strict=True)]

    def _cover(self, panels: np.ndarray) -> None:
        """Solve those of some panels that are not solved yet."""
        new = panels[~self._solved[panels]]
        if not len(new):
            return
        place = _LEAST + new[:, None] + 0.5 * (1.0 + _POINTS)
        Vt = (np.exp(_PANEL * place.reshape(-1)) / self.c)[..., None, None]
        at = self.bulk.started(Vt, None if self._coarser is None else self._coarser._answers_on(new))
        for i, panel in enumerate(new):
            self._answers[int(panel)] = [y[:, i * _NODES : (i + 1) * _NODES] for y in at.Y]
        unit = np.ones((*at.T.shape[:2], 1, 1, 1))
        shape = (len(self.c), len(new), _NODES)
        responses = np.stack([part.reshape(shape) for part in (at.T, *at.first_order(unit))], axis=-1)
        forms = np.stack([part.reshape(*shape, -1) for part in (at.forms(), at.form_slopes)], axis=-2)
        self.responses[:, new] = np.einsum("kn,upnq->upkq", _TO_SERIES, responses)
        self.forms[:, new] = np.einsum("kn,upnsq->upksq", _TO_SERIES, forms)
        self._solved[new] = True


def _polynomials(t: np.ndarray) -> np.ndarray:
    """Chebyshev's T_0 to T_(n-1) at t [...], last axis; many at a time, as T_(m+j) = 2 T_m T_j - T_(m-j)."""
    found = np.empty((_NODES, *t.shape))
    found[0], found[1] = 1.0, t
    m = 1
    while (more := min(m, _NODES - 1 - m)) > 0:
        new = found[m + 1 : m + 1 + more]
        np.multiply(found[1 : more + 1], 2.0 * found[m], out=new)
        new -= found[m - 1 :: -1][:more] if m > 1 else found[:1]
        m += more
    return np.moveaxis(found, 0, -1)


class AlongResolvent(Resolvent):
    """The series summed at one Ṽ per grid point, each of which is on a `panel` [U, A] at `t` between -1 and 1."""

    def __init__(self, bulk: Along, Vt: np.ndarray, panels: slice, panel: np.ndarray, t: np.ndarray):
        self.Vt, self._bulk, self._panels = Vt, bulk, panels
        U, A = t.shape
        basis = np.zeros((U, A, panels.stop - panels.start, _NODES))
        own = (upto(U)[:, None], upto(A), panel - panels.start)
        basis[own] = _polynomials(t)
        self._basis = basis.reshape(U, A, -1)
        found = self._summed(bulk.responses)[..., None, None]
        self.T, self._tangent, self._leak = found[:, :, 0], found[:, :, [1]], found[:, :, [2]]

    def _summed(self, series: np.ndarray) -> np.ndarray:
        """[U, panels, nodes, ...] to [U, A, ...]."""
        chosen = series[:, self._panels]
        found = self._basis @ chosen.reshape(len(chosen), self._basis.shape[-1], -1)
        return found.reshape(*found.shape[:2], *series.shape[3:])

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return self._tangent * dVt

    def first_order(self, dVt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._tangent * dVt, self._leak * dVt

    @cached_property
    def _forms(self) -> np.ndarray:
        """Ĝ and its derivative, [U, A, 2, modes, modes]."""
        found, count = self._summed(self._bulk.forms), self._bulk.modes.count
        return found.reshape(*found.shape[:3], count, count)

    def forms(self) -> np.ndarray:
        return self._forms[:, :, 0, :, None, :, None]

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return np.swapaxes(u, -1, -2) @ self._forms[:, :, 1] @ u
