"""The learned function: its closed form against the definition, averages, and networks that were trained."""

import numpy as np
import pytest

import giantstep as gs

X = np.array([-2.0, -0.7, 0.4, 1.3, 2.5])


@pytest.mark.parametrize("gamma", [1.0, 0.6, -0.8, 0.0])
def test_the_closed_form_is_the_average_over_the_rest_of_the_input(gamma):
    """E_w[mμ0(κ) + (ζκ + ψ(ρx - γw))μ1(κ)], κ = γx + ρw, by Gauss-Hermite."""
    w, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    model = gs.SpikedRF("tanh", r=1.3, gamma=gamma, c=1.2)
    found = gs.learned_function(model, "sin", X, alpha=1.5, lam=0.2)
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
    found = gs.learned_function(net, "sin", X, alpha=1.5, lam=0.2, d=300)
    gamma = float(found["gamma"])
    rho = np.sqrt(1 - gamma**2)
    expected = np.zeros(len(X))
    for s, value in enumerate(values):
        rows = gs.SpikedRF("softplus", r=float(found["r"]) * value, gamma=gamma, c=float(found["c"][s]))
        m, zeta, psi, chi = (float(found[name][s]) for name in ("m", "zeta", "psi", "chi"))
        for i, x in enumerate(X):
            kappa = gamma * x + rho * w
            at = gs.coefficients(rows, kappa)
            inner = m * at["mu0"] + (zeta * kappa + psi * (rho * x - gamma * w)) * at["mu1"] + chi * at["dmu0"]
            expected[i] += weight @ inner.values
    assert float(np.abs(found["chi"]).max()) > 1e-4
    assert found["learned"].values == pytest.approx(expected, abs=1e-9)


def test_random_features_learn_a_line():
    net = gs.Network("tanh", eta=0.0, alpha0=0.0)
    learned = gs.learned_function(net, "sin", X, alpha=1.0, lam=0.1)["learned"].values
    np.testing.assert_allclose(learned / X, learned[0] / X[0], rtol=1e-9)


def test_a_grid_of_models_has_a_curve_for_each():
    net = gs.Network("tanh", eta=[1.0, 2.0], alpha0=[0.0, 1.0, np.inf])
    found = gs.learned_function(net, "sin", X, alpha=[1.0, 2.0], lam=0.1, bulk="isotropic")
    assert found["learned"].sizes == {"eta": 2, "alpha0": 3, "alpha": 2, "x": 5}
    single = gs.learned_function(
        gs.Network("tanh", eta=2.0, alpha0=1.0), "sin", X, alpha=2.0, lam=0.1, bulk="isotropic"
    )
    np.testing.assert_allclose(found["learned"].sel(eta=2.0, alpha0=1.0, alpha=2.0), single["learned"], rtol=1e-9)
