"""The theory's learning curve is that of Gaussian data like the given ones: on Gaussian data it is right."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import hermite_e

pytest.importorskip("sklearn")

from sklearn.datasets import load_diabetes

import giantstep as gs
from giantstep.estimator.curve import resembling
from giantstep.sklearn import OneStepRegressor


def gaussian(n: int, d: int, seed: int, noise: float = 0.5, third: float = 0.3):
    """y = z + third·He₃(z)/√6 + noise, of variance 1 + third² + noise²."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    z = X[:, 0]
    return X, z + third * (z**3 - 3 * z) / np.sqrt(6) + noise * rng.standard_normal(n)


def test_alignment_and_shape_are_recovered():
    """Means over 10 data sets, within 4 standard errors."""
    n, d = 4000, 300
    nodes, weights = hermite_e.hermegauss(20)
    cubic = (nodes**3 - 3 * nodes) / np.sqrt(6)
    found = []
    for seed in range(10):
        X, y = gaussian(n, d, seed, third=1.0)
        alignment, target = resembling(X, (y - y.mean()) / y.std(), np.random.default_rng(seed))
        shape = [weights @ (one * target.function(nodes)) / weights.sum() for one in (nodes, cubic)]
        v = y[: n // 2] @ X[: n // 2]
        found.append((*shape, alignment - v[0] / np.linalg.norm(v)))
    slope, third, gamma = np.array(found).T
    for values, expected in ((slope, 1 / 1.5), (third, 1 / 1.5), (gamma, 0.0)):
        assert abs(values.mean() - expected) < 4 * values.std(ddof=1) / np.sqrt(10)


def test_on_gaussian_data_theory_and_cross_validation_agree_and_elsewhere_they_need_not():
    X, y = gaussian(1500, 60, 1)
    model = OneStepRegressor("auto", 60, lam=1.0, random_state=0).fit(X, y)
    curve = model.learning_curve_theory(X, y, sizes=[300, 600, 1200])
    assert curve.theory.dims == curve.measured.dims == ("eta", "n")
    assert curve.sizes == {"eta": 2, "n": 3}
    # Measured errors are means over folds of one data set, with five of which a standard error is known to a third;
    # the theory's own noise, from its measured target, is about as large.
    assert (abs(curve.theory - curve.measured) < 5 * curve.measured_error + 0.02).all()
    for errors in (curve.theory, curve.measured):  # the step helps, and both know it
        assert (errors.sel(eta=0.0) > errors.isel(eta=1) + 0.1).all()
    # correlated inputs: the target is easier than for Gaussian data of that many directions
    X, y = load_diabetes(return_X_y=True)
    curve = model.fit(X, y).learning_curve_theory(X, y, sizes=[60])
    assert float(curve.theory.isel(eta=0, n=0)) > 1.1 * float(curve.measured.isel(eta=0, n=0))


def test_the_theory_is_that_of_the_fitted_network_and_the_measured_target():
    X, y = gaussian(400, 20, 2)
    model = OneStepRegressor(2.0, 30, lam=0.7, split=0.3, activation="erf", random_state=0).fit(X, y)
    curve = model.learning_curve_theory(X, y, sizes=[100, 250], folds=3)
    n, target = curve.n.values, gs.Target(curve.target, noise=curve.noise)
    for k in range(2):
        net = gs.Network("erf", eta=[0.0, 2.0], alpha0=0.3 * n[k] / 20, beta=1.5)
        expected = gs.predict(net, target, alpha=0.7 * n[k] / 20, lam=0.7).test_error + curve.noise**2
        np.testing.assert_allclose(curve.theory.isel(n=k), expected, rtol=1e-6)  # twice what predict promises


def test_labels_that_are_noise_are_seen_as_noise():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 20)), rng.standard_normal(400)
    model = OneStepRegressor(1.0, 20, lam=1.0, random_state=0).fit(X, y)
    curve = model.learning_curve_theory(X, y, sizes=2, folds=3)
    assert curve.noise > 0.9
    assert (curve.theory > 0.9).all()
