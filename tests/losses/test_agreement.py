"""Theory with the finite-size correction against simulated networks, in standard errors."""

from __future__ import annotations

import pytest

import giantstep as gs
from giantstep import Target

from ..agreement.harness import OF_LOSSES, STATISTICS, assert_z_scores, outcomes
from ..zoo import FLIPS, Case


def case(loss: str, target: str | Target, activation: str, r, gamma, alpha, beta, lam) -> Case:
    model = gs.SpikedRF(activation, r=r, gamma=gamma, beta=beta)
    return Case(f"{loss}, {activation}", model, target, alpha, lam, {"loss": loss}, {"n_test": 4000})


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
ALL = (*STATISTICS, *OF_LOSSES)


def test_fitted_readouts_agree_with_theory_for_a_loss_of_each_kind():
    assert_z_scores(outcomes(QUICK, d=240, trials=16, seed=1000), ALL)


@pytest.mark.slow
def test_fitted_readouts_agree_with_theory_for_every_loss_and_law_of_labels():
    assert_z_scores(outcomes(CASES, d=400, trials=16, seed=7000), ALL)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_an_output_of_exactly_0_counts_as_half_a_wrong_sign(loss):
    """A strong spike along κ leaves no ReLU neuron active where κ < 0, and the output 0 there."""
    model, target = gs.SpikedRF("relu", r=8, gamma=0.6, beta=1), Target("sign", flips=0.1)
    readout = {"alpha": [0.5, 1.5], "lam": 0.1, "loss": loss, "d": 100}
    networks = gs.simulate(model, target, **readout, n_test=4000, trials=24, seed=3, progress=False)
    z = gs.compare(gs.predict(model, target, **readout), networks).sel(part="z")
    # by chance beyond 5 once in 20,000 for Student's law with 23 degrees of freedom; counted as wrong, they make z > 15
    assert float(abs(z[["test_error_01", "train_error_01"]].to_array()).max()) < 5.0
