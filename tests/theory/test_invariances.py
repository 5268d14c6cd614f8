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
@given(st.sampled_from([("x**2", 2), ("x**3", 3), ("x*abs(x)", 2)]), spikes, st.floats(1.0, 1e3))
def test_long_rows_of_a_power_are_short_ones_with_a_smaller_ridge(power, spike, s):
    text, n = power
    plain = _error(text, gs.Target("sin"), spike, 1.5, 0.1)
    longer = spike | {"c": spike["c"] * s**2, "r": spike["r"] * s}
    assert _error(text, gs.Target("sin"), longer, 1.5, 0.1 * s ** (2 * n)) == pytest.approx(plain, rel=SAME)


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


networks = st.fixed_dictionaries(
    {"eta": st.floats(0.1, 4.0), "alpha0": st.floats(0.2, 4.0), "beta": st.floats(0.3, 3.0)}
)
readouts = st.fixed_dictionaries({"alpha": st.floats(0.3, 3.0), "lam": st.floats(0.02, 1.0)})
waves = st.tuples(st.floats(1.0, 30.0), st.floats(0.0, 6.0))


def _network(activation: str, target: str, network: dict, readout: dict, letters=None) -> float:
    more = {} if letters is None else {"readout": letters}
    return float(gs.predict(gs.Network(activation, **network, **more), target, **readout).test_error)


@settings_
@given(activations, targets, networks, readouts)
def test_a_step_of_no_length_or_on_no_data_leaves_random_features(f, target, network, readout):
    drawn = _error(f, gs.Target(target), {"r": 0.0, "gamma": 0.0, "beta": network["beta"]}, **readout)
    for none, bulk in (({"eta": 0.0}, "exact"), ({"alpha0": 0.0}, "isotropic")):
        still = gs.predict(gs.Network(f, **network | none), target, bulk=bulk, **readout)
        assert float(still.test_error) == pytest.approx(drawn, rel=SAME, abs=1e-14)
        assert (float(still.r), float(still.c), float(still.gamma)) == (0.0, 1.0, 0.0)


@settings_
@given(activations, waves, networks, readouts)
def test_the_same_target_in_other_words_has_the_same_error(f, wave, network, readout):
    """sin(fx + p) and its addition theorem: other expressions, the same function."""
    frequency, phase = wave
    one = f"sin({frequency}*x + {phase})"
    other = f"sin({frequency}*x)*({float(np.cos(phase))}) + cos({frequency}*x)*({float(np.sin(phase))})"
    errors = [_network(f, text, network, readout) for text in (one, other)]
    assert errors[0] == pytest.approx(errors[1], rel=SAME, abs=1e-14)


@settings_
@given(waves, networks, readouts)
def test_a_mirrored_target_has_the_same_error(wave, network, readout):
    """Inputs are as likely as their mirror images: an odd activation does not mind which way the target goes."""
    plain = _network("tanh(x)", f"cos({wave[0]}*x + {wave[1]}) + x", network, readout)
    mirrored = _network("tanh(x)", f"cos({wave[0]}*(-x) + {wave[1]}) - x", network, readout)
    assert plain == pytest.approx(mirrored, rel=SAME, abs=1e-14)


@settings_
@given(st.tuples(st.floats(1.0, 5.0), st.floats(0.0, 1.0)), targets, networks, readouts, st.floats(0.1, 4.0))
def test_a_point_among_others_is_the_point_alone(wave, target, network, readout, other):
    """The audit's cos(6x): neighbours in a grid widened the rules of an activation that was not resolved."""
    activation = f"sin({wave[0]}*x + {wave[1]})"
    alone = _network(activation, target, network, readout)
    both = gs.Network(activation, **(network | {"eta": [network["eta"], other]}))
    among = float(gs.predict(both, target, **readout).test_error.isel(eta=0))
    assert alone == pytest.approx(among, rel=SAME, abs=1e-14)


@settings_
@given(waves, networks, readouts)
def test_a_bias_is_a_shifted_activation(wave, network, readout):
    frequency, bias = min(wave[0], 8.0), 0.2 * wave[1]
    letters = gs.Letters((1,), (1,), biases=(bias,))
    biased = _network(f"sin({frequency}*x)/3", "tanh", network, readout, letters)
    shifted = _network(f"sin({frequency}*(x + {bias}))/3", "tanh", network, readout)
    assert biased == pytest.approx(shifted, rel=SAME, abs=1e-14)


@settings_
@given(activations, waves, networks, readouts)
def test_answers_do_not_jump(f, wave, network, readout):
    """Parameters that move by 1e-7 move errors by about as much, whatever rules were chosen for either."""
    target = f"x + sin({wave[0]}*x + {wave[1]})"
    moved = {name: value * (1 + 1e-7) for name, value in network.items()}
    errors = [_network(f, target, each, readout) for each in (network, moved)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-4)
