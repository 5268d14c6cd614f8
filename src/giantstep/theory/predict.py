"""The verb `predict`: from a description and a grid to exact answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import Dimensions
from ..answers.provenance import provenance
from ..errors import NotCovered
from ..losses import Loss, as_loss
from ..model.arguments import checked_arguments
from ..model.description import Model
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from .warnings import check_converged, remark

if TYPE_CHECKING:
    import xarray as xr

    from ..answers.arrays import NamedArrays
    from ..model.description import FunctionLike, Parameter
    from .bulks import BulkLaw
    from .problem import Problem

TOLERANCE = 1e-9
_ROUNDING = 1e-13
PLANE_TOLERANCE, SPACE_TOLERANCE = 1e-8, 1e-6  # where averages over κ have two dimensions, or more
DIRECTIONS_TOLERANCE = {1: TOLERANCE, 2: 1e-8, 3: 1e-8, 4: 1e-6}  # by the directions that labels depend on
CONVEX_TOLERANCE = {1: 1e-6, 2: 1e-6, 3: 1e-5, 4: 1e-5}  # the same for losses other than square


@checked_arguments()
@with_bar("predicting")
def predict(
    model: Model,
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str | Loss = "square",
    bulk: str | BulkLaw | None = None,
    d: Parameter | None = None,
    throw: bool = True,
    tolerance: float | None = None,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    r"""Test error, training error and summary statistics of the fitted readout, in the limit d → ∞ (Result 3).

    The readout minimises :math:`\sum_{\mu\le n}\ell(y^\mu, a\cdot\varphi^\mu/\sqrt p)
    + \frac\lambda2|a|^2` over n = `alpha`·d fresh samples. φ = σ(Fx) are the features of the first layer, ℓ is
    the loss, by default ½(y - z)²:

    ============================================  ==========================================================
    ``Network("tanh", eta=1, alpha0=.5)``         trained by one gradient step of size η̃d on α0·d samples
    ``Network("tanh", eta=0, alpha0=0)``          random features: no step
    ``Network(..., alpha0=np.inf)``               a step on the population gradient
    ``SpikedRF("sign", r=1, gamma=.8)``           spiked random features
    ``TwoSpikes("relu", ...)``                    the same with two spikes
    ``lam=0``                                     ridgeless: the minimum-norm solution, ``inf`` at α = β
    ``lam=np.inf``                                only the all-ones direction m is fitted
    ``d=1000``                                    with the leading finite-size correction
    ``Target("sin", noise=0.5)``                  label noise, in the step and in the readout
    ``Target("sign", flips=0.1)``                 labels ±1, some of them wrong; ``latent_noise=`` before the sign
    ``Target("logistic", scale=2)``               labels ±1 drawn with probability sigmoid(2z)
    ``Target("sin", inputs=Inputs([2, .5]))``     inputs with a covariance, of these eigenvalues
    ``loss="logistic"``                           ln(1 + exp(-yz)); also hinge, squared_hinge, exponential
    ``loss="huber:0.5"``                          robust regression; also absolute, pinball:0.9
    ``loss=gs.Loss(value, derivative)``           any other convex loss of (y, z)
    ============================================  ==========================================================

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer.
    target : Target, str or callable
        The function to learn. A name, an expression in x or a Python function stands for a target without noise.
    alpha : number or grid
        Fresh samples for the readout, divided by d. A grid is a list, which becomes a dimension of the answer, or an
        `xarray.DataArray`: parameters that share a dimension vary together. Every parameter of the model and the noise
        may be a grid too. The answer has all combinations.
    lam : number or grid
        Ridge penalty λ.
    loss : str or Loss
        Loss of the readout.
    d : number or grid, optional
        Input dimension, for the finite-size correction. Without it you get the limit d → ∞.
    bulk : {"exact", "isotropic", "orthogonal"}, optional
        Distribution of the rows of the first layer without the spike. "exact", the default for a Network, describes the
        trained network itself: its steps stretch the rows along their samples. "isotropic", the default for a
        SpikedRF, is the paper's model of a network, with the same spike, alignment and row norms. "orthogonal" is a
        SpikedRF or TwoSpikes with W = Π⊥.
    throw : bool
        If a point fails: True raises `ConvergenceError`, which has the partial result; False returns NaN there.
    tolerance : float, optional
        Integrals are refined until the relative error of `test_error` (and `train_loss`) is below this. The default is
        1e-9; 1e-8 with two or three directions of the target, or spikes that span two; 1e-6 with more of either, and
        for losses other than square; 1e-5 for these with three directions or more. `quadrature_error` has the error
        of each point. A point fails if it stays above 1e-6 (or its tolerance, if that is larger).
    workers : int, optional
        Number of processes that share the work, for grids of 10,000 points and more. Answers do not depend on it.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    xarray.Dataset
        The parameters are coordinates. The variables are `test_error` (against the noiseless target), `train_error`
        (against the labels), `train_loss`, and the summary statistics `m`, `zeta`, `psi`, `q1`, `q2`, `V1`, `V2` (with
        the exact bulk also `chi`, and `nu` if the model has a `bias_scale`). Labels ±1 add the shares of wrong signs
        `test_error_01` (against clean labels) and `train_error_01`. A Network adds `c`, `r`, `gamma` and, with several
        steps, `network_error`: the error of the network after each step, before the readout is fitted. Each point has
        `residual`, `quadrature_error`, `converged`, `status` (a sentence) and `code` (a number for programs: 0 is
        converged; the page "When a point does not converge" lists the others).

    Examples
    --------
    >>> net = gs.Network("tanh", eta=3, alpha0=[0, 1, 20])
    >>> curves = gs.predict(net, "sin", alpha=[0.5, 1, 2, 4], lam=0.1)
    >>> dict(curves.test_error.sizes)
    {'alpha0': 3, 'alpha': 4}
    >>> curves.test_error.sel(alpha0=20).values.round(4)
    array([0.0456, 0.0407, 0.0344, 0.03  ])

    Parameters that vary together, here a penalty that grows with the samples:

    >>> import xarray as xr
    >>> alpha = xr.DataArray([0.5, 1, 2], dims="budget")
    >>> gs.predict(gs.Network("tanh", eta=3, alpha0=1), "sin", alpha=alpha, lam=0.1 * alpha).test_error.dims
    ('budget',)
    """
    return _answer(
        model,
        target,
        alpha=alpha,
        lam=lam,
        loss=loss,
        bulk=bulk,
        d=d,
        throw=throw,
        tolerance=tolerance,
        workers=workers,
        progress=progress,
    ).dataset()


def _answer(
    model: Model,
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str | Loss = "square",
    bulk: str | BulkLaw | None = None,
    d: Parameter | None = None,
    throw: bool = True,
    tolerance: float | None = None,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> NamedArrays:
    """The same before it becomes a Dataset, which takes the import of xarray."""
    from . import engine
    from .problem import model_grid, pose

    model, target, loss = model.resolved(), as_target(target), as_loss(loss)
    _check_supported(target, loss, lam)
    size = {} if d is None else {"d": d}
    grid = model_grid(model, target, alpha=alpha, lam=lam, **size)
    problem = pose(model, target, grid, bulk, loss)
    tolerance = usual_tolerance(problem) if tolerance is None else tolerance
    answers = engine.solve(problem, tolerance, progress, workers)
    names = ("sized_error", "rare", "scatter", "squares", "spread", "share")
    doubts = {name: answers.pop(name) for name in names}
    labelled = _labelled(model, target, problem, answers, loss)
    remark(labelled, {name: values.reshape(problem.split.shape) for name, values in doubts.items()})
    check_converged(labelled, throw)
    return labelled


predicted = checked_arguments()(_answer)


def usual_tolerance(problem: Problem) -> float:
    """Down to which numerical integration is refined, unless told otherwise."""
    if not problem.loss.linear:
        return CONVEX_TOLERANCE[problem.labels.directions]
    usual = {1: TOLERANCE, 2: PLANE_TOLERANCE}.get(problem.spikes, SPACE_TOLERANCE)
    return max(usual, DIRECTIONS_TOLERANCE[problem.labels.directions])


def _check_supported(target: Target, loss: Loss, lam: Any) -> None:
    """Refuse a loss with labels or a ridge that it has no theory for."""
    if not target.binary and not loss.residual:
        kind = "is for labels ±1" if loss.margin else "is not a function of y - z"
        raise NotCovered(
            f"loss = {loss.name!r} {kind}, and this target has real labels; use a binary target such as 'sign',"
            " flips = 0.1, which makes labels the signs of any target, or a loss of the residual such as 'huber:1'"
        )
    if not loss.linear and not np.all((np.asarray(lam) > 0) & np.isfinite(lam)):
        raise NotCovered(
            f"lam must be positive and finite with loss = {loss.name!r}: its limits 0 and inf are known for the"
            " square loss only; use a small or a large number"
        )


def _labelled(
    model: Model, target: Target, problem: Problem, answers: dict[str, np.ndarray], loss: Loss
) -> NamedArrays:
    from ..model.letters import expand, summed
    from .status import FAILED, SENTENCES

    axes = Dimensions(model, target.directions)
    answers = expand(answers, problem.merging, problem.c)
    if model.readout.law is not None:
        answers = summed(answers)
    code = answers.pop("code").astype(int)
    failed = FAILED[code]
    modes = problem.modes(np.arange(1))
    for name, present in (("chi", modes.norms), ("nu", modes.biases)):
        if not present:
            del answers[name]
    for name in ("zeta", "psi"):  # the engine has directions before groups
        answers[name] = np.swapaxes(answers[name], 2, -1)
    if failed.any():
        for name in answers.keys() - {"residual", "quadrature_error"}:
            answers[name][failed] = np.nan
    answers |= {"converged": ~failed, "status": np.array(SENTENCES, dtype=object)[code], "code": code}
    if problem.first_layers.steps:
        answers |= _of_the_layer(model, problem, axes)
    attrs = provenance("predict", model, target, loss=loss.name, bulk=problem.law.name)
    return problem.split.label(answers, axes, attrs)


def _as_far_as(values: np.ndarray, taken: np.ndarray, steps: int) -> np.ndarray:
    """[U, path, ...] as [U, steps, ...], NaN after the steps that were taken [U]."""
    padded = np.full((len(values), steps, *values.shape[2:]), np.nan)
    padded[:, : values.shape[1]] = values
    padded[np.arange(steps) >= taken[:, None]] = np.nan
    return padded


def _of_the_layer(model: Model, problem: Problem, axes: Dimensions) -> dict[str, np.ndarray]:
    """The equivalent c, r, γ of networks after each step, [U, step, letter, direction], each as far as it has these."""
    from .equivalent import by_letter, network_errors

    layers, letters, group = problem.first_layers, model.readout, problem.merging.group
    values = np.asarray(problem.merging.letters.values)
    longest = int(np.abs(values).argmax())
    spikes = [by_letter(layer, values) for layer in layers.path[1:]]
    r, gamma, c = (np.concatenate([part[:, None] for part in parts], axis=1) for parts in zip(*spikes, strict=True))
    c = c[:, :, group] if axes.several else c[:, :, group] @ np.asarray(letters.weights)
    r = r[:, :, group] if axes.of("r")[-1:] == (model.group,) else r[:, :, longest]
    gamma = gamma[:, :, group] if model.group in axes.of("gamma") else gamma[:, :, longest]
    if "direction" in axes.of("gamma"):
        gamma = np.where(np.abs(gamma) < _ROUNDING, 0.0, gamma)  # a direction that is not found
    answers = {"c": c, "r": r, "gamma": gamma}
    if model.most_steps > 1:
        answers["network_error"] = network_errors(problem)
        if "steps" in model.numbers():  # other points of the grid may take more steps than some
            taken = problem.split.layers("steps")
            answers = {name: _as_far_as(part, taken, model.most_steps) for name, part in answers.items()}
    return answers
