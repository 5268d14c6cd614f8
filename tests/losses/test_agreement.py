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

from .erm import Labels, Setting, trial

OPTIMAL = 1e-6  # relative excess of the objective: far below the 1e-2 or so that trials differ by


def signs(**law: float) -> Labels:
    return Labels(np.sign, binary=True, **law)


SIGN = signs()
CASES = [
    Setting("logistic, sign", "tanh", "logistic", SIGN, 1.0, 0.7, 1.5, 0.8, 0.1),
    Setting("logistic, flips", "relu", "logistic", signs(flips=0.1), 1.3, 0.6, 1.0, 1.5, 0.1),
    Setting("logistic, logistic labels", "tanh", "logistic", signs(scale=2.0), 0.8, 0.5, 2.0, 1.4, 0.3),
    Setting("logistic, latent noise", "tanh", "logistic", signs(latent=0.5), 1.5, 0.8, 0.8, 0.5, 0.05),
    Setting("huber, noise", "tanh", "huber:0.5", Labels(np.sin, noise=0.5), 1.0, 0.7, 1.2, 1.5, 0.2),
    Setting("huber, relu features", "relu", "huber:0.5", Labels(np.sin, noise=0.3), 1.2, 0.5, 2.0, 0.6, 0.1),
    Setting("absolute", "tanh", "absolute", Labels(np.sin, noise=0.5), 1.0, 0.6, 1.5, 0.7, 0.3),
    Setting("absolute, wide", "relu", "absolute", Labels(np.tanh, noise=0.3), 0.8, 0.8, 1.0, 1.6, 0.5),
    Setting("pinball", "tanh", "pinball:0.8", Labels(np.sin, noise=0.5), 1.2, 0.7, 1.5, 1.2, 0.3),
    Setting("hinge", "tanh", "hinge", SIGN, 1.0, 0.7, 1.5, 0.7, 0.5),
    Setting("hinge, flips", "relu", "hinge", signs(flips=0.1), 1.0, 0.6, 1.2, 1.5, 0.3),
    Setting("squared hinge", "tanh", "squared_hinge", SIGN, 1.2, 0.6, 1.0, 1.5, 0.2),
    Setting("squared hinge, narrow", "relu", "squared_hinge", signs(flips=0.05), 1.0, 0.8, 2.0, 0.6, 0.2),
    Setting("exponential, flips", "tanh", "exponential", signs(flips=0.15), 1.0, 0.6, 2.0, 0.8, 0.5),
]  # fmt: skip
QUICK = [case for case in CASES if case.name in ("logistic, flips", "huber, noise", "absolute", "hinge")]


def predicted(case: Setting, d: int) -> dict[str, float]:
    name = {np.sign: "sign", np.sin: "sin", np.tanh: "tanh"}[case.labels.clean]
    labels = case.labels
    target = gs.Target(
        name, noise=labels.noise, flips=labels.flips, latent_noise=labels.latent, scale=labels.scale
    )
    model = gs.SpikedRF(case.activation, r=case.r, gamma=case.gamma, beta=case.beta)
    found = gs.predict(model, target, alpha=case.alpha, lam=case.lam, loss=case.loss, d=d)
    return {str(key): float(values) for key, values in found.data_vars.items() if values.dtype == float}


def scores(case: Setting, d: int, trials: int, seed: int) -> dict[str, float]:
    """Student's t of every statistic."""
    theory = predicted(case, d)
    measured = [trial(case, d, seed + i) for i in range(trials)]
    assert max(m.pop("excess") for m in measured) < OPTIMAL
    found = {}
    for name in measured[0]:
        values = np.array([m[name] for m in measured])
        found[name] = (values.mean() - theory[name]) / (values.std(ddof=1) / np.sqrt(trials))
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
    check({case.name: scores(case, 240, 10, 1000 * i) for i, case in enumerate(QUICK)}, 10)


@pytest.mark.slow
def test_fitted_readouts_agree_with_theory_for_every_loss_and_law_of_labels():
    check({case.name: scores(case, 400, 16, 7000 + 1000 * i) for i, case in enumerate(CASES)}, 16)
