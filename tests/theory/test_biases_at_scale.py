"""Biases of scale 1/√d: one more mode, against networks and closed forms; `test_bulks` has it for trained rows."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.problem import model_grid, pose

from ..zoo import MIX, SHIFTED, Case
from . import rows

AT = {"alpha": [0.7, 2.0], "lam": 0.03}


def _net(activation=SHIFTED, scale=1.0, **more):
    return gs.Network(activation, **{"eta": 1.5, "alpha0": 1.5} | more, bias_scale=scale)


def _network_errors(net, target, d, seed):
    """Test errors of one network, [alphas]; those of another bias_scale are of the same draw otherwise."""
    rng = np.random.default_rng([5, seed])
    case = Case("", net, target)
    drawn, sizes = rows.train(case, d, rng), [round(alpha * d) for alpha in AT["alpha"]]
    X, T = rng.standard_normal((max(sizes), d)), rng.standard_normal((8 * d, d))
    phi, seen = (net.activation(x @ drawn.whole.T + drawn.bias) / np.sqrt(d) for x in (X, T))
    y, clean = (case.label.function(x @ drawn.theta) for x in (X, T))
    errors = []
    for n in sizes:
        gram = phi[:n].T @ phi[:n] + AT["lam"] * np.eye(d)
        errors.append(((clean - seen @ np.linalg.solve(gram, phi[:n].T @ y[:n])) ** 2).mean())
    return errors


@pytest.mark.parametrize(
    ("activation", "target", "scale", "steps"),
    [(SHIFTED, "sin", 1.0, 1), (SHIFTED, MIX, 1.0, 2), ("relu", "sin", 2.0, 2), ("tanh", MIX, 1.0, 1)],
)
def test_biases_change_errors_of_networks_by_as_much_as_predicted(activation, target, scale, steps):
    """The same networks with and without biases, 24 of them: four standard errors of the relative difference, and the
    change of the rows' variance by b² = scale²/d, which the theory leaves out."""
    d, nets = 200, [_net(activation, one, steps=steps) for one in (scale, 0.0)]
    runs = np.array([[_network_errors(net, target, d, seed) for net in nets] for seed in range(24)])
    measured = runs[:, 0].mean(axis=0) / runs[:, 1].mean(axis=0)
    spread = (runs[:, 0] - measured * runs[:, 1]).std(axis=0, ddof=1) / runs[:, 1].mean(axis=0)
    biased, plain = (gs.predict(net, target, d=d, **AT).test_error.values for net in nets)
    allowed = 4.0 * spread / np.sqrt(len(runs)) + scale**2 / d
    assert np.all(np.abs(biased / plain - measured) < allowed)
    if activation == SHIFTED:  # where the effect is large
        assert np.all(np.abs(biased / plain - 1.0) > allowed)


# the exact bulk


def _covariances(net):
    """Forms at Ṽ = 0, [modes, modes], and which they are."""
    target = gs.Target("sin")
    bulk = pose(net, target, model_grid(net, target)).bulks(np.arange(1))[0]
    return bulk.resolvent(np.zeros((1, 1, 1, 1))).forms()[0, 0, :, 0, :, 0], bulk.modes


def test_rows_have_the_covariance_with_biases_that_one_step_gives_them():
    """W_i = k s0 v + b_i k s1 v + ..: at Ṽ = 0 forms are covariances, d E[b²] = s² and d E[b W·v̂] = s² r s1/s0."""
    net, scale = gs.Network("softplus", eta=1.5, alpha0=1.2, bias_scale=1.7), 1.7
    forms, modes = _covariances(net)
    z, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    s0, s1 = w @ (1.0 / (1.0 + np.exp(-z))), w @ (z / (1.0 + np.exp(-z)))
    r = float(gs.predict(net, "sin", alpha=1.0, lam=0.1).r)
    *_, norm, bias = range(modes.count)
    assert forms[bias, bias] == pytest.approx(scale**2, rel=1e-12)
    assert forms[bias, 0] == pytest.approx(scale**2 * r * s1 / s0, rel=1e-9)
    assert forms[bias, 1] == pytest.approx(0.0, abs=1e-12)  # W ê: across the only direction that a step has
    before, _ = _covariances(gs.Network("softplus", eta=1.5, alpha0=1.2))
    lift = forms[bias, norm] / scale**2
    assert forms[norm, norm] == pytest.approx(before[norm, norm] + (lift * scale) ** 2, rel=1e-9)


