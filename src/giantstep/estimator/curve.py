"""How far given data are from the theory: its learning curve for Gaussian data like these, beside the measured one.

"Like these": as many inputs and samples, and a target of one direction, y = σ*(θ·x) + noise, with the alignment and
the shape that the data show. Both are measured on halves of the samples. The direction v = Σ y x/|Σ y x| of one half
has an alignment γ with θ, that of the other half has the same, and what else is in them is independent: v·v' = γ².
And a Hermite coefficient of y along the v of the *other* half is γᵏ times that along θ. What they leave of the
variance of y, whatever it is, counts as noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import hermite_e

from ..letters import Letters
from ..model import Network, Target
from ..prediction import predict

if TYPE_CHECKING:
    import xarray as xr

_HALVINGS = 20
_DEGREES = 5
_SIGNIFICANT = 2.0  # standard errors below which a Hermite coefficient counts as 0


@dataclass(frozen=True)
class SingleIndex:
    """The target of one direction that data resemble, in units where y has mean 0 and variance 1."""

    gamma: float  # alignment of the direction that half of the samples give
    polynomial: np.ndarray  # σ*, by powers
    noise: float  # standard deviation

    @property
    def target(self) -> Target:
        terms = [f"{c:+.15g}*x**{k}" for k, c in enumerate(self.polynomial) if c]
        return Target("".join(terms) or "0*x", noise=self.noise)


def resembling(x: np.ndarray, y: np.ndarray, random: np.random.Generator) -> SingleIndex:
    """Measured on standardised inputs [n, d] and targets [n]."""
    n = len(y)
    found = []
    for _ in range(_HALVINGS):
        order = random.permutation(n)
        halves = order[: n // 2], order[n // 2 :]
        v = [_unit(y[half] @ x[half]) for half in halves]
        terms = np.empty((n, _DEGREES + 1))
        for direction, other in zip(v, halves[::-1], strict=True):
            along = x[other] @ direction
            along = (along - along.mean()) / max(float(along.std()), 1e-300)
            terms[other] = y[other, None] * hermite_e.hermevander(along, _DEGREES)
        found.append((terms.mean(axis=0), terms.std(axis=0) / math.sqrt(n), float(v[0] @ v[1])))
    moments, errors = (np.mean([each[i] for each in found], axis=0) for i in (0, 1))
    gamma = math.sqrt(min(max(float(np.mean([each[2] for each in found])), 0.0), 1.0))
    series = np.zeros(_DEGREES + 1)
    for k in range(1, _DEGREES + 1):
        if gamma > 0 and abs(moments[k]) > _SIGNIFICANT * errors[k]:
            series[k] = moments[k] / math.factorial(k) / gamma**k
    explained = sum(math.factorial(k) * c**2 for k, c in enumerate(series))
    if explained > 1:  # more than there is: the measurement's noise
        series, explained = series / math.sqrt(explained), 1.0
    return SingleIndex(gamma, hermite_e.herme2poly(series), math.sqrt(1 - explained))


def theory_curve(
    like: SingleIndex,
    sizes: np.ndarray,
    etas: np.ndarray,
    *,
    d: int,
    width: int,
    split: float,
    lam: float,
    activation: Any,
    letters: Letters,
) -> xr.Dataset:
    """Mean squared errors of new labels, [eta, n], and the alignments of the step's direction."""
    import xarray as xr

    n = xr.DataArray(sizes, {"n": sizes}, ("n",))
    network = Network(activation, eta=etas, alpha0=split * n / d, beta=width / d, readout=letters)
    answers = predict(network, like.target, alpha=(1 - split) * n / d, lam=lam)
    error = answers["test_error"].transpose("eta", "n") + like.noise**2
    return xr.Dataset({"theory": error.drop_vars(set(error.coords) - {"eta", "n"})})


def measured_curve(
    train: Callable[[np.ndarray, float], Callable[[np.ndarray], np.ndarray]],
    y: np.ndarray,
    sizes: np.ndarray,
    etas: np.ndarray,
    folds: int,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Cross-validated mean squared errors [eta, n] and their standard errors, folds taken as independent.

    `train(indices, eta)` gives a function from indices to predictions.
    """
    parts = np.array_split(random.permutation(len(y)), folds)
    errors = np.empty((folds, len(etas), len(sizes)))
    for k, held in enumerate(parts):
        rest = random.permutation(np.concatenate([part for j, part in enumerate(parts) if j != k]))
        for i, eta in enumerate(etas):
            for j, size in enumerate(sizes):
                predicted = train(rest[:size], eta)(held)
                errors[k, i, j] = np.mean((predicted - y[held]) ** 2)
    return errors.mean(axis=0), errors.std(axis=0, ddof=1) / math.sqrt(folds)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-300)
