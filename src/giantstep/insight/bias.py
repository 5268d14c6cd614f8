"""A bias that is trained together with the readout: one number added to every pre-activation.

The readout's optimum is unique at each bias b, but the objective is not convex in b: there can be several local
minima, so the whole range is scanned first and every minimum is then polished.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..letters import Letters
from ..model import SpikedRF, Target, as_target
from ..parameters import number
from ..prediction import predict

if TYPE_CHECKING:
    import xarray as xr

    from ..model import FunctionLike

_SCAN = 81
_POLISHED = 1e-8  # in b: the objective is flat to second order there, so this is plenty


def trained_bias(
    model: SpikedRF,
    target: Target | FunctionLike,
    *,
    alpha: float,
    lam: float,
    loss: str = "square",
    reach: float = 4.0,
    d: float | None = None,
) -> xr.Dataset:
    """The bias that minimises the training objective, per sample, (1/n) Σ loss + (λ/2n)|a|² as d → ∞.

    Parameters
    ----------
    model : SpikedRF
        The first layer, whose neurons all get the same bias.
    target : Target, str or callable
        What is to be learned.
    alpha, lam : float
        Samples for the readout divided by d, and ridge penalty.
    loss : str
        Of the readout.
    reach : float
        Biases are looked for from -`reach` to `reach`.
    d : float, optional
        Input dimension, for a finite-size correction.

    Returns
    -------
    xarray.Dataset
        Over the local minima, best first (dimension `minimum`): `bias`, `objective`, `test_error`, `train_loss`; and
        the scan that found them (`scanned_bias`, `scanned_objective`).

    Examples
    --------
    >>> found = gs.trained_bias(gs.SpikedRF("relu", r=1, gamma=1), "sin", alpha=1, lam=0.1)
    >>> found.bias.values.round(2), found.test_error.values.round(4)
    (array([3.5]), array([0.2771]))
    """
    import xarray as xr

    target = as_target(target)
    numbers = Grid({"r": model.r, "gamma": model.gamma, "c": model.c, "beta": model.beta})
    numbers.check_single("a bias is trained in one model")
    alpha, lam = number("alpha", alpha, low=0.0, strict=True), number("lam", lam, low=0.0)
    reach = number("reach", reach, low=0.0, strict=True)

    def at(bias: float) -> tuple[float, xr.Dataset]:
        letters = model.readout
        moved = Letters(
            letters.values,
            letters.weights,
            tuple(b + bias for b in letters.biases or (0.0,) * len(letters.values)),
            letters.c,
        )
        found = predict(replace(model, readout=moved), target, alpha=alpha, lam=lam, loss=loss, d=d)
        penalty = lam * float(model.beta) / (2.0 * alpha) * float(found["q2"].sum())  # type: ignore[arg-type]
        return float(found["train_loss"]) + penalty, found

    scan = np.linspace(-reach, reach, _SCAN)
    objective = np.array([at(b)[0] for b in scan])
    inside = np.flatnonzero((objective[1:-1] <= objective[:-2]) & (objective[1:-1] <= objective[2:])) + 1
    if not len(inside):
        raise ParameterError(
            f"the objective has no minimum for a bias within ±{reach:g}: its smallest value is at the end; widen reach"
        )
    polished = sorted(_polish(at, scan[i - 1], scan[i], scan[i + 1]) for i in inside)
    details = [at(bias)[1] for _, bias in polished]
    return xr.Dataset(
        {
            "bias": ("minimum", [bias for _, bias in polished]),
            "objective": ("minimum", [value for value, _ in polished]),
            "test_error": ("minimum", [float(found["test_error"]) for found in details]),
            "train_loss": ("minimum", [float(found["train_loss"]) for found in details]),
            "scanned_objective": ("scanned_bias", objective),
        },
        coords={"scanned_bias": scan, "alpha": alpha, "lam": lam},
    )


def _polish(at, low: float, middle: float, high: float) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda b: at(float(b))[0], bracket=(low, middle, high), method="brent", options={"xtol": _POLISHED}
    )
    return float(found.fun), float(found.x)
