"""Theory with the finite-size correction against empirical risk minimisation, in standard errors.

Trials are independent, so (mean - theory)/standard error follows Student's law with trials - 1 degrees of
freedom if theory is right. A single comparison fails beyond the value that chance passes once in a thousand
runs of the whole table; the mean square of all must be within four of its own standard deviations, counting
only half of the comparisons as independent, since statistics of one trial are correlated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

import giantstep as gs
from giantstep import Target

from ..zoo import FLIPS, Case
from .erm import trial

OPTIMAL = 1e-6  # relative excess of the objective: far below the 1e-2 or so that trials differ by


def case(loss: str, target: str | Target, activation: str, r, gamma, alpha, beta, lam) -> Case:
    model = gs.SpikedRF(activation, r=r, gamma=gamma, beta=beta)
    return Case(f"{loss}, {activation}", model, target, alpha, lam, {"loss": loss})


QUICK = [
    case("logistic", FLIPS, "relu", 1.3, 0.6, 1.0, 1.5, 0.1),
    case("huber:0.5", Target("sin", noise=0.5), "tanh", 1.0, 0.7, 1.2, 1.5, 0.2),
    case("absolute", Target("sin", noise=0.5), "tanh", 1.0, 0.6, 1.5, 0.7, 0.3),
    case("hinge", "sign", "tanh", 1.0, 0.7, 1.5, 0.7, 0.5),
]
CASES = [
    *QUICK,
    case("logistic", "sign", "tanh", 1.0, 0.7, 1.5, 0.8, 0.1),
    case("logistic", Target("logistic", scale=2.0), "tanh", 0.8, 0.5, 2.0, 1.4, 0.3),
    case("logistic", Target("sign", latent_noise=0.5), "tanh", 1.5, 0.8, 0.8, 0.5, 0.05),
    case("huber:0.5", Target("sin", noise=0.3), "relu", 1.2, 0.5, 2.0, 0.6, 0.1),
    case("absolute", Target("tanh", noise=0.3), "relu", 0.8, 0.8, 1.0, 1.6, 0.5),
    case("pinball:0.8", Target("sin", noise=0.5), "tanh", 1.2, 0.7, 1.5, 1.2, 0.3),
    case("hinge", FLIPS, "relu", 1.0, 0.6, 1.2, 1.5, 0.3),
    case("squared_hinge", "sign", "tanh", 1.2, 0.6, 1.0, 1.5, 0.2),
    case("squared_hinge", Target("sign", flips=0.05), "relu", 1.0, 0.8, 2.0, 0.6, 0.2),
    case("exponential", Target("sign", flips=0.15), "tanh", 1.0, 0.6, 2.0, 0.8, 0.5),
]


def scores(case: Case, d: int, trials: int, seed: int) -> dict[str, float]:
    """Student's t of every statistic."""
    theory, measured = case.predict(d=d), [trial(case, d, seed + i) for i in range(trials)]
    assert max(m.pop("excess") for m in measured) < OPTIMAL
    found = {}
    for name in measured[0]:
        values = np.array([m[name] for m in measured])
        found[name] = (values.mean() - float(theory[name])) / (values.std(ddof=1) / np.sqrt(trials))
    return found


def check(table: dict[str, dict[str, float]], trials: int) -> None:
    degrees = trials - 1
    every = np.array([t for row in table.values() for t in row.values()])
    assert np.abs(every).max() < student.isf(1e-3 / every.size / 2, degrees), table
    # Student's t has mean square ν/(ν-2) and fourth moment 3ν²/((ν-2)(ν-4))
    mean = degrees / (degrees - 2)
    spread = np.sqrt(3 * degrees**2 / ((degrees - 2) * (degrees - 4)) - mean**2)
    assert (every**2).mean() < mean + 4 * spread / np.sqrt(every.size / 2), table


def test_fitted_readouts_agree_with_theory_for_a_loss_of_each_kind():
    check({f"{i} {case.name}": scores(case, 240, 10, 1000 * i) for i, case in enumerate(QUICK)}, 10)


@pytest.mark.slow
def test_fitted_readouts_agree_with_theory_for_every_loss_and_law_of_labels():
    check({f"{i} {case.name}": scores(case, 400, 16, 7000 + 1000 * i) for i, case in enumerate(CASES)}, 16)
