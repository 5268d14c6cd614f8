"""What can be learned at all: bounds on the test error that no number of samples and no penalty can beat.

Given κ, whatever readout is fitted is a combination of μ0(κ), κμ1(κ) and yμ1(κ) (and ∂μ0/∂c, where row norms
fluctuate) plus terms that only add error. Distances from the target to the spans of these functions are
therefore bounds, and the closest points are the best functions that the first layer allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..answers.grid import Grid
from ..answers.provenance import provenance
from ..errors import ParameterError
from ..gaussian import STRIDES
from ..model.arguments import checked_arguments
from ..model.checks import a_text, parameter
from ..model.description import Model
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from ..theory.features import Features
from ..theory.labels import Label, linear_error
from ..theory.modes import Modes, mean_functions
from ..theory.problem import Problem, averaged, model_grid, pose
from .learned import Geometry, mean_given, places_of, target_curve

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter

TOLERANCE = 1e-11
_COARSER = (0.0, 1e-9)  # tolerance where labels depend on one direction, or on several
_ABSENT = 1e-11  # size of a function, over that of the features, below which it is rounding: no spike, no μ0
_DEPENDENT = 1e-9  # share of a function outside the span of others that cannot be told from its own error
_POINTS = 512  # κ intervals from which the coefficients of the best functions are computed


class Best(NamedTuple):
    """Squared distances [U], and the coefficients of the closest point on each function [U, functions]."""

    distance: np.ndarray
    coefficients: np.ndarray


@checked_arguments(over=a_text)
@with_bar("bounding")
def bounds(
    model: Model, target: Target | FunctionLike, *, over: str | None = None, bulk: str | None = None
) -> xr.Dataset:
    r"""Upper and lower bounds on the test error of a readout fitted on any number of samples.

    ==============  =====================================================================================
    ``upper``       :math:`E\,T^2 - \|P_{\mu_0} t_0\|^2`: the error with an infinite penalty, so the best
                    penalty does at least as well, for every alpha
    ``lower``       :math:`\inf_b E(T - b_1\mu_0 - b_2\kappa\mu_1 - b_3\mu_1 y)^2`: no readout does better,
                    whatever alpha, lam and beta
    ``lower_beta``  the same at this beta: the error for infinitely many samples (one letter, isotropic bulk)
    ``floor``       :math:`E\,(T - t_0(\kappa) - t_1(\kappa)\cdot y)^2`: no readout does better, whatever the
                    activation, letters and biases; only the alignment of the spikes counts
    ``linear``      the best linear predictor's (and, in this regime, any kernel's) error
    ==============  =====================================================================================

    T is the noiseless target, a function of the projection κ on the spike and of y, the projection on the
    rest of θ; :math:`t_0 = E_y T`. A target of several directions has one y for each. Its direction j can lower the
    error by ``by_direction`` :math:`= E\,t_{1,j}^2` at most, with :math:`t_{1,j} = E_y[y_j T]`. Letters and biases add
    their μ0 and μ1 to the spans, the exact bulk of a Network adds ∂μ0/∂c. Where γ < 1 the lower bound may exceed the
    linear error.

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer.
    target : Target, str or callable
        The function to learn.
    over : {"eta"}, optional
        Optimise each bound over the learning rate of a Network, and ignore its own `eta`. The best rates are
        `eta_upper`, `eta_lower` and `eta_lower_beta`. A bound of zero means that the target can be learned perfectly.
        The search covers spikes r from 0.01 to 30; `at_end` is true if a best rate lies at an end of this range, so
        that the bound may be lower beyond it.
    bulk : {"exact", "isotropic", "orthogonal"}, optional
        Distribution of the rows, as in `predict`.

    Returns
    -------
    xarray.Dataset
        The bounds, on the grid of the model's parameters and the noise.

    Examples
    --------
    >>> found = gs.bounds(gs.Network("tanh", eta=1, alpha0=2), "sin")
    >>> float(found.lower.round(4)), float(found.upper.round(4)), float(found.linear.round(4))
    (0.0398, 0.1956, 0.0645)
    """
    target = checked_target(target)
    if over is not None:
        from .bounds_over import bounds_over

        return bounds_over(model, target, over, bulk)
    grid = model_grid(model, target)
    problem = pose(model, target, grid, bulk)
    found = evaluate(problem)
    by_direction = found.pop("by_direction")
    variables = {name: (grid.dims, _on_grid(values, problem, grid)) for name, values in found.items()}
    named = None
    if target.directions > 1:
        named = {"direction": list(range(1, target.directions + 1))}
        parts = [_on_grid(one, problem, grid) for one in np.moveaxis(by_direction, -1, 0)]
        variables["by_direction"] = ((*grid.dims, "direction"), np.stack(parts, axis=-1))
    variables["linear"] = ((), np.asarray(linear_error(target)))
    return grid.dataset(variables, provenance("bounds", model, target, bulk=problem.law.name), named)


@checked_arguments(x=parameter)
def bound_functions(
    model: Model, target: Target | FunctionLike, x: Parameter, *, bulk: str | None = None
) -> xr.Dataset:
    """The functions that attain the bounds, as functions of the target's projection x (the paper's figure).

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer.
    target : Target, str or callable
        The function to learn.
    x : number or 1-D array
        Where to evaluate them.
    bulk : {"exact", "isotropic", "orthogonal"}, optional
        Distribution of the rows, as in `predict`.

    Returns
    -------
    xarray.Dataset
        `upper` is the best multiple of μ0, the function learned with an infinite penalty. `lower` is the best
        function that the first layer allows. For γ = 1 they are functions of κ = x; for γ < 1 they are averages at
        fixed x, as in `learned_function`. `m_upper`, and `m`, `zeta`, `psi` (and `chi`), are the coefficients of the
        ideal readout. With several letters there is one coefficient for each group: equal letters, and for odd
        activations opposite ones, form one group.

    Examples
    --------
    >>> gs.bound_functions(gs.Network("tanh", eta=1, alpha0=2), "sin", x=[1, 2]).lower.values.round(3)
    array([0.684, 1.147])
    """
    import xarray as xr

    target = checked_target(target)
    if target.directions > 1:
        raise ParameterError(
            "the functions that attain the bounds are drawn for one direction, and this target has several; bounds()"
            " has their errors, learned_function() what networks learn"
        )
    grid = model_grid(model, target)
    problem = pose(model, target, grid, bulk)
    if problem.spikes > 1:
        raise ParameterError(
            "the functions that attain the bounds are drawn for one spike, and these spikes span several directions;"
            " bounds() has their errors"
        )
    modes, K = problem.modes(np.arange(1)), len(problem.weights)
    upper, along, across = [], [], []
    for u in range(len(problem.c)):  # one at a time: rules differ, and a figure has few curves
        features, label = problem.table(np.array([u]), _POINTS).at(STRIDES[0])
        _, best, side = lowest(features, label, modes)
        upper.append(project(features, features.mu0, label.t0).coefficients[0])
        along.append(best.coefficients[0])
        across.append(side[0].coefficients[0])

    def labelled(values: Any) -> xr.DataArray:
        """[U, K] with dimensions."""
        groups = {"group": K} if K > 1 else {}
        shape, dims = problem.split.layer_shape, problem.split.layer_dims
        return xr.DataArray(np.reshape(values, (*shape, *groups.values())), dims=(*dims, *groups))

    means = np.asarray(along)
    names = ("m", "zeta", *["chi"] * modes.norms, *["nu"] * modes.biases)
    best = {name: labelled(means[:, i * K : (i + 1) * K]) for i, name in enumerate(names)}
    best["psi"] = labelled(across)
    rows = Geometry.of(problem, np.arange(K), 1.0, problem.biases, "group")
    at, most = places_of(x, 1), {"m": labelled(upper)}
    dataset = grid.dataset({}, provenance("bound_functions", model, target, bulk=problem.law.name))
    return (
        dataset.assign_coords(x=at[0])
        .assign(
            upper=mean_given(at, model.activation, most, rows),
            lower=mean_given(at, model.activation, best, rows),
            truth=target_curve(target, at),
            m_upper=most["m"],
        )
        .assign(best)
    )


def evaluate(problem: Problem, tolerance: float = TOLERANCE) -> dict[str, np.ndarray]:
    """The bounds of every first layer (and setting of β), arrays [U, A], and E t1² along each of the user's directions,
    [U, A, k]."""
    beta = problem.beta
    one = len(problem.weights) == 1 and problem.spikes == 1 and not problem.modes(np.arange(1)).norms

    def compute(features: Features, label: Label, chunk: np.ndarray) -> np.ndarray:
        rest = np.maximum(mean(features, label.t2 - label.t0**2), 0.0)
        upper = project(features, features.mu0, label.t0).distance + rest
        floor, best, across = lowest(features, label, problem.modes(chunk))
        lower = floor + best.distance + sum(side.distance for side in across)
        t1 = problem.frame(chunk).turn @ label.t1  # along the user's directions, [U, k, N]
        gains = (features.weights[:, None] * t1**2).sum(axis=-1)
        gains[gains < _ABSENT**2 * mean(features, label.t2)[:, None]] = 0.0  # by symmetry
        columns = [np.stack([upper, lower, floor], axis=1), gains]
        if one:
            columns.append(infinite_samples(features, label, problem.c[chunk], beta[chunk]))
        return np.concatenate(columns, axis=1)

    values, _ = averaged(problem, compute, max(tolerance, _COARSER[problem.labels.directions > 1]))
    upper, lower, floor, gains, at_beta = np.split(values, [1, 2, 3, 3 + problem.labels.directions], axis=1)
    found = {"upper": upper, "lower": lower} | ({"lower_beta": at_beta} if one else {}) | {"floor": floor}
    found = {name: np.broadcast_to(bound, beta.shape) for name, bound in found.items()}
    return found | {"by_direction": np.broadcast_to(gains[:, None], (*beta.shape, gains.shape[1]))}


def lowest(features: Features, label: Label, modes: Modes) -> tuple[np.ndarray, Best, list[Best]]:
    """The floor [U], E[t2 - t0² - |t1|²], and the best functions of κ, and of κ times each y: with their distances
    it makes up the lower bound."""
    along = project(features, mean_functions(features, modes), label.t0)
    across = [project(features, features.mu1, t1) for t1 in np.moveaxis(label.t1, 1, 0)]
    unseen = np.maximum(label.t2 - label.t0**2 - (label.t1**2).sum(axis=1), 0.0)
    return mean(features, unseen), along, across


def infinite_samples(features: Features, label: Label, c: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Error of the best readout of p = βd isotropic features on the population, [U, A] for β [U, A].

    The linear features across the spike are a Marchenko-Pastur problem of their own: with infinitely many
    samples their noise E μ2² acts as a ridge penalty on the signal E μ1².
    """
    mu0, mu1 = features.mu0, features.mu1
    start = project(features, mu0, label.t0)
    drift = features.kappa[:, :1] * mu1
    left = drift - project(features, mu0, drift[:, 0]).coefficients[:, None] @ mu0
    rest = np.maximum(mean(features, label.t2 - label.t0**2), 0.0)
    upper, h = start.distance + rest, mean(features, left[:, 0] * label.t0)
    S0, slope = mean(features, left[:, 0] ** 2), mean(features, mu1[:, 0] ** 2)
    h = np.where(_DEPENDENT**2 * mean(features, drift[:, 0] ** 2) < S0, h, 0.0)  # else κμ1 is a multiple of μ0
    across = np.sqrt(sum(mean(features, mu1[:, 0] * t1) ** 2 for t1 in np.moveaxis(label.t1, 1, 0)))
    columns = (upper, h, S0, slope, across, mean(features, features.mu2sq[:, 0]))
    upper, h, S0, slope, across, noise = (column[:, None] for column in columns)
    present = slope > _ABSENT**2 * (noise + mean(features, mu0[:, 0] ** 2)[:, None])
    X = noise / np.where(present, slope, 1.0)
    # the positive root of S² - (X + c - cβ) S - cβX = 0, without cancellation
    half = 0.5 * (X + c - c * beta)
    root = np.sqrt(half**2 + c * beta * X)
    stiffness = np.where(half >= 0, half + root, c * beta * X / np.where(half >= 0, 1.0, root - half))
    along = h**2 / (stiffness * slope / (c * beta) + S0 + np.finfo(float).tiny)
    sideways = beta * c / (stiffness + c * beta) * across**2 / np.where(present, slope, 1.0)
    return np.where(present, upper - along - sideways, upper)


