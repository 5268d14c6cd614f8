"""Coefficients and label moments on the nodes of a rule in κ: sines and cosines have closed forms."""

import numpy as np
import pytest

from giantstep.functions import as_function
from giantstep.theory.features import Table

ROUNDING = 1e-13  # hundreds of function values of order one, each to 2e-16


def _phase(name: str) -> float:
    return {"sin": 0.0, "cos": np.pi / 2}[name]


def _moments(phase: float, slope: float, variance: float, kappa: np.ndarray) -> tuple[np.ndarray, ...]:
    """E f, E f', E f² of f = sin(slope·κ + phase + N(0, variance)); E f'' = -E f."""
    at, damping = slope * kappa + phase, np.exp(-0.5 * variance)
    return damping * np.sin(at), damping * np.cos(at), 0.5 * (1.0 - damping**4 * np.cos(2.0 * at))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("bias", [0.0, 0.4])  # without a bias only half of the nodes are evaluated
@pytest.mark.parametrize(("activation", "target"), [("sin", "cos"), ("cos", "sin")])
def test_sines_have_their_closed_forms_on_every_node(activation, target, bias, stride):
    r, c, gamma = 1.3, 0.7, -0.6
    table = Table(
        as_function(activation),
        as_function(target),
        np.array([[r]]),
        np.array([[c]]),
        np.array([bias]),
        np.array([gamma]),
        32,
    )
    features, label = table.at(stride)
    mean, slope, square = _moments(_phase(activation) + bias, r, c, features.kappa)
    assert features.mu0[:, 0] == pytest.approx(mean, abs=ROUNDING)
    assert features.mu1[:, 0] == pytest.approx(slope, abs=ROUNDING)
    assert features.mu2sq[:, 0] == pytest.approx(square - mean**2 - c * slope**2, abs=ROUNDING)
    assert features.dmu0[:, 0] == pytest.approx(-0.5 * mean, abs=ROUNDING)
    across = 1.0 - gamma**2
    mean, slope, square = _moments(_phase(target), gamma, across, features.kappa)
    assert label.t0 == pytest.approx(mean, abs=ROUNDING)
    assert label.t1 == pytest.approx(np.sqrt(across) * slope, abs=ROUNDING)
    assert label.t2 == pytest.approx(square, abs=ROUNDING)
