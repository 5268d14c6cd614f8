"""Two spikes: the two-dimensional theory against one spike in disguise, rotations, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs

from ..zoo import FLIPS, ONE_IN_DISGUISE, TILTED


class TwoAsTheyAre(gs.TwoSpikes):
    """Solved by the two-dimensional equations, which do not know of a disguise."""

    def resolved(self):
        return self


@pytest.mark.parametrize(
    ("target", "loss"),
    [
        (gs.Target("sin", noise=0.2), "square"),
        (FLIPS, "square"),
        (FLIPS, "logistic"),
        (gs.Target("max(x1, x2)"), "square"),
    ],
    ids=["square", "square on signs", "logistic", "a kink across both spikes"],
)
def test_proportional_left_vectors_are_one_spike_and_the_plane_agrees(target, loss):
    one = ONE_IN_DISGUISE.reduced()
    assert one is not None
    at = {"alpha": [0.8, 1.5], "lam": 0.2, "d": 400, "loss": loss}
    expected, disguised = (gs.predict(model, target, **at) for model in (one, ONE_IN_DISGUISE))
    np.testing.assert_allclose(disguised["test_error"], expected["test_error"], rtol=1e-14)
    unreduced = TwoAsTheyAre("tanh", (1.2, 0.7), (0.5, 0.7), ((1, 2), (0.5, 1)), (0.4, 0.6))
    plane = gs.predict(unreduced, target, **at)
    assert plane["zeta"].dims == ("alpha", "group", "spike")
    tolerances = dict.fromkeys(("test_error", "train_error", "train_loss"), 1e-8)
    tolerances |= dict.fromkeys(("m", "q2", "V1", "V2"), 1e-7)
    if target.binary:  # counted on a rule of their own
        tolerances |= dict.fromkeys(("test_error_01", "train_error_01"), 1e-5)
    for name, tolerance in tolerances.items():
        np.testing.assert_allclose(plane[name], expected[name].values, rtol=tolerance, err_msg=name)
    # what is left of the target across the spikes is another direction in the plane; the target itself is not
    gamma, along = float(one.gamma), np.asarray(unreduced.alignments)
    across, across_both = (found["psi"].isel(direction=0, missing_dims="ignore").values for found in (expected, plane))
    single = gamma * expected["zeta"].values + np.sqrt(1.0 - gamma**2) * across
    both = plane["zeta"].values @ along + np.sqrt(1.0 - along @ along) * across_both
    np.testing.assert_allclose(both, single, rtol=1e-7)


def test_the_two_directions_may_be_turned_in_their_plane():
    angle = 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    pairs = np.asarray(TILTED.left) * np.asarray(TILTED.strengths) @ turn.T
    aligned = tuple(turn @ np.asarray(TILTED.alignments))
    turned = gs.TwoSpikes("tanh", (1, 1), aligned, pairs.tolist(), TILTED.weights, c=1.2, beta=1.3)
    a, b = (gs.predict(m, "sin", alpha=1.2, lam=0.2) for m in (TILTED, turned))
    for name in ("test_error", "train_error", "m", "psi", "q2"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(a["zeta"].values @ turn.T, b["zeta"], rtol=1e-6, atol=1e-8)


def test_a_coarser_tolerance_is_heeded_and_progress_reported():
    seen: list[float] = []
    steep = gs.TwoSpikes("tanh", (4.0, 3.0), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5))
    exact, rough = (
        gs.predict(steep, "relu", alpha=1.5, lam=0.1, tolerance=tolerance, progress=seen.append)
        for tolerance in (1e-11, 1e-4)
    )
    assert exact["quadrature_error"] <= 1e-11 < rough["quadrature_error"] <= 1e-4
    assert float(rough["test_error"]) == pytest.approx(float(exact["test_error"]), rel=1e-4)
    assert seen == [1.0, 1.0]
