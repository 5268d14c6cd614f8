"""Theory against simulation, judged by statistics: z-scores must behave like z-scores.

Each case has its own seed, so that cases are independent; each gives one z-score per statistic, the distance of
the trials' mean from the theory in standard errors, which is t-distributed if the theory is right. Over M cases
the mean of z² then has a known law, and a test compares it with the 99 % interval of that law. A case counts
only if its standard error is small enough to see an error of interest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

import giantstep as gs

STATISTICS = ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2")
_SPLIT = ("zeta", "q1")  # what depends on how rows are split along the spikes


@dataclass(frozen=True)
class Case:
    """One setting: a model, a target and a readout, at one alpha and one lam."""

    name: str
    model: Any
    target: Any
    alpha: float
    lam: float
    options: dict[str, Any] = field(default_factory=dict)  # for predict: bulk, loss
    simulated: dict[str, Any] = field(default_factory=dict)  # for simulate: features, loss
    trials: int = 40  # as many as a standard error of 1 % takes at d = 250, with a margin
    apart: bool = (
        True  # whether spikes differ by more than chance at these sizes, so that zeta and q1 can be told
    )


@dataclass(frozen=True)
class Outcome:
    """z-scores of one case, and the relative standard error of its test error."""

    case: Case
    z: dict[str, np.ndarray]
    precision: float
    gap: float  # relative distance of the test error
    trials: int


def simulated(case: Case, *, d: int, seed: int, trials: int | None = None) -> xr.Dataset:
    """A case, trained at finite size."""
    return gs.simulate(
        case.model,
        case.target,
        alpha=case.alpha,
        lam=case.lam,
        d=d,
        trials=trials or case.trials,
        seed=seed,
        progress=False,
        **case.simulated,
    )


def judged(case: Case, run: xr.Dataset) -> Outcome:
    """A simulated case against the theory for its d."""
    d, trials = run.attrs["d"], run.sizes["trial"]
    theory = gs.predict(case.model, case.target, alpha=case.alpha, lam=case.lam, d=d, **case.options)
    z = {}
    for name in STATISTICS:
        if name not in run or name not in theory or (name in _SPLIT and not case.apart):
            continue
        mean = run[name].mean("trial").values
        error = run[name].std("trial", ddof=1).values / np.sqrt(trials)
        if np.all(error > 0):
            z[name] = np.atleast_1d((mean - theory[name].values) / error)
    test = run["test_error"]
    precision = float(test.std("trial", ddof=1) / np.sqrt(trials) / test.mean("trial"))
    gap = float(theory["test_error"] / test.mean("trial") - 1.0)
    return Outcome(case, z, precision, gap, trials)


def confront(case: Case, *, d: int, seed: int, trials: int | None = None) -> tuple[xr.Dataset, Outcome]:
    """Both: what was simulated, and how the theory does."""
    run = simulated(case, d=d, seed=seed, trials=trials)
    return run, judged(case, run)


def mean_square_interval(trials: list[int], level: float = 0.99) -> tuple[float, float]:
    """Central interval of the mean of squared t-distributed values, one with trials - 1 degrees of freedom each."""
    rng = np.random.default_rng(20240207)
    means = (rng.standard_t(np.array(trials) - 1, size=(40_000, len(trials))) ** 2).mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def report(outcomes: list[Outcome]) -> str:
    """A line per case, for the message of a failing test."""
    lines = [
        f"{o.case.name:40s} gap {100 * o.gap:+6.2f} % (se {100 * o.precision:.2f} %)  z "
        + " ".join(f"{name}:{np.round(z, 1).tolist()}" for name, z in o.z.items())
        for o in outcomes
    ]
    return "\n" + "\n".join(lines)
