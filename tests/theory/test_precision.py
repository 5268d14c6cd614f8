"""What nested rules say of their own error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from giantstep.theory.precision import bulk_error

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
