"""Coefficients and label moments on the nodes of a rule in κ: sines and cosines have closed forms."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.functions import as_function
from giantstep.theory.features import Table
from giantstep.theory.labels import OneDirection
from giantstep.theory.layer import given

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
    c_ = np.array([[c]])
    frame = given(np.array([[[r]]]), np.array([[[gamma]]]), c_).frame()
    table = Table(as_function(activation), OneDirection(as_function(target)), frame, c_, np.array([bias]), 32)
    features, label = table.at(stride)
    kappa = features.kappa[:, 0]
    mean, slope, square = _moments(_phase(activation) + bias, r, c, kappa)
    assert features.mu0[:, 0] == pytest.approx(mean, abs=ROUNDING)
    assert features.mu1[:, 0] == pytest.approx(slope, abs=ROUNDING)
    assert features.mu2sq[:, 0] == pytest.approx(square - mean**2 - c * slope**2, abs=ROUNDING)
    assert features.dmu0[:, 0] == pytest.approx(-0.5 * mean, abs=ROUNDING)
    across = 1.0 - gamma**2
    mean, slope, square = _moments(_phase(target), gamma, across, kappa)
    assert label.t0 == pytest.approx(mean, abs=ROUNDING)
    assert label.t1[:, 0] == pytest.approx(np.sqrt(across) * slope, abs=ROUNDING)
    assert label.t2 == pytest.approx(square, abs=ROUNDING)


@pytest.mark.parametrize(
    ("activation", "r", "errors", "tolerance"),
    [
        ("softplus", 2.0, [57.464787381115954, 558.3207581066249], 3e-9),
        ("erf", 1.0, [0.6592769996305003, 5.272212779759469], 1e-6),
    ],
)
def test_all_ranges_are_stretched_until_their_ends_do_not_matter(activation, r, errors, tolerance):
    """Interpolating far out along the spike, where an activation saturates, takes a large readout: rare inputs count.

    The errors were computed with all ranges up to 15. The erf's features there are 1e-14 and less of its size, so that
    its last digits are lost. Cut at κ = 9, or at z = 9 inside, its error would be off by 2e-3.
    """
    model = gs.SpikedRF(activation, r=r, gamma=0.9)
    found = gs.predict(model, "sin", alpha=[0.3, 0.9], lam=0.0).test_error.values
    assert found == pytest.approx(errors, rel=tolerance)
