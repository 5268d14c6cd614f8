"""The verb `explain`: the test error of a network as a sum of parts that people can act on."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from ...answers.dims import after_last_step
from ...answers.quantities import describe
from ...errors import LimitWarning, ParameterError
from ...losses import Loss
from ...model.arguments import a_network, checked_arguments
from ...model.network import Network
from ...model.target import Target, as_target
from ...runtime.progress import with_bar
from ...theory.predict import predict
from ..bounds import bounds
from .lines import reference_errors, total_samples

if TYPE_CHECKING:
    import xarray as xr

    from ...model.description import FunctionLike, Parameter

PARTS = ("expressivity", "readout", "batch_noise")
_ADVICE = {
    "expressivity": "most of the error is what this layer cannot express; another activation, learning rate or number"
    " of steps helps most",
    "readout": "most of the error is due to the readout's finitely many samples and neurons; more samples for the"
    " readout, another lam or more neurons help most",
    "batch_noise": "most of the error is the noise of the steps' batches{alignment}; more samples in the"
    " step help most",
}


@checked_arguments(model=a_network)
@with_bar("explaining")
def explain(
    model: Network,
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str | Loss = "square",
    bulk: str | None = None,
) -> xr.Dataset:
    """Where the test error of a network comes from: three parts that sum to it, and two lines to compare it with.

    ================  ==================================================================================
    ``expressivity``  the error with infinitely many samples in the same steps and in the readout:
                      the lower bound of that layer
    ``readout``       added because the readout has finitely many samples (and neurons)
    ``batch_noise``   added because the steps have finite batches
    ================  ==================================================================================

    Parts may be negative: a noisier step is longer, and that may help.

    Parameters
    ----------
    model : Network
        The network, with its steps.
    target : Target, str or callable
        The function to learn.
    alpha : number or grid
        Samples for the readout, divided by d.
    lam : number or grid
        Ridge penalty of the readout.
    loss : str or Loss
        Loss of the readout, as in `predict`.
    bulk : str, optional
        Distribution of the rows, as in `predict`.

    Returns
    -------
    xarray.Dataset
        On the grid of all parameters: `test_error`, its three parts, `advice` (a sentence), `budget` (samples of steps
        and readout together, divided by d), and at that number of samples `bayes_error` (of message passing;
        NaN where it is not known) and `ridge_error`, with the best penalty.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=2, alpha0=2, beta=2)
    >>> parts = gs.explain(net, gs.Target("sin", noise=0.1), alpha=2, lam=0.1)
    >>> [round(float(parts[name]), 3) for name in ("expressivity", "readout", "batch_noise", "test_error")]
    [0.0, 0.079, 0.03, 0.109]
    """
    target = as_target(target)
    whole = predict(model, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk)
    ideal = _with_infinite_batches(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)  # of a network that nobody has
        clean = predict(ideal, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk).test_error
        lowest = bounds(ideal, target, bulk=bulk).lower
    lowest, clean = (part.drop_vars("alpha0", errors="ignore") for part in (lowest, clean))
    if "budget" in whole.dims:
        raise ParameterError(
            "alpha or lam has the dimension 'budget', as one of the answers; rename it", "alpha"
        )
    budget = total_samples(whole)
    dims = whole.test_error.dims
    parts = {"expressivity": lowest, "readout": clean - lowest, "batch_noise": whole.test_error - clean}
    parts = {name: (part + 0.0 * whole.test_error).transpose(*dims) for name, part in parts.items()}
    answer = whole[["test_error"]].assign(parts | {"budget": budget} | reference_errors(target, budget))
    gamma = whole.gamma if target.directions == 1 and "letter" not in whole.gamma.dims else None
    answer["advice"] = _advice(answer, gamma)
    for name in answer.data_vars:
        answer[name].attrs = describe(str(name))
    answer.attrs["command"] = "explain"
    return answer


def _with_infinite_batches(model: Network) -> Network:
    """The same steps along the population gradient; what takes no step still takes none."""
    if model.schedule is not None:
        return evolve(model, steps=tuple(evolve(s, alpha0=_infinite(s.alpha0)) for s in model.schedule))
    return evolve(model, alpha0=_infinite(model.alpha0))


def _infinite(alpha0: Any) -> Any:
    """inf for every batch that has samples; a grid of batches is one number then, unless some have none."""
    values = np.where(np.asarray(alpha0) > 0, np.inf, 0.0)
    return float(values.flat[0]) if np.all(values == values.flat[0]) else alpha0 * 0.0 + values


def _advice(answer: xr.Dataset, gamma: Any) -> xr.DataArray:
    """A sentence for every point, about its largest part."""
    largest = np.argmax([answer[name].values for name in PARTS], axis=0)
    squares = np.full(largest.shape, np.nan)
    if gamma is not None:
        last = after_last_step(gamma)
        squares = np.broadcast_to(last.over(dict(answer.test_error.sizes)) ** 2, largest.shape)
    words = np.empty(largest.shape, dtype=object)
    for index in np.ndindex(*largest.shape):
        alignment = f": γ² = {squares[index]:.2f}" if np.isfinite(squares[index]) else ""
        words[index] = _ADVICE[PARTS[largest[index]]].format(alignment=alignment)
    return answer.test_error.copy(data=words)
