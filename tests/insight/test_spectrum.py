"""Spectra: laws that are known, mass and moments, and eigenvalues of actual feature matrices."""

import numpy as np
import pytest

import giantstep as gs
from tests.zoo import BIASES, SIGNS, TWO

from .finite import distance_to_law, feature_eigenvalues, moment, spiked_rows


def adds_up(found, first=1e-6, second=1e-6):
    """Nonnegative densities whose moments are those known in closed form."""
    assert np.all(found["density"].values >= 0.0)
    assert moment(found, 1) == pytest.approx(float(found["moment1"]), rel=first)
    assert moment(found, 2) == pytest.approx(float(found["moment2"]), rel=second)


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 1.0), (1.0, 2.5)])
def test_pure_noise_features_follow_marchenko_and_pastur(alpha, beta):
    """x² - 1 without a spike has no linear part: Ψ is white, of variance 2."""
    found = gs.spectrum(gs.SpikedRF("x**2 - 1", r=0.0, gamma=0.0, beta=beta), alpha=alpha)
    edges = 2.0 * (np.sqrt(alpha) + np.array([-1, 1]) * np.sqrt(beta)) ** 2 / beta
    np.testing.assert_allclose(found["edge"].values[0], edges, rtol=1e-7)  # found at a distance 1e-9 from the axis
    x = found["eigenvalue"].values
    expected = np.sqrt((edges[1] - x) * (x - edges[0])) / (4.0 * np.pi * x)
    np.testing.assert_allclose(found["density"].values, expected, rtol=1e-5)
    assert float(found["mass_at_zero"]) == pytest.approx(max(0.0, 1 - alpha / beta))


