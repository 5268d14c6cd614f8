"""The verb `explain`: the test error of a network as a sum of parts that people can act on."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from ...answers.dims import after_last_step
from ...answers.quantities import describe
from ...errors import LimitWarning, ParameterError
from ...losses import Loss
from ...model.arguments import a_network, checked_arguments
from ...model.network import Network
from ...model.target import Target
from ...runtime.progress import with_bar
from ...theory.predict import predict
from ..bounds import bounds, checked_target
from .bayes import bayes
from .ridge import ridge

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
_RIDGE_IS_BETTER = "ridge regression on the inputs is better with as many samples"  # by how much: `ridge_error`
_FAR_BELOW = 3.0  # times less error, which a user would want to know of


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
        The function to learn, with real labels or ±1 without noise.
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
    import xarray as xr

    target = checked_target(target)
    whole = predict(model, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk)
    ideal = _with_infinite_batches(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)  # of a network that nobody has
        clean = predict(ideal, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk).test_error
        lowest = bounds(ideal, target, bulk=bulk).lower
    lowest, clean = (part.drop_vars("alpha0", errors="ignore") for part in (lowest, clean))
    if "budget" in whole.dims:
        raise ParameterError("alpha or lam has the dimension 'budget', as one of the answers; rename it", "alpha")
    budget = total_samples(whole)
    dims, added = whole.test_error.dims, (lowest, clean - lowest, whole.test_error - clean)
    parts = {name: (part + 0.0 * whole.test_error).transpose(*dims) for name, part in zip(PARTS, added, strict=True)}
    answer = whole[["test_error"]].assign(parts | {"budget": budget} | reference_errors(target, budget))
    gamma = np.nan * answer.test_error
    if target.directions == 1 and "letter" not in whole.gamma.dims:
        last = after_last_step(whole.gamma)
        gamma = xr.DataArray(last.values, dims=last.dims)
    given = (*(answer[name] for name in PARTS), answer.test_error, answer.ridge_error.fillna(np.inf), gamma)
    answer["advice"] = xr.apply_ufunc(_advice, *given, vectorize=True, output_dtypes=[object]).transpose(*dims)
    for name in answer.data_vars:
        answer[name].attrs = describe(str(name))
    answer.attrs["command"] = "explain"
    return answer


def total_samples(answer: xr.Dataset | xr.DataArray) -> xr.DataArray:
    """Samples of all steps and of the readout, divided by d, from the coordinates of an answer for a Network."""
    batches = [answer[name] for name in answer.coords if str(name).startswith("alpha0_")]
    if not batches and "alpha0" in answer.coords:
        batches = [answer["alpha0"] * (answer["steps"] if "steps" in answer.coords else 1.0)]
    if not batches or "alpha" not in answer.coords:
        raise ParameterError(
            "the total number of samples is that of steps and readout: it is known for a Network, but not for a"
            " SpikedRF or TwoSpikes"
        )
    return sum(batches, answer["alpha"])  # type: ignore[return-value]


def reference_errors(target: Target, samples: xr.DataArray, error: str = "test_error") -> dict[str, xr.DataArray]:
    """`bayes_error` (of message passing) and `ridge_error` on as many samples; NaN where they are not known.

    Message passing on several directions takes too long to stand beside every answer: ask `bayes`.
    """
    known = np.isfinite(samples) & (samples > 0.0)
    alpha = samples.where(known, 1.0).reset_coords(drop=True)
    found = {"bayes_error": np.nan * alpha, "ridge_error": np.nan * alpha}
    for verb in (bayes, ridge) if target.directions == 1 else (ridge,):
        with suppress(ParameterError, KeyError):  # not for this target
            found[f"{verb.__name__}_error"] = verb(target, alpha=alpha)[error]
    return {name: line.drop_vars("alpha", errors="ignore").where(known) for name, line in found.items()}


def beside(tuned: xr.Dataset, target: Target, error: str) -> dict[str, xr.DataArray]:
    """Reference errors for the optima of `tune`, and a sentence on each."""
    import xarray as xr

    samples = tuned["budget"] if "budget" in tuned.coords else total_samples(tuned)
    lines = reference_errors(target, samples, error)
    parts = (tuned["best_error"], *(lines[name].fillna(np.inf) for name in ("bayes_error", "ridge_error")))
    advice = xr.apply_ufunc(_sentence, *parts, vectorize=True, output_dtypes=[object])
    return {name: part.assign_attrs(describe(name)) for name, part in (lines | {"advice": advice}).items()}


def _sentence(best: float, bayes_error: float, ridge_error: float) -> str:
    """How good a tuned network is with its samples; reference errors that are not known are infinite."""
    ridge_is_better, much_less = ridge_error < best, bayes_error < min(best, ridge_error) / _FAR_BELOW
    good = np.isfinite(ridge_error) and not (ridge_is_better or much_less)
    times = best / bayes_error if bayes_error > 0.0 else np.inf
    sentences = {
        _RIDGE_IS_BETTER: ridge_is_better,
        f"much less is possible: message passing reaches {bayes_error:.3g} with as many samples": much_less,
        "the network is better than ridge regression with as many samples": good,
        f"and {times:.2g} times the error of message passing": good and 0.0 < times < np.inf,
        "ridge and bayes have no answer for this target to compare with": np.isinf(min(ridge_error, bayes_error)),
    }
    return "; ".join(sentence for sentence, holds in sentences.items() if holds)


def _with_infinite_batches(model: Network) -> Network:
    """The same steps along the population gradient; what takes no step still takes none."""
    if model.schedule is not None:
        return evolve(model, steps=tuple(evolve(s, alpha0=_infinite(s.alpha0)) for s in model.schedule))
    return evolve(model, alpha0=_infinite(model.alpha0))


def _infinite(alpha0: Any) -> Any:
    """inf for every batch that has samples; a grid of batches is one number then, unless some have none."""
    values = np.where(np.asarray(alpha0) > 0, np.inf, 0.0)
    return float(values.flat[0]) if np.all(values == values.flat[0]) else alpha0 * 0.0 + values


def _advice(*values: float) -> str:
    """A sentence about the largest part, and whether ridge regression does better; inf where that is not known."""
    *parts, error, ridge_error, gamma = values
    alignment = f": γ² = {gamma**2:.2f}" if np.isfinite(gamma) else ""
    words = _ADVICE[PARTS[int(np.argmax(parts))]].format(alignment=alignment)
    return f"{words}; {_RIDGE_IS_BETTER}" if ridge_error < error else words
