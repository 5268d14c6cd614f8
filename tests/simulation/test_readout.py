"""Ridge readouts: every route to the minimiser agrees, and with the definition."""

from __future__ import annotations

import re

import numpy as np
import pytest

from giantstep import GiantstepWarning
from giantstep.simulation.backend import NumpyBackend
from giantstep.simulation.readout import ridge

P = 90


def problem(n=220, rank=None):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n, P)) + 0.5
    if rank:
        features = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, P))
    labels = rng.standard_normal(n) + features[:, 0]

    def rows(count, size=64):
        for start in range(0, count, size):
            stop = min(start + size, count)
            yield features[start:stop].copy(), labels[start:stop]

    return features / np.sqrt(P), labels, rows


MANY = tuple(np.logspace(-3, 1, 16))


@pytest.mark.parametrize("rank", [None, 12])
@pytest.mark.parametrize("lams", [(0.1,), (0.01, 1.0), (0.0,), (0.0, 0.3), MANY], ids=str)
def test_nested_gram_matrices_give_what_each_data_matrix_gives_alone(lams, rank):
    """Without a penalty, the solution of minimum norm."""
    features, labels, rows = problem(rank=rank)
    problems = {n: list(lams) for n in (1, 20, 89, 90, 128, 200, 220)}
    if 0.0 in lams:
        del problems[90]  # n = p: the condition number of a square random matrix is unbounded
    fits = ridge(rows, P, problems, NumpyBackend())
    for n in problems:
        part, y = features[:n], labels[:n]
        for column, lam in enumerate(lams):
            penalty = np.sqrt(lam) * np.eye(P) if lam else np.empty((0, P))
            stacked, right = np.vstack([part, penalty]), np.append(y, np.zeros(len(penalty)))
            readout = np.linalg.lstsq(stacked, right, rcond=None)[0]
            error = ((y - part @ readout) ** 2).mean()
            np.testing.assert_allclose(fits[n].readouts[:, column], readout, atol=1e-10)
            np.testing.assert_allclose(fits[n].train_error[column], error, atol=1e-12)
            np.testing.assert_allclose(fits[n].train_loss[column], error / 2, atol=1e-12)


def test_minimum_norm_among_nearly_dependent_features_comes_with_a_warning():
    features, labels, _ = problem(n=150)
    features[:, 1] = features[:, 0] + 3e-6 * features[:, 1]  # condition number 1e6, squared in the Gram matrix
    with pytest.warns(GiantstepWarning, match="lam = 0 with nearly dependent features") as caught:
        fit = ridge(lambda count: [(features * np.sqrt(P), labels)], P, {150: [0.0]}, NumpyBackend())[150]
    promised = float(re.findall(r"about (\S+) of its value", str(caught[0].message))[0])
    expected = np.linalg.lstsq(features, labels, rcond=None)[0]
    error = np.linalg.norm(fit.readouts[:, 0] - expected) / np.linalg.norm(expected)
    assert promised / 1000 < error < 10 * promised  # the right order, seldom the worst case
