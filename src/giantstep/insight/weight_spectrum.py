"""The verb `weight_spectrum`: singular values of the first layer, and how the top pair overlaps with the spike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.provenance import provenance
from ..model.arguments import checked_arguments
from ..model.checks import one_of
from ..model.inputs import refuse_inputs
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..runtime.progress import with_bar
from .spectra.equations import SpectralEquations, rows_alone
from .spectra.halfplane import HalfPlaneSolver
from .spectra.outliers import CLOSE, FARTHEST, TRIED, mode_forms
from .spectra.support import Density, find_density, locate
from .spectrum import POINTS, bulk_answers, on_grid, spectral_problem

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter

_ASIDE = 1e-5  # η/x at which derivatives are read off imaginary parts, right to its square


@checked_arguments(bulk=one_of("isotropic", "exact"))
@with_bar("solving")
def weight_spectrum(
    model: Network | SpikedRF,
    target: Target | FunctionLike | None = None,
    *,
    d: Parameter | None = None,
    bulk: str | None = None,
    points: int = POINTS,
) -> xr.Dataset:
    r"""Squared singular values of the first layer, :math:`F = W + r\,u v^\top/\sqrt d`: eigenvalues of :math:`FF^\top`.

    The bulk of spiked random features is Marchenko-Pastur's, with edges :math:`c(1\pm\sqrt\beta)^2`. The bulk
    of a Network (``bulk="exact"``, its default) is wider, because each step stretches the rows along its samples.

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
    more = {} if d is None else {"d": d}
    target, grid, problem = spectral_problem(model, target, bulk, more)
    refuse_inputs(target, "the spectrum of the weights")
    power = float(problem.weights @ np.square(problem.merging.letters.values)) or np.nan
    found: list[dict[str, Any]] = []
    for u, a in np.ndindex(*problem.beta.shape):
        frame = problem.frame(np.array([u]))
        beta, size = float(problem.beta[u, a]), float(problem.d[u, a])
        rows = rows_alone(problem.bulks(np.array([u]))[0], beta)
        c = rows.bulk.c[0]
        plain = not rows.samples.size and np.allclose(c, c[0], rtol=1e-12)  # isotropic, and of one norm
        law = MarchenkoPastur(rows, points) if plain else ResolventLaw(rows, points)
        strengths = frame.b[0, :, 0]
        strength = beta * float(problem.weights @ strengths**2)
        answers: dict[str, Any] = bulk_answers(law.density, rows) | {"spike_per_d": strength}
        if d is not None:
            least, T = law.threshold(strengths), strength * size
            # below the threshold the largest eigenvalue is the edge, and its vectors do not overlap with the spike's
            top = np.max(answers["edge"]), 0.0, 0.0
            if least < T:
                top = law.top(strengths, T) if np.isfinite(T) else (np.inf, 1.0, 1.0)
            answers |= dict(zip(("outlier", "overlap_neurons", "overlap_spike"), top, strict=True))
            answers["overlap_target"] = float(frame.gamma[0, 0]) ** 2 * answers["overlap_spike"]
            answers["threshold"] = float(np.sqrt(least / (beta * size * power)))
        found.append(answers)
    attrs = provenance("weight_spectrum", model, target if model.takes_steps else None, bulk=problem.law.name)
    return grid.dataset(on_grid(found, problem, {}), attrs, {"side": ["lower", "upper"]})


class MarchenkoPastur:
    """Isotropic rows of one norm, in closed form: in a millisecond, where `ResolventLaw` takes 0.3 s."""

    def __init__(self, rows: SpectralEquations, points: int):
        self.c, self.beta = c, beta = float(rows.bulk.c[0, 0]), rows.beta
        middle, half = c * (1.0 + beta), 2.0 * c * np.sqrt(beta)
        t = (np.arange(points) + 0.5) * np.pi / points
        x = middle - half * np.cos(t)
        density = half * np.sin(t) / (2.0 * np.pi * c * beta * x)
        edges = np.array([[c * (1.0 - np.sqrt(beta)) ** 2, middle + half]])
        self.density = Density(edges, x, density, half * np.sin(t) * np.pi / points, 0.0)

    def threshold(self, strengths: np.ndarray) -> float:
        return self.c * np.sqrt(self.beta)

    def top(self, strengths: np.ndarray, T: float) -> tuple[float, float, float]:
        c, beta = self.c, self.beta
        return (
            (T + c) * (T + c * beta) / T,
            1.0 - c * beta * (T + c) / (T * (T + c * beta)),
            1.0 - c * (T + c * beta) / (T * (T + c)),
        )


class ResolventLaw:
    """Any rows, from their resolvent R = (z + WWᵀ)⁻¹. With the spike b v̂ᵀ, FFᵀ = WWᵀ + b(Wv̂)ᵀ + Wv̂bᵀ + bbᵀ has an
    eigenvalue x wherever, at z = -x,

        B(G - 1) = 1,    B = bᵀRb = βd Σ_s b_s² V2_s,    G = (Wv̂)ᵀR(Wv̂),

    because b and Wv̂ do not see each other. Its vectors have ⟨û, b⟩² = B²/ν and ⟨v̂₁, v̂⟩² = 1/(νx), ν = -(B' + B²G').
    """

    def __init__(self, rows: SpectralEquations, points: int):
        top = 1.5 * rows.largest()
        self.rows, self.solver = rows, HalfPlaneSolver(rows, top)
        self.density = find_density(self.solver, top, points)
        self._edge = float(self.density.intervals.max(initial=0.0))

    def _forms(self, strengths: np.ndarray, V: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """B/d and G."""
        rows, (own, _) = self.rows, self.rows.unpack(V)
        K = rows.pack.groups
        along = mode_forms(rows, V, z)[1][:, :K, :K]  # the first of the modes are W_s v̂
        return rows.beta * rows.pack.vector(own) @ strengths**2, along.sum(axis=(1, 2))

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
        x = self._edge * (1.0 + np.geomspace(CLOSE, FARTHEST, TRIED))
        weakness = self._weakness(strengths, x)
        return 0.0 if np.any(weakness < 0.0) else total / float(weakness[0])

    def top(self, strengths: np.ndarray, T: float) -> tuple[float, float, float]:
        """The largest eigenvalue, and its vectors' squared overlaps with û and v̂."""
        d = T / (self.rows.beta * float(self.rows.bulk.weights @ strengths**2))
        # (√edge + √T)² bounds what the bulk and the spike make together; rows alone may have an eigenvalue outside
        low, high = self._edge * (1.0 + CLOSE), 2.0 * T + FARTHEST * self._edge
        at = locate(
            lambda x: d * self._weakness(strengths, x) > 1.0, np.array([low]), np.array([high]), np.array([True])
        )
        place = float(at[0])
        V, _ = self.solver.near_axis(at)
        z = -at * (1.0 + 1j * _ASIDE)
        V, _ = self.solver.settle(V, z)
        B, G = self._forms(strengths, V, z)
        B, slope = d * B[0], _ASIDE * place  # -f' = Im f/η outside the bulk
        norm = (B.imag + B.real**2 * G[0].imag) / slope
        return place, B.real**2 / (norm * T), 1.0 / (norm * place)
