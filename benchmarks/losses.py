"""How hard the self-consistent equations are for each loss: forty random settings, and a logistic curve.

Run `python benchmarks/losses.py [settings per loss]`. Prints, per loss, how many settings converged, the median
and largest number of evaluations of the map, and the median and largest time of `predict` for one point.
"""

from __future__ import annotations

import sys
import time
import warnings
from unittest.mock import patch

import numpy as np

import giantstep as gs
from giantstep.theory.state_evolution import StateEvolution

LOSSES = {
    "huber:0.7": gs.Target("sin", noise=0.3),
    "absolute": gs.Target("sin", noise=0.3),
    "pinball:0.8": gs.Target("sin", noise=0.3),
    "logistic": gs.Target("sign"),
    "hinge": gs.Target("sign"),
    "squared_hinge": gs.Target("sign"),
    "exponential": gs.Target("sign", flips=0.05),
}


def random_settings(count: int, seed: int) -> list[tuple[gs.SpikedRF, float, float]]:
    """(model, alpha, lam): tanh or ReLU, α from 0.2 to 6.3, β from 0.3 to 3.2, λ from 1e-3 to 10, γ from 0.3 to 0.9."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        alpha, beta, lam = 10 ** rng.uniform([-0.7, -0.5, -3.0], [0.8, 0.5, 1.0])
        r, gamma = rng.uniform([0.2, 0.3], [2.7, 0.9])
        found.append((gs.SpikedRF(("tanh", "relu")[i % 2], r=r, gamma=gamma, beta=beta), alpha, lam))
    return found


def measure(loss: str, target: gs.Target, settings: list[tuple[gs.SpikedRF, float, float]]) -> None:
    """One line of the table."""
    evaluations, times, residuals = [], [], []
    for model, alpha, lam in settings:
        began = time.process_time()
        with (
            warnings.catch_warnings(),
            patch.object(StateEvolution, "step", autospec=True, side_effect=StateEvolution.step) as step,
        ):
            warnings.simplefilter("ignore")
            answer = gs.predict(model, target, alpha=alpha, lam=lam, loss=loss, throw=False)
        times.append(time.process_time() - began)
        residuals.append(answer.residual.item() if answer.converged.item() else np.inf)
        evaluations.append(step.call_count)
    solved = sum(r < 1e-8 for r in residuals)
    print(
        f"{loss:14s} {solved:3d}/{len(settings)} solved   evaluations {np.median(evaluations):5.0f} (worst"
        f" {max(evaluations)})   seconds {np.median(times):.3f} (worst {max(times):.2f})"
    )


def logistic_curve() -> None:
    """Fifty sample sizes at 1e-6."""
    model = gs.SpikedRF("tanh", r=1.0, gamma=0.7)
    began = time.process_time()
    found = gs.predict(model, "sign", alpha=np.linspace(0.1, 5.0, 50), lam=0.1, loss="logistic")
    took = time.process_time() - began
    print(
        f"logistic curve of 50 alphas: {took:.2f} s, quadrature error at most {found.quadrature_error.max().item():.1e}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", gs.LimitWarning)  # speed is asked for here
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    logistic_curve()
    for seed, (loss, target) in enumerate(LOSSES.items()):
        measure(loss, target, random_settings(count, seed))
