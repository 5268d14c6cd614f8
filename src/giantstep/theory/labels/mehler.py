"""Labels ±1 of several directions as a series in their overlap with the field.

Given κ, E[Y | y] = Σ_a c_a h_a(y) with normalised Hermite polynomials h_a(y) = Π_m h_{a_m}(y_m). A standard normal λ
with covariances v_m = E[λ y_m] knows of the label, and of how the label follows y_m,

    E[Y | λ] = Σ_j h_j(λ) C_j,   E[∂_m E[Y | y] | λ] = Σ_j h_j(λ) D_mj,
    C_j = Σ_{|a| = j} √(j!/a!) c_a v^a,   D_mj = Σ_{|a| = j} √(j!/a!) √(a_m + 1) c_{a + e_m} v^a

(Mehler's formula). Terms fall as |v|^j, and |v| is the share of the field that is along y: a few dozen are enough
unless readouts know the target very well. Averages over directions that meet no spike are tables, made once per target.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..layer import Frame
from .table import conditional_table, refinement

if TYPE_CHECKING:
    from .multi_index import SeveralDirections

_USUAL = 48  # κ intervals of a usual rule
_BLOCK = 1 << 12  # nodes whose polynomials are in flight


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


@lru_cache
def orders(k: int, degree: int) -> Orders:
    """Those of k variables."""
    from scipy.special import gammaln

    grid = np.indices((degree + 1,) * k).reshape(k, -1).T
    total = grid.sum(axis=1)
    order = np.argsort(total, kind="stable")[: np.count_nonzero(total <= degree)]
    a, total = grid[order], total[order]
    scale = np.exp(0.5 * (gammaln(total + 1.0) - gammaln(a + 1.0).sum(axis=1)))
    return Orders(a, np.searchsorted(total, np.arange(degree + 1)), scale)


@lru_cache
def _places(k: int, degree: int) -> np.ndarray:
    """Where each a stands among `orders`, [degree + 1, ...]."""
    a = orders(k, degree).a
    place = np.full((degree + 1,) * k, -1)
    place[tuple(a.T)] = np.arange(len(a))
    return place


def _averages(own: np.ndarray, v: np.ndarray, degree: int) -> np.ndarray:
    """Sums over own·h_b(v) for values own [points, J] at one or two variables v [points, m, J]: [points, b, ...]."""
    last = np.moveaxis(hermite(v[:, -1], degree), 0, -1)  # [points, J, degree + 1]
    first = own[:, None] if v.shape[1] == 1 else np.moveaxis(hermite(v[:, 0], degree) * own, 0, 1)
    found = first @ last
    return found[:, 0] if v.shape[1] == 1 else found


class LabelSeries:
    """The series of labels of U first layers with one spike, turned alike, at κ [U or 1, 1, N].

    `points` measures the fineness of the tables, as a number of κ intervals.
    """

    def __init__(self, law: SeveralDirections, frame: Frame, kappa: np.ndarray, points: int):
        self._table = conditional_table(law, frame)
        self._centre, self._rho = frame.gamma[:, :1] * kappa[:, 0], frame.rho[:, 0]
        self._coarser = int(np.clip(np.ceil(np.log2(_USUAL / points)), 0, 2))
        self._finer = refinement(points, law.directions)
        self._laws = [law] if law == law.clean else [law, law.clean]
        self._most, self._terms = -1, [np.empty(0)]

    def at(self, rows: np.ndarray, at: slice, v: np.ndarray, degree: int, clean: bool) -> np.ndarray:
        """C_j and D_mj, j ≤ degree, for covariances v [B, k, N] at some κ: [B, N, 1 + k, degree + 1]."""
        a, starts, _ = orders(v.shape[1], degree)
        powers = np.repeat(v[..., None], degree + 1, axis=-1)  # [B, k, N, degree + 1]
        powers[..., 0] = 1.0
        np.cumprod(powers, axis=-1, out=powers)
        monomials = powers[:, 0][..., a[:, 0]]
        for m in range(1, v.shape[1]):
            monomials *= powers[:, m][..., a[:, m]]
        known = self._known(clean, degree)[:, at, :, : len(a)]
        own = known if len(known) == 1 else known[rows]
        return np.add.reduceat(monomials[:, :, None] * own, starts, axis=-1)

    def _known(self, clean: bool, degree: int) -> np.ndarray:
        """√(j!/a!) times c_a and √(a_m + 1) c_{a + e_m}: [U, N, 1 + k, F], for all |a| ≤ degree or more."""
        if degree > self._most:
            self._most = degree
            self._terms = [self._computed(c, self._most) for c in self._coefficients(self._most + 1)]
        return self._terms[-1 if clean else 0]

    def _computed(self, c: np.ndarray, degree: int) -> np.ndarray:
        """Those terms from coefficients c_a up to one degree more, [U, N, F']."""
        k = self._laws[0].directions
        a, starts, scale = orders(k, degree + 1)
        here = starts[degree + 1]  # those of |a| ≤ degree
        a, place = a[:here], _places(k, degree + 1)
        up = [place[tuple((a + step).T)] for step in np.eye(k, dtype=int)]
        rows = [c[..., :here], *(np.sqrt(a[:, m] + 1.0) * c[..., up[m]] for m in range(k))]
        return scale[:here] * np.stack(rows, axis=2)

    def _coefficients(self, degree: int) -> list[np.ndarray]:
        """c_a for all |a| ≤ degree, [U, N, F], of labels and of clean ones if they differ."""
        k, count = self._laws[0].directions, len(self._laws)
        inner, a = orders(k - 1, degree).a, orders(k, degree).a
        tables = np.stack([self._inner(law, degree)[(slice(None), *inner.T)] for law in self._laws], axis=1)
        which = _places(k - 1, degree)[tuple(a[:, 1:].T)]
        flat = tables.reshape(len(tables), -1)
        coefficients = np.empty((count, len(self._rho), self._centre.shape[-1], len(a)))
        for u, rho in enumerate(self._rho):
            centre = self._centre[min(u, len(self._centre) - 1)]
            onto = self._table.onto(
                0, centre, np.full(len(centre), rho), self._coarser, self._finer, partial(hermite, degree=degree)
            )
            both = (onto @ flat).reshape(degree + 1, len(centre), count, -1)
            for law in range(count):
                coefficients[law, u] = both[:, :, law][a[:, 0], :, which].T
        return list(coefficients)

    def _inner(self, law: SeveralDirections, degree: int) -> np.ndarray:
        """E[Y h_b(v) | u] on the nodes of a table, [n, degree + 1, ...]: averages over what meets no spike."""

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            own = w * law.mean(*z)
            parts = max(1, len(own) // max(1, _BLOCK // own.shape[-1]))
            both = zip(np.array_split(own, parts), np.array_split(v, parts), strict=True)
            return np.concatenate([_averages(values, at, degree) for values, at in both])

        name = f"series {degree}" if law == self._laws[0] else f"clean series {degree}"
        return self._table.table(name, compute, self._coarser, self._finer)
