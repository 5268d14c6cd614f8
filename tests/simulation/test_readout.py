"""Ridge readouts: every route to the minimiser agrees, and with the definition."""

from __future__ import annotations

import re

import numpy as np
import pytest

from giantstep.errors import GiantstepWarning
from giantstep.simulation.backend import NumpyBackend
from giantstep.simulation.readout import ridge

RNG = np.random.default_rng(0)
P = 90


def problem(p=P, n=220, rank=None):
    features = RNG.standard_normal((n, p)) + 0.5
    if rank:
        features = RNG.standard_normal((n, rank)) @ RNG.standard_normal((rank, p))
    labels = RNG.standard_normal(n) + features[:, 0]

    def rows(count, size=64):
        for start in range(0, count, size):
            stop = min(start + size, count)
            yield features[start:stop].copy(), labels[start:stop]

    return features, labels, rows


MANY = tuple(np.logspace(-3, 1, 16))


@pytest.mark.parametrize(
    ("lams", "rank"), [((0.1,), None), ((0.01, 1.0), None), ((0.0, 0.3), None), (MANY, None), (MANY, 12)]
)
def test_nested_gram_matrices_give_what_each_data_matrix_gives_alone(lams, rank):
    features, labels, rows = problem(rank=rank)
    problems = {n: list(lams) for n in (1, 20, 89, 90, 128, 200, 220)}
    if 0.0 in lams:
        del problems[90]  # n = p: the condition number of a square random matrix is unbounded
    for n, fit in ridge(rows, P, problems, NumpyBackend()).items():
        part, y = features[:n] / np.sqrt(P), labels[:n]
        for column, lam in enumerate(problems[n]):
            penalty = np.sqrt(lam) * np.eye(P) if lam else np.empty((0, P))
            stacked, right = np.vstack([part, penalty]), np.append(y, np.zeros(len(penalty)))
            readout = np.linalg.lstsq(stacked, right, rcond=None)[0]
            error = ((y - part @ readout) ** 2).mean()
            np.testing.assert_allclose(fit.readouts[:, column], readout, atol=1e-10)
            np.testing.assert_allclose(fit.train_error[column], error, atol=1e-12)
            np.testing.assert_allclose(fit.train_loss[column], error / 2, atol=1e-12)


@pytest.mark.parametrize(("n", "rank"), [(30, None), (150, None), (30, 12), (150, 12)])
def test_without_penalty_the_solution_is_that_of_minimum_norm(n, rank):
    features, labels, rows = problem(rank=rank)
    phi, y = features[:n] / np.sqrt(P), labels[:n]
    expected = np.linalg.lstsq(phi, y, rcond=None)[0]
    fit = ridge(rows, P, {n: [0.0]}, NumpyBackend())[n]
    # a Gram matrix squares the condition number (below 100 here): 1e-16 × 1e4 × size
    np.testing.assert_allclose(fit.readouts[:, 0], expected, atol=1e-10)
    np.testing.assert_allclose(fit.train_error[0], ((y - phi @ expected) ** 2).mean(), atol=1e-10)


def test_minimum_norm_among_nearly_dependent_features_comes_with_a_warning():
    features, labels, _ = problem(n=150)
    features[:, 1] = features[:, 0] + 3e-6 * features[:, 1]  # condition number 1e6, squared in the Gram matrix
    with pytest.warns(GiantstepWarning, match="lam = 0 with nearly dependent features") as caught:
        fit = ridge(lambda count: iter([(features.copy(), labels)]), P, {150: [0.0]}, NumpyBackend())[150]
    promised = float(re.findall(r"about (\S+) of its value", str(caught[0].message))[0])
    expected = np.linalg.lstsq(features / np.sqrt(P), labels, rcond=None)[0]
    error = np.linalg.norm(fit.readouts[:, 0] - expected) / np.linalg.norm(expected)
    assert promised / 1000 < error < 10 * promised  # the right order, seldom the worst case
