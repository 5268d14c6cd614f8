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
    from .theory.problem import Posed

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
        The first layer's bulk. "exact" (the default for a Network): the trained network itself, whose rows
        carry the imprint of the first batch. "isotropic" (that of a SpikedRF): the paper's model of a
        network, spiked random features with the same spike, alignment and row norms. "orthogonal": the
        special SpikedRF with W = Π⊥. "sampled" (or "sampled:D:SEED"): an independent check of "exact", for
        which a first batch is drawn at dimension D (1000) and its covariance diagonalised.
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
        labels), `train_loss`, `m`, `zeta`, `psi`, `q1`, `q2`, `V1`, `V2` (with the exact bulk also `chi`);
        for a Network also `c`, `r`, `gamma`; per point `residual`, `quadrature_error`, `converged` and `status`.
    """
    from .theory import engine
    from .theory.problem import pose

    target = as_target(target)
    _check_supported(target, loss)
    grid = Grid(_parameters(model, target, alpha, lam, d))
    posed = pose(model, target, grid, bulk)
    answers = engine.solve(posed.problem, tolerance, progress)
    return _checked(_dataset(model, target, grid, posed, answers, loss), throw)


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


def _dataset(
    model: Network | SpikedRF,
    target: Target,
    grid: Grid,
    posed: Posed,
    answers: dict[str, np.ndarray],
    loss: str,
) -> xr.Dataset:
    from . import __version__
    from .theory.engine import FAILED, STATUS
    from .theory.groups import expand

    one = len(model.readout.values) == 1
    letter = () if one else ("letter",)
    groups = {"m": 1, "zeta": 1, "psi": 1, "chi": 1, "q2": 1, "V2": 1, "q1": 2, "V1": 2}
    dims = posed.layer_dims + posed.setting_dims
    sizes = tuple(grid.sizes[dim] for dim in dims)
    answers = expand(answers, posed.merging, posed.layer.c)
    answers["train_loss"] = 0.5 * answers["train_error"]
    code = answers.pop("code").reshape(sizes)
    failed = np.isin(code, FAILED)
    if posed.bulk in ("isotropic", "orthogonal"):
        del answers["chi"]
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, values in answers.items():
        extra = () if one else ("letter", "letter_")[: groups.get(name, 0)]
        shaped = values.reshape((*sizes, *(() if one else values.shape[2:])))
        if name not in ("residual", "quadrature_error"):
            shaped[failed] = np.nan
        variables[name] = (dims + extra, shaped)
    variables["converged"] = (dims, ~failed)
    variables["status"] = (dims, np.array(STATUS, dtype=object)[code])
    if isinstance(model, Network):
        variables |= _first_layer_variables(model, grid, posed, letter)
    values = list(model.readout.values)
    coords = {} if one else {"letter": values, "letter_": values}
    attrs = {
        "command": "predict",
        "giantstep_version": __version__,
        "model": description(model),
        "target": description(target),
        "loss": loss,
        "bulk": posed.bulk,
    }
    return grid.dataset(variables, attrs, coords).transpose(*grid.dims, *coords, missing_dims="ignore")


def _first_layer_variables(
    model: Network, grid: Grid, posed: Posed, letter: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """The equivalent c, r, γ of a network: c per letter, and r too if biases make it differ between letters."""
    dims, layer, group = posed.layer_dims, posed.layer, posed.merging.group
    shape = tuple(grid.sizes[dim] for dim in dims)
    per_letter = (*shape, *(len(group),) * len(letter))
    by_letter = letter if model.readout.biases is not None else ()
    r = layer.r[:, group] if by_letter else layer.r[:, 0]
    return {
        "c": (dims + letter, layer.c[:, group].reshape(per_letter)),
        "r": (dims + by_letter, r.reshape(per_letter if by_letter else shape)),
        "gamma": (dims, layer.gamma.reshape(shape)),
    }


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
