"""Bounds bracket the error over every penalty, are attained, and find what can be learned perfectly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giantstep as gs

ROUNDING = 1e-8  # relative: predict's quadrature tolerance is 1e-9, the bounds' 1e-11
LAMS = np.geomspace(1e-3, 1e3, 13)

number = st.floats


@settings(max_examples=25)
@given(
    activation=st.sampled_from(["tanh", "erf", "relu", "sin", "abs"]),
    target=st.sampled_from(["sin", "tanh", "x**2", "relu", "erf"]),
    r=number(0.1, 3.0),
    gamma=number(-1.0, 1.0),
    c=number(0.5, 2.0),
    beta=number(0.2, 4.0),
    alpha=number(0.2, 8.0),
    noise=number(0.0, 1.0),
)
def test_no_penalty_beats_the_lower_bounds(activation, target, r, gamma, c, beta, alpha, noise):
    model = gs.SpikedRF(activation, r=r, gamma=gamma, c=c, beta=beta)
    y = gs.Target(target, noise=noise)
    found = gs.bounds(model, y)
    errors = gs.predict(model, y, alpha=alpha, lam=LAMS)["test_error"].values
    slack = ROUNDING * float(found["upper"] + found["linear"])
    assert found["lower"] <= found["lower_beta"] + slack
    assert found["lower_beta"] <= errors.min() + slack
    assert found["lower_beta"] <= found["upper"] + slack


def test_without_a_spike_a_mean_that_is_rounding_offers_nothing():
    found = gs.bounds(gs.SpikedRF("tanh", r=0.0, gamma=1.0), "sin")
    assert found["upper"] == pytest.approx((1 - np.exp(-2)) / 2, rel=ROUNDING)  # E sin²: nothing is learned
    assert found["lower"] == pytest.approx(float(found["linear"]), rel=ROUNDING)


@pytest.mark.parametrize("gamma", [1.0, 0.6])
def test_an_infinite_penalty_reaches_the_upper_bound(gamma):
    model = gs.SpikedRF("tanh", r=[0.4, 1.5], gamma=gamma, c=1.3)
    limit = gs.predict(model, "sin", alpha=1.3, lam=np.inf)["test_error"]
    np.testing.assert_allclose(gs.bounds(model, "sin")["upper"], limit, rtol=1e-8)


@pytest.mark.parametrize(("activation", "beta"), [("tanh", 0.5), ("relu", 2.0), ("x", 2.0), ("x", 0.5)])
def test_infinitely_many_samples_reach_the_bound_at_this_width(activation, beta):
    """The error falls to it like 1/alpha, with a coefficient of order one."""
    alpha = 1e6
    model = gs.SpikedRF(activation, r=1.5, gamma=0.4, c=1.3, beta=beta)
    error = gs.predict(model, "sin", alpha=alpha, lam=1e-2)["test_error"]
    bound = gs.bounds(model, "sin")["lower_beta"]
    assert abs(float(error - bound)) < 20 / alpha


def test_wide_layers_approach_the_lower_bound():
    model = gs.SpikedRF("tanh", r=1.5, gamma=0.4, c=1.3, beta=[1e2, 1e4, 1e6])
    found = gs.bounds(model, "sin")
    gap = (found["lower_beta"] - found["lower"]).values
    assert np.all(gap > 0)
    np.testing.assert_allclose(gap[1:] / gap[:-1], 1e-2, rtol=0.2)  # it closes like 1/beta


def test_the_published_example_lies_above_the_linear_error():
    found = gs.bounds(gs.SpikedRF("tanh", r=1.5, gamma=0.4, c=1.3), "sin")
    assert round(float(found["lower"]), 4) == 0.0874
    assert float(found["linear"]) == pytest.approx((1 - np.exp(-2)) / 2 - np.exp(-1), rel=1e-12)


@pytest.mark.parametrize(
    ("values", "biases"), [([0.5, 1.5], [0.0, 0.0]), ([-1.0, 1.0, 1.0], [0.0, 0.6, -0.4])], ids=["letters", "biases"]
)
def test_the_lower_bound_is_a_least_squares_problem(values, biases):
    """Against least squares on Gauss-Hermite nodes, with inner averages by Gauss-Hermite too."""
    z, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    c, gamma, columns, side = 1.3, 0.7, [], []
    for value, bias in zip(values, biases, strict=True):
        field = np.tanh(0.9 * value * z[:, None] + np.sqrt(c) * z + bias)
        mu0, mu1 = field @ w, field @ (w * z) / np.sqrt(c)
        columns += [mu0, z * mu1]
        side.append(mu1)
    T = np.sin(gamma * z[:, None] + np.sqrt(1 - gamma**2) * z)
    t0, t1, t2 = T @ w, T @ (w * z), T**2 @ w

    def distance(functions, t):
        A, b = np.stack(functions, axis=1) * np.sqrt(w)[:, None], t * np.sqrt(w)
        return np.sum((b - A @ np.linalg.lstsq(A, b, rcond=1e-10)[0]) ** 2)

    expected = distance(columns, t0) + distance(side, t1) + w @ (t2 - t0**2 - t1**2)
    letters = gs.Letters(tuple(values), (1 / len(values),) * len(values), biases=tuple(biases))
    found = gs.bounds(gs.SpikedRF("tanh", r=0.9, gamma=gamma, c=c, readout=letters), "sin")
    assert float(found["lower"]) == pytest.approx(expected, rel=1e-6)
    assert float(found["upper"]) == pytest.approx(distance(columns[::2], t0) + w @ (t2 - t0**2), rel=1e-6)


def test_fluctuating_row_norms_enlarge_the_span():
    net = gs.Network("tanh", eta=3.0, alpha0=1.5)
    exact, isotropic = (gs.bounds(net, "sin", bulk=bulk) for bulk in ("exact", "isotropic"))
    assert exact["lower"] < isotropic["lower"]
    assert float(exact["upper"]) == pytest.approx(float(isotropic["upper"]), rel=1e-9)
    assert "lower_beta" not in exact
    errors = gs.predict(net, "sin", alpha=[0.5, 5.0, 50.0], lam=LAMS, bulk="exact")["test_error"]
    assert exact["lower"] <= errors.min() + ROUNDING


def test_erf_learns_erf_perfectly_at_one_learning_rate():
    h1, beta = 2 / np.sqrt(3 * np.pi), 2.0
    found = gs.bounds(gs.Network("erf", eta=1.0, alpha0=np.inf, beta=beta), "erf", over="eta", bulk="isotropic")
    for name in ("upper", "lower_beta"):
        # the bound is quadratic around its zero, so rounding errors of 1e-16 hide it to 1e-8
        assert float(found[name]) < 1e-14
        assert float(found[f"eta_{name}"]) == pytest.approx(np.sqrt(3) * beta / h1**2, rel=1e-6)
    assert float(found["lower"]) < 1e-14


@pytest.mark.parametrize(
    ("eta", "layers"),
    [(np.geomspace(0.1, 30, 60), {"alpha0": [0.5, 4.0, np.inf]}), ([2.0, 4.0], {"alpha0": 2, "steps": [1, 2]})],
    ids=["one step", "several"],
)
def test_no_scanned_learning_rate_beats_the_optimised_bounds(eta, layers):
    best = gs.bounds(gs.Network("tanh", eta=0.0, **layers), "sin", over="eta", bulk="isotropic")
    tried = gs.bounds(gs.Network("tanh", eta=eta, **layers), "sin", bulk="isotropic").min("eta")
    assert best.lower.dims == tried.lower.dims
    for name in ("upper", "lower", "lower_beta"):
        assert np.all(best.get(name, 0.0) <= tried.get(name, 0.0) + 1e-12)


def test_bound_functions_attain_the_bounds():
    """At γ = 1 the error of the function itself, by Gauss-Hermite, is the bound."""
    z, w = np.polynomial.hermite_e.hermegauss(150)
    w = w / w.sum()
    model = gs.SpikedRF("tanh", r=[0.9, 1.8], gamma=1.0)
    curves, found = gs.bound_functions(model, "sin", z), gs.bounds(model, "sin")
    for name in ("upper", "lower"):
        error = ((curves[name] - curves["truth"]) ** 2 * w).sum("x")
        np.testing.assert_allclose(error, found[name], rtol=1e-6)


def test_a_best_rate_at_the_end_of_its_range_is_no_optimum_and_says_so():
    found = gs.bounds(gs.Network("erf", eta=1, alpha0=np.inf), "erf", over="eta", bulk="isotropic")
    inside = gs.bounds(gs.Network("sin", eta=1, alpha0=np.inf, beta=0.7), "sin", over="eta", bulk="isotropic")
    rising = gs.bounds(gs.Network("tanh", eta=1, alpha0=np.inf), "sign", over="eta", bulk="isotropic")
    flat = gs.bounds(gs.Network("gelu", eta=1, alpha0=1.5), "sin", over="eta")
    half = gs.bounds(gs.Network("gelu", eta=0.5 * float(flat.eta_lower), alpha0=1.5), "sin")
    assert float(half.lower) < float(flat.lower)
    assert [bool(one.at_end) for one in (found, inside, flat, rising)] == [False, False, True, True]
