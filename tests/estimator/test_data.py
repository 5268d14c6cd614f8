"""Samples of every kind: weighted, sparse, repeated, reordered, in blocks, with several targets; several steps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from giantstep.estimator import features as features_module
from giantstep.estimator import shares
from giantstep.estimator.step import FirstLayer, Rate
from giantstep.functions import as_function
from giantstep.letters import Letters
from giantstep.simulation.backend import NumpyBackend
from giantstep.sklearn import OneStepClassifier, OneStepRegressor


def two_index(n: int, d: int = 12, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.tanh(X[:, 0]) * (1 + X[:, 1]) + 0.1 * rng.standard_normal(n)


def test_shares_follow_samples_weights_and_classes():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((900, 3)), 1)
    classes = rng.integers(0, 3, 900)
    key, weights = shares.keys(X, 5), rng.integers(1, 4, 900).astype(float)
    share, place = shares.deal(key, weights, classes, 0.4, 2)
    order = rng.permutation(900)
    moved, _ = shares.deal(shares.keys(X[order], 5), weights[order], classes[order], 0.4, 2)
    np.testing.assert_array_equal(moved, share[order])
    repeated = np.repeat(np.arange(900), weights.astype(int))
    again, _ = shares.deal(key[repeated], np.ones(len(repeated)), classes[repeated], 0.4, 2)
    np.testing.assert_array_equal(again, share[repeated])
    for k in range(3):
        inside = classes == k
        for step in (0, 1):  # shares of 0.2, to within half of the heaviest set of copies
            assert weights[inside & (share == step)].sum() == pytest.approx(
                0.2 * weights[inside].sum(), abs=10
            )
    assert not np.array_equal(share, shares.deal(shares.keys(X, 6), weights, classes, 0.4, 2)[0])
    assert ((share == shares.FRESH) == (place >= 0.4)).all()


def test_keys_are_those_of_the_numbers_and_differ_for_whole_numbers():
    X, _ = load_digits(return_X_y=True)
    key = shares.keys(X, 0)
    assert len(np.unique(key)) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(shares.keys(csr_array(X), 0), key)
    np.testing.assert_array_equal(shares.keys(X.astype(np.float32), 0), key)
    np.testing.assert_array_equal(shares.keys(np.where(X == 0, -0.0, X), 0), key)


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_sparse_inputs_and_other_orders_give_the_same_network(kind):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300] % 3
    model = kind(width=60, random_state=0)
    expected = model.fit(X, y).predict(X)
    order = np.random.default_rng(0).permutation(300)
    for other in (
        kind(width=60, random_state=0).fit(csr_array(X), y),
        kind(width=60, random_state=0).fit(X[order], y[order]),
    ):
        assert other.lam_ == pytest.approx(model.lam_)
        np.testing.assert_allclose(other.predict(csr_array(X)), expected, rtol=1e-6)


def test_several_targets_share_neurons_and_readouts_see_all():
    X, y = two_index(300)
    Y = np.stack([y, X[:, 2] ** 3, 5 - 2 * X[:, 3]], axis=1)
    model = OneStepRegressor("auto", 90, lam=0.1, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (300, 3)
    assert model.network_.spike.shape == (3, 12)
    assert (
        abs(model.network_.spike[2, 3]) > 0.9
    )  # a linear target, without noise, on 150 samples of 12 inputs
    phi = model.transform(X) / np.sqrt(90)
    scale = Y.std(axis=0)
    reference = Ridge(alpha=0.1).fit(phi, (Y - Y.mean(axis=0)) / scale)
    np.testing.assert_allclose(model.predict(X), Y.mean(axis=0) + scale * reference.predict(phi), rtol=1e-6)
    chosen = OneStepRegressor(width=90, random_state=0).fit(X, Y)
    assert chosen.score(X, Y) > 0.5
    one = OneStepRegressor("auto", 90, lam=0.1, random_state=0).fit(X, Y[:, :1])
    assert one.predict(X).shape == (300, 1)


def test_each_step_is_the_gradient_at_the_rows_that_the_last_one_left():
    rng = np.random.default_rng(0)
    backend, act, letters = NumpyBackend(), as_function("tanh"), Letters((1.0, -1.0), (0.5, 0.5))
    batches = [(rng.standard_normal((50, 5)), rng.standard_normal((50, 1)), np.ones(50)) for _ in range(2)]
    layer = FirstLayer(8, 5, 1, letters, act, tuple(lambda b=b: [b] for b in batches), 1, backend)
    trained = layer.after(Rate(0.8, False))
    rows = layer.after(Rate(0.0, False)).rows
    readout = np.repeat([1.0, -1.0], 4)[:, None] / 8
    for inputs, targets, _ in batches:
        values = np.tanh(inputs @ rows.T)
        slopes = (targets - values @ readout) * (1.0 - values**2) * readout.T
        rows = rows + 0.8 * 5 * slopes.T @ inputs / 50
    np.testing.assert_allclose(trained.rows, rows, rtol=1e-12)
    assert trained.spikes.shape == (2, 1, 5)
    np.testing.assert_array_equal(trained.etas, [0.8, 0.8])
    moved = layer.after(Rate(1.0, True))
    assert moved.etas[0] != moved.etas[1]


def test_steps_see_shares_of_their_own():
    X, y = two_index(400)
    one, two = (OneStepRegressor("auto", 30, steps=k, lam=1.0, random_state=0).fit(X, y) for k in (1, 2))
    assert two.network_.spikes.shape == (2, 1, 12)
    assert (
        abs(one.network_.spike[0] @ two.network_.spike[0]) < 0.999
    )  # half as many samples in its first step


def test_features_go_through_pipelines_with_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OneStepRegressor("auto", 10, lam=1.0, random_state=0).set_output(transform="pandas")
    frame = model.fit(X, y).transform(X)
    assert (
        list(frame.columns)
        == [f"onestepregressor{k}" for k in range(10)]
        == list(model.get_feature_names_out())
    )
    expected = np.tanh(model.inputs_(X.to_numpy()) @ model.network_.rows.T)
    np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-12)
    assert make_pipeline(OneStepRegressor(random_state=0), Ridge(0.1)).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_a_warm_start_over_penalties_keeps_the_features(kind, monkeypatch):
    X, y = load_iris(return_X_y=True)
    warm = kind("auto", 40, lam=1.0, warm_start=True, random_state=0).fit(X, y)
    network = warm.network_
    steps = []
    monkeypatch.setattr(FirstLayer, "after", lambda *given: steps.append(given))  # no further step is taken
    for lam in (0.1, 0.01, "loo"):
        warm.set_params(lam=lam).fit(X, y)
        assert warm.network_ is network
    monkeypatch.undo()
    assert not steps
    for lam in (0.1, "loo"):
        cold = kind("auto", 40, lam=lam, random_state=0).fit(X, y)
        warm.set_params(lam=lam).fit(X, y)
        assert warm.lam_ == pytest.approx(cold.lam_)
        # Newton's method stops at gaps of 1e-22 of the objective, or at rounding
        np.testing.assert_allclose(warm.readout_, cold.readout_, rtol=1e-5, atol=1e-6)
    assert warm.fit(X[:100], y[:100]).network_ is not network
    warm.set_params(split=0.3).fit(X, y)
    assert warm.network_.rows.shape == network.rows.shape
    assert not np.array_equal(warm.network_.rows, network.rows)


def test_memory_does_not_grow_with_samples(monkeypatch):
    """Twice the samples: their keys, places and the like are a few numbers each; features would be 64."""
    monkeypatch.setattr(features_module, "_KEPT_ELEMENTS", 0)
    peaks = []
    for n in (20_000, 40_000):
        X, y = two_index(n, 4)
        tracemalloc.start()
        OneStepRegressor(width=64, random_state=0).fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 20_000 < 8 * 32  # bytes per sample: 32 numbers, for 64 neurons


@pytest.mark.parametrize("kind", [OneStepRegressor, OneStepClassifier])
def test_features_computed_again_in_every_pass_give_the_same_readout(kind, monkeypatch):
    X, y = load_iris(return_X_y=True)
    expected = kind(width=30, random_state=0).fit(X, y).readout_
    monkeypatch.setattr(features_module, "_KEPT_ELEMENTS", 0)
    monkeypatch.setattr(NumpyBackend, "block_rows", 32)
    np.testing.assert_allclose(
        kind(width=30, random_state=0).fit(X, y).readout_, expected, rtol=1e-4, atol=1e-6
    )


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
