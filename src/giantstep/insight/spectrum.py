"""The verb `spectrum`: eigenvalues of the features' covariance, bulk and outliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.grid import Grid
from ..answers.provenance import provenance
from ..errors import ConvergenceError, NotCovered, ParameterError, warn
from ..model.arguments import checked_arguments
from ..model.checks import flag, one_of
from ..model.description import Model
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from ..theory.problem import Problem, model_grid, pose
from .spectra.equations import SpectralEquations, feature_table
from .spectra.halfplane import HalfPlaneSolver
from .spectra.outliers import outliers, spikes, spikes_per_d
from .spectra.support import Density, find_density

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter

POINTS = 200
BEYOND = 1e-4
"""Share of the bulk that counts as a tail: less than one eigenvalue in ten thousand."""
_NEAR = 0.9  # of the edge: what ends there has no tail to speak of
_MOST_SAMPLES = 1e15  # alpha that sums over samples still resolve
_UNRESOLVED = 1e-3  # share of the mass at unsolved points, or relative error of two moments: a density to refuse


@checked_arguments(normalise=one_of("p", "n"), kernel=flag)
@with_bar("solving")
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
        Divide the product by p or by n.
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
    more = {"alpha": alpha} | ({} if d is None else {"d": d})
    if np.max(np.asarray(more["alpha"])) > _MOST_SAMPLES:
        raise ParameterError(
            f"alpha = {np.max(np.asarray(more['alpha'])):g} must be at most {_MOST_SAMPLES:g}: beyond that, eigenvalues"
            " grow with alpha, and nothing else changes"
        )
    target, grid, problem = spectral_problem(model, target, bulk, more)
    found: list[dict[str, Any]] = []
    for u, a in np.ndindex(*problem.alpha.shape):
        found.append(_one_spectrum(problem, u, a, points, normalise, kernel))
        if progress:
            progress(len(found) / problem.alpha.size)
    variables = on_grid(found, problem, {"outlier": ("outlier_",), "spike_per_d": ("mode",), "spike": ("mode",)})
    if "d" not in grid:
        del variables["spike"]
    attrs = provenance("spectrum", model, target if model.takes_steps else None, bulk=problem.law.name)
    attrs |= {"normalise": normalise, "matrix": "kernel" if kernel else "covariance"}
    return grid.dataset(variables, attrs, {"side": ["lower", "upper"]})


def spectral_problem(
    model: Model, target: Target | FunctionLike | None, bulk: str | None, more: dict[str, Any]
) -> tuple[Target, Grid, Problem]:
    """The target, the grid and the problem of a spectrum; refuses first layers whose spectra are not known."""
    if model.takes_steps and target is None:
        raise ParameterError(
            "model is a Network, whose spectrum needs the target that its step was taken on; give target=", "target"
        )
    if model.spike_directions > 1:
        raise NotCovered(
            "spectra are for first layers with one spike, and the spikes of these groups span several directions;"
            " simulate_spectrum has their eigenvalues"
        )
    target = as_target("x" if target is None else target)
    grid = model_grid(model, target, **more)
    return target, grid, pose(model, target, grid, _spectral_bulk(model, target, bulk))


def _spectral_bulk(model: Model, target: Target, bulk: str | None) -> str | None:
    """The law of rows to take. Real labels of several directions are kept on a few nodes, and poles of their averages
    near the real axis cannot be put right: exact rows are refused there, and are not the default. Labels ±1 are nodes
    themselves."""
    if not model.takes_steps or target.directions == 1 or target.binary:
        return bulk
    if bulk == "exact":
        raise NotCovered(
            "bulk = 'exact' has no spectrum for real-valued targets of several directions, because its integrals over"
            " batches do not converge near the real axis; use bulk = 'isotropic', labels ±1, or simulate_spectrum"
        )
    if bulk is None:
        warn(
            "there is no exact spectrum for real-valued targets of several directions: this is the spectrum of"
            " isotropic rows; give bulk = 'isotropic' to choose it"
        )
    return "isotropic" if bulk is None else bulk


def bulk_answers(bulk: Density, equations: SpectralEquations, unit: float = 1.0, count: float = 1.0) -> dict[str, Any]:
    """What is known of a bulk, its eigenvalues times `unit` and their number per neuron divided by 1/`count`.

    An error where the density does not add up: equations not solved, or moments not those known in closed form.
    """
    moments = np.array(equations.moments())
    powers = np.array([1, 2])
    found = (bulk.weights * bulk.density) @ bulk.x[:, None] ** powers
    off = float(np.abs(found[moments > 0.0] / moments[moments > 0.0] - 1.0).max(initial=0.0))
    if not (bulk.unsolved < _UNRESOLVED and off < _UNRESOLVED):
        raise ConvergenceError(
            f"the density of the bulk was not resolved at beta = {equations.beta:g}: it was not solved for"
            f" {bulk.unsolved:.1%} of its mass, and its moments are off by {off:.1e}; try bulk = 'isotropic', another"
            " alpha, or simulate_spectrum",
            bulk,
        )
    zeros = 1.0 - count * (1.0 - equations.mass_at_zero)
    moment1, moment2 = count * unit**powers * moments
    return {
        "eigenvalue": bulk.x * unit,
        "density": bulk.density * count / unit,
        "weight": bulk.weights * unit,
        "edge": bulk.intervals * unit,
        "mass_at_zero": zeros,
        "mass": zeros + bulk.mass * count,
        "moment1": moment1,
        "moment2": moment2,
    }


def on_grid(
    found: list[dict[str, Any]], problem: Problem, dims: dict[str, tuple[str, ...]]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Answers of every first layer and setting as variables on the grid, padded with NaN where lengths differ."""
    dims = dict.fromkeys(("eigenvalue", "density", "weight"), ("point",)) | {"edge": ("interval", "side")} | dims
    variables = {}
    for name in found[0]:
        rows = [np.asarray(one[name]) for one in found]
        shape = tuple(np.array([row.shape for row in rows], dtype=int).max(axis=0))
        padded = np.full((len(rows), *shape), np.nan)
        for i, row in enumerate(rows):
            padded[(i, *(slice(size) for size in row.shape))] = row
        inner = dims.get(name, ())
        variables[name] = (*problem.split.dims, *inner), padded.reshape((*problem.split.shape, *shape))
    return variables


