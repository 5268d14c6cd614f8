"""Reference lines beside the answers for a network: the same number of samples, given to better or simpler methods."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from ...answers.quantities import describe
from ...errors import ParameterError
from .bayes import bayes
from .ridge import ridge

if TYPE_CHECKING:
    import xarray as xr

    from ...model.target import Target

_FAR_BELOW = 3.0  # times less error, which a user would want to know of


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


def reference_errors(
    target: Target, samples: xr.DataArray, error: str = "test_error"
) -> dict[str, xr.DataArray]:
    """`bayes_error` (of message passing) and `ridge_error` on as many samples; NaN where they are not known.

    Message passing on several directions takes too long to stand beside every answer: ask `bayes`.
    """
    known = np.isfinite(samples) & (samples > 0.0)
    alpha = samples.where(known, 1.0).reset_coords(drop=True)
    found = {}
    for verb in (bayes, ridge):
        line = np.nan * alpha
        if verb is ridge or target.directions == 1:
            with suppress(ParameterError, KeyError):  # not for this target
                line = verb(target, alpha=alpha)[error]
        found[f"{verb.__name__}_error"] = line.drop_vars("alpha", errors="ignore").where(known)
    return found


def beside(tuned: xr.Dataset, target: Target, error: str) -> dict[str, xr.DataArray]:
    """Reference errors for the optima of `tune`, and a sentence on each."""
    import xarray as xr

    samples = tuned["budget"] if "budget" in tuned.coords else total_samples(tuned)
    lines = reference_errors(target, samples, error)
    parts = (tuned["best_error"], lines["bayes_error"], lines["ridge_error"])
    advice = xr.apply_ufunc(_sentence, *parts, vectorize=True, output_dtypes=[object])
    return {name: part.assign_attrs(describe(name)) for name, part in (lines | {"advice": advice}).items()}


def _sentence(best: float, bayes_error: float, ridge_error: float) -> str:
    """How good a tuned network is with its samples."""
    words = []
    ridge_error, bayes_error = (np.inf if np.isnan(x) else x for x in (ridge_error, bayes_error))  # not known
    if ridge_error < best:
        words.append(f"ridge regression on the inputs is better: {ridge_error:.3g} with as many samples")
    if bayes_error < min(best, ridge_error) / _FAR_BELOW:
        words.append(f"much less is possible: message passing reaches {bayes_error:.3g} with as many samples")
    if not words and np.isfinite(ridge_error):
        words.append("the network is better than ridge regression with as many samples")
        words += [f"and {best / bayes_error:.2g} times the error of message passing"] * bool(
            0.0 < bayes_error < np.inf
        )
    return "; ".join(words)
