"""Leave-one-out is what it says, found without leaving anything out; and what is chosen by it is a good choice."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge

from giantstep.estimator.readout import Readout, decompose
from giantstep.losses import Loss, as_loss, square
from giantstep.sklearn import OneStepClassifier, OneStepRegressor


def samples(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features that are not centred, two targets, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6))
    phi = np.tanh(x @ rng.standard_normal((6, p)) + 0.3)
    y = np.stack([np.tanh(x[:, 0]) + 0.5 * rng.standard_normal(n), x[:, 1] ** 2 - 1], axis=1)
    return phi, y, rng.uniform(0.5, 2.0, n)


def posed(phi: np.ndarray, y: np.ndarray, weights: np.ndarray, intercept: bool = True) -> Readout:
    return decompose(phi, y, weights, weights, intercept)


def outputs(readout: Readout, loss: Loss, lam: float, phi: np.ndarray) -> np.ndarray:
    weights, intercept = readout.fit(loss, lam)
    return phi @ weights.T + intercept


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [15, 60])  # fewer neurons than samples, and more
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_without_each_sample_is_exact(intercept, p, weighted):
    n = 40
    phi, y, weights = samples(n, p)
    weights = weights if weighted else np.ones(n)
    readout = posed(phi, y, weights, intercept)

    def theirs(kept: np.ndarray, lam: float) -> Ridge:
        model = Ridge(alpha=lam, fit_intercept=intercept, solver="svd")
        return model.fit(phi[kept] / np.sqrt(p), y[kept], sample_weight=weights[kept])

    for lam in (1e-3, 0.1, 3.0):
        left = readout.left_out(square, lam).losses[:, 0]
        for out in range(n):
            rest = np.arange(n) != out
            expected = theirs(rest, lam).predict(phi[[out]] / np.sqrt(p))[0]
            # rounding of the decomposition, 1e-16 times the condition number of features and lam
            assert left[out] == pytest.approx(((y[out] - expected) ** 2).sum(), rel=1e-6)
        whole = theirs(np.full(n, True), lam).predict(phi / np.sqrt(p))
        np.testing.assert_allclose(outputs(readout, square, lam, phi), whole, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("p", [15, 60])
def test_without_a_penalty_ridge_is_the_smallest_of_all_least_squares(p):
    phi, y, _ = samples(40, p)
    weights, intercept = posed(phi, y, np.ones(40)).fit(square, 0.0)
    expected = np.linalg.pinv(phi - phi.mean(axis=0)) @ (y - y.mean(axis=0))
    np.testing.assert_allclose(weights.T, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(intercept, y.mean(axis=0) - phi.mean(axis=0) @ expected, rtol=1e-6)


QUARTIC = Loss(
    lambda y, z: 0.5 * (y - z) ** 2 + 0.1 * (y - z) ** 4,
    lambda y, z: (z - y) + 0.4 * (z - y) ** 3,
    lambda y, z: 1 + 1.2 * (z - y) ** 2,
    name="quartic",
)


@pytest.mark.parametrize("loss", ["huber:1", "logistic", "squared_hinge", QUARTIC], ids=str)
def test_other_losses_without_each_sample_are_close_to_refits(loss):
    """One Newton step leaves what is of second order in a sample's influence, p_eff/n = 6/120 of the first."""
    n, loss, lam = 120, as_loss(loss), 1.0
    phi, y, weights = samples(n, 15)
    y = np.where(y > 0, 1.0, -1.0) if loss.margin else y
    readout = posed(phi, y, weights)
    fitted = loss.value(y, outputs(readout, loss, lam, phi)).sum(axis=1)
    left = readout.left_out(loss, lam).losses[:, 0]
    exact = np.empty(n)
    for out in range(n):
        rest = np.arange(n) != out
        exact[out] = loss.value(
            y[[out]], outputs(posed(phi[rest], y[rest], weights[rest]), loss, lam, phi[[out]])
        ).sum()
    assert weights @ exact > weights @ fitted * 1.02  # there is something to be found
    assert abs(weights @ (left - exact)) < 0.1 * (weights @ (exact - fitted))


