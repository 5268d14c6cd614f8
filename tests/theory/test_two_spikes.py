"""Two spikes: the two-dimensional theory against one spike in disguise, rotations, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.two_spikes import predict_two_spikes

RELU = gs.TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5))
TANH = gs.TwoSpikes(
    "tanh", (1.2, 1.0), (0.5, 0.7), ((1, 0.5), (0.3, 1), (-1, 1)), (0.4, 0.3, 0.3), c=1.2, beta=1.3
)


def test_proportional_left_vectors_are_one_spike_and_the_plane_agrees():
    model = gs.TwoSpikes("tanh", (1.2, 0.7), (0.5, 0.7), ((1, 2), (0.5, 1)), (0.4, 0.6))
    one = model.reduced()
    assert one is not None
    target, at = gs.Target("sin", noise=0.2), {"alpha": [0.8, 1.5], "lam": 0.2, "d": 400}
    expected = gs.predict(one, target, **at)
    np.testing.assert_allclose(
        gs.predict(model, target, **at)["test_error"], expected["test_error"], rtol=1e-14
    )
    plane = predict_two_spikes(
        model, target, **at
    )  # the two-dimensional equations do not know of the disguise
    np.testing.assert_allclose(plane["test_error"], expected["test_error"], rtol=1e-8)
    np.testing.assert_allclose(plane["train_error"], expected["train_error"], rtol=1e-8)
    np.testing.assert_allclose(plane["q2"].sum("group"), expected["q2"].sum("letter"), rtol=1e-7)


def test_equal_strengths_of_equal_neurons_add_up_to_one_spike():
    """Two spikes that all neurons share are the rank-one model of strength √2 r: no more can be learned."""
    model = gs.TwoSpikes("tanh", (0.9, 0.9), (0.6, 0.6), ((1, 1),), (1,))
    expected = gs.SpikedRF("tanh", r=0.9 * np.sqrt(2), gamma=0.6 * np.sqrt(2))
    found, direct = (gs.predict(m, "tanh", alpha=1.2, lam=0.1) for m in (model, expected))
    assert float(found["test_error"]) == pytest.approx(float(direct["test_error"]), rel=1e-9)


def test_the_two_directions_may_be_turned_in_their_plane():
    angle = 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    pairs = np.asarray(TANH.left) * np.asarray(TANH.strengths) @ turn.T
    turned = gs.TwoSpikes(
        "tanh",
        (1, 1),
        tuple(turn @ np.asarray(TANH.alignments)),
        pairs.tolist(),
        TANH.weights,
        c=1.2,
        beta=1.3,
    )
    a, b = (gs.predict(m, "sin", alpha=1.2, lam=0.2) for m in (TANH, turned))
    for name in ("test_error", "train_error", "m", "psi", "q2"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(a["zeta"].values @ turn.T, b["zeta"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "target", "alpha", "lam"),
    [(RELU, "relu", 1.5, 0.1), (TANH, gs.Target("sin", noise=0.2), 1.2, 0.2)],
    ids=["relu", "tanh"],
)
def test_two_spikes_agree_with_simulation(model, target, alpha, lam):
    trials, d = 24, 200
    theory = gs.predict(model, target, alpha=alpha, lam=lam, d=d)
    run = gs.simulate(model, target, alpha=alpha, lam=lam, d=d, trials=trials, seed=3)
    assert bool(theory["converged"])
    z = []
    for name in ("test_error", "train_error", "m", "q2"):
        error = run[name].std("trial", ddof=1) / trials**0.5
        z += np.ravel((run[name].mean("trial") - theory[name]) / error).tolist()
    # six to eight t-distributed values, some of them correlated: none beyond 4, rms below 2
    assert np.max(np.abs(z)) < 4
    assert np.sqrt(np.mean(np.square(z))) < 2


def test_points_that_fail_are_refused_or_flagged_as_for_one_spike(monkeypatch):
    monkeypatch.setattr("giantstep.theory.square._NEWTON_STEPS", 0)
    with pytest.raises(gs.ConvergenceError, match="not solved to tolerance") as caught:
        gs.predict(TANH, "sin", alpha=[0.5, 1.2], lam=0.2)
    with pytest.warns(gs.GiantstepWarning, match="2 of 2 points failed"):
        flagged = gs.predict(TANH, "sin", alpha=[0.5, 1.2], lam=0.2, throw=False)
    for found in (caught.value.partial, flagged):
        assert not found["converged"].any()
        assert np.isnan(found["test_error"]).all()


def test_a_coarser_tolerance_is_heeded_and_progress_reported():
    seen: list[float] = []
    exact, rough = (
        gs.predict(RELU, "relu", alpha=1.5, lam=0.1, tolerance=tolerance, progress=seen.append)
        for tolerance in (1e-11, 1e-4)
    )
    assert exact["quadrature_error"] <= 1e-11 < rough["quadrature_error"] <= 1e-4
    assert float(rough["test_error"]) == pytest.approx(float(exact["test_error"]), rel=1e-4)
    assert seen == [1.0, 1.0]


def test_bad_input_gets_a_sentence():
    with pytest.raises(gs.ParameterError, match="squares must sum to at most 1"):
        gs.TwoSpikes("tanh", (1, 1), (0.9, 0.9), ((1, 1),), (1,))
    with pytest.raises(gs.ParameterError, match="two strengths"):
        gs.TwoSpikes("tanh", (1,), (0.1, 0.1), ((1, 1),), (1,))
    with pytest.raises(gs.ParameterError, match="square loss"):
        gs.predict(RELU, "sign", alpha=1, lam=1, loss="logistic")


def test_a_description_survives_a_dictionary():
    again = gs.TwoSpikes.from_dict(TANH.to_dict())
    assert again.to_dict() == TANH.to_dict()
