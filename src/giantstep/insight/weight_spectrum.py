"""The verb `weight_spectrum`: singular values of the first layer after the step, and what its top pair knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ParameterError
from ..model import Network, SpikedRF, Target, as_target
from ..parameters import parameter
from ..provenance import provenance
from ..theory.law import Batch
from ..theory.pose import model_grid, pose
from .spectra.halfplane import Follower, Image, differentiated
from .spectra.poles import pole_correction
from .spectra.support import Density, find_density
from .spectrum import check_one_spike

if TYPE_CHECKING:
    import xarray as xr

    from ..model import FunctionLike, Parameter
    from ..theory.pose import Posed

POINTS = 200


class Rows(NamedTuple):
    """Covariance of the rows, (1 + b M)·scale with M = X0ᵀdiag(e²)X0/n0, and what follows from it."""

    scale: float
    b: float
    alpha0: float
    batch: Batch | None  # the law of e; None if b = 0
    along: float  # variance of the rows along the spike, v̂ᵀC v̂
    second: float  # (1/d) tr C²
    even: bool = False  # whether the batch's nodes are those of an evenly spaced rule

    @property
    def c(self) -> float:
        """Mean squared row norm, (1/d) tr C."""
        if self.batch is None:
            return self.scale
        return 1.0 + self.b * float(self.batch.mean(self.batch.e**2)[0])


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
    Network with an odd activation (``bulk="exact"``, its default) is wider: the step's sampling noise gives
    its rows the covariance 1 + bM, M being the first batch weighted by its squared residuals.

    The spike has squared norm T = r²·⟨letter²⟩·βd, so for r of order one its eigenvalue is always outside. It
    is inside the bulk below the threshold T = c√β, reached for r of order 1/√d. With `d`, for an isotropic
    bulk at any T above the threshold,

    .. math:: s^2 = \frac{(T+c)(T+c\beta)}{T},\quad
       \langle\hat u,u\rangle^2 = 1 - \frac{c\beta(T+c)}{T(T+c\beta)},\quad
       \langle\hat v,v\rangle^2 = 1 - \frac{c(T+c\beta)}{T(T+c)},

    and the overlap with θ is γ times the last. For the exact bulk s² = T + c + βĉ, ĉ being the rows' variance
    along v, up to terms of order 1/T: a large spike.

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
    grid = model_grid(model, target, **more)
    bulk = _bulk_of(model, bulk)
    posed = pose(model, target, grid, "isotropic")
    problem = posed.problem
    U, A = problem.beta.shape
    frame = problem.frame(np.arange(U))
    columns: dict[str, list] = {}
    for u in range(U):
        for a in range(A):
            beta, size = float(problem.beta[u, a]), float(problem.d[u, a])
            rows = _trained(posed, target, u) if bulk == "exact" else _isotropic(problem.c[u])
            strength = float(problem.weights @ frame.b[u, :, 0] ** 2) * beta
            base = _bulk(rows, beta, points)
            edge = float(np.max(base["edge"]))  # type: ignore[call-overload]
            top = _top(rows, strength, size, beta, bulk, edge)
            power = float(problem.weights @ np.square(posed.merging.letters.values)) or np.nan
            top["threshold"] = float(np.sqrt(rows.c / (np.sqrt(beta) * size * power)))  # T = c√β
            found = base | top | {"spike_per_d": strength}
            found["overlap_target"] = float(frame.gamma[u, 0]) ** 2 * top["overlap_spike"]
            for name, value in found.items():
                columns.setdefault(name, []).append(value)
    if d is None:
        for name in ("outlier", "overlap_neurons", "overlap_spike", "overlap_target", "threshold"):
            del columns[name]
    order, sizes = posed.split.dims, list(posed.split.shape)
    return grid.dataset(
        {name: _stacked(name, values, order, sizes) for name, values in columns.items()},
        provenance("weight_spectrum", model, target, bulk=bulk),
        {"side": ["lower", "upper"]},
    )


def _bulk_of(model: Network | SpikedRF, bulk: str | None) -> str:
    check_one_spike(model, bulk)
    if bulk not in (None, "isotropic", "exact"):
        raise ParameterError(f"bulk = {bulk!r} is unknown; use 'isotropic' or 'exact', or leave it out")
    letters = model.readout
    plain = len(letters.values) == 1 and letters.biases is None
    simple = model.takes_steps and plain and model.activation.parity == "odd"
    if bulk == "exact" and not simple:
        raise ParameterError(
            "bulk = 'exact' needs a Network with an odd activation and one readout letter; use bulk='isotropic'"
        )
    return bulk or ("exact" if simple else "isotropic")


def _isotropic(c: np.ndarray) -> Rows:
    if not np.allclose(c, c[0], rtol=1e-12):
        raise ParameterError(
            f"the squared row norms c = {c.tolist()} of the letters differ; weight_spectrum needs them equal"
        )
    return Rows(float(c[0]), 0.0, np.inf, None, float(c[0]), float(c[0]) ** 2)


def _trained(posed: Posed, target: Target, u: int) -> Rows:
    """The rows after a step with an odd activation and one letter: W0 plus sampling noise of the gradient."""
    training, chunk = posed.origin.training, np.array([u])
    assert training is not None
    bulk = training.exact(chunk, 0)[0]
    level = bulk.levels[0]
    if not np.any(level.D):
        return _isotropic(np.ones(1))
    sight = training.seen(0, chunk, 0)[0]
    weight = float(level.D[0, 0, 0] @ level.mean[0, 0, :, 0] / sight.batch.mean(sight.batch.e**2)[0])
    along = float(bulk.resolvent(np.zeros((1, 1, 1, 1))).forms()[0, 0, 0, 0, 0, 0])
    share, noise = float(level.share[0]), float(training.steps[0].noise[u])
    even = _is_even(target, noise, sight.batch)
    return Rows(1.0, weight, 1.0 / share, sight.batch, along, float(bulk.norm_overlap()[0, 0, 0]), even)


def _is_even(target: Target, noise: float, labels: Batch) -> bool:
    """Whether the law of the labels is kept on evenly spaced nodes: in z without noise, in y with it."""
    if target.binary:
        return False
    spacing = np.diff(labels.e[0])
    return not target.function.breakpoints if noise == 0.0 else bool(np.allclose(spacing, spacing[0]))


def _bulk(rows: Rows, beta: float, points: int) -> dict[str, object]:
    """Bulk of WWᵀ, p×p."""
    zeros = max(0.0, 1.0 - 1.0 / beta)
    found = (
        _marchenko_pastur(rows.scale, beta, points) if rows.batch is None else _general(rows, beta, points)
    )
    return {
        "eigenvalue": found.x,
        "density": found.density,
        "weight": found.weights,
        "edge": found.intervals,
        "mass_at_zero": zeros,
        "mass": zeros + found.mass,
        "moment1": rows.c,
        "moment2": rows.c**2 + beta * rows.second,
    }


def _marchenko_pastur(c: float, beta: float, points: int) -> Density:
    low, high = c * (1.0 - np.sqrt(beta)) ** 2, c * (1.0 + np.sqrt(beta)) ** 2
    t = (np.arange(points) + 0.5) * np.pi / points
    half = 0.5 * (high - low)
    x = 0.5 * (low + high) - half * np.cos(t)
    density = half * np.sin(t) / (2.0 * np.pi * c * beta * x)
    return Density(np.array([[low, high]]), x, density, half * np.sin(t) * np.pi / points, 0.0, False)


def _general(rows: Rows, beta: float, points: int) -> Density:
    """Bulk with row covariance C = 1 + bM, through g = (1/p) tr (z + WWᵀ)⁻¹ and t = (1/d) tr (1/βg + C)⁻¹:

    t = 1/(1/βg + Q(t)),   g = 1/(z + 1/(1/Q(t) + βg)),   Q(t) = 1 + b E[e²/(1 + b e² t/α0)] .
    """
    assert rows.batch is not None
    weights, e2 = rows.batch.weights[0, 0], rows.b * rows.batch.e[0] ** 2
    log_weights = np.log(np.maximum(weights, 1e-300))

    def image(V: np.ndarray, z: np.ndarray) -> np.ndarray:
        g, t = V[:, 0], V[:, 1]
        D = 1.0 + e2 * t[:, None] / rows.alpha0
        Q = 1.0 + (e2 / D) @ weights
        if rows.even:
            Q = Q + pole_correction(D, e2[None], log_weights)[:, 0]
        return np.stack([1.0 / (z + 1.0 / (1.0 / Q + beta * g)), 1.0 / (1.0 / (beta * g) + Q)], axis=1)

    def step(V: np.ndarray, z: np.ndarray) -> Image:
        return differentiated(lambda V: image(V, z), V)

    # ‖C‖ is at most 1 + b max e² (1 + 1/√α0)², up to what no batch contains
    largest = 1.0 + e2[weights > 1e-10].max() * (1.0 + rows.alpha0**-0.5) ** 2
    top = 1.5 * largest * (1.0 + np.sqrt(beta)) ** 2
    follower = Follower(step, np.array([1.0, beta + 0j]), np.arange(2), top)
    return find_density(follower, np.array([0]), top, max(0.0, 1.0 - 1.0 / beta), points)


def _top(rows: Rows, strength: float, d: float, beta: float, bulk: str, edge: float) -> dict[str, float]:
    """The spike's eigenvalue and squared overlaps at T = strength·d."""
    c, T = rows.c, strength * d
    if T == 0.0 or not c * np.sqrt(beta) < T:
        return {"outlier": edge, "overlap_neurons": 0.0, "overlap_spike": 0.0}
    if np.isinf(T):
        return {"outlier": np.inf, "overlap_neurons": 1.0, "overlap_spike": 1.0}
    place = (T + c) * (T + c * beta) / T
    if bulk == "exact":
        place = T + c + beta * rows.along
    return {
        "outlier": place,
        "overlap_neurons": 1.0 - c * beta * (T + c) / (T * (T + c * beta)),
        "overlap_spike": 1.0 - c * (T + c * beta) / (T * (T + c)),
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
