"""How far given data are from the theory: its learning curve for Gaussian data like these, beside the measured one.

"Like these": as many inputs and samples, and a target of one direction, y = σ*(θ·x) + noise, with the alignment and
the shape that the data show. Both are measured on halves of the samples. The direction v = Σ y x/|Σ y x| of one half
has an alignment γ with θ, that of the other half has the same, and what else is in them is independent: v·v' = γ².
And a Hermite coefficient of y along the v of the *other* half is γᵏ times that along θ. What they leave of the
variance of y, whatever it is, counts as noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr
from numpy.polynomial import hermite_e
from scipy.special import factorial

from ..model.network import Network
from ..model.target import Target
from ..theory.predict import predict

_HALVINGS = 20
_DEGREES = 5
_SIGNIFICANT = 2.0  # standard errors below which a Hermite coefficient counts as 0


def resembling(x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> tuple[float, Target]:
    """The alignment γ that half of the samples give, and the target, of standardised inputs [n, d] and targets [n]."""
    n, measured = len(y), []
    for _ in range(_HALVINGS):
        halves = np.array_split(random.permutation(n), 2)
        v = [y[half] @ x[half] for half in halves]
        v = [each / max(float(np.linalg.norm(each)), 1e-300) for each in v]
        terms = np.empty((n, _DEGREES + 1))
        for direction, other in zip(v, halves[::-1], strict=True):
            along = x[other] @ direction
            along = (along - along.mean()) / max(float(along.std()), 1e-300)
            terms[other] = y[other, None] * hermite_e.hermevander(along, _DEGREES)
        measured.append(np.stack([terms.mean(axis=0), terms.std(axis=0), np.full(_DEGREES + 1, v[0] @ v[1])]))
    moments, deviations, squared = np.mean(measured, axis=0)
    gamma, k = math.sqrt(min(max(float(squared[0]), 0.0), 1.0)), np.arange(_DEGREES + 1)
    clear = (np.abs(moments) > _SIGNIFICANT * deviations / math.sqrt(n)) & (k > 0) & (gamma > 0)
    series = np.where(clear, moments / factorial(k) / max(gamma, 1e-300) ** np.where(clear, k, 0), 0.0)
    explained = float(factorial(k) @ series**2)
    series /= math.sqrt(max(explained, 1.0))  # more than the variance of y is the measurement's noise
    terms = [f"{c:+.15g}*x**{k}" for k, c in enumerate(hermite_e.herme2poly(series)) if c]
    return gamma, Target("".join(terms) or "0*x", noise=math.sqrt(max(1 - explained, 0.0)))


def theory_curve(
    target: Target, sizes: np.ndarray, network: dict[str, Any], d: int, split: float, lam: float
) -> xr.Dataset:
    """Mean squared errors of new labels, [eta, n], of a network with these parameters besides alpha0."""
    n = xr.DataArray(sizes, {"n": sizes}, ("n",))
    answers = predict(Network(alpha0=split * n / d, **network), target, alpha=(1 - split) * n / d, lam=lam)
    error = answers["test_error"].transpose("eta", "n") + float(np.asarray(target.noise)) ** 2
    return xr.Dataset({"theory": error.drop_vars(set(error.coords) - {"eta", "n"})})