def _one_spectrum(problem: Problem, u: int, a: int, points: int, normalise: str, kernel: bool) -> dict[str, Any]:
    """The spectrum of first layer u at setting a."""
    alpha, beta, d = (float(values[u, a]) for values in (problem.alpha, problem.beta, problem.d))
    equations = SpectralEquations(feature_table(problem, u), problem.bulks(np.array([u]))[0], alpha, beta)
    top = 2.0 * equations.largest()
    solver = HalfPlaneSolver(equations, top)
    bulk = find_density(solver, top, points)
    unit = 1.0 if normalise == "p" else beta / alpha
    answers = bulk_answers(bulk, equations, unit, beta / alpha if kernel else 1.0)
    per_d = spikes_per_d(equations)
    large = spikes(equations, solver, bulk.intervals, d) if np.isfinite(d) else np.full(len(per_d), np.nan)
    small = outliers(equations, solver, bulk.intervals, d, large)
    return answers | {"outlier": small * unit, "spike_per_d": per_d * unit, "spike": large * unit}


def end_of_most(spectrum: xr.Dataset) -> float:
    """The eigenvalue beyond which no more than `BEYOND` of the bulk lies, at one setting; the upper edge, where the
    bulk goes on for less than a tenth beyond it.

    Rare samples of a step, or inputs far along the spike, make tails: the upper edge is where these end, which may be
    at twice the largest eigenvalue of networks that anybody trains.
    """
    x = np.ravel(spectrum["eigenvalue"])
    order = np.argsort(-x)  # where answers are padded with NaN there is no mass, whatever the order
    above = np.cumsum(np.nan_to_num(np.ravel(spectrum["weight"] * spectrum["density"])[order]))
    edge = float(np.nanmax(spectrum["edge"].values, initial=0.0))
    if not above.size or not above[-1] > 0.0:
        return edge
    end = float(x[order][np.searchsorted(above, BEYOND * above[-1])])
    return end if end < _NEAR * edge else edge
