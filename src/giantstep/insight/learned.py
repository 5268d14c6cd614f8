"""The learned function: what the network computes, on average, of the one projection that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..gaussian import STRIDES, moments
from ..model import Network, SpikedRF, as_target
from ..parameters import parameter
from ..prediction import predict
from ..provenance import provenance
from ..theory.pose import model_grid, pose
from .bounds import checked_target, lowest, project

if TYPE_CHECKING:
    import xarray as xr

    from ..functions import Function
    from ..model import FunctionLike, Parameter, Target

_BLOCK = 4096  # Gaussian averages done together: bounds the memory, whatever the grid
_POINTS = 512  # κ intervals from which the coefficients of the best functions are computed


def learned_function(
    model: Network | SpikedRF,
    target: Target | FunctionLike,
    x: Parameter,
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str = "square",
    bulk: str | None = None,
    d: Parameter | None = None,
) -> xr.Dataset:
    r"""The network's average output given the target's own projection, :math:`E[f\,|\,\theta\cdot x/\sqrt d = x]`.

    This is what a plot of the network against its single-index target shows. Averages over everything else
    are Gaussian, and in closed form: with :math:`s^2 = c + r^2\rho^2`, :math:`\rho^2 = 1 - \gamma^2`, and
    :math:`A, B, C` the averages of σ, σ', σ'' over a Gaussian of mean γrx and variance s²,

    .. math:: f(x) = m A + \zeta\,(\gamma x B + r\rho^2 C) + \psi\,\rho\,(x B - \gamma r C) + \tfrac12 \chi\, C,

    summed over letters. A network without a step (eta = 0 or alpha0 = 0) is the random features model, whose
    learned function is linear.

    Parameters are those of `predict`; `x` is a number or a 1-D array. Returns `predict`'s Dataset with the
    variables `learned` (over `x` and the grid) and `truth`, the target at `x`.
    """
    import xarray as xr

    target = as_target(target)
    fitted = predict(model, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk, d=d)
    at = parameter("x", x)
    at = at if type(at).__name__ == "DataArray" else xr.DataArray(at, dims=("x",)[: np.ndim(at)])
    learned = conditional_mean(model, fitted, at)
    answer = fitted.assign_coords(x=at).assign(learned=learned, truth=target_curve(target, at))
    answer["learned"].attrs = {"symbol": r"\hat f(x)", "long_name": "average output given the target's input"}
    answer["truth"].attrs = {"symbol": r"\sigma_\star(x)", "long_name": "noiseless target"}
    return answer.assign_attrs(command="learned_function")


def bound_functions(
    model: Network | SpikedRF, target: Target | FunctionLike, x: Parameter, *, bulk: str | None = None
) -> xr.Dataset:
    """The functions that attain the bounds, as functions of the target's projection x (the paper's figure).

    `upper` is the best multiple of μ0, what an infinite penalty learns; `lower` the best function that the
    first layer allows at all. For γ = 1 they are functions of κ = x; for γ < 1 averages given x, as in
    `learned_function`. Their coefficients come along: `m_upper`, and `m`, `zeta`, `psi` (and `chi`) of the
    lower one, the order parameters of that ideal readout. With several letters they are those of the groups
    of neurons that differ: equal letters, and for odd activations opposite ones, are one group.
    """
    import xarray as xr

    target = checked_target(target)
    grid = model_grid(model, target)
    posed = pose(model, target, grid, bulk)
    problem, split = posed.problem, posed.split
    norms, K = problem.rows.norms, len(problem.weights)
    frame = problem.frame(np.arange(len(problem.c)))
    upper, along, across = [], [], []
    for u in range(len(problem.c)):  # one at a time: rules differ, and a figure has few curves
        features, label = problem.table(np.array([u]), _POINTS).at(STRIDES[0])
        _, best, side = lowest(features, label, norms)
        upper.append(project(features, features.mu0, label.t0).coefficients[0])
        along.append(best.coefficients[0])
        across.append(side[0].coefficients[0])
    sizes = split.layer_shape
    groups = () if K == 1 else ("group",)

    def labelled(values: Any) -> xr.DataArray:
        values = np.asarray(values)
        shape = (*sizes, *values.shape[1:])
        if K == 1 and values.ndim > 1:
            shape = shape[:-1]
        return xr.DataArray(values.reshape(shape), dims=(*split.layer_dims, *groups[: values.ndim - 1]))

    means = np.asarray(along)
    names = ("m", "zeta", "chi")[: 2 + norms]
    best = {name: labelled(means[:, i * K : (i + 1) * K]) for i, name in enumerate(names)}
    best["psi"] = labelled(across)
    spike = {"r": frame.b[..., 0], "c": problem.c, "gamma": frame.gamma[:, 0]}
    layer = {name: labelled(values) for name, values in spike.items()}
    biases = xr.DataArray(problem.biases, dims="group") if groups else float(problem.biases[0])
    at = parameter("x", x)
    at = at if type(at).__name__ == "DataArray" else xr.DataArray(at, dims=("x",)[: np.ndim(at)])
    dataset = grid.dataset({}, provenance("bound_functions", model, target, bulk=posed.bulk))
    return (
        dataset.assign_coords(x=at)
        .assign(
            upper=_mean_given(
                at, model.activation, {"m": labelled(upper)}, **layer, biases=biases, dim="group"
            ),
            lower=_mean_given(at, model.activation, best, **layer, biases=biases, dim="group"),
            truth=target_curve(target, at),
            m_upper=labelled(upper),
        )
        .assign(best)
    )


def conditional_mean(model: Network | SpikedRF, fitted: xr.Dataset, x: xr.DataArray) -> xr.DataArray:
    """The learned function of fitted order parameters, as `predict` names and labels them."""
    import xarray as xr

    letters = model.readout
    several = len(letters.values) > 1

    def per_letter(values: Any) -> Any:
        return xr.DataArray(list(values), dims="letter") if several else float(values[0])

    biases = per_letter(letters.biases or (0.0,) * len(letters.values))
    c = fitted["c"] if letters.c is None else per_letter(letters.c)
    orders = {name: fitted[name] for name in ("m", "zeta", "psi", "chi") if name in fitted}
    spike = fitted["r"] * per_letter(letters.values)
    found = _mean_given(x, model.activation, orders, spike, c, fitted["gamma"], biases, "letter")
    return found.drop_vars(["letter", "letter_"], errors="ignore")


def target_curve(target: Target, x: xr.DataArray) -> xr.DataArray:
    """The noiseless target at x."""
    return x.copy(data=np.asarray(target.function(np.asarray(x.values, dtype=float))))


def _mean_given(
    x: xr.DataArray,
    activation: Function,
    orders: dict[str, xr.DataArray],
    r: xr.DataArray,
    c: Any,
    gamma: xr.DataArray,
    biases: Any,
    dim: str,
) -> xr.DataArray:
    """f(x) of the docstring of `learned_function`, summed over `dim`."""
    rho2 = np.maximum(0.0, 1.0 - gamma**2)
    width = np.sqrt(c + r**2 * rho2)
    A, B, C = _averages(activation, r * gamma * x + biases, width)
    total = orders["m"] * A
    if "zeta" in orders:
        total = total + orders["zeta"] * (gamma * x * B + r * rho2 * C)
        total = total + orders["psi"] * np.sqrt(rho2) * (x * B - gamma * r * C)
    if "chi" in orders:
        total = total + 0.5 * orders["chi"] * C
    return total.sum(dim) if dim in total.dims else total


def _averages(activation: Function, shift: xr.DataArray, width: xr.DataArray) -> list[xr.DataArray]:
    """E σ, E σ', E σ'' over N(shift, width²); derivatives by parts, so that σ needs none."""
    import xarray as xr

    shift, width = xr.broadcast(shift, width)
    flat_shift, flat_width = shift.values.reshape(-1), width.values.reshape(-1)
    parts = []
    for start in range(0, len(flat_shift), _BLOCK):
        s, w = flat_shift[start : start + _BLOCK], flat_width[start : start + _BLOCK]
        found, _ = moments(activation, s, w)
        parts.append((found.mean, found.first / w, found.second / w**2))
    return [
        shift.copy(data=np.concatenate(column).reshape(shift.shape)) for column in zip(*parts, strict=True)
    ]