def test_only_samples_that_no_step_has_seen_judge():
    """With more inputs than samples the spike tells which samples it is a sum of: those of the step."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 60)), rng.standard_normal(40)
    model = OneStepRegressor(2.0, 20, lam=0.3, split=0.3, random_state=0).fit(X, y)
    shares = np.linalg.lstsq(model.inputs_(X).T, model.network_.spike[0], rcond=None)[0]
    fresh = np.abs(shares - np.median(shares)) < 1e-9 * np.abs(shares).max()  # each sample counts zero, centred
    assert fresh.sum() == 28
    left = posed(model.transform(X), (y[:, None] - y.mean()) / y.std(), np.ones(40)).left_out(square, 0.3)
    assert float(model.loo_.error[0]) == pytest.approx(left.losses[fresh].mean())


def test_the_penalty_is_near_the_best_of_all():
    """Of brute force leave-one-out, where no step is taken and so all samples judge."""
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(0.0, 60, random_state=0).fit(X, y)
    phi = model.transform(X) / np.sqrt(60)

    def brute(log_lam: float) -> float:
        hat = phi - phi.mean(axis=0)
        gram = hat @ np.linalg.solve(hat.T @ hat + np.exp(log_lam) * np.eye(60), hat.T) + 1 / len(X)
        return float((((y - gram @ y) / (1 - np.diag(gram))) ** 2).mean() / y.var())

    best = minimize_scalar(brute, bounds=(np.log(1e-4), np.log(1e3)), method="bounded")
    assert best.fun <= brute(np.log(model.lam_)) <= 1.002 * best.fun
    assert float(model.loo_.error.min()) == pytest.approx(brute(np.log(model.lam_)), rel=1e-8)


def test_penalties_of_other_losses_are_searched_to_where_left_out_losses_are_least():
    X, y = load_breast_cancer(return_X_y=True)
    model = OneStepClassifier("auto", 40, random_state=0).fit(X, y)
    losses = model.loo_.loss
    least = int(losses.argmin("lam"))
    assert model.lam_ == float(losses.lam[least])
    assert 0 < least < losses.sizes["lam"] - 1
    np.testing.assert_allclose(losses.lam[1:].values / losses.lam[:-1].values, 10)
    # left out losses are above those of the fit, and below those of no fit at all
    labels = np.where(y == 1, 1.0, -1.0)
    fitted = as_loss("logistic").value(labels, model.decision_function(X)).mean()
    assert fitted < float(losses.min()) < 0.5 * np.log(2)


def test_no_step_is_taken_where_there_is_nothing_to_find():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    # Labels that are noise: of rates that win by chance a share of 0.32 wins by more than one standard error.
    # Of 25 such wins 17 or more would then be taken with probability 2e-4.
    tries = [OneStepRegressor(width=40, random_state=k).fit(X, rng.standard_normal(200)) for k in range(60)]
    won = sum(model.loo_.rate_error.values.argmin() > 0 for model in tries)
    assert won > 10
    assert sum(model.network_.eta > 0 for model in tries) < 0.68 * won


def one_index(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where a step helps."""
    X = rng.standard_normal((n, 30))
    return X, np.tanh(3 * X @ np.full(30, 30**-0.5)) + 0.3 * rng.standard_normal(n)


def quadratic(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where 256 ReLUs are better without a step: 36 products of inputs, and one direction."""
    X = rng.standard_normal((n, 8))
    products = X @ np.random.default_rng(1).standard_normal((8, 8)) / 8
    return X, 0.5 * np.tanh(3 * X[:, 0]) + (products * X).sum(axis=1) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(("data", "activation", "helps"), [(one_index, "tanh", True), (quadratic, "relu", False)])
def test_the_chosen_rate_is_within_noise_of_the_best_of_the_whole_grid(data, activation, helps):
    """All rates, on 4000 new samples. The choice was made on 400: its noise is theirs."""
    for k in range(4):
        rng = np.random.default_rng(k)
        (X, y), (X_new, y_new) = data(800, rng), data(4000, rng)
        chosen = OneStepRegressor("loo", 256, activation=activation, random_state=k).fit(X, y)
        losses = {}
        for eta in chosen.loo_.eta.values:  # with the penalty that it has alone
            model = OneStepRegressor(eta, 256, activation=activation, random_state=k).fit(X, y)
            losses[eta] = (model.predict(X_new) - y_new) ** 2
        best, *_, worst = sorted(losses.values(), key=np.mean)
        lost = losses[chosen.network_.eta] - best
        assert np.mean(lost) <= 3 * np.std(lost) / np.sqrt(400)
        assert (chosen.network_.eta > 0) == helps
        # there was something to choose
        assert np.mean(worst - best) > 3 * np.std(worst - best) / np.sqrt(4000)


def test_given_values_are_kept_and_judged_alone():
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(3.0, 30, lam=0.5, random_state=0).fit(X, y)
    assert (model.network_.eta, model.lam_) == (3.0, 0.5)
    assert model.loo_.sizes == {"lam": 1}
    half = OneStepRegressor("loo", 30, lam=0.5, random_state=0).fit(X, y)
    assert half.lam_ == 0.5
    assert half.loo_.rate_error.sizes["eta"] == 3


def test_penalties_are_searched_within_the_range_of_ridge_regression():
    """Where one feature is the label the smallest penalty is the best of all, for ridge regression too."""
    phi = np.random.default_rng(0).choice([-1.0, 1.0], (40, 4))
    left = posed(phi, phi[:, :1], np.ones(40), intercept=False).left_out(as_loss("logistic"), None)
    np.testing.assert_allclose(left.lams, [4e-8, 4e-7])
    assert left.lam == left.lams[0]