@pytest.mark.parametrize(("activation", "steps"), [(SHIFTED, 3), ("gelu", 2)])
def test_row_norms_follow_biases_as_they_do_where_biases_are_letters(activation, steps):
    """d Cov(b, |w|²)/s² is the slope of c in the bias, however it comes about: letters of bias ±h have it as well, to
    h² of its own size, and to h⁴ = 1e-8 from two h."""
    setting, scale = {"eta": 1.5, "alpha0": 1.2, "steps": steps}, 1.7
    forms, modes = _covariances(gs.Network(activation, bias_scale=scale, **setting))
    *_, norm, bias = range(modes.count)
    slopes = []
    for h in (2e-2, 1e-2):
        two = gs.Letters((1, 1), (0.5, 0.5), biases=(h, -h))
        found = gs.predict(gs.Network(activation, readout=two, **setting), "sin", **AT, bulk="isotropic").c
        high, low = found.values.reshape(steps, 2)[-1]
        slopes.append((high - low) / (2 * h))
    expected = (4.0 * slopes[1] - slopes[0]) / 3.0
    assert abs(expected) > 0.03
    assert forms[bias, norm] / scale**2 == pytest.approx(expected, abs=1e-7)


def test_the_learned_function_has_its_share_of_them():
    """E_w[m μ0 + (ζκ + ψ(ρx - γw))μ1 + χ ∂μ0/∂c + ν μ1]."""
    w, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    x = np.array([-1.5, 0.0, 0.8])
    found = gs.learned_function(_net(scale=2.0), "sin", x, alpha=1.5, lam=0.2)
    gamma, r, c = (float(found[name]) for name in ("gamma", "r", "c"))
    m, zeta, psi, chi, nu = (float(found[name]) for name in ("m", "zeta", "psi", "chi", "nu"))
    rho = np.sqrt(1.0 - gamma**2)
    for place, learned in zip(x, found["learned"].values, strict=True):
        kappa = gamma * place + rho * w
        at = gs.coefficients(gs.SpikedRF(SHIFTED, r=r, gamma=gamma, c=c), kappa)
        along = zeta * kappa + psi * (rho * place - gamma * w) + nu
        inner = m * at["mu0"] + along * at["mu1"] + chi * at["dmu0"]
        assert learned == pytest.approx(float(weight @ inner.values), abs=1e-9)
    assert abs(nu) > 0.1


def test_bounds_know_of_their_function():
    """μ1 joins the span, however small they are: an even function, with a target that has an even part."""
    without, small, large = (float(gs.bounds(_net("tanh", s), MIX).lower) for s in (0.0, 0.1, 2.0))
    assert small == large
    assert small < without - 0.01


def test_the_top_singular_value_of_the_weights_is_found_beside_one_that_biases_make():
    """Seven networks of d = 250; b v_{e s1}ᵀ stands out of the bulk on its own, along the spike. Four errors."""
    net = gs.Network("relu", eta=2.0, alpha0=1.0, bias_scale=6.0)
    drawn = (rows.train(Case("", net, "sin"), 250, np.random.default_rng([9, seed])) for seed in range(7))
    tops = [np.linalg.norm(one.whole, 2) ** 2 for one in drawn]
    found = float(gs.weight_spectrum(net, "sin", d=250).outlier)
    assert abs(np.mean(tops) - found) < 4.0 * np.std(tops, ddof=1) / np.sqrt(len(tops))


# laws of order one


def test_networks_with_biases_drawn_from_a_law_have_the_errors_of_its_nodes():
    """Twelve networks of d = 150 with Gaussian biases of order one: four standard errors, and 2 % at this size."""
    d, scale = 150, 0.5
    runs = np.array([_network_errors(_net("relu", scale * np.sqrt(d)), "sin", d, seed) for seed in range(12)])
    readout = gs.Letters((1,), (1,)).with_biases("gaussian", scale)
    found = gs.predict(gs.Network("relu", eta=1.5, alpha0=1.5, readout=readout), "sin", d=d, **AT).test_error
    error = runs.std(axis=0, ddof=1) / np.sqrt(12) / runs.mean(axis=0)
    assert np.all(np.abs(found.values / runs.mean(axis=0) - 1.0) < 4.0 * error + 0.02)
