"""The learned function: its closed form against the definition, averages, and networks that were trained."""

import numpy as np
import pytest

import giantstep as gs
from tests.zoo import TWO_SIGNS

X = np.array([-2.0, -0.7, 0.4, 1.3, 2.5])


@pytest.mark.parametrize(
    "model",
    [
        *(gs.SpikedRF("tanh", r=1.3, gamma=gamma, c=1.2) for gamma in (1.0, 0.6, -0.8, 0.0)),
        gs.Network("softplus", eta=1.5, alpha0=0.7, readout=TWO_SIGNS),
        gs.Network("gelu", eta=1.5, alpha0=0.7, bias_scale=2.0),
    ],
)
def test_the_closed_form_is_the_average_over_the_rest_of_the_input(model):
    """Σ_s E_w[m_s μ0 + (ζ_s κ + ψ_s(ρx - γw) + ν_s)μ1 + χ_s ∂μ0/∂c], κ = γx + ρw, by Gauss-Hermite."""
    w, weight = np.polynomial.hermite_e.hermegauss(80)
    found = gs.learned_function(model, "sin", X, alpha=1.5, lam=0.2, d=300)
    gamma, expected = float(found["gamma"]), np.zeros(len(X))
    rho = np.sqrt(1 - gamma**2)
    kappa, aside = gamma * X[:, None] + rho * w, rho * X[:, None] - gamma * w
    of_letters = {name: np.ravel(found.get(name, np.zeros(2))) for name in ("m", "zeta", "psi", "chi", "nu", "c")}
    for value, *orders, c in zip(model.readout.values, *of_letters.values(), strict=False):
        rows = gs.SpikedRF(model.activation, r=float(found["r"]) * value, gamma=gamma, c=c)
        at = gs.coefficients(rows, kappa.ravel())
        mu0, mu1, dmu0 = (at[name].values.reshape(kappa.shape) for name in ("mu0", "mu1", "dmu0"))
        m, zeta, psi, chi, nu = orders
        expected += (m * mu0 + (zeta * kappa + psi * aside + nu) * mu1 + chi * dmu0) @ weight / weight.sum()
    assert found["learned"].values == pytest.approx(expected, abs=1e-9)


def test_random_features_learn_a_line():
    net = gs.Network("tanh", eta=0.0, alpha0=0.0)
    learned = gs.learned_function(net, "sin", X, alpha=1.0, lam=0.1)["learned"].values
    np.testing.assert_allclose(learned / X, learned[0] / X[0], rtol=1e-9)


def test_a_grid_of_models_has_a_curve_for_each():
    net, options = gs.Network("tanh", eta=[1.0, 2.0], alpha0=[0.0, 1.0, np.inf]), {"lam": 0.1, "bulk": "isotropic"}
    found = gs.learned_function(net, "sin", X, alpha=[1.0, 2.0], **options)["learned"]
    assert found.sizes == {"eta": 2, "alpha0": 3, "alpha": 2, "x": 5}
    single = gs.learned_function(gs.Network("tanh", eta=2.0, alpha0=1.0), "sin", X, alpha=2.0, **options)["learned"]
    np.testing.assert_allclose(found.sel(eta=2.0, alpha0=1.0, alpha=2.0), single, rtol=1e-9)


@pytest.mark.parametrize(
    ("net", "target"),
    [
        (gs.SpikedRF("tanh", r=1.2, gamma=0.8), "sin"),
        (gs.Network("tanh", eta=2, alpha0=2), "sin"),
        (gs.Network("tanh", eta=2, alpha0=1, steps=2), "sin"),
        (gs.Network("relu", eta=2, alpha0=1, steps=2, readout="rademacher"), "tanh"),
    ],
    ids=["given spike", "one step", "two steps", "two directions of spikes"],
)
def test_the_learned_function_is_that_of_trained_networks(net, target):
    x, at, trials = [-1.5, -0.4, 0.7], {"alpha": 1.5, "lam": 0.1, "d": 200}, 24
    theory = gs.learned_function(net, target, x, **at).learned
    assert theory.dims == ("x",)
    run = gs.simulate(net, target, **at, trials=trials, seed=31, learned_at=x, n_test=200, progress=False).learned
    error = run.std("trial", ddof=1) / trials**0.5
    z = (run.mean("trial") - theory) / error  # three correlated, t-distributed values
    assert np.abs(z).max() < 4.0, z.values
