"""The verb `weight_spectrum`: singular values of the first layer after the step, and what its top pair knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..model import Network, SpikedRF, Target, as_target
from ..parameters import check_count, parameter
from ..provenance import provenance
from ..theory.problem import model_grid, pose
from .spectra.halfplane import HalfPlaneSolver
from .spectra.resolvent import RowBulk
from .spectra.support import Density, find_density
from .spectrum import check_one_spike, check_resolved, spectral_bulk

if TYPE_CHECKING:
    import xarray as xr

    from ..model import FunctionLike, Parameter

POINTS = 200
_FAR = {"outlier": np.inf, "overlap_neurons": 1.0, "overlap_spike": 1.0}
_BEYOND = 1e-6  # distance from the edge, over it, at which outliers begin
_ASIDE = 1e-5  # η/x at which derivatives are read off imaginary parts, right to its square
_SECTIONS, _ROUNDS = 24, 8
_FARTHEST, _TRIED = 1e3, 96  # edges away from the bulk, and points, where a pole is looked for


def weight_spectrum(
    model: Network | SpikedRF,
    target: Target | FunctionLike | None = None,
    *,
    d: Parameter | None = None,
    bulk: str | None = None,
    points: int = POINTS,
) -> xr.Dataset:
    r"""Squared singular values of the first layer, :math:`F = W + r\,u v^\top/\sqrt d`: eigenvalues of :math:`FF^\top`.

    The bulk of spiked random features is Marchenko-Pastur's, with edges :math:`c(1\pm\sqrt\beta)^2`. That of a
    Network (``bulk="exact"``, its default) is wider: each step's batch leaves its mark on the covariance of the rows.

    The spike has squared norm T = r²·⟨letter²⟩·βd, so for r of order one its eigenvalue is always outside. It
    is inside the bulk below a threshold, reached for r of order 1/√d. With `d`, above it, for isotropic rows of one
    norm, where the threshold is T = c√β,

    .. math:: s^2 = \frac{(T+c)(T+c\beta)}{T},\quad
       \langle\hat u,u\rangle^2 = 1 - \frac{c\beta(T+c)}{T(T+c\beta)},\quad
       \langle\hat v,v\rangle^2 = 1 - \frac{c(T+c\beta)}{T(T+c)},

    and the squared overlap with θ is γ² times the last. For other rows they follow from the bulk's resolvent, in the
    way of the spectrum's outliers; for a large spike s² = T + c + βĉ, ĉ being the rows' variance along v.

    Parameters
    ----------
    model : Network or SpikedRF
        The first layer.
    target : Target, str or callable, optional
        Needed by a Network, whose first layer it shapes.
    d : number or grid, optional
        Input dimension, on which the spike's position depends.
    bulk : {"exact", "isotropic"}, optional
        As in `spectrum`.
    points : int
        Nodes per interval of the support.

    Returns
    -------
    xarray.Dataset
        `density` at `eigenvalue` along `point` with quadrature `weight`, `edge` along (`interval`, `side`),
        `mass_at_zero`, `mass`, `moment1`, `moment2` of the bulk; `spike_per_d` = T/d; with `d` also `outlier` (the
        edge, below the threshold), `overlap_neurons`, `overlap_spike`, `overlap_target` (squared cosines), and
        `threshold`, the r at which the spike leaves the bulk.

    Examples
    --------
    >>> found = gs.weight_spectrum(gs.SpikedRF("tanh", r=0.1, gamma=0.9), d=1000)
    >>> found.edge.values.round(3), float(found.outlier.round(3))
    (array([[0., 4.]]), 12.1)
    """
    if model.takes_steps and target is None:
        raise ParameterError(
            "the weights of a Network need the target that its step was taken on; give target="
        )
    target = as_target("x" if target is None else target)
    more = {} if d is None else {"d": parameter("d", d, low=1.0, infinite=True)}
    check_one_spike(model)
    points = check_count("points", points, 2)
    if bulk not in (None, "isotropic", "exact"):
        raise ParameterError(f"bulk = {bulk!r} is unknown; use 'isotropic' or 'exact', or leave it out")
    grid = model_grid(model, target, **more)
    problem = pose(model, target, grid, spectral_bulk(model, target, bulk))
    power = float(problem.weights @ np.square(problem.merging.letters.values)) or np.nan
    columns: dict[str, list] = {}
    for u, a in np.ndindex(*problem.beta.shape):
        frame = problem.frame(np.array([u]))
        beta, size = float(problem.beta[u, a]), float(problem.d[u, a])
        rows = RowBulk(problem.bulks(np.array([u]))[0], beta)
        law = _MarchenkoPastur(rows) if rows.plain else _Followed(rows)
        strengths = frame.b[0, :, 0]
        strength, found = beta * float(problem.weights @ strengths**2), _bulk(rows, law.density(points))
        least = law.threshold(strengths)
        found |= law.top(strengths, size) if strength * size > least else _swallowed(found["edge"])
        found["spike_per_d"] = strength
        found["overlap_target"] = float(frame.gamma[0, 0]) ** 2 * found["overlap_spike"]
        found["threshold"] = float(np.sqrt(least / (beta * size * power)))
        for name, value in found.items():
            columns.setdefault(name, []).append(value)
    if d is None:
        for name in ("outlier", "overlap_neurons", "overlap_spike", "overlap_target", "threshold"):
            del columns[name]
    order, sizes = problem.split.dims, list(problem.split.shape)
    return grid.dataset(
        {name: _stacked(name, values, order, sizes) for name, values in columns.items()},
        provenance("weight_spectrum", model, target, bulk=problem.law.name),
        {"side": ["lower", "upper"]},
    )


def _bulk(rows: RowBulk, found: Density) -> dict[str, Any]:
    """Bulk of WWᵀ, p×p."""
    first, second = rows.moments()
    check_resolved(found, rows)
    return {
        "eigenvalue": found.x,
        "density": found.density,
        "weight": found.weights,
        "edge": found.intervals,
        "mass_at_zero": rows.mass_at_zero(),
        "mass": rows.mass_at_zero() + found.mass,
        "moment1": first,
        "moment2": second,
    }


def _swallowed(edges: np.ndarray) -> dict[str, Any]:
    """A spike below the threshold: the largest eigenvalue is the edge, and knows nothing of it."""
    return {"outlier": float(np.max(edges)), "overlap_neurons": 0.0, "overlap_spike": 0.0}


class _MarchenkoPastur:
    """Isotropic rows of one norm, in closed form."""

    def __init__(self, rows: RowBulk):
        self.c, self.beta, self.weights = float(rows.bulk.c[0, 0]), rows.beta, rows.bulk.weights

    def density(self, points: int) -> Density:
        c, beta = self.c, self.beta
        low, high = c * (1.0 - np.sqrt(beta)) ** 2, c * (1.0 + np.sqrt(beta)) ** 2
        t = (np.arange(points) + 0.5) * np.pi / points
        half = 0.5 * (high - low)
        x = 0.5 * (low + high) - half * np.cos(t)
        density = half * np.sin(t) / (2.0 * np.pi * c * beta * x)
        return Density(np.array([[low, high]]), x, density, half * np.sin(t) * np.pi / points, 0.0, False)

    def threshold(self, strengths: np.ndarray) -> float:
        return self.c * np.sqrt(self.beta)

    def top(self, strengths: np.ndarray, d: float) -> dict[str, Any]:
        c, beta, T = self.c, self.beta, self.beta * d * float(self.weights @ strengths**2)
        if np.isinf(T):
            return _FAR
        return {
            "outlier": (T + c) * (T + c * beta) / T,
            "overlap_neurons": 1.0 - c * beta * (T + c) / (T * (T + c * beta)),
            "overlap_spike": 1.0 - c * (T + c * beta) / (T * (T + c)),
        }


class _Followed:
    """Any rows, from their resolvent R = (z + WWᵀ)⁻¹. With the spike b v̂ᵀ, FFᵀ = WWᵀ + b(Wv̂)ᵀ + Wv̂bᵀ + bbᵀ has an
    eigenvalue x wherever, at z = -x,

        B(G - 1) = 1,    B = bᵀRb = βd Σ_s b_s² V2_s,    G = (Wv̂)ᵀR(Wv̂),

    because b and Wv̂ do not see each other. Its vectors have ⟨û, b⟩² = B²/ν and ⟨v̂₁, v̂⟩² = 1/(νx), ν = -(B' + B²G').
    """

    def __init__(self, rows: RowBulk):
        self.rows, self._scale = rows, 1.5 * rows.largest()
        self.solver = HalfPlaneSolver(rows, self._scale)
        self._edge = np.nan

    def density(self, points: int) -> Density:
        rows = self.rows
        found = find_density(self.solver, rows.entries, self._scale, rows.mass_at_zero(), points, rows.smooth)
        self._edge = float(found.intervals.max())
        return found

    def _forms(self, strengths: np.ndarray, V: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """B/d and G."""
        rows = self.rows
        own, _ = rows.parted(V)
        response = rows.respond(V, rows.conjugates(own).value, z)
        root = response.root[0]
        along = response.resolvent.forms()[0][:, 0, :, 0, :]
        G = np.einsum("as,ast,at->a", root, along, root)
        return rows.beta * rows.pack.vector(own) @ strengths**2, G

    def _weakness(self, strengths: np.ndarray, x: np.ndarray) -> np.ndarray:
        """B(G - 1)/d, which falls with x above the rows' own eigenvalues: the bulk, and one outside it where G has a
        pole, as biases may make."""
        V, _ = self.solver.near_axis(x)
        B, G = self._forms(strengths, V, -x)
        return (B * (G - 1.0)).real

    def threshold(self, strengths: np.ndarray) -> float:
        """The squared norm T of a spike that is about to leave the bulk; 0 if something is outside without it."""
        total = self.rows.beta * float(self.rows.bulk.weights @ strengths**2)
        if total == 0.0:
            return np.inf
        x = self._edge * (1.0 + np.geomspace(_BEYOND, _FARTHEST, _TRIED))
        weakness = self._weakness(strengths, x)
        return 0.0 if np.any(weakness < 0.0) else total / float(weakness[0])

    def top(self, strengths: np.ndarray, d: float) -> dict[str, Any]:
        T = self.rows.beta * d * float(self.rows.bulk.weights @ strengths**2)
        if np.isinf(T):
            return _FAR
        low, high = self._edge * (1.0 + _BEYOND), 4.0 * (T + self._edge)
        for _ in range(_ROUNDS):
            x = np.geomspace(low, high, _SECTIONS)
            below = d * self._weakness(strengths, x) > 1.0
            last = int(np.flatnonzero(below).max(initial=0))
            low, high = x[last], x[min(last + 1, _SECTIONS - 1)]
        place = 0.5 * (low + high)
        at = np.array([place])
        V, _ = self.solver.near_axis(at)
        z = -at * (1.0 + 1j * _ASIDE)
        V, _ = self.solver.settle(V, z)
        B, G = self._forms(strengths, V, z)
        B, slope = d * B[0], _ASIDE * place  # -f' = Im f/η outside the bulk
        norm = (B.imag + B.real**2 * G[0].imag) / slope
        return {
            "outlier": place,
            "overlap_neurons": B.real**2 / (norm * T),
            "overlap_spike": 1.0 / (norm * place),
        }


def _stacked(
    name: str, values: list, order: tuple[str, ...], sizes: list[int]
) -> tuple[tuple[str, ...], np.ndarray]:
    """One variable on the grid, padded with NaN where lengths differ."""
    inner = {
        "eigenvalue": ("point",),
        "density": ("point",),
        "weight": ("point",),
        "edge": ("interval", "side"),
    }
    rows = [np.asarray(value) for value in values]
    shape = np.max([row.shape for row in rows], axis=0).astype(int) if rows[0].ndim else ()
    padded = np.full((len(rows), *shape), np.nan)
    for i, row in enumerate(rows):
        padded[(i, *(slice(size) for size in row.shape))] = row
    return (*order, *inner.get(name, ())), padded.reshape((*sizes, *shape))
