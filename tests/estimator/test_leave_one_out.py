"""Leave-one-out is what it says, found without leaving anything out; and what is chosen by it is a good choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge

from giantstep.estimator.convex import Smooth
from giantstep.estimator.features import Features
from giantstep.estimator.kinked import Kinked
from giantstep.estimator.ridge import moments
from giantstep.functions import as_function
from giantstep.losses import Loss, as_loss, logistic
from giantstep.simulation.backend import NumpyBackend
from giantstep.sklearn import OneStepClassifier, OneStepRegressor


def some_features(n: int, p: int, *, seed: int = 0, copies: bool = False):
    """Features of a network at random inputs, with two targets and weights; with copies some inputs come twice."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    if copies:
        X[n // 2 : n // 2 + n // 4] = X[: n // 4]
    y = np.stack([np.tanh(X[:, 0]) + 0.5 * rng.standard_normal(n), X[:, 1] ** 2 - 1], axis=1)
    model = OneStepRegressor(1.0, p, lam=1.0, random_state=0).fit(X, y)
    index = np.arange(n)
    phi = Features(model.network_, as_function("tanh"), X, model.inputs_, index, n, NumpyBackend())
    return phi, y, rng.uniform(0.5, 2.0, n), X


def ridge(phi: np.ndarray, y: np.ndarray, weights: np.ndarray, lam: float, intercept: bool) -> Ridge:
    return Ridge(alpha=lam, fit_intercept=intercept, tol=1e-12).fit(phi, y, sample_weight=weights)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [15, 60])  # fewer neurons than samples, and more
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_without_each_sample_is_exact(intercept, p, weighted):
    features, y, weights, _ = some_features(40, p)
    weights = weights if weighted else np.ones(40)
    phi, lams = features.gathered(), np.array([1e-3, 0.1, 3.0])
    known = moments(features, y, weights, intercept)
    found = known.spectrum().left_out(features, y, weights, None, lams)
    first = features.first(25)
    for i, lam in enumerate(lams):
        single = known.at(lam).left_out(first, y[:25], weights[:25], None)
        np.testing.assert_allclose(single, found[i, :25], rtol=1e-7, atol=1e-8)
        for out in range(0, 40, 4):
            rest = np.arange(40) != out
            model = ridge(phi[rest], y[rest], weights[rest], lam, intercept)
            # rounding of the decomposition, 1e-16 times the condition number of features and lam
            np.testing.assert_allclose(found[i, out], model.predict(phi[[out]])[0], rtol=1e-7, atol=1e-8)
        whole = ridge(phi, y, weights, lam, intercept)
        np.testing.assert_allclose(known.fit(lam).weights, whole.coef_, rtol=1e-6, atol=1e-8)


def test_copies_of_an_input_are_left_out_together():
    features, y, weights, X = some_features(40, 15, copies=True)
    _, copies = np.unique(X, axis=0, return_inverse=True)
    assert len(np.unique(copies)) == 30
    phi, lam = features.gathered(), 0.1
    known = moments(features, y, weights, True)
    found = known.spectrum().left_out(features, y, weights, copies, np.array([lam]))[0]
    single = known.at(lam).left_out(features, y, weights, copies)
    np.testing.assert_allclose(single, found, rtol=1e-7, atol=1e-8)
    for out in range(40):
        rest = copies != copies[out]
        model = ridge(phi[rest], y[rest], weights[rest], lam, True)
        np.testing.assert_allclose(found[out], model.predict(phi[[out]])[0], rtol=1e-7, atol=1e-8)


LOSSES = [
    ("huber:1", Smooth, 15, 1.0, 0.1),
    ("logistic", Smooth, 15, 1.0, 0.1),
    ("squared_hinge", Smooth, 15, 1.0, 0.1),
    ("absolute", Kinked, 60, 0.1, 0.3),
    ("pinball:0.3", Kinked, 60, 0.1, 0.3),
    ("hinge", Kinked, 60, 0.1, 0.3),
]
"""Loss, width, penalty, and how much of what leaving out costs may be missed.

Smooth losses: one Newton step leaves what is of second order in a sample's influence, p_eff/n = 6/120 of the first.
Kinked ones: other samples come to a kink or leave it, one in √30 of those that are there; a sample on the wrong
side of its kink, or a missing projection, makes errors of 100 % and more.
"""


@pytest.mark.parametrize(("name", "solver", "p", "lam", "missed"), LOSSES)
def test_other_losses_without_each_sample_are_close_to_refits(name, solver, p, lam, missed):
    n, loss = 120, as_loss(name)
    features, y, weights, _ = some_features(n, p)
    labels = np.where(y[:, 0] > 0, 1.0, -1.0) if loss.margin else y[:, 0]
    problem = solver(features, labels, weights, loss, True)
    theta, gap = problem.fit(lam)
    assert gap < 1e-9
    found = problem.left_out(theta, lam, features, None)
    constant = 1e3 if solver is Smooth else 30.0
    rows = np.hstack([features.gathered(), np.full((n, 1), constant)])
    exact, some = rows @ theta, np.arange(0, n, 2)  # every other one, which is enough to see
    for out in some:
        rest = np.flatnonzero(np.arange(n) != out)
        part = replace(features, index=rest, fresh=n - 1, _kept=[])
        exact[out] = rows[out] @ solver(part, labels[rest], weights[rest], loss, True).fit(lam)[0]
    kept, left, approximate = (
        weights[some] @ loss.value(labels[some], z[some]) for z in (rows @ theta, exact, found)
    )
    assert left > kept * 1.02  # there is something to be found
    assert abs(approximate - left) < missed * (left - kept)


