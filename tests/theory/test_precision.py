"""What nested rules say of their own error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.answers import bulk_error

ONE = np.ones((1, 1))


def solutions(*errors: float) -> list:
    """Of a test error and a training loss of 1, by rules that have these errors, finest first."""
    values = [ONE * (1 + error) for error in errors]
    return [SimpleNamespace(test_error=value, train_loss=value) for value in values]


@pytest.mark.parametrize("ratio", [1e-4, 0.01, 0.3, 0.6])
def test_the_rules_inside_the_bulk_bound_what_falls_by_a_third_or_more_with_twice_the_nodes(ratio):
    fine, half = 1e-3 * ratio, 1e-3
    found = bulk_error(solutions(fine, half), ONE, linear=False).item()
    assert fine < found < 2.01 * half


def test_without_a_solution_on_one_of_the_rules_the_error_is_infinite():
    assert bulk_error(solutions(np.nan, 1e-4), ONE, linear=False).item() == np.inf


def test_labels_with_heavy_tails_are_resolved():
    net, target = gs.Network("tanh", eta=4, alpha0=0.8, beta=1.3), gs.Target("x+0.5*he3(x)", noise=0.7)
    curve = gs.predict(net, target, alpha=np.linspace(1.9, 5.6, 24), lam=0.0077)
    assert curve.quadrature_error.max() < 2e-8
