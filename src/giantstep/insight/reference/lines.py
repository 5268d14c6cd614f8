"""Reference lines beside the answers for a network: the same number of samples, given to better or simpler methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import ParameterError
from .bayes import bayes
from .ridge import ridge

if TYPE_CHECKING:
    import xarray as xr

    from ...model.target import Target


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
    """`bayes_error` (of message passing) and `ridge_error` on as many samples; NaN where they are not known."""
    known = np.isfinite(samples) & (samples > 0.0)
    alpha = samples.where(known, 1.0).reset_coords(drop=True)
    found = {}
    for verb in (bayes, ridge):
        try:
            line = verb(target, alpha=alpha)[error]
        except (ParameterError, KeyError):  # not for this target
            line = np.nan * alpha
        found[f"{verb.__name__}_error"] = line.drop_vars("alpha", errors="ignore").where(known)
    return found
