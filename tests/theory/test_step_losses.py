"""Steps that follow another loss, whose derivative bends or jumps at some residuals."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs

READOUT = {"alpha": [0.5, 1.5], "lam": 0.1}


def two_steps(loss, activation="relu"):
    return gs.Network(activation, steps=[gs.Step(eta=1, alpha0=1), gs.Step(eta=2, alpha0=0.5, loss=loss)])


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.3], ids=["clean", "faint", "noisy"])
@pytest.mark.parametrize("model", [lambda loss: gs.Network("relu", 1, 1, step_loss=loss), two_steps])
def test_a_bend_that_no_label_reaches_changes_nothing(model, noise):
    target = gs.Target("sin", noise=noise)
    bent, plain = (gs.predict(model(loss), target, tolerance=1e-7, **READOUT) for loss in ("huber:40", "square"))
    for name in ("test_error", "train_error", "gamma", "c", "r"):
        np.testing.assert_allclose(bent[name], plain[name], rtol=2e-9)


@pytest.mark.parametrize("loss", ["huber:0.5", "absolute", "pinball:0.3"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_kinked_losses_of_a_step_are_resolved(loss, noise):
    for net in (gs.Network("tanh", eta=1, alpha0=1, step_loss=loss), two_steps(loss)):
        found = gs.predict(net, gs.Target("sin", noise=noise), tolerance=1e-7, **READOUT)
        assert float(found.quadrature_error.max()) < 1e-7


def test_the_alignment_of_an_absolute_step_is_that_of_signs():
    """e = sign(y) for an odd activation, whose output is 0 at rest: E[z e] of sin is a sum over its zeros."""
    zeros = np.pi * np.arange(0, 4)
    density = np.exp(-0.5 * zeros**2) / np.sqrt(2 * np.pi)
    mean = 2.0 * (density[0] + 2.0 * np.sum((-1.0) ** np.arange(1, 4) * density[1:]))  # E[z sign(sin z)]
    found = gs.predict(gs.Network("tanh", eta=1, alpha0=1, step_loss="absolute"), "sin", alpha=1, lam=0.1)
    # v = Σ e x/n has the component E[ze] on the target, and the squared norm E[ze]² + E e²/α0
    assert float(found.gamma) == pytest.approx(mean / np.sqrt(mean**2 + 1.0), rel=1e-9)


def test_a_bent_loss_on_noisy_labels_of_two_directions_has_its_closed_form():
    """Labels |x1 - x2| + 0.3 ε are even: the step leaves a spike of squared length (η E σ')² E e²/α0, e clipped."""
    from scipy.integrate import quad
    from scipy.stats import norm

    noise, bound, eta, alpha0 = 0.3, 0.5, 0.8, 2.75

    def square(mean: float) -> float:
        """E e² of e = clip(mean + noise ε, ±bound)."""
        a, b = (-bound - mean) / noise, (bound - mean) / noise
        inside = norm.cdf(b) - norm.cdf(a)
        middle = (mean**2 + noise**2) * inside - 2.0 * mean * noise * (norm.pdf(b) - norm.pdf(a))
        return bound**2 * (1.0 - inside) + middle - noise**2 * (b * norm.pdf(b) - a * norm.pdf(a))

    force = 2.0 * quad(lambda u: square(np.sqrt(2.0) * u) * norm.pdf(u), 0.0, 9.0, epsabs=1e-13)[0]
    slope = quad(lambda z: norm.pdf(z) / np.cosh(z) ** 2, -9.0, 9.0, epsabs=1e-13)[0]
    net = gs.Network("tanh", eta=eta, alpha0=alpha0, step_loss=f"huber:{bound}")
    found = gs.predict(net, gs.Target("abs(x1 - x2)", noise=noise), alpha=1.0, lam=0.3, throw=False)
    assert float(found.r) == pytest.approx(eta * slope * np.sqrt(force / alpha0), rel=1e-6)
