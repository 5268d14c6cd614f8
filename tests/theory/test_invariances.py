"""What must not matter, and what must move one way only: random instances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giantstep as gs

SAME = 3e-9  # two answers, each promised to 1e-9

activations = st.sampled_from(["tanh(x)", "max(x, 0)", "erf(x)", "softplus(x)", "sin(x)"])
targets = st.sampled_from(["sin(x)", "abs(x)", "tanh(x)", "x**2"])
spikes = st.fixed_dictionaries(
    {
        "r": st.floats(-3.0, 3.0),
        "gamma": st.floats(-1.0, 1.0),
        "c": st.floats(0.3, 3.0),
        "beta": st.floats(0.2, 5.0),
    }
)
settings_ = settings(max_examples=15, deadline=None, derandomize=True)


def _error(activation: str, target: gs.Target, spike: dict[str, float], alpha: float, lam: float) -> float:
    return float(gs.predict(gs.SpikedRF(activation, **spike), target, alpha=alpha, lam=lam).test_error)


@settings_
@given(activations, targets, spikes, st.floats(0.2, 4.0), st.floats(0.01, 1.0), st.floats(0.1, 10.0))
def test_scaling_the_activation_and_the_root_of_the_ridge_changes_nothing(f, target, spike, alpha, lam, s):
    y = gs.Target(target, noise=0.3)
    scaled = _error(f"{s}*({f})", y, spike, alpha, lam * s**2)
    assert scaled == pytest.approx(_error(f, y, spike, alpha, lam), rel=SAME, abs=1e-14)


@settings_
@given(activations, targets, spikes, st.floats(0.2, 4.0), st.floats(0.01, 1.0), st.floats(0.1, 10.0))
def test_scaling_target_and_noise_scales_errors(f, target, spike, alpha, lam, s):
    plain = _error(f, gs.Target(target, noise=0.3), spike, alpha, lam)
    scaled = _error(f, gs.Target(f"{s}*({target})", noise=0.3 * s), spike, alpha, lam)
    assert scaled == pytest.approx(s**2 * plain, rel=SAME, abs=1e-14)


@settings_
@given(targets, spikes, st.floats(0.2, 4.0), st.floats(0.01, 1.0), st.floats(0.3, 3.0))
def test_stretching_the_activation_is_shrinking_the_rows(target, spike, alpha, lam, s):
    """σ(s x) on rows of squared norm c is σ(x) on rows of squared norm s²c, spike and all."""
    y = gs.Target(target)
    stretched = _error(f"tanh({s}*x)", y, spike, alpha, lam)
    grown = _error("tanh(x)", y, spike | {"c": spike["c"] * s**2, "r": spike["r"] * s}, alpha, lam)
    assert stretched == pytest.approx(grown, rel=SAME, abs=1e-14)


@settings_
@given(activations, targets, spikes, st.floats(0.2, 4.0), st.floats(0.0, 0.5))
def test_a_stronger_ridge_fits_the_training_set_less(f, target, spike, alpha, noise):
    lam = np.geomspace(1e-3, 1e3, 13)
    found = gs.predict(gs.SpikedRF(f, **spike), gs.Target(target, noise=noise), alpha=alpha, lam=lam)
    assert np.all(np.diff(found.train_error) > -SAME * found.train_error[1:].values)
    assert np.all(np.diff(found.V2) < 0.0)
    assert np.all(found.train_error >= 0.0)


@settings_
@given(activations, targets, spikes, st.floats(0.2, 4.0), st.floats(0.01, 1.0))
def test_the_error_is_linear_in_the_power_of_the_noise(f, target, spike, alpha, lam):
    noise = np.sqrt([0.0, 0.5, 1.0])
    model = gs.SpikedRF(f, **spike)
    a, b, c = gs.predict(model, gs.Target(target, noise=noise), alpha=alpha, lam=lam).test_error.values
    assert b - a == pytest.approx(c - b, rel=1e-7)
    assert b > a
