"""Theory against simulation, judged by statistics: z-scores must behave like z-scores.

Each case has its own seed, so that cases are independent; each gives one z-score per statistic, the distance of
the trials' mean from the theory in standard errors, which is t-distributed if the theory is right. Over M cases
the mean of z² then has a known law, and a test compares it with the 99 % interval of that law. A case counts
only if its standard error is small enough to see an error of interest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from ..zoo import Case

STATISTICS = ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2")
OF_LOSSES = ("train_loss", "test_error_01", "train_error_01")  # compared where readouts are fitted with many losses
SPLIT = ("zeta", "q1")  # what depends on how rows are split along the spikes


@dataclass(frozen=True)
class Outcome:
    """z-scores of one case, and the relative standard error of its test error."""

    case: Case
    run: xr.Dataset
    z: dict[str, np.ndarray]
    precision: float
    gap: float  # relative distance of the test error


def standard_error(values: xr.DataArray) -> xr.DataArray:
    return values.std("trial", ddof=1) / np.sqrt(values.sizes["trial"])


def judged(case: Case, run: xr.Dataset, **options: Any) -> Outcome:
    """A simulated case against the theory for its d."""
    theory = case.predict(d=run.attrs["d"], **options)
    z = {}
    for name in (*STATISTICS, *OF_LOSSES):
        if name in run and name in theory and (case.apart or name not in SPLIT):
            error = standard_error(run[name]).values
            if np.all(error > 0):
                z[name] = np.atleast_1d((run[name].mean("trial").values - theory[name].values) / error)
    test = run["test_error"]
    precision = float(standard_error(test) / test.mean("trial"))
    return Outcome(case, run, z, precision, float(theory["test_error"] / test.mean("trial") - 1.0))


def outcomes(cases: list[Case], *, d: int, seed: int, **more: int) -> list[Outcome]:
    """Every case with a seed of its own, so that their z-scores are independent."""
    return [judged(case, case.simulate(d=d, seed=seed + i, **more)) for i, case in enumerate(cases)]


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


def assert_z_scores(all_outcomes: list[Outcome], names=STATISTICS) -> None:
    """The mean of z² of each statistic over the cases is what it is for t-distributed values.

    A 99 % interval for the test error; 99.9 % for the others, since they are six or nine more chances to fail.
    """
    for name in names:
        known = [o for o in all_outcomes if name in o.z]
        square = np.mean([np.ravel(o.z[name])[0] ** 2 for o in known])  # one per case: the first letter's
        low, high = mean_square_interval([o.run.sizes["trial"] for o in known], 0.99 if name == "test_error" else 0.999)
        message = f"{name}: mean z² {square:.2f} not in ({low:.2f}, {high:.2f})"
        assert low < square < high, message + report(all_outcomes)


def assert_that_three_per_cent_are_noticed(all_outcomes: list[Outcome]) -> None:
    """With the theory 3 % larger, in the simulation's standard errors."""
    planted = [
        replace(o, z={**o.z, "test_error": o.z["test_error"] - 0.03 * (1.0 + o.gap) / o.precision})
        for o in all_outcomes
    ]
    with pytest.raises(AssertionError, match="test_error: mean z²"):
        assert_z_scores(planted, names=("test_error",))
