"""The estimators keep scikit-learn's contract, and are the network that the theory speaks of."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

import giantstep.sklearn
from giantstep.errors import ParameterError
from giantstep.functions import as_function
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.runtime.system import free_memory
from giantstep.simulation import simulate

pytest.importorskip("sklearn")

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from giantstep.estimator.network import random_layer, standardise
from giantstep.sklearn import OneStepClassifier, OneStepRegressor

RNG = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        OneStepRegressor(width=64),
        OneStepClassifier(width=32),
        OneStepRegressor(width=64, activation="relu", fit_intercept=False, lam=0.1, eta="auto"),
        OneStepRegressor(width=32, steps=2, loss="huber:1", whiten=True),
        OneStepClassifier(width=32, loss="square", letters=Letters((-1.0, 1.0), (0.5, 0.5))),
        OneStepClassifier(width=32, loss="squared_hinge", eta="auto"),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def single_index(n: int, d: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(d)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X @ theta / np.linalg.norm(theta)), theta / np.linalg.norm(theta)


def seen(estimator, X: np.ndarray) -> np.ndarray:
    """Features of a fitted estimator, divided by √p."""
    phi = estimator.transform(X)
    return phi / np.sqrt(phi.shape[1])


@pytest.mark.parametrize("outputs", [1, 3])
def test_each_step_is_the_gradient_of_the_networks_own_loss_at_its_rows(outputs):
    """Finite differences of ½ weighted mean of Σ_k (y_k - f_k)², for letters of both signs with biases."""
    n, d, p, eta, letters = 40, 6, 18, 0.7, Letters((1.0, -0.5), (0.5, 0.5), biases=(0.2, -0.1))
    layer = random_layer(p, d, outputs, letters, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(layer.rows, axis=1), 1)
    first = np.arange(p) % (p // outputs) < p // outputs // 2
    owner = np.arange(p)[:, None] // (p // outputs) == np.arange(outputs)
    readout, biases = owner * np.where(first, 1.0, -0.5)[:, None], np.where(first, 0.2, -0.1)
    for step in (1, 2):
        x, y = RNG.standard_normal((n, d)), RNG.standard_normal((n, outputs))
        weights, bumps = RNG.uniform(0.5, 2, n), 1e-5 * np.eye(p * d).reshape(-1, p, d)

        def risk(rows: np.ndarray, x=x, y=y, weights=weights) -> float:
            f = np.tanh(x @ rows.T + biases) @ readout / p
            return weights @ ((y - f) ** 2).sum(axis=1) / (2 * weights.sum())

        slopes = [(risk(layer.rows + bump) - risk(layer.rows - bump)) / 2e-5 for bump in bumps]
        stepped = layer.step(eta, False, x, y, weights, as_function("tanh"))
        # central differences: h² times a third derivative, and rounding 1e-16/h
        expected = layer.rows - eta * d * np.reshape(slopes, (p, d))
        np.testing.assert_allclose(stepped.rows, expected, atol=1e-8)
        np.testing.assert_array_equal(stepped.etas, [eta] * step)
        assert stepped.spikes.shape == (step, outputs, d)
        layer = stepped


@pytest.mark.parametrize("letters", ["rademacher", "ternary"])
def test_automatic_steps_move_rows_of_letter_one_by_their_own_length(letters):
    X, y, _ = single_index(300, 20)
    common = {"width": 50, "random_state": 0, "letters": letters}
    start, moved = (OneStepRegressor(eta, **common).fit(X, y).network_ for eta in (0.0, "auto"))
    assert np.linalg.norm(moved.rows - start.rows) == pytest.approx(np.linalg.norm(moved.readout))
    given = OneStepRegressor(moved.eta, **common).fit(X, y).network_
    np.testing.assert_allclose(given.rows, moved.rows, rtol=1e-12)


def test_spikes_are_those_of_the_simulation():
    """Same law at the same size: means over 30 runs within 4 standard errors of each other."""
    d, trials, scale = 60, 30, np.sqrt((1 - np.exp(-8)) / 2)  # of sin(2z)
    sim = simulate(Network("tanh", 2.0, 3.0, beta=1.5), f"sin(2*x)/{scale}", alpha=1.0, lam=1.0, d=d, trials=trials)
    found = []
    for seed in range(trials):
        X, y, theta = single_index(6 * d, d, seed)
        model = OneStepRegressor(2.0, 1.5, lam=1.0, random_state=seed).fit(X, y)
        net = model.network_
        found.append((net.r[0], net.c[0], net.spike[0] @ theta))
        power, c = net.r[0] ** 2 * 90, net.c[0]  # of a matrix of rank one in noise of variance c/d
        outlier = np.sqrt((power + c) * (power + 1.5 * c) / power)  # in the limit; up to √(c/d), 3 % of it, here
        assert model.outlier_ratio_ == pytest.approx(outlier / (np.sqrt(c) * (1 + np.sqrt(1.5))), rel=0.1)
    for name, values in zip(("r", "c", "gamma"), np.array(found).T, strict=True):
        expected = sim[name].values
        error = np.sqrt((values.var(ddof=1) + expected.var(ddof=1)) / trials)
        # standardising by samples costs a few of 180 degrees of freedom: 1/n0 of the value at most
        assert abs(values.mean() - expected.mean()) < 4 * error + abs(expected.mean()) / (3 * d), name


def test_without_a_step_it_is_ridge_regression_on_random_features():
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(0.0, 40, lam=0.3, refit_on="all", random_state=1).fit(X, y)
    np.testing.assert_allclose(np.linalg.norm(model.network_.rows, axis=1), 1)
    assert (model.network_.r, model.network_.c) == (pytest.approx(0), pytest.approx(1))
    assert model.outlier_ratio_ < 1.1
    phi = seen(model, X)
    ridge = Ridge(alpha=0.3).fit(phi, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(phi), rtol=1e-8)
    plain = OneStepRegressor(0.0, 40, lam=0.3, refit_on="all", random_state=1, fit_intercept=False).fit(X, y)
    through_mean = Ridge(alpha=0.3, fit_intercept=False).fit(phi, y - y.mean())
    np.testing.assert_allclose(plain.predict(X), y.mean() + through_mean.predict(phi), rtol=1e-8)


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_units_of_inputs_do_not_matter(kind):
    X, y = load_diabetes(return_X_y=True)
    y = y > 140 if kind is OneStepClassifier else y
    scales, shifts = RNG.uniform(0.1, 10, 10), RNG.standard_normal(10)
    model = kind(width=60, random_state=0).fit(X, y)
    answer = model.decision_function if kind is OneStepClassifier else model.predict
    expected = answer(X)
    np.testing.assert_array_equal((model.fit(2 * X, y), answer(2 * X))[1], expected)
    for moved in (X * scales, X * 1e300, X * 1e-300, X * scales + shifts, X + 1e3):
        np.testing.assert_allclose((model.fit(moved, y), answer(moved))[1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "huber:1"])
def test_units_of_targets_do_not_matter(loss):
    X, y = load_diabetes(return_X_y=True)
    model = OneStepRegressor(width=60, loss=loss, random_state=0)
    expected = model.fit(X, y).predict(X)
    for scale, shift in ((7.0, -3.0), (1e-170, 0.0), (1e300, 0.0), (1e-300, 0.0)):
        np.testing.assert_allclose(model.fit(X, scale * y + shift).predict(X), scale * expected + shift, rtol=1e-6)
    both = model.fit(X, np.stack([y, 1e-170 * y], axis=1)).predict(X)
    np.testing.assert_allclose(both[:, 1], 1e-170 * both[:, 0], rtol=1e-6)


def test_whitened_inputs_have_no_correlations_and_lose_empty_directions():
    X = RNG.standard_normal((200, 5)) @ RNG.standard_normal((5, 8))
    X = np.column_stack([X, np.full(200, 0.1)])
    model = OneStepRegressor(whiten=True, random_state=0).fit(X, X[:, 0])
    assert model.network_.rows.shape[1] == 5
    np.testing.assert_allclose(np.cov(model.inputs_(X).T, bias=True), np.eye(5), atol=1e-10)
    plain = OneStepRegressor(random_state=0).fit(X, X[:, 0])
    np.testing.assert_allclose(plain.inputs_(X).std(axis=0), [1] * 8 + [0], atol=1e-12)
    moved = 1e-200 * X * RNG.uniform(0.1, 10, 9)  # other units; axes are eigenvectors, of either sign
    white = standardise(moved, np.ones(200), True)(moved)
    np.testing.assert_allclose(np.abs(white), np.abs(model.inputs_(X)), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("load", "outputs"), [(load_breast_cancer, 1), (load_iris, 3)])
def test_each_class_has_its_own_spike_and_every_readout_sees_all_neurons(load, outputs):
    X, y = load(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    model = OneStepClassifier("auto", width=30, lam=0.1, split=0.4, random_state=0).fit(X, y)
    assert model.network_.spike.shape == (outputs, X.shape[1])
    phi = seen(model, X)
    reference = OneVsRestClassifier(LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000)).fit(phi, y)
    # intercepts are penalised by a millionth of lam, which moves them by about that
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(phi), atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(phi), atol=1e-4)
    assert (model.predict(X) == reference.predict(phi)).all()


def test_only_logistic_classifiers_have_probabilities():
    has = {loss: hasattr(OneStepClassifier(loss=loss), "predict_proba") for loss in ("auto", "squared_hinge", "square")}
    assert has == {"auto": True, "squared_hinge": False, "square": False}


def test_huber_readouts_are_those_of_scikit_learn():
    """Theirs minimises Σ (σ + 2 huber(r/σ)·σ) + α|a|² over the scale σ too: with ours at that σ, α is lam."""
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    model = OneStepRegressor(1.0, 20, loss="huber:1", lam=0.1, random_state=0).fit(X, y)
    theirs = HuberRegressor(epsilon=1.5, alpha=0.1, tol=1e-8, max_iter=10_000).fit(seen(model, X), y)
    delta = float(1.5 * theirs.scale_)
    scaled = OneStepRegressor(1.0, 20, loss=f"huber:{delta!r}", lam=0.1 * theirs.scale_, random_state=0).fit(X, y)
    np.testing.assert_allclose(scaled.predict(X), theirs.predict(seen(model, X)), atol=1e-3)


IRIS, SPECIES = load_iris(return_X_y=True)
REFUSED = [
    (OneStepRegressor, {"eta": -1.0}, "eta = -1"),
    (OneStepRegressor, {"eta": "fast"}, "eta = 'fast'.*'auto'"),
    (OneStepRegressor, {"width": 0}, "width = 0 leaves no neurons"),
    (OneStepRegressor, {"width": 0.01}, "width = 0.01 leaves no neurons with 4 inputs"),
    (OneStepRegressor, {"split": 1.0}, "split = 1 leaves no samples"),
    (OneStepRegressor, {"refit_on": "some"}, "refit_on = 'some'"),
    (OneStepRegressor, {"steps": 0}, "steps = 0"),
    (OneStepRegressor, {"steps": 1.5}, "steps = 1.5"),
    (OneStepRegressor, {"lam": -1.0}, "lam = -1"),
    (OneStepRegressor, {"lam": "small"}, "lam = 'small'.*'loo'"),
    (OneStepRegressor, {"loss": "squared_hinge"}, "'squared_hinge' is for classes"),
    (OneStepRegressor, {"activation": "sign"}, "'sign' jumps at x = 0.*continuous activation"),
    (OneStepRegressor, {"letters": "greek"}, "greek"),
    (OneStepRegressor, {"whiten": "zz"}, "whiten = 'zz' is not allowed: it must be True or False"),
    (OneStepRegressor, {"fit_intercept": "no"}, "fit_intercept = 'no'"),
    (OneStepRegressor, {"loss": "absolute"}, "loss = 'absolute' has a kink.*'huber:0.1'"),
    (OneStepClassifier, {"loss": "hinge"}, "loss = 'hinge' has a kink.*'squared_hinge'"),
    (OneStepRegressor, {"split": True}, "split = True has a truth value"),
    (OneStepRegressor, {"width": np.True_}, "has a truth value"),
    (OneStepRegressor, {"steps": 150}, "steps = 150 need more than 1"),
    (OneStepClassifier, {"width": 2}, "width = 2 neurons cannot serve 3 outputs"),
    (OneStepClassifier, {"lam": 0.0}, "lam = 0 must be positive"),
]


@pytest.mark.parametrize(("kind", "change", "sentence"), REFUSED)
def test_what_cannot_work_is_refused_with_a_sentence(kind, change, sentence):
    with pytest.raises(ParameterError, match=sentence):
        kind(**change).fit(IRIS, SPECIES)


X, Y = load_diabetes(return_X_y=True)
SIGNS = np.where(Y > 100, 1.0, -1.0)
CUBES = OneStepRegressor(1.0, 30, lam=1.0, activation="x**3")
HIDDEN = np.ma.masked_array(X, X > 0.1)
UNREAL = "^y has a text where a regressor .* OneStepClassifier"
ONE = "one step and one target"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OneStepClassifier().fit(X, np.zeros(442)), r"one class only, 0\.0;"),
        (lambda: OneStepRegressor().fit(X, Y, np.eye(442)[0]), "fewer than two different samples"),
        (lambda: OneStepRegressor(1.0, 30).fit(X, Y, np.full(442, 1e300)), "^sample_weight has the sum"),
        (lambda: OneStepRegressor(1.0, 30, lam=1e-9, random_state=0).fit(X, 1.7e308 * SIGNS).predict(3 * X),
         "^y is so large that predictions overflow"),
        (lambda: CUBES.fit(X, Y).predict(1e200 * X), r"^X, activation = 'x\*\*3' and .* make features that overflow"),
        (lambda: OneStepRegressor(1e308, 30, lam=1.0).fit(X, Y), r"eta = 1e\+308 make features that overflow"),
        pytest.param(
            lambda: OneStepRegressor(width=10**9).fit(X, Y), "^width = 1000000000 with X of 442 .* GiB are free",
            marks=pytest.mark.skipif(free_memory() is None, reason="this system does not say how much is free"),
        ),
        (lambda: OneStepRegressor().fit(X, Y.astype(str)), UNREAL),
        (lambda: OneStepRegressor().fit(X, Y.astype(str).astype(object)), UNREAL),
        (lambda: OneStepRegressor().fit(X, np.array([1.5, "2"] * 221, dtype=object)), UNREAL),
        (lambda: OneStepRegressor().fit(X, np.where(Y > 100, 1.5, None)), "^y has None where a regressor"),
        (lambda: OneStepRegressor().fit(HIDDEN, Y), "^X has a masked entry"),
        (lambda: OneStepClassifier().fit(X, np.ma.masked_array(SIGNS, Y > 300)), "^y has a masked entry"),
        (lambda: OneStepRegressor(1, 8, lam=0.1, whiten=np.False_).fit(X, Y).predict(HIDDEN), "^X has a masked entry"),
        (lambda: OneStepRegressor(1, 20, steps=2, lam=1).fit(X, Y).learning_curve_theory(X, Y), ONE),
        (lambda: OneStepRegressor(1, 20, lam=1).fit(X, X).learning_curve_theory(X, X), ONE),
    ],
)  # fmt: skip
def test_data_that_cannot_be_learned_are_refused(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_two_samples_are_enough_to_fit_something(kind):
    for split in (0.01, 0.5, 0.99):
        model = kind(split=split, random_state=0).fit([[0.0, 1.0], [1.0, 3.0]], [1.0, 2.0])
        assert np.isfinite(model.predict([[0.5, 2.0]])).all()
    model = kind(random_state=0).fit([[0.0, 1.0]] * 3, [1.0, 2.0, 2.0])  # nothing to learn from equal inputs
    assert model.predict([[5.0, 1.0]])[0] == pytest.approx(5 / 3 if kind is OneStepRegressor else 2)


def test_scikit_learn_is_imported_by_this_module_alone_and_missed_in_words(monkeypatch):
    code = "import giantstep, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "sklearn.base", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "giantstep.sklearn")
    with pytest.raises(ImportError, match=r"pip install 'giantstep\[sklearn\]'"):
        import giantstep.sklearn  # noqa: F401


def test_the_examples_of_the_docstrings_run():
    found = doctest.testmod(giantstep.sklearn)
    assert (found.failed, found.attempted >= 8) == (0, True)
