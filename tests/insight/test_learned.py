"""The learned function: its closed form against the definition, and against networks that were trained."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.insight.learned import learned_function
from giantstep.simulation.backend import make_backend
from giantstep.simulation.trial import learned_function as learned_by

from .finite import ridge, spiked_rows, trained_rows

X = np.array([-2.0, -0.7, 0.4, 1.3, 2.5])
REST = X[:, None], gs.SpikedRF("tanh", r=0.0, gamma=0.0).activation, make_backend()


@pytest.mark.parametrize("gamma", [1.0, 0.6, -0.8, 0.0])
def test_the_closed_form_is_the_average_over_the_rest_of_the_input(gamma):
    """E_w[mμ0(κ) + (ζκ + ψ(ρx - γw))μ1(κ)], κ = γx + ρw, by Gauss-Hermite."""
    w, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    model = gs.SpikedRF("tanh", r=1.3, gamma=gamma, c=1.2)
    found = learned_function(model, "sin", X, alpha=1.5, lam=0.2)
    rho = np.sqrt(1 - gamma**2)
    for x, learned in zip(X, found["learned"].values, strict=True):
        kappa = gamma * x + rho * w
        at = gs.coefficients(model, kappa)
        mu0, mu1 = at["mu0"].values, at["mu1"].values
        m, zeta, psi = (float(found[name]) for name in ("m", "zeta", "psi"))
        inner = m * mu0 + (zeta * kappa + psi * (rho * x - gamma * w)) * mu1
        assert learned == pytest.approx(weight @ inner, abs=1e-9)


def test_letters_and_fluctuating_norms_have_their_share_in_the_closed_form():
    """Σ_s E_w[m_s μ0 + (ζ_s κ + ψ_s(ρx - γw))μ1 + χ_s ∂μ0/∂c], each letter at its own spike and row norm."""
    w, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    values = (0.5, -1.5)
    net = gs.Network("softplus", eta=1.5, alpha0=0.7, readout=gs.Letters(values, (0.4, 0.6)))
    found = learned_function(net, "sin", X, alpha=1.5, lam=0.2, d=300)
    gamma = float(found["gamma"])
    rho = np.sqrt(1 - gamma**2)
    expected = np.zeros(len(X))
    for s, value in enumerate(values):
        rows = gs.SpikedRF("softplus", r=float(found["r"]) * value, gamma=gamma, c=float(found["c"][s]))
        m, zeta, psi, chi = (float(found[name][s]) for name in ("m", "zeta", "psi", "chi"))
        for i, x in enumerate(X):
            kappa = gamma * x + rho * w
            at = gs.coefficients(rows, kappa)
            inner = (
                m * at["mu0"] + (zeta * kappa + psi * (rho * x - gamma * w)) * at["mu1"] + chi * at["dmu0"]
            )
            expected[i] += weight @ inner.values
    assert float(np.abs(found["chi"]).max()) > 1e-4
    assert found["learned"].values == pytest.approx(expected, abs=1e-9)


def test_random_features_learn_a_line():
    net = gs.Network("tanh", eta=0.0, alpha0=0.0)
    learned = learned_function(net, "sin", X, alpha=1.0, lam=0.1)["learned"].values
    np.testing.assert_allclose(learned / X, learned[0] / X[0], rtol=1e-9)


def test_letters_that_are_equal_learn_what_one_letter_learns():
    one = gs.SpikedRF("relu", r=0.8, gamma=0.7)
    two = gs.SpikedRF("relu", r=0.8, gamma=0.7, readout=gs.Letters((1.0, 1.0), (0.4, 0.6)))
    curves = [learned_function(model, "sin", X, alpha=[0.5, 2.0], lam=0.1)["learned"] for model in (one, two)]
    np.testing.assert_allclose(*curves, atol=1e-9)


def test_a_grid_of_models_has_a_curve_for_each():
    net = gs.Network("tanh", eta=[1.0, 2.0], alpha0=[0.0, 1.0, np.inf])
    found = learned_function(net, "sin", X, alpha=[1.0, 2.0], lam=0.1, bulk="isotropic")
    assert found["learned"].sizes == {"eta": 2, "alpha0": 3, "alpha": 2, "x": 5}
    single = learned_function(
        gs.Network("tanh", eta=2.0, alpha0=1.0), "sin", X, alpha=2.0, lam=0.1, bulk="isotropic"
    )
    np.testing.assert_allclose(
        found["learned"].sel(eta=2.0, alpha0=1.0, alpha=2.0), single["learned"], rtol=1e-9
    )


def test_the_exact_average_of_a_network_is_what_its_outputs_average_to():
    """Against sampled inputs with their projection on θ fixed: 4e5 of them, |z| < 5."""
    rng = np.random.default_rng(3)
    p, d, n = 7, 5, 400_000
    rows, readout, theta = rng.standard_normal((p, d)), rng.standard_normal((p, 2)), np.eye(d)[1]
    biases = rng.standard_normal(p)
    exact = learned_by(readout, rows, [theta], biases, *REST)
    inputs = rng.standard_normal((n, d))
    for column, x in enumerate(X):
        inputs[:, 1] = x
        outputs = np.tanh(inputs @ rows.T + biases) @ readout / np.sqrt(p)
        error = outputs.std(axis=0) / np.sqrt(n)
        assert np.all(np.abs(outputs.mean(axis=0) - exact[:, column]) < 5 * error)


@pytest.mark.parametrize("trained", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_networks_at_finite_size_learn_the_predicted_function(trained):
    """24 trials; five correlated points, so |z| < 4.5 has a chance of failing of 1e-3 for a right theory.

    The finite-size correction leaves a bias of order 1/d, a fifth of a standard error here.
    """
    alpha, lam, rng = 1.5, 0.2, np.random.default_rng(1 + trained)
    d, gamma = (500, 1.0) if trained else (240, 0.8)
    model = gs.Network("tanh", eta=2.0, alpha0=2.0) if trained else gs.SpikedRF("tanh", r=1.2, gamma=gamma)
    theta = np.zeros(d)
    theta[:2] = gamma, np.sqrt(1 - gamma**2)
    curves = []
    for _ in range(24):
        if trained:
            rows = trained_rows(
                rng, d, 1.0, 2.0, 2.0, np.tanh, lambda h: 1 / np.cosh(h) ** 2, lambda z, _: np.sin(z)
            )
        else:
            rows = spiked_rows(rng, d, 1.0, 1.2, 1.0)
        readout = ridge(rng, rows, alpha, lam, np.tanh, np.sin, theta)
        curves.append(learned_by(readout[:, None], rows, [theta], None, *REST)[0])
    theory = learned_function(model, "sin", X, alpha=alpha, lam=lam, d=d)["learned"].values
    z = (np.mean(curves, axis=0) - theory) / (np.std(curves, axis=0, ddof=1) / np.sqrt(24))
    assert np.abs(z).max() < 4.5