def project(features: Features, functions: np.ndarray, t: np.ndarray) -> Best:
    """The point of the span of `functions` [U, F, N] closest to t [U, N] in Gaussian L².

    By singular values, because letters make functions nearly dependent; the distance is that of the residual
    itself, free of cancellation, so that a perfect fit shows as zero.
    """
    root = np.sqrt(features.weights)
    A = functions * root[:, None]
    size = np.sqrt((A**2).sum(axis=-1))
    present = size > _ABSENT * _feature_size(features)[:, None]
    scale = np.where(present, 1.0 / np.where(present, size, 1.0), 0.0)
    left, values, right = np.linalg.svd(np.swapaxes(A * scale[..., None], -1, -2), full_matrices=False)
    kept = values > _DEPENDENT * values[:, :1].clip(min=np.finfo(float).tiny)
    b = t * root
    along = (np.swapaxes(left, -1, -2) @ b[..., None])[..., 0] * kept
    residual = b - (left @ along[..., None])[..., 0]
    inverse = kept / np.where(kept, values, 1.0)
    coefficients = (np.swapaxes(right, -1, -2) @ (inverse * along)[..., None])[..., 0] * scale
    return Best((residual**2).sum(axis=-1), coefficients)


def _feature_size(features: Features) -> np.ndarray:
    """Root mean square of the largest group's features, [U]."""
    power = (features.mu0**2 + features.mu1**2 + features.mu2sq).max(axis=1)
    return np.sqrt(mean(features, power))


def mean(features: Features, f: np.ndarray) -> np.ndarray:
    """E over κ of f [U, N]."""
    return (features.weights * f).sum(axis=-1)


def checked_target(target: Target | FunctionLike) -> Target:
    target = as_target(target)
    if target.random_signs:
        raise ParameterError(
            "bounds, and the parts of an error, are for real labels, and these are random labels ±1; leave out flips,"
            " latent_noise and scale"
        )
    return target


def _on_grid(values: np.ndarray, problem: Problem, grid: Grid) -> np.ndarray:
    """[U, A] to the grid's own order of dimensions."""
    order = problem.split.dims
    return values.reshape(problem.split.shape).transpose([order.index(dim) for dim in grid.dims])
