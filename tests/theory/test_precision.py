"""What nested rules say of their own error."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.answers import bulk_error

ONE = np.ones((1, 1))


def solution(error: float, test_error: float = 1.0, slope: float = 0.0) -> SimpleNamespace:
    """A bulk with this error, E σ*² = 1, and a map of the responses with this slope."""
    return SimpleNamespace(
        response=SimpleNamespace(resolvent=SimpleNamespace(error=lambda: error * ONE)),
        state=SimpleNamespace(V=np.array([[[2.0, 3.0]]])),
        Jacobian=(1.0 - slope) * np.eye(2)[None, None],
        test_error=test_error * ONE,
        train_loss=ONE,
    )


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (solution(1e-5), 2e-5),
        (solution(1e-5, slope=0.9), 2e-4),  # the fixed point moves ten times as far
        (solution(1e-5, test_error=0.01), 2e-3),  # of terms of size one that cancel
        (solution(1e-15), 0.0),  # rounding
        (solution(np.nan), np.inf),
    ],
)
def test_errors_of_the_bulk_are_those_of_the_answers_that_they_move(case, expected):
    assert bulk_error(case, ONE).item() == pytest.approx(expected)


def test_an_error_that_finer_rules_do_not_lower_ends_refinement():
    """Of the row norms, for labels with heavy tails: doubled six times, rules had a stated error of 1e-7 here."""
    net, target = gs.Network("tanh", eta=4, alpha0=0.8, beta=1.3), gs.Target("x+0.5*he3(x)", noise=0.7)
    curve = gs.predict(net, target, alpha=np.linspace(1.9, 5.6, 24), lam=0.0077)
    assert curve.quadrature_error.max() < 2e-8
