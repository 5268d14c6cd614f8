"""Rates and penalties are chosen with little work, and as well as with all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from giantstep.estimator import convex
from giantstep.estimator.readout import Judged, Readouts
from giantstep.estimator.step import Trained
from giantstep.simulation.backend import NumpyBackend
from giantstep.sklearn import OneStepClassifier, OneStepRegressor

WIDTH = 256


def one_index(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where a step helps."""
    X = rng.standard_normal((n, 30))
    return X, np.tanh(3 * X @ np.full(30, 30**-0.5)) + 0.3 * rng.standard_normal(n)


def quadratic(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where 256 ReLUs are better without a step, and a few with one: 36 products of inputs, and one direction."""
    X = rng.standard_normal((n, 8))
    products = X @ np.random.default_rng(1).standard_normal((8, 8)) / 8
    return X, 0.5 * np.tanh(3 * X[:, 0]) + (products * X).sum(axis=1) + 0.1 * rng.standard_normal(n)


@pytest.fixture
def work(monkeypatch):
    """Counts of the matrices that were decomposed, factorised and summed up for Newton's method, by size."""
    counts = {"eigh": Counter(), "factor": Counter(), "newton": Counter()}

    def counted(kind: type, name: str, key: str, size) -> None:
        original = getattr(kind, name)

        def call(self, *given):
            counts[key][size(self, *given)] += 1
            return original(self, *given)

        monkeypatch.setattr(kind, name, call)

    counted(NumpyBackend, "_eigh", "eigh", lambda _, matrix: len(matrix))
    counted(NumpyBackend, "factor_shifted", "factor", lambda _, matrix, lam: len(matrix))
    counted(convex.Smooth, "_second_order", "newton", lambda problem, *_: problem.features.shape[1])
    return counts


@pytest.mark.parametrize("n", [300, 1000])
def test_ridge_decomposes_a_third_of_the_neurons_and_factorises_all_a_few_times(n, work):
    """A decomposition of all neurons takes the time of two fits at n = 300, and of four and more for wider networks."""
    for k in range(3):
        X, y = one_index(n, np.random.default_rng(k))
        for part in work.values():
            part.clear()
        model = OneStepRegressor(width=WIDTH, random_state=k).fit(X, y)
        # no step on every third neuron, one or two rates on every sixth
        assert work["eigh"] == {86: 1, 43: model.loo_.sizes["eta"] - 1}
        # a walk of three penalties, seldom one or two further, and the fit
        assert set(work["factor"]) == {WIDTH}
        assert 4 <= work["factor"][WIDTH] <= 6
        assert work["factor"][WIDTH] == model.loo_.sizes["lam"] + 1


def test_newtons_method_takes_twice_the_steps_of_a_fit_on_all_neurons(work):
    """And as many again on a sixth and a third of them, each of which takes a small part of the time."""
    X, y = one_index(500, np.random.default_rng(0))
    model = OneStepClassifier(width=WIDTH, random_state=0).fit(X, y > 0)
    chosen = work["newton"].copy()
    work["newton"].clear()
    OneStepClassifier(model.network_.eta, WIDTH, lam=model.lam_, random_state=0).fit(X, y > 0)
    assert set(chosen) == {43, 86, WIDTH}
    assert chosen[WIDTH] <= 2 * work["newton"][WIDTH]
    assert chosen[43] + chosen[86] <= 4 * work["newton"][WIDTH]


@pytest.mark.parametrize(
    ("data", "activation", "helps"), [(one_index, "tanh", True), (quadratic, "relu", False)]
)
def test_the_chosen_rate_is_within_noise_of_the_best_of_the_whole_grid(data, activation, helps):
    """All rates with all neurons, on 4000 new samples. The choice was made on 400: its noise is theirs.

    On `quadratic`, few neurons alone would choose a step.
    """
    for k in range(4):
        rng = np.random.default_rng(k)
        (X, y), (X_new, y_new) = data(800, rng), data(4000, rng)
        auto = OneStepRegressor("auto", WIDTH, activation=activation, lam=1.0, random_state=k).fit(X, y)

        def losses(eta, k=k, X=X, y=y, X_new=X_new, y_new=y_new) -> tuple[np.ndarray, float]:
            model = OneStepRegressor(eta, WIDTH, activation=activation, random_state=k).fit(X, y)
            return (model.predict(X_new) - y_new) ** 2, model.network_.eta

        grid = {multiple: losses(multiple * auto.network_.eta)[0] for multiple in (0.0, 2.0, 4.0)}
        best = min(grid.values(), key=np.mean)
        eta = losses("loo")[1]
        found = grid[round(eta / auto.network_.eta)]  # at this rate, with the penalty that it has alone
        assert np.mean(found - best) <= 3 * np.std(found - best) / np.sqrt(400)
        assert (eta > 0) == helps
        worst = max(grid.values(), key=np.mean) - best
        assert np.mean(worst) > 3 * np.std(worst) / np.sqrt(4000)  # there was something to choose


def test_a_penalty_weighs_against_the_share_of_the_samples_that_are_compared(monkeypatch):
    """Against a sum over all: on a third of them it is a third, as it is where there are no others."""
    seen: list[tuple[Readouts, Trained]] = []
    features = Readouts.features

    def noted(self, trained, most=None):
        seen.append((self, trained))
        return features(self, trained, most)

    monkeypatch.setattr(Readouts, "features", noted)
    OneStepRegressor(width=20, random_state=0).fit(*one_index(300, np.random.default_rng(0)))
    whole, trained = seen[-1]
    some = whole.features(trained, whole.count // 3)
    alone = replace(whole, fresh=some.index[: some.fresh], seen=some.index[some.fresh :])
    share = alone.count / whole.count
    assert share < 0.35
    one, other = whole.judge(some, 2.0), alone.judge(alone.features(trained), 2.0 * share)
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-10)
    chosen = [readouts.judge(readouts.features(trained, alone.count), None) for readouts in (whole, alone)]
    np.testing.assert_allclose(*(list(each.curve.values()) for each in chosen), rtol=1e-8)


def test_thinned_networks_have_a_share_of_every_letter_and_output():
    X = np.random.default_rng(0).standard_normal((200, 6))
    model = OneStepRegressor(1.0, 60, activation="relu", lam=1.0, random_state=0).fit(X, X[:, :3])
    network = model.network_
    thin = network.thinned(5)
    np.testing.assert_array_equal(thin.rows, network.rows[::5])
    assert [group.stop - group.start for group in thin.groups] == [4, 4, 4]
    for group in thin.groups:
        assert sorted(thin.letters[group]) == [-1, -1, 1, 1]


def test_a_penalty_between_those_that_were_tried_is_where_a_parabola_is_least():
    def judged(**curve: float) -> Judged:
        values = {float(lam[1:]): error for lam, error in curve.items()}
        least = min(values, key=values.__getitem__)
        return Judged((2, 2), least, np.ones(2), np.ones(2), None, values, None)

    error = {f"_{lam}": 1 + (np.log10(lam) - 0.3) ** 2 for lam in (0.1, 1, 10)}
    assert judged(**error).best == pytest.approx(10**0.3)
    assert judged(_1=1.0, _10=2.0).best == 1.0  # at the end of the curve
    assert judged(_0=1.0, _1=1.0, _10=1.0).best == 0.0  # flat


def test_a_penalty_far_from_where_the_walk_begins_is_found(monkeypatch):
    X, y = one_index(400, np.random.default_rng(0))
    near = OneStepRegressor(width=WIDTH, random_state=0).fit(X, y)
    walk = Readouts.walk
    monkeypatch.setattr(
        Readouts, "walk", lambda self, features, start, down: walk(self, features, start * 1e-4, down)
    )
    far = OneStepRegressor(width=WIDTH, random_state=0).fit(X, y)
    assert far.loo_.sizes["lam"] > near.loo_.sizes["lam"]
    assert far.lam_ == pytest.approx(
        near.lam_, rel=0.3
    )  # the same decades, and so the same parabola, or its neighbour's
