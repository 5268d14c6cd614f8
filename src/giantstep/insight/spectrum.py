"""The verb `spectrum`: eigenvalues of the features' covariance, bulk and outliers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ConvergenceError, GiantstepWarning, NotCovered, ParameterError
from ..grid import Grid
from ..model import Model, Target, as_target
from ..parameters import check_count, check_report, flag, parameter
from ..provenance import provenance
from ..theory.problem import Problem, model_grid, pose
from .spectra.feature_bulk import FeatureBulk, feature_table
from .spectra.halfplane import HalfPlaneSolver
from .spectra.outliers import outliers, spikes, spikes_per_d
from .spectra.resolvent import ResolventBulk
from .spectra.support import Density, find_density

if TYPE_CHECKING:
    import xarray as xr

    from ..model import FunctionLike, Parameter

POINTS = 200
_MOST_SAMPLES = 1e15  # alpha that sums over samples still resolve
_UNSOLVED = 1e-3  # share of the mass at unsolved points above which a density is not worth returning,
_UNRESOLVED = 1e-3  # and relative error of its first two moments


class Spectrum(NamedTuple):
    """One spectrum in the 1/p normalisation of the covariance."""

    bulk: Density
    mass_at_zero: float
    moments: tuple[float, float]
    spikes_per_d: np.ndarray
    spikes: np.ndarray
    outliers: np.ndarray


def spectrum(
    model: Model,
    target: Target | FunctionLike | None = None,
    *,
    alpha: Parameter,
    d: Parameter | None = None,
    normalise: str = "p",
    kernel: bool = False,
    bulk: str | None = None,
    points: int = POINTS,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    r"""Spectrum of the feature covariance :math:`\Psi^\top\Psi/p` on n = `alpha`·d samples, as d → ∞.

    A continuous bulk, possibly a mass at zero, and eigenvalues outside: spikes of order d that carry the
    features' mean (one per letter; none if the mean vanishes), and outliers of order one, above the bulk or
    inside its gaps.

    Parameters
    ----------
    model : Network or SpikedRF
        The first layer.
    target : Target, str or callable, optional
        Needed by a Network, whose first layer it shapes.
    alpha : number or grid
        Samples, divided by d.
    d : number or grid, optional
        Input dimension. With it the positions of the spikes are known (`spike`, otherwise `spike_per_d` alone), and
        outliers are corrected for the spikes' finite size.
    kernel : bool
        Describe the conjugate kernel :math:`\Psi\Psi^\top/p` (n × n) instead, which has the same eigenvalues apart from
        zeros.
    normalise : {"p", "n"}
        What the product is divided by.
    bulk : {"exact", "isotropic"}, optional
        "isotropic" (spiked random features, the paper's model of a network) or "exact", the default for a
        Network, whose own rows it describes (of a target of one direction, or with labels ±1).
    points : int
        Nodes per interval of the support.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    xarray.Dataset
        `density` at `eigenvalue` along `point`, with quadrature `weight` (so that sums of weight·density·g
        are integrals over the bulk); `edge` along (`interval`, `side`); `mass_at_zero`; `mass`, that of
        everything found, 1 unless the bulk reaches below 1e-14 of its top; `moment1`, `moment2` of bulk
        and zeros, in closed form; `spike_per_d`, `spike` along `mode`; `outlier`. Dimensions whose lengths
        differ over a grid are padded with NaN. Where inputs far along the spike make tails, edges are where
        less than 1e-11 of the mass remains per unit of ln x.

    Examples
    --------
    >>> found = gs.spectrum(gs.SpikedRF("tanh", r=1, gamma=1), alpha=2)
    >>> found.edge.values.round(3)
    array([[0.014, 3.034]])
    """
    if normalise not in ("p", "n"):
        raise ParameterError(f"normalise = {normalise!r} is unknown; use 'p' or 'n'")
    if model.takes_steps and target is None:
        raise ParameterError(
            "the spectrum of a Network needs the target that its step was taken on; give target="
        )
    check_one_spike(model)
    points, kernel = check_count("points", points, 2), flag("kernel", kernel)
    check_report(progress)
    target = as_target("x" if target is None else target)
    more = {"alpha": parameter("alpha", alpha, low=0.0, strict=True)}
    if np.max(np.asarray(more["alpha"])) > _MOST_SAMPLES:
        raise ParameterError(
            f"alpha = {np.max(np.asarray(more['alpha'])):g} must be at most {_MOST_SAMPLES:g}: beyond that, eigenvalues"
            " grow with alpha, and nothing else changes"
        )
    if d is not None:
        more["d"] = parameter("d", d, low=1.0, infinite=True)
    grid = model_grid(model, target, **more)
    problem = pose(model, target, grid, spectral_bulk(model, target, bulk))
    found = []
    U, A = problem.alpha.shape
    for u in range(U):
        for a in range(A):
            found.append(one_spectrum(problem, u, a, points))
            if progress:
                progress(len(found) / (U * A))
    attrs = provenance("spectrum", model, target, bulk=problem.law.name)
    attrs |= {"normalise": normalise, "matrix": "kernel" if kernel else "covariance"}
    return _labelled(found, problem, grid, attrs, normalise, kernel)


def check_one_spike(model: Model) -> None:
    """Refuse first layers whose spectra are not known: those with spikes in several directions."""
    if model.spike_directions > 1:
        raise NotCovered(
            "spectra are for first layers with one spike, and the spikes of these groups span several directions;"
            " simulate_spectrum has their eigenvalues"
        )


def spectral_bulk(model: Model, target: Target, bulk: str | None) -> str | None:
    """The law of rows to take. Real labels of several directions are kept on a few nodes, and poles of their averages
    near the real axis cannot be put right: exact rows are refused there, and are not the default. Labels ±1 are nodes
    themselves."""
    if not model.takes_steps or target.directions == 1 or target.binary:
        return bulk
    if bulk == "exact":
        raise NotCovered(
            "bulk = 'exact' has no spectrum for real-valued targets of several directions, whose batches it does not"
            " resolve near the real axis; use bulk='isotropic', labels ±1, or simulate_spectrum"
        )
    if bulk is None:
        warnings.warn(
            "exact spectra are not known for real-valued targets of several directions: this one is that of isotropic"
            " rows; give bulk='isotropic' to choose it",
            GiantstepWarning,
            stacklevel=3,
        )
    return "isotropic" if bulk is None else bulk


def check_resolved(found: Density, equations: ResolventBulk) -> None:
    """Raise where a density does not add up: equations not solved, or moments not those known in closed form."""
    off = [
        abs(float(found.weights @ (found.density * found.x ** (k + 1))) / known - 1.0)
        for k, known in enumerate(equations.moments())
        if known > 0.0
    ]
    if found.unsolved < _UNSOLVED and all(one < _UNRESOLVED for one in off):
        return
    raise ConvergenceError(
        f"the density of the bulk was not resolved at beta = {equations.beta:g}: it was not solved for"
        f" {found.unsolved:.1%} of its mass, and its moments are off by {max(off, default=0.0):.1e}; try"
        " bulk='isotropic', another alpha, or simulate_spectrum",
        found,
    )


def one_spectrum(problem: Problem, u: int, a: int, points: int = POINTS) -> Spectrum:
    """The spectrum of first layer u at setting a."""
    features = feature_table(problem, u)
    rows = problem.bulks(np.array([u]))[0]
    d = float(problem.d[u, a])
    equations = FeatureBulk(features, rows, float(problem.alpha[u, a]), float(problem.beta[u, a]))
    top = 2.0 * equations.largest()
    solver, entries = HalfPlaneSolver(equations, top), equations.entries
    zeros = equations.mass_at_zero()
    bulk = find_density(solver, entries, top, zeros, points, equations.smooth)
    check_resolved(bulk, equations)
    return Spectrum(
        bulk,
        zeros,
        equations.moments(),
        spikes_per_d(equations),
        spikes(equations, solver, bulk.intervals, d) if np.isfinite(d) else np.full(len(entries), np.nan),
        outliers(equations, solver, bulk.intervals, d),
    )


def _labelled(
    found: list[Spectrum],
    problem: Problem,
    grid: Grid,
    attrs: dict[str, str],
    normalise: str,
    kernel: bool,
) -> xr.Dataset:
    order, sizes = problem.split.dims, problem.split.shape
    alpha, beta = (getattr(problem, name).reshape(-1) for name in ("alpha", "beta"))
    unit = np.ones(len(found)) if normalise == "p" else beta / alpha  # eigenvalues are multiplied by this
    count = np.ones(len(found)) if not kernel else beta / alpha  # neurons per eigenvalue
    zeros = 1.0 - count * (1.0 - np.array([one.mass_at_zero for one in found]))
    lengths = {
        "point": max(len(one.bulk.x) for one in found),
        "interval": max(len(one.bulk.intervals) for one in found),
        "outlier_": max(len(one.outliers) for one in found),
        "mode": len(found[0].spikes),
    }

    def stacked(rows: list[np.ndarray], *dims: str) -> tuple[tuple[str, ...], np.ndarray]:
        padded = np.full((len(rows), *(lengths.get(dim, 2) for dim in dims)), np.nan)
        for i, row in enumerate(rows):
            padded[(i, *(slice(size) for size in row.shape))] = row
        return (*order, *dims), padded.reshape(*sizes, *padded.shape[1:])

    def per_point(values: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        return order, np.asarray(values).reshape(sizes)

    each = list(enumerate(found))
    variables = {
        "eigenvalue": stacked([one.bulk.x * unit[i] for i, one in each], "point"),
        "density": stacked([one.bulk.density * count[i] / unit[i] for i, one in each], "point"),
        "weight": stacked([one.bulk.weights * unit[i] for i, one in each], "point"),
        "edge": stacked([one.bulk.intervals * unit[i] for i, one in each], "interval", "side"),
        "outlier": stacked([one.outliers * unit[i] for i, one in each], "outlier_"),
        "spike_per_d": stacked([one.spikes_per_d * unit[i] for i, one in each], "mode"),
        "spike": stacked([one.spikes * unit[i] for i, one in each], "mode"),
        "mass_at_zero": per_point(zeros),
        "mass": per_point(zeros + np.array([one.bulk.mass * count[i] for i, one in each])),
        "moment1": per_point(np.array([one.moments[0] * count[i] * unit[i] for i, one in each])),
        "moment2": per_point(np.array([one.moments[1] * count[i] * unit[i] ** 2 for i, one in each])),
    }
    if "d" not in grid:
        del variables["spike"]
    return grid.dataset(variables, attrs, {"side": ["lower", "upper"]})
