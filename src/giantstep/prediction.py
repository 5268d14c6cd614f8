"""The verb `predict`: from a description and a grid to exact answers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ConvergenceError, GiantstepWarning, ParameterError
from .grid import Grid
from .model import Network, SpikedRF, Target, as_target, parameter

if TYPE_CHECKING:
    import xarray as xr

    from .model import FunctionLike, Parameter

TOLERANCE = 1e-9


def predict(
    model: Network | SpikedRF,
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str = "square",
    bulk: str | None = None,
    d: Parameter | None = None,
    throw: bool = True,
    tolerance: float = TOLERANCE,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    r"""Test error, training error and every summary statistic of the fitted readout, as d → ∞ (Result 3).

    The readout minimises :math:`\sum_{\mu\le n}\frac12(y^\mu - a\cdot\varphi^\mu/\sqrt p)^2
    + \frac\lambda2|a|^2` over n = `alpha`·d fresh samples, φ = σ(Fx) being the features of the first layer:

    ============================================  ==========================================================
    ``Network("tanh", eta=1, alpha0=.5)``         trained by one gradient step of size η̃d on α0·d samples
    ``Network("tanh", eta=0, alpha0=0)``          random features: no step (also ``alpha0=0`` or ``eta=0``)
    ``Network(..., alpha0=np.inf)``               a step on the population gradient
    ``SpikedRF("sign", r=1, gamma=.8)``           spiked random features, given directly
    ``lam=0``                                     ridgeless: the minimum-norm solution, ``inf`` at α = β
    ``lam=np.inf``                                only the all-ones direction m is fitted
    ``d=1000``                                    with the leading finite-size correction
    ``Target("sin", noise=0.5)``                  label noise, in the step and in the readout
    ============================================  ==========================================================

    Parameters
    ----------
    alpha, lam, d
        Samples per dimension, ridge penalty, and input dimension (default: infinite). Numbers, 1-D arrays
        (each opens a dimension of its name) or DataArrays (those that share a dimension are zipped); the same
        goes for every parameter of the model and for the noise.
    bulk
        Model of the first layer's bulk. "isotropic": spiked random features with matched row norms, the
        paper's model of a network.
    throw
        Raise `ConvergenceError` (which carries the partial result) if a point fails; otherwise flag it and
        put NaN into its answers.
    tolerance
        Relative error of `test_error` down to which numerical integration is refined. The error reached is in
        `quadrature_error`; a point where it stays above 1e-6 (or `tolerance`, if larger) counts as failed.
    progress
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    xarray.Dataset
        Inputs as coordinates; `test_error` (against the noiseless target), `train_error` (against the
        labels), `train_loss`, `m`, `zeta`, `psi`, `q1`, `q2`, `V1`, `V2`; for a Network also `c`, `r`,
        `gamma`; per point `residual`, `quadrature_error`, `converged` and `status`.
    """
    from .theory import engine

    target = as_target(target)
    _check_supported(target, loss)
    grid = Grid(_parameters(model, target, alpha, lam, d))
    problem, layer_dims, name = _problem(model, target, grid, bulk)
    answers = engine.solve(problem, tolerance, progress)
    dataset = _dataset(model, target, grid, problem, layer_dims, answers, loss, name)
    return _checked(dataset, throw)


def _check_supported(target: Target, loss: str) -> None:
    if loss != "square":
        raise ParameterError(f"loss = {loss!r} is not available; predict knows the loss 'square'")
    if target.binary:
        raise ParameterError("labels with flips, latent noise or a logistic law are not available in predict")


def _parameters(model: Network | SpikedRF, target: Target, alpha: Any, lam: Any, d: Any) -> dict[str, Any]:
    if not isinstance(model, Network | SpikedRF):
        raise ParameterError(f"model = {model!r} is neither a Network nor a SpikedRF")
    names = ("eta", "alpha0", "beta") if isinstance(model, Network) else ("r", "gamma", "c", "beta")
    parameters = {name: getattr(model, name) for name in names}
    parameters["noise"] = target.noise
    parameters["alpha"] = parameter("alpha", alpha, low=0.0, strict=True)
    parameters["lam"] = parameter("lam", lam, low=0.0, infinite=True)
    if d is not None:
        parameters["d"] = parameter("d", d, low=1.0, infinite=True)
    return parameters


def _problem(
    model: Network | SpikedRF, target: Target, grid: Grid, bulk: str | None
) -> tuple[Any, tuple[str, ...], str]:
    """The engine's problem: first layers along the dimensions that shape them, readout settings along the rest."""
    from .theory.bulk import Isotropic
    from .theory.engine import Problem
    from .theory.mapping import FirstLayer, first_layer, warn_if_poor

    if bulk not in (None, "isotropic"):
        raise ParameterError(f"bulk = {bulk!r} is unknown; use 'isotropic'")
    letters = model.readout
    shaping = ("eta", "alpha0", "beta", "noise") if isinstance(model, Network) else ("r", "gamma", "c")
    layer_dims = grid.dims_of(shaping)
    dims = layer_dims + tuple(dim for dim in grid.dims if dim not in layer_dims)
    values = {name: grid.over(name, layer_dims).reshape(-1) for name in shaping}
    if isinstance(model, Network):
        layer = first_layer(model, target, **values)
        if bulk is None:
            warn_if_poor(model, target, layer, values["eta"], values["beta"])
    else:
        c = values["c"][:, None] * np.ones(len(letters.values))
        if letters.c is not None:
            c = np.broadcast_to(np.asarray(letters.c), c.shape)
        layer = FirstLayer(values["r"], values["gamma"], c)
    U = len(layer.r)

    def setting(name: str, default: float = 0.0) -> np.ndarray:
        if name not in grid:
            return np.full((U, int(np.prod(grid.shape)) // U), default)
        return grid.over(name, dims).reshape(U, -1)

    weights = np.asarray(letters.weights)
    problem = Problem(
        activation=model.activation,
        target=target.function,
        weights=weights,
        biases=np.zeros(len(weights)) if letters.biases is None else np.asarray(letters.biases),
        r=layer.r[:, None] * np.asarray(letters.values),
        c=layer.c,
        gamma=layer.gamma,
        bulk=Isotropic(layer.c, weights),
        alpha=setting("alpha"),
        beta=setting("beta"),
        lam=setting("lam"),
        noise=setting("noise"),
        d=setting("d", np.inf),
    )
    return problem, layer_dims, "isotropic"


def _dataset(
    model: Network | SpikedRF,
    target: Target,
    grid: Grid,
    problem: Any,
    layer_dims: tuple[str, ...],
    answers: dict[str, np.ndarray],
    loss: str,
    bulk: str,
) -> xr.Dataset:
    from . import __version__
    from .theory.engine import FAILED, STATUS

    one = len(problem.weights) == 1
    inner = tuple(dim for dim in grid.dims if dim not in layer_dims)
    sizes = tuple(grid.sizes[dim] for dim in layer_dims + inner)
    code = answers.pop("code").reshape(sizes)
    failed = np.isin(code, FAILED)
    groups = {"m": 1, "zeta": 1, "psi": 1, "chi": 1, "q2": 1, "V2": 1, "q1": 2, "V1": 2}
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    answers["train_loss"] = 0.5 * answers["train_error"]
    if problem.bulk.modes < 3:
        del answers["chi"]
    for name, values in answers.items():
        extra = ("letter", "letter_")[: groups.get(name, 0)]
        shaped = values.reshape((*sizes, *values.shape[2:]))
        if name not in ("residual", "quadrature_error"):
            shaped[failed] = np.nan
        if one:
            extra, shaped = (), shaped.reshape(sizes)
        variables[name] = (layer_dims + inner + extra, shaped)
    variables["converged"] = (layer_dims + inner, ~failed)
    variables["status"] = (layer_dims + inner, np.array(STATUS, dtype=object)[code])
    if isinstance(model, Network):
        shape = tuple(grid.sizes[dim] for dim in layer_dims)
        values = np.asarray(problem.c)
        variables["c"] = (
            (layer_dims, values.reshape(shape))
            if one
            else ((*layer_dims, "letter"), values.reshape(*shape, -1))
        )
        unit = _unit_spike(problem.r, np.asarray(model.readout.values))
        variables["r"] = (layer_dims, unit.reshape(shape))
        variables["gamma"] = (layer_dims, np.asarray(problem.gamma).reshape(shape))
    coords = {} if one else {"letter": list(model.readout.values), "letter_": list(model.readout.values)}
    attrs = {
        "command": "predict",
        "giantstep_version": __version__,
        "model": description(model),
        "target": description(target),
        "loss": loss,
        "bulk": bulk,
    }
    order = [*grid.dims, *coords]
    return grid.dataset(variables, attrs, coords).transpose(*order, missing_dims="ignore")


def _unit_spike(r: np.ndarray, letters: np.ndarray) -> np.ndarray:
    largest = int(np.abs(letters).argmax())
    return r[:, largest] / (letters[largest] or 1.0)


def description(thing: Any) -> str:
    """A model or target as JSON text for provenance; a user's own callable is named, since it cannot be kept."""
    try:
        return json.dumps(thing.to_dict())
    except ParameterError:
        return repr(thing)


def _checked(dataset: xr.Dataset, throw: bool) -> xr.Dataset:
    failed = ~dataset["converged"].values
    if not failed.any():
        return dataset
    first = {dim: index[0] for dim, index in zip(dataset["converged"].dims, np.nonzero(failed), strict=True)}
    point = dataset.isel(first)
    where = ", ".join(
        f"{name} = {float(point[name]):.6g}" for name in dataset["converged"].coords if point[name].size == 1
    )
    message = (
        f"{failed.sum()} of {failed.size} points failed; the first at {where}: {point['status'].item()}"
        f" (residual {float(point['residual']):.1e}, quadrature error {float(point['quadrature_error']):.1e})"
    )
    if throw:
        raise ConvergenceError(message + "; the partial result is in this exception's .partial", dataset)
    warnings.warn(message, GiantstepWarning, stacklevel=3)
    return dataset
