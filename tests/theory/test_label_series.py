"""Labels ±1 of several directions as a series in what a field sees of them, against closed forms and plain nodes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import giantstep as gs
from giantstep.gaussian import both_below
from giantstep.losses import as_loss
from giantstep.theory.channel.joint import JointBinaryChannel
from giantstep.theory.labels import labels_of
from giantstep.theory.labels.mehler import LabelSeries, hermite
from giantstep.theory.layer import Frame, given
from giantstep.theory.rule import Rule

NONE = slice(None)


def _frame(*theta: float) -> Frame:
    """One spike whose overlaps with the target's directions are given."""
    return given(np.ones((1, 1, 1)), np.array(theta)[None, :, None], np.ones((1, 1))).frame()


def _quadrant(frame: Frame, kappa: float, v: np.ndarray, at: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """E[sign z1 sign z2 | κ, λ] at λ = `at`, y moved by `shift`, from the quadrants of a normal law."""
    turn, rho = frame.turn[0], frame.rho[0]
    spread = turn @ np.diag(rho) @ (np.eye(2) - np.outer(v, v)) @ np.diag(rho) @ turn.T
    y = v[:, None] * at + shift[:, None]
    mean = turn @ (frame.centre(np.array([[[kappa]]]))[0] + rho[:, None] * y)
    size = np.sqrt(np.diag(spread))
    h, k = mean / size[:, None]
    r = np.full_like(h, spread[0, 1] / size.prod())
    return both_below(h, k, r) + both_below(-h, -k, r) - both_below(h, -k, -r) - both_below(-h, k, -r)


@pytest.mark.parametrize("theta", [(0.6, 0.3), (0.0, 0.0), (0.7, 0.71)])
def test_a_field_knows_of_a_sign_what_quadrants_of_a_normal_law_say(theta):
    law, frame = labels_of(gs.Target("sign(x1*x2)", flips=0.1)), _frame(*theta)

    kappa, at = np.array([[[-1.3, 0.4]]]), np.linspace(-2.5, 2.5, 11)
    series, polynomials = LabelSeries(law, frame, kappa, 48), hermite(at, 64)
    for v in (np.array([0.3, -0.4]), np.array([-0.1, 0.6])):
        covariance = np.broadcast_to(v[:, None], (1, 2, 2))
        for clean, trust in ((False, 0.8), (True, 1.0)):
            terms = series.at(np.zeros(1, int), NONE, covariance, 64, clean)[0]  # [N, 1 + k, 65]
            for n, place in enumerate(kappa[0, 0]):
                found = terms[n] @ polynomials
                assert_allclose(found[0], trust * _quadrant(frame, place, v, at, np.zeros(2)), atol=1e-9)
                for m, step in enumerate(1e-4 * np.eye(2)):
                    up, down = (_quadrant(frame, place, v, at, side * step) for side in (1.0, -1.0))
                    # differences of values that are exact to 1e-14 over 2e-4, and their own error of order 1e-8
                    assert_allclose(found[1 + m], trust * (up - down) / 2e-4, atol=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("share", [0.3, 0.97], ids=["by a series", "by nodes"])
def test_scores_and_wrong_signs_are_those_of_quadrants(share, loss):
    """Averages over κ for fields of which a share goes along the target; nearly all of it is too long for a series.

    Labels come by their closed form, and the field by a trapezoidal rule."""
    law, frame, score = labels_of(gs.Target("sign(x1*x2)", flips=0.1)), _frame(0.5, 0.2), as_loss(loss).score
    kappa, weights = Rule(12, 9.0).at(1)
    N, v = kappa.shape[-1], share * np.array([0.6, -0.8])
    channel = JointBinaryChannel(as_loss(loss), law, frame, kappa, 24, 0.5 * (kappa * kappa).sum(axis=1))
    q, V = 1.1, 0.7
    M, V_, q_ = 0.4 + 0.3 * np.tanh(kappa[:, 0]), np.full((1, N), V), np.full((1, N), q)
    fields = np.zeros(1, int), M, np.sqrt(q) * v[None, :, None] * np.ones(N), V_, q_
    scores, wrong = channel.scores(*fields, np.zeros(1)), channel.wrong(*fields)

    at = np.linspace(-9.0, 9.0, 8001)
    expected = np.zeros((7, N))
    for n, place in enumerate(kappa[0, 0]):
        omega = M[0, n] + np.sqrt(q) * at
        clean = _quadrant(frame, place, v, at, np.zeros(2))
        tilts = [
            (_quadrant(frame, place, v, at, step) - _quadrant(frame, place, v, at, -step)) / 2e-4
            for step in 1e-4 * np.eye(2)
        ]
        (f, g), (f_, g_) = (score(y, omega, np.full_like(at, V)) for y in (1.0, -1.0))
        up, edges = 0.5 * (1.0 + 0.8 * clean), [omega + V * f < 0.0, omega + V * f_ > 0.0]
        averaged = [
            up * f + (1 - up) * f_,
            up * f**2 + (1 - up) * f_**2,
            up * g + (1 - up) * g_,
            *(0.4 * tilt * (f - f_) for tilt in tilts),
            up * edges[0] + (1 - up) * edges[1],
            0.5 * (1.0 - np.sign(omega) * clean),
        ]
        density = np.exp(-0.5 * at**2) * (at[1] - at[0]) / np.sqrt(2.0 * np.pi)
        expected[:, n] = np.array(averaged) @ density
    found = np.array([scores.F1[0], scores.F2[0], scores.G[0], *scores.Dy[0], *(part[0] for part in wrong)])
    off = np.abs((found - expected) @ (weights[0] * (1.0 + 0.5 * np.tanh(kappa[0, 0]))))
    # of the trapezoidal rule's step h = 2e-3: h² at the hinge's bends, h at jumps, which are slopes and signs
    smooth, jump = (1e-9, 1e-9) if loss == "logistic" else (1e-5, 1e-3)
    assert np.all(off < [smooth, smooth, jump, smooth, smooth, 1e-3, 1e-3]), off


def test_signs_of_three_directions_are_learned_as_networks_learn_them():
    net, goal = gs.Network("relu", eta=2.0, alpha0=2.0), gs.Target("sign(x1)*sign(x2 + x3 + 0.5)", flips=0.1)
    d = 150
    theory = gs.predict(net, goal, alpha=1.5, lam=0.3, loss="logistic", d=d)
    # errors scatter by 3 % from trial to trial, to which so few samples add 1 %
    trained = gs.simulate(net, goal, alpha=1.5, lam=0.3, loss="logistic", d=d, trials=24, seed=3, n_test=4000)
    for name in ("test_error", "train_loss"):
        values, expected = trained[name].values.reshape(-1), float(theory[name])
        error = values.std(ddof=1) / np.sqrt(len(values))
        # five standard errors, and what the known corrections leave of order 1/d
        assert abs(values.mean() - expected) < 5.0 * error + 3.0 / d * abs(expected)


def test_wrong_signs_of_two_directions_after_two_steps_are_numbers():
    """Trained networks at d = 300 (10 trials) have 0.1541 ± 0.0017 and 0.0425 ± 0.0037: four standard errors, and as
    much again for the size."""
    net = gs.Network("erf", eta=1.727, alpha0=1.886, steps=2)
    answer = gs.predict(net, "sign(x1+0.5*x2)", alpha=1.81, lam=0.404)
    assert abs(float(answer.test_error_01) - 0.1541) < 8 * 0.0017
    assert abs(float(answer.train_error_01) - 0.0425) < 8 * 0.0037
