"""Labels ±1 of several directions as a series in what the field sees of them.

Given κ, E[Y | y] = Σ_a c_a h_a(y) with normalised Hermite polynomials h_a(y) = Π_m h_{a_m}(y_m). A standard normal λ with
covariances v_m = E[λ y_m] knows of the label, and of how the label follows y_m,

    E[Y | λ] = Σ_j h_j(λ) C_j,   E[∂_m E[Y | y] | λ] = Σ_j h_j(λ) D_mj,
    C_j = Σ_{|a| = j} √(j!/a!) c_a v^a,   D_mj = Σ_{|a| = j} √(j!/a!) √(a_m + 1) c_{a + e_m} v^a

(Mehler's formula). Terms fall as |v|^j, and |v| is the share of the field that is along y: a few dozen are enough unless
readouts know the target very well. What is averaged over κ's own direction comes from tables, once per target.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..layer import Frame
from ..upto import upto
from .joint import JointLaw
from .seen import refinement, view

_USUAL = 48  # κ intervals of a usual rule


def hermite(x: np.ndarray, degree: int) -> np.ndarray:
    """h_0 to h_degree at x [...], normalised for N(0, 1): [degree + 1, ...]."""
    found = np.empty((degree + 1, *x.shape))
    found[0] = 1.0
    if degree:
        found[1] = x
    for j in range(1, degree):
        now = found[j + 1]
        np.multiply(x, found[j], out=now)
        now -= np.sqrt(j) * found[j - 1]
        now /= np.sqrt(j + 1.0)
    return found


class Orders(NamedTuple):
    """All a = (a_1, ..., a_k) with |a| ≤ degree, the lowest degrees first."""

    a: np.ndarray  # [F, k]
    starts: np.ndarray  # where each degree begins, [degree + 1]
    scale: np.ndarray  # √(j!/a!), [F]


@lru_cache(maxsize=64)
def orders(k: int, degree: int) -> Orders:
    """Those of k variables."""
    from scipy.special import gammaln

    grid = np.indices((degree + 1,) * k).reshape(k, -1).T
    total = grid.sum(axis=1)
    kept = grid[total <= degree]
    total = kept.sum(axis=1)
    a = kept[np.argsort(total, kind="stable")]
    total = np.sort(total)
    scale = np.exp(0.5 * (gammaln(total + 1.0) - gammaln(a + 1.0).sum(axis=1)))
    return Orders(a, np.searchsorted(total, upto(degree + 1)), scale)


class LabelSeries:
    """The series of labels of U first layers with one spike, turned alike, at κ [U or 1, 1, N].

    `points` measures the fineness of the tables, as a number of κ intervals.
    """

    def __init__(self, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int):
        self._law, self._view = law, view(law, frame)
        self._centre, self._rho = frame.gamma[:, :1] * kappa[:, 0], frame.rho[:, 0]
        self._coarser = int(np.clip(np.ceil(np.log2(_USUAL / points)), 0, 2))
        self._finer = refinement(points, law.directions)
        self._terms: dict[bool, tuple[int, np.ndarray]] = {}

    def at(self, rows: np.ndarray, at: slice, v: np.ndarray, degree: int, clean: bool) -> np.ndarray:
        """C_j and D_mj, j ≤ degree, for covariances v [B, k, N] at some κ: [B, N, 1 + k, degree + 1]."""
        a, starts, _ = orders(v.shape[1], degree)
        powers = np.empty((degree + 1, *v.shape))
        powers[0] = 1.0
        for j in range(degree):
            np.multiply(powers[j], v, out=powers[j + 1])
        powers = np.moveaxis(powers, 0, -1)  # [B, k, N, degree + 1]
        monomials = powers[:, 0][..., a[:, 0]]
        for m in range(1, v.shape[1]):
            monomials *= powers[:, m][..., a[:, m]]
        known = self._known(clean, degree)[:, at, :, : len(a)]
        own = known if len(known) == 1 else known[rows]
        return np.add.reduceat(monomials[:, :, None] * own, starts, axis=-1)

    def _known(self, clean: bool, degree: int) -> np.ndarray:
        """√(j!/a!) times c_a and √(a_m + 1) c_{a + e_m}: [U, N, 1 + k, F], for all |a| ≤ degree or more."""
        most, found = self._terms.get(clean, (-1, np.empty(0)))
        if degree > most:
            found = self._computed(self._law.clean if clean else self._law, degree)
            self._terms[clean] = degree, found
        return found

    def _computed(self, law: JointLaw, degree: int) -> np.ndarray:
        k = law.directions
        a, starts, scale = orders(k, degree + 1)
        here = starts[degree + 1]  # those of |a| ≤ degree
        place = np.full((degree + 2,) * k, -1)
        place[tuple(a.T)] = upto(len(a))
        up = [place[tuple((a[:here] + step).T)] for step in np.eye(k, dtype=int)]
        c = self._coefficients(law, degree + 1)
        rows = [c[..., :here], *(np.sqrt(a[:here, m] + 1.0) * c[..., up[m]] for m in range(k))]
        return np.ascontiguousarray(scale[:here] * np.stack(rows, axis=2))

    def _coefficients(self, law: JointLaw, degree: int) -> np.ndarray:
        """c_a for all |a| ≤ degree, [U, N, F]."""
        inner = orders(law.directions - 1, degree).a
        table = self._inner(law, degree)[(slice(None), *inner.T)]
        a = orders(law.directions, degree).a
        place = np.full((degree + 1,) * inner.shape[1], -1)
        place[tuple(inner.T)] = upto(len(inner))
        which = place[tuple(a[:, 1:].T)]
        found: list[np.ndarray] = []
        for centre, rho in zip(np.broadcast_to(self._centre, (len(self._rho), self._centre.shape[-1])), self._rho, strict=True):
            onto = self._view.onto(0, centre, float(rho), self._coarser, self._finer, lambda y: hermite(y, degree))
            found.append((onto @ table)[a[:, 0], :, which].T)
        return np.stack(found)

    def _inner(self, law: JointLaw, degree: int) -> np.ndarray:
        """E[Y h_b(v) | u] on the nodes of a table, [n, degree + 1, ...]: averages over what meets no spike."""

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            first, *rest = (np.moveaxis(hermite(v[:, m], degree), 0, 1) for m in range(v.shape[1]))
            first *= (w * law.mean(*z))[:, None]
            return first @ np.swapaxes(rest[0], -1, -2) if rest else first.sum(axis=-1)

        name = f"series {degree}" if law == self._law else f"clean series {degree}"
        return self._view.table(name, compute, self._coarser, self._finer)