def test_weights_of_kinked_and_own_losses_count_samples():
    """Integer weights against repeated samples, for losses that do not work in blocks."""
    features, y, _, _ = some_features(40, 10)
    counts = np.random.default_rng(1).integers(1, 4, 40)
    repeated = np.repeat(np.arange(40), counts)
    own = Loss(lambda y, z: (y - z) ** 2 / 2, lambda y, z: z - y, name="own square")
    for loss in (as_loss("absolute"), as_loss("hinge"), own):
        labels = np.sign(y[:, 0]) if loss.margin else y[:, 0]
        twice = replace(features, index=repeated, fresh=len(repeated), _kept=[])
        weighted, _ = Kinked(features, labels, counts.astype(float), loss, True).fit(0.5)
        plain, _ = Kinked(twice, labels[repeated], np.ones(len(repeated)), loss, True).fit(0.5)
        # gaps of 1e-9 of an objective of about 30 leave readouts √(2·30e-9/lam) apart at most
        np.testing.assert_allclose(weighted, plain, atol=4e-4)


def test_the_penalty_is_the_best_on_the_grid_and_near_the_best_of_all():
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(0.0, 60, refit_on="rest", random_state=0).fit(X, y)
    errors = model.loo_.error
    least = int(errors.argmin("lam"))
    assert errors.lam[least] / 10**0.25 <= model.lam_ <= errors.lam[least] * 10**0.25
    assert 1e-7 * len(X) < model.lam_ < 3 * len(X)  # inside the grid, not at its ends
    # between neighbours half a decade apart a smooth curve has its minimum: none is much lower
    phi = model.transform(X) / np.sqrt(60)

    def brute(log_lam: float) -> float:
        hat = phi - phi.mean(axis=0)
        gram = hat @ np.linalg.solve(hat.T @ hat + np.exp(log_lam) * np.eye(60), hat.T) + 1 / len(X)
        return float((((y - gram @ y) / (1 - np.diag(gram))) ** 2).mean() / y.var())

    whole = OneStepRegressor(0.0, 60, refit_on="all", split=1e-9, random_state=0).fit(X, y)
    best = minimize_scalar(brute, bounds=(np.log(1e-4), np.log(1e3)), method="bounded")
    fresh = float(whole.loo_.error.min())
    assert best.fun <= brute(np.log(whole.lam_)) <= 1.01 * best.fun
    # one or two samples of 442 see the step that is not there; the others judge
    assert fresh == pytest.approx(brute(np.log(whole.lam_)), rel=0.02)


def test_a_step_is_taken_where_it_helps_and_not_where_there_is_nothing_to_find():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 30))
    helped = OneStepRegressor(random_state=0).fit(X, np.tanh(3 * X[:, 0]) + 0.1 * rng.standard_normal(800))
    assert helped.network_.eta > 0
    assert float(helped.loo_.rate_error.sel(eta=0.0)) > 2 * float(helped.loo_.rate_error.min())
    # Labels that are noise: a step wins by more than one standard error with probability 0.16 for each of two rates
    # tried, 0.3 at most. Of 20 tries 14 or more would then have probability 4e-4.
    taken = [
        OneStepRegressor(width=40, random_state=k).fit(X[:200], rng.standard_normal(200)).network_.eta > 0
        for k in range(20)
    ]
    assert sum(taken) < 14


def test_choosing_is_never_worse_than_no_step_by_more_than_noise():
    """Over 12 splits of data where steps do not help, the mean loss is within 3 of its standard errors of 0."""
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    differences = []
    for k in range(12):
        order = rng.permutation(len(y))
        train, test = order[:300], order[300:]
        scores = [
            OneStepRegressor(eta, 100, random_state=k).fit(X[train], y[train]).score(X[test], y[test])
            for eta in ("loo", 0.0)
        ]
        differences.append(scores[0] - scores[1])
    assert np.mean(differences) > -3 * np.std(differences, ddof=1) / np.sqrt(12) - 0.005


def test_penalties_of_other_losses_are_walked_to_where_left_out_losses_are_least():
    X, y = load_breast_cancer(return_X_y=True)
    model = OneStepClassifier("auto", 40, random_state=0).fit(X, y)
    losses = model.loo_.loss
    assert model.lam_ == float(losses.lam[losses.argmin("lam")])
    assert losses.sizes["lam"] >= 2
    assert model.optimality_.max() < 1e-12
    labels = np.where(y == 1, 1.0, -1.0)
    # left out losses are above those of the fit, and below those of no fit at all
    fitted = logistic.value(labels, model.decision_function(X)).mean()
    assert fitted < float(losses.min()) < 0.5 * np.log(2)
    assert OneStepClassifier("loo", 40, loss="hinge", random_state=0).fit(X, y).score(X, y) > 0.95


def test_given_values_are_kept_and_nothing_is_searched():
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(3.0, 30, lam=0.5, random_state=0).fit(X, y)
    assert (model.network_.eta, model.lam_, len(model.loo_)) == (3.0, 0.5, 0)
    half = OneStepRegressor("loo", 30, lam=0.5, random_state=0).fit(X, y)
    assert half.lam_ == 0.5
    assert "error" not in half.loo_
    assert half.loo_.rate_error.sizes["eta"] >= 2


def test_penalties_of_kinked_losses_are_chosen_where_left_out_losses_are_finite():
    """A rough fit does not show which samples are at a kink, and without them every sample seems to move far."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6))
    y = X[:, 0] + 0.3 * rng.standard_normal(150)
    model = OneStepRegressor(0.0, 20, loss="absolute", random_state=0).fit(X, y)
    # no fit at all loses E|y|/σ = √(2/π) = 0.80; a good one about 0.29 of that, and what 20 neurons of 150 cost
    assert float(model.loo_.loss.min()) < 0.5
    assert model.score(X, y) > 0.7