def test_interpolation_has_a_hard_edge_at_zero():
    found = gs.spectrum(gs.SpikedRF("tanh", r=0.5, gamma=1.0, beta=1.2), alpha=1.2)
    x, density = found["eigenvalue"].values, found["density"].values
    small = (x > 1e-9) & (x < 1e-7)
    slope = np.polyfit(np.log(x[small]), np.log(density[small]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.01)  # corrections of relative order √x and rare inputs
    assert float(found["mass"]) == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize(
    ("options", "unit", "count"), [({"kernel": True}, 1.0, 0.5), ({"normalise": "n"}, 0.5, 1.0)], ids=["kernel", "n"]
)
def test_other_products_have_the_same_eigenvalues_apart_from_zeros_and_units(options, unit, count):
    """αd × αd in place of βd × βd, and a division by αd in place of βd; β = 0.8, α = 1.6."""
    model = gs.SpikedRF("tanh", r=1.0, gamma=1.0, beta=0.8)
    one, other = (gs.spectrum(model, alpha=1.6, d=300, **more) for more in ({}, options))
    for name in ("edge", "spike", "spike_per_d"):
        np.testing.assert_allclose(other[name], unit * one[name])
    np.testing.assert_allclose(other["density"], count / unit * one["density"])
    assert float(other["mass_at_zero"]) == pytest.approx(1.0 - count)
    assert float(other["mass"]) == pytest.approx(1.0, abs=1e-6)
    adds_up(other)


def test_the_spike_has_its_published_first_correction():
    """λ = αdEμ0² + (α/β)Et + (E[μ0²t] + cα E[κμ0μ1]²)/Eμ0² + o(1), t = cμ1² + μ2²."""
    alpha, beta, c, d = 1.5, 0.8, 1.2, 1e6
    model = gs.SpikedRF("tanh", r=1.1, gamma=1.0, c=c, beta=beta)
    kappa, w = np.polynomial.hermite_e.hermegauss(100)
    w = w / w.sum()
    at = gs.coefficients(model, kappa)
    mu0, mu1, t = at["mu0"].values, at["mu1"].values, (c * at["mu1"] ** 2 + at["mu2"] ** 2).values
    power = w @ mu0**2
    correction = alpha / beta * (w @ t) + (w @ (mu0**2 * t) + c * alpha * (w @ (kappa * mu0 * mu1)) ** 2) / power
    spike = float(gs.spectrum(model, alpha=alpha, d=d)["spike"][0])
    assert spike - alpha * d * power == pytest.approx(correction, abs=1e-3)  # o(1) is of order 1/d


@pytest.mark.parametrize(
    ("activation", "act", "r", "c", "alpha", "beta"),
    [("tanh", np.tanh, 1.0, 1.0, 2.0, 1.0), ("relu", lambda x: np.maximum(x, 0.0), 0.8, 1.3, 0.6, 1.2)],
)
def test_feature_matrices_have_the_predicted_spectrum(activation, act, r, c, alpha, beta):
    """Kolmogorov distance of all trials pooled: the projections κ of the samples are what fluctuates, and their
    own empirical law is off by 1/√(samples); the spectrum moves by less."""
    d, trials = 400, 3
    rng = np.random.default_rng(5)
    found = gs.spectrum(gs.SpikedRF(activation, r=r, gamma=1.0, c=c, beta=beta), alpha=alpha, d=d)
    eigenvalues = [feature_eigenvalues(rng, spiked_rows(rng, d, beta, r, c), alpha, act) for _ in range(trials)]
    pooled = np.concatenate([values[:-1] for values in eigenvalues])
    assert distance_to_law(pooled, found) < 1.0 / np.sqrt(alpha * d * trials)
    tops = np.array([values[-1] for values in eigenvalues])
    # the spike fluctuates with Σμ0(κ)² over n samples: a relative deviation of order √(3/n)
    assert abs(tops.mean() / float(found["spike"][0]) - 1.0) < 4.0 * np.sqrt(3.0 / (alpha * d) / trials)
    # the largest bulk eigenvalue: at most a few d^(-2/3) above the edge, and below it so few are expected beyond it
    # that none of them need be there (independent ones would all be missing with a chance of e^-7)
    mass = beta * d * found["weight"] * found["density"]
    for values in eigenvalues:
        assert values[-2] / float(found["edge"][-1, 1]) - 1.0 < 5.0 * d ** (-2 / 3)
        assert float(mass.where(found["eigenvalue"] > values[-2]).sum()) < 7.0


TRAINED = {
    "relu": (gs.Network("relu", eta=3, alpha0=1, beta=1.2), "sin"),
    "kink": (gs.Network("tanh", eta=4, alpha0=1), "relu"),
    "noise": (gs.Network("gelu", eta=4, alpha0=0.5, beta=0.8), gs.Target("tanh", noise=0.3)),
    "signs": (gs.Network("relu", eta=3, alpha0=0.7, readout=SIGNS), gs.Target("sign(x1*(1 + x2))", flips=0.1)),
}
SLOWLY_TRAINED = {
    "two letters": (gs.Network("tanh", eta=4, alpha0=1, readout=TWO), "sin"),
    "relu of both signs": (gs.Network("relu", eta=3, alpha0=1, readout=SIGNS), "tanh"),
    "biases": (gs.Network("tanh", eta=3, alpha0=1, readout=BIASES), "sin"),
    "two steps": (gs.Network("relu", eta=1.5, alpha0=1, steps=2), "sin"),
    "several kinks": (gs.Network("relu", eta=3, alpha0=1), "min(max(x, -1), 1) + relu(x - 2)"),
    "gaussian rows": (gs.Network("relu", eta=3, alpha0=1, rows="gaussian"), "sin"),
}


@pytest.mark.parametrize(
    ("case", "d"),
    [(case, 400) for case in TRAINED]
    + [pytest.param(case, 1500, marks=pytest.mark.slow) for case in TRAINED | SLOWLY_TRAINED],
)
def test_any_trained_network_has_the_spectrum_of_its_own_rows(case, d):
    """Kolmogorov distance of trained networks' eigenvalues from the exact spectrum and from the isotropic one."""
    (net, target), alpha, trials = (TRAINED | SLOWLY_TRAINED)[case], 2.0, 2
    drawn = gs.simulate_spectrum(net, target, alpha=alpha, d=d, trials=trials, seed=3)["eigenvalue"].values
    distance = {}
    for bulk in ("isotropic", "exact"):
        found = gs.spectrum(net, target, alpha=alpha, d=d, bulk=bulk)
        assert float(found["mass"]) == pytest.approx(1.0, abs=1e-6)
        adds_up(found, 2e-6, 2e-6)
        spikes = int(np.isfinite(found["spike"]).sum())  # the bulk may have swallowed one
        distance[bulk] = distance_to_law(drawn[:, :-spikes].reshape(-1), found)
    assert found.sizes["interval"] == 1  # noise makes a tail and not a comb
    # spikes fluctuate with Σμ0(κ)² over the samples and with the batch
    tolerance = 5.0 * np.sqrt(3.0 / (alpha * d) / trials) + 5.0 / np.sqrt(d)
    np.testing.assert_allclose(drawn[:, -spikes:].mean(axis=0)[::-1], found["spike"][:spikes], rtol=tolerance)
    # the samples' own projections and the batch's residuals have laws that are off by this, one over √samples
    assert distance["exact"] < np.sqrt((1.0 / alpha + 1.0 / float(net.alpha0)) / (trials * d))
    assert distance["isotropic"] > 1.5 * distance["exact"]


@pytest.mark.parametrize("steps", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_direction_that_labels_ignore_changes_no_spectrum(steps):
    """sign(x1 + x2) is the sign of one direction: the same two labels, by integrals over one direction and over two."""
    net = gs.Network("relu", eta=1.5, alpha0=1.0, steps=steps)
    one = gs.spectrum(net, gs.Target("sign", flips=0.1), alpha=2.0, d=500, points=20)
    two = gs.spectrum(net, gs.Target("sign(x1 + x2)", flips=0.1), alpha=2.0, d=500, points=20)
    for name in ("eigenvalue", "density", "spike"):
        np.testing.assert_allclose(two[name], one[name], rtol=1e-6, atol=1e-8, err_msg=name)


def test_a_gap_may_hold_an_outlier():
    """tanh with β > 1 and many samples: p - d noise eigenvalues, then one alone in the gap, then the signal."""
    d, beta, alpha, r = 120, 4.0, 60.0, 1.2
    rng = np.random.default_rng(7)
    found = gs.spectrum(gs.SpikedRF("tanh", r=r, gamma=1.0, beta=beta), alpha=alpha, d=d)
    (_, low), (high, _) = found["edge"].values
    assert found.sizes["outlier_"] == 1
    predicted = float(found["outlier"][0])
    assert low < predicted < high
    in_gap = []
    for _ in range(3):
        values = feature_eigenvalues(rng, spiked_rows(rng, d, beta, r, 1.0), alpha, np.tanh)
        # at this d the lowest of the signal's 120 eigenvalues are up to 7 % of the gap below their edge
        in_gap.append(values[(values > low + 0.02 * (high - low)) & (values < high - 0.3 * (high - low))])
    assert [len(values) for values in in_gap] == [1, 1, 1]
    spread = np.std(np.concatenate(in_gap), ddof=1)
    assert abs(np.mean(in_gap) - predicted) < 4 * spread / np.sqrt(3) + 2.0 / d * predicted


@pytest.mark.parametrize(("mean", "d"), [(0, None), (1.04, 1)])
def test_even_activations_may_have_an_outlier_above_the_bulk(mean, d):
    """By the criterion for many samples: ℓ > 1 + β^(-1/2), at (α/β){Eμ2² + cEμ1²(βℓ + ℓ/(ℓ-1))}; the drift κμ1 counts
    without its part along μ0, unless that is too small for this d."""
    beta, alpha, more = 9.0, 4e5, {"d": d} if d else {}
    model = gs.SpikedRF(f"x**2 - {mean}", r=0.2, gamma=1.0, beta=beta)
    kappa, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    at = gs.coefficients(model, kappa)
    mu0, mu1, mu2 = (at[name].values for name in ("mu0", "mu1", "mu2"))
    drift, slope = kappa * mu1, w @ mu1**2
    seen = 0.0 if d else (w @ (mu0 * drift)) ** 2 / (w @ mu0**2)
    ell = (w @ drift**2 - seen) / slope
    assert ell > 1 + beta**-0.5
    expected = alpha / beta * (w @ mu2**2 + slope * (beta * ell + ell / (ell - 1)))
    found = gs.spectrum(model, alpha=alpha, points=40, **more)
    top = found["outlier"].values[-1]
    assert top > float(found["edge"].max())
    assert top == pytest.approx(expected, rel=0.01)  # finite alpha: corrections of order √(β/α) = 0.5 %


@pytest.mark.slow
def test_a_grid_pads_with_nan():
    found = gs.spectrum(gs.SpikedRF("tanh", r=1.0, gamma=1.0, beta=2.0), alpha=[1.5, 20.0], points=60)
    assert found["edge"].sizes == {"alpha": 2, "interval": 2, "side": 2}
    assert np.isnan(found["edge"].sel(alpha=1.5, interval=1)).all()
    np.testing.assert_allclose(found["mass"], 1.0, atol=1e-5)


SPLIT, KNEE = 2.364142800647374, {"r": 0.844188, "c": 0.770834, "beta": 1.9}
LETTERS = gs.Letters((0.0, 1.0), (0.5, 0.5), biases=(0.8, -0.4))
# model, target, alpha, points, number of intervals, and tolerances of mass and of two moments
DIFFICULT = {
    "any": (gs.SpikedRF("sin", r=1.7, gamma=1, c=0.7, beta=0.6), None, 1.5, 200, None, 1e-6, 1e-6, 1e-6),
    # fewer samples than neurons, a saturating activation: a smooth tail down to almost zero, and not a comb
    "rare inputs, tanh": (gs.SpikedRF("tanh", r=1, gamma=1), None, 0.5, 200, 1, 1e-6, 1e-6, 1e-6),
    "rare inputs, relu": (gs.SpikedRF("relu", r=1, gamma=1), None, 0.5, 200, 1, 1e-6, 1e-6, 1e-6),
    # bulk and tail meet in a corner, where nodes that suffice for the mass do not for the mean
    "knee": (gs.SpikedRF("softplus", gamma=1, **KNEE), None, 0.76, 200, 1, 1e-6, 2e-7, 1e-6),
    # tanh saturates: half of the mass lies below 1e-14 of the top, which moments do not feel
    "longest spike": (gs.SpikedRF("tanh", r=30, gamma=1), None, 2.0, 50, None, None, 1e-6, 1e-6),
    # few labels make few nodes: the number of steps alone is not what is refused
    "signs": (gs.Network("relu", eta=1, alpha0=1, steps=3), "sign", 2.0, 40, None, 1e-5, 1e-4, 1e-4),
    # a gap narrower than any scan, found from the dip that it makes in the density
    "split": (gs.SpikedRF("sin", r=0, gamma=1, c=0.99999, beta=SPLIT), None, 1.4 * SPLIT, 200, 2, 1e-6, 1e-6, 1e-6),
    "letters": (gs.SpikedRF("tanh", r=1.2, gamma=1, readout=LETTERS), None, 2.0, 200, None, 1e-6, 1e-6, 1e-6),
}
SLOW = ("split", "letters")


@pytest.mark.parametrize("case", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in DIFFICULT])
def test_densities_are_nonnegative_and_carry_mass_and_moments(case):
    model, target, alpha, points, intervals, mass, *moments = DIFFICULT[case]
    found = gs.spectrum(model, target, alpha=alpha, points=points)
    assert mass is None or float(found["mass"]) == pytest.approx(1.0, abs=mass)
    adds_up(found, *moments)
    assert intervals is None or found.sizes["interval"] == intervals
    if case.startswith("rare"):
        assert float(found["edge"][0, 0]) < 1e-5
    if case == "letters":  # a spike each
        assert (found["spike_per_d"].values > 0).tolist() == [True, True]
