"""What nested rules say of their own error."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory import engine
from giantstep.theory.precision import bulk_error
from giantstep.theory.square import Square

ONE = np.ones((1, 1))


def solutions(*errors: float) -> list:
    """Of a test error and a training loss of 1, by rules that have these errors, finest first."""
    values = [ONE * (1 + error) for error in errors]
    return [SimpleNamespace(test_error=value, train_loss=value) for value in values]


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.6, 0.85])
def test_the_rules_inside_the_bulk_bound_what_converges_by_a_constant_factor(ratio):
    error = 1e-3 * ratio ** np.array([2, 1, 0])
    found = bulk_error(solutions(*error), ONE, linear=False).item()
    assert error[0] < found < 20 * error[0]


def test_what_converges_twice_as_fast_with_every_rule_is_bounded_by_its_last_change_but_one():
    found = bulk_error(solutions(1e-8, 1e-4, 1e-2), ONE, linear=False).item()
    assert 1e-8 < found < 2e-5  # 10·1e-4·1e-2
    assert bulk_error(solutions(np.nan, 1e-4, 1e-2), ONE, linear=False).item() == np.inf


def test_the_effect_of_size_is_the_difference_of_two_answers_on_one_rule(monkeypatch):
    """An error of the coarsest rule, which the limit and a usual size share there, is no effect of size."""
    solve = Square.solve

    def shifted(self, rules, *given, **more):
        found = solve(self, rules, *given, **more)
        for rule, one in zip(rules, found, strict=True):
            one.test_error = one.test_error + 0.5 * (rule.features is rules[2].features)
        return found

    monkeypatch.setattr(Square, "solve", shifted)
    monkeypatch.setattr(engine, "kappa_error", lambda solutions, *_: np.zeros_like(solutions[0].test_error))
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.LimitWarning)
        found = gs.predict(gs.Network("tanh", eta=1, alpha0=1), "sin", alpha=2, lam=0.1, bulk="isotropic")
    assert found.code.item() == 0
