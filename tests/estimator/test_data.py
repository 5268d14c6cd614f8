"""Samples of every kind: sparse, reordered, with several targets; several steps."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from giantstep.sklearn import OneStepClassifier, OneStepRegressor


def two_index(n: int, d: int = 12, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.tanh(X[:, 0]) * (1 + X[:, 1]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_sparse_inputs_and_other_orders_give_the_same_network(kind):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300] % 3
    model = kind(width=60, random_state=0)
    expected = model.fit(X, y).predict(X)
    order = np.random.default_rng(0).permutation(300)
    for samples, labels in ((csr_array(X), y), (X[order], y[order])):
        other = kind(width=60, random_state=0).fit(samples, labels)
        assert other.lam_ == pytest.approx(model.lam_)
        np.testing.assert_allclose(other.predict(csr_array(X)), expected, rtol=1e-6)


def test_several_targets_share_neurons_and_readouts_see_all():
    X, y = two_index(300)
    Y = np.stack([y, X[:, 2] ** 3, 5 - 2 * X[:, 3]], axis=1)
    model = OneStepRegressor("auto", 90, lam=0.1, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (300, 3)
    assert model.network_.spike.shape == (3, 12)
    # a linear target, without noise, on 150 samples of 12 inputs
    assert abs(model.network_.spike[2, 3]) > 0.9
    phi = model.transform(X) / np.sqrt(90)
    scale = Y.std(axis=0)
    reference = Ridge(alpha=0.1).fit(phi, (Y - Y.mean(axis=0)) / scale)
    np.testing.assert_allclose(model.predict(X), Y.mean(axis=0) + scale * reference.predict(phi), rtol=1e-6)
    chosen = OneStepRegressor(width=90, random_state=0).fit(X, Y)
    assert chosen.score(X, Y) > 0.5
    one = OneStepRegressor("auto", 90, lam=0.1, random_state=0).fit(X, Y[:, :1])
    assert one.predict(X).shape == (300, 1)


def test_steps_see_shares_of_their_own():
    X, y = two_index(400)
    one, two = (OneStepRegressor("auto", 30, steps=k, lam=1.0, random_state=0).fit(X, y) for k in (1, 2))
    assert two.network_.spikes.shape == (2, 1, 12)
    # half as many samples in its first step
    assert abs(one.network_.spike[0] @ two.network_.spike[0]) < 0.999


def test_features_go_through_pipelines_with_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OneStepRegressor("auto", 10, lam=1.0, random_state=0).set_output(transform="pandas")
    frame = model.fit(X, y).transform(X)
    names = [f"onestepregressor{k}" for k in range(10)]
    assert list(frame.columns) == names == list(model.get_feature_names_out())
    expected = np.tanh(model.inputs_(X.to_numpy()) @ model.network_.rows.T)
    np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-12)
    assert make_pipeline(OneStepRegressor(random_state=0), Ridge(0.1)).fit(X, y).score(X, y) > 0.9


def test_relu_without_intercept_learns_both_sides_of_its_spike():
    """All spikes of one sign leave every ReLU flat on the far side, where no readout can follow the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 10))
    y = X[:, 0]
    settings = {"eta": "auto", "width": 64, "activation": "relu", "fit_intercept": False, "lam": 0.1}
    far = X[:, 0] < -1
    errors = {}
    for letters in ("uniform", "auto"):
        model = OneStepRegressor(letters=letters, random_state=0, **settings).fit(X, y)
        errors[letters] = np.mean((model.predict(X[far]) - y[far]) ** 2)
    assert errors["auto"] < errors["uniform"] / 4
