"""Fast, narrow and broken functions against closed forms: an answer is right, or it is refused with a sentence.

Features without a spike that see nothing of an odd target, or a huge penalty, leave a test error of E[target²].
"""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import giantstep as gs

BLIND = gs.SpikedRF("tanh", r=0, gamma=0)
PROMISED = 1e-8  # ten times the tolerance of predict
MOST_ABSOLUTE = 1e-13  # of errors that are nearly 0
# The readout of a huge penalty is f/lam or so, and takes about 1/lam off the error.
HUGE = 1e14


def _left(target: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GiantstepWarning)
        return float(gs.predict(BLIND, target, alpha=1, lam=HUGE).test_error)


def _counted(cases: Iterator[tuple[Callable[[], float], float]]) -> tuple[int, int]:
    """How many are right and how many refused; a wrong one fails."""
    right = refused = 0
    for ask, truth in cases:
        try:
            found = ask()
        except gs.GiantstepError:
            refused += 1
            continue
        assert found == pytest.approx(truth, rel=PROMISED, abs=MOST_ABSOLUTE)
        right += 1
    return right, refused


def _wave(frequency: float, phase: float) -> tuple[str, float, float]:
    """sin(fx + p), its E f² and what a line leaves of that."""
    mean, slope = (
        math.exp(-(frequency**2) / 2) * part for part in (math.sin(phase), frequency * math.cos(phase))
    )
    square = 0.5 * (1.0 - math.exp(-2.0 * frequency**2) * math.cos(2.0 * phase))
    return f"sin({frequency!r}*x + {phase!r})", square, square - mean**2 - slope**2


def _waves(seed: int, count: int, fastest: float) -> list[tuple[str, float, float]]:
    rng = np.random.default_rng(seed)
    return [_wave(float(rng.uniform(1, fastest)), float(rng.uniform(0, 6))) for _ in range(count)]


def test_averages_of_three_hundred_waves_are_their_closed_forms():
    assert _counted((lambda w=w: gs.linear_error(w[0]), w[2]) for w in _waves(1, 300, 400.0)) == (300, 0)


def test_errors_of_waves_are_their_closed_forms():
    assert _counted((lambda w=w: _left(w[0]), w[1]) for w in _waves(2, 40, 300.0)) == (40, 0)


def test_a_wave_that_is_too_fast_is_refused_with_its_scale():
    with pytest.raises(gs.ParameterError, match=r"sin\(3000\*x\) varies on a scale of 0\.00\d near x = "):
        gs.predict(BLIND, "sin(3000*x)", alpha=1, lam=1)


def test_a_small_fast_part_is_not_overlooked():
    """x + 1e-3 sin(67x): three rules that take the wave for a constant would leave 5e-7 of it."""
    assert gs.linear_error("x + 0.001*sin(67*x)") == pytest.approx(5e-7, rel=1e-9)


def _square_of_bump(width: float, at: float) -> float:
    """E exp(-2((x - a)/w)²)."""
    variance = width**2 / 4
    return math.sqrt(variance / (1 + variance)) * math.exp(-(at**2) / 2 / (1 + variance))


def test_errors_of_bumps_are_their_closed_forms():
    rng = np.random.default_rng(3)
    bumps = [(float(w), float(rng.uniform(-2, 2))) for w in np.geomspace(0.5, 0.001, 40)]
    cases = (
        (lambda w=w, a=a: _left(f"exp(-((x - ({a!r}))/{w!r})**2)"), _square_of_bump(w, a)) for w, a in bumps
    )
    assert _counted(cases) == (40, 0)


def test_pulses_that_nobody_declared_are_found_from_a_width_of_a_fiftieth_on():
    """Anywhere within ±5, as the documentation says."""
    rng = np.random.default_rng(4)
    cases = []
    for width in np.geomspace(0.5, 0.0201, 40):
        low = float(rng.uniform(-5, 5 - width))
        high = low + float(width)
        tails = ndtr(-abs(low)), ndtr(-abs(high))
        share = abs(tails[0] - tails[1]) if low * high > 0 else 1.0 - sum(tails)
        cases.append((lambda a=low, b=high: _left(lambda x: 1.0 * ((x > a) & (x < b))), float(share)))
    assert _counted(iter(cases)) == (40, 0)


def test_a_fast_wave_is_noise_to_spiked_features():
    """sin(fx + p) has variance 1/2 and no smooth part: x plus it has the error of x with such noise, plus 1/2."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        frequency, phase, gamma = (
            float(rng.uniform(30, 280)),
            float(rng.uniform(0, 6)),
            float(rng.uniform(0, 0.9)),
        )
        model = gs.SpikedRF("tanh", r=float(rng.uniform(0.3, 2)), gamma=gamma)
        asked = {"alpha": float(rng.uniform(0.5, 2)), "lam": 0.1}
        found = gs.predict(model, f"x + sin({frequency!r}*x + {phase!r})", **asked).test_error
        noisy = gs.predict(model, gs.Target("x", noise=math.sqrt(0.5)), **asked).test_error
        assert float(found) == pytest.approx(float(noisy) + 0.5, rel=PROMISED)


def test_frequency_and_phase_of_a_fast_wave_do_not_matter_to_a_network():
    """The batch sees overtones of the wave: 1/(1 + e²) has all of them, and some fit any even spacing of nodes."""
    rng = np.random.default_rng(6)
    net = gs.Network("tanh", eta=2.5, alpha0=0.3)
    errors = []
    for _ in range(12):
        frequency, phase = float(rng.uniform(40, 150)), float(rng.uniform(0, 6))
        found = gs.predict(net, f"x + sin({frequency!r}*x + {phase!r})", alpha=1, lam=0.1)
        errors.append(float(found.test_error))
    assert np.ptp(errors) < PROMISED * errors[0]


def test_trained_networks_agree_on_a_target_that_oscillates():
    """Three nested rules with even nodes once agreed on 0.80, with a stated error of 4e-11."""
    net, asked = gs.Network("tanh", eta=2, alpha0=1), {"alpha": 1, "lam": 0.1, "d": 300}
    trained = gs.simulate(net, "x + sin(26*x)", trials=12, seed=1, progress=False, **asked).test_error
    theory = float(gs.predict(net, "x + sin(26*x)", **asked).test_error)
    z = (float(trained.mean()) - theory) / (float(trained.std(ddof=1)) / math.sqrt(trained.size))
    assert abs(z) < 4.0


def test_coefficients_of_a_wave_are_their_closed_forms():
    """Of sin(fx + p) without a spike: μ0 = e^{-f²/2} sin p, μ1 = f e^{-f²/2} cos p, and the rest of 1/2."""
    rng = np.random.default_rng(7)
    for frequency in [0.5, 1.0, 2.0, *rng.uniform(3, 250, 30)]:
        text, square, _ = _wave(float(frequency), 0.4)
        found = gs.coefficients(gs.SpikedRF(text, r=0, gamma=0), kappa=[0.0])
        mu0 = math.exp(-(frequency**2) / 2) * math.sin(0.4)
        mu1 = frequency * math.exp(-(frequency**2) / 2) * math.cos(0.4)
        rest = math.sqrt(square - mu0**2 - mu1**2)
        np.testing.assert_allclose(
            [float(found[name].squeeze()) for name in ("mu0", "mu1", "mu2")], [mu0, mu1, rest], atol=1e-10
        )


# two directions


def test_waves_along_two_directions_are_right_or_refused():
    rng = np.random.default_rng(8)
    cases = []
    for _ in range(24):
        f, g = float(rng.uniform(1, 120)), float(rng.uniform(1, 30))
        cases.append(
            (lambda f=f, g=g: _left(f"sin({f!r}*x1 + {g!r}*x2)"), 0.5 * (1 - math.exp(-2 * (f**2 + g**2))))
        )
    right, refused = _counted(iter(cases))
    assert right + refused == 24
    assert right > 0


def test_bumps_in_two_directions_are_right_or_refused():
    rng = np.random.default_rng(9)
    cases = []
    for i, width in enumerate(np.geomspace(1.0, 0.005, 30)):
        w, a, b = float(width), *(float(x) for x in rng.uniform(-2, 2, 2))
        bump, square = f"exp(-((x1 - ({a!r}))/{w!r})**2", _square_of_bump(w, a)
        if i % 2:
            cases.append((lambda t=f"{bump})*x2": _left(t), square))
        else:
            text = f"{bump} - ((x2 - ({b!r}))/{w!r})**2)"
            cases.append((lambda t=text: _left(t), square * _square_of_bump(w, b)))
    right, _ = _counted(iter(cases))
    assert right >= 8


def test_pulses_in_two_directions_that_nobody_declared_are_right_or_refused():
    rng = np.random.default_rng(10)
    cases = []
    for width in np.geomspace(1.0, 0.02, 24):
        a = float(rng.uniform(-2, 2))
        b = a + float(width)
        slab = gs.Target(lambda x, y, a=a, b=b: 1.0 * ((x > a) & (x < b)) + 0.1 * x * y, directions=2)
        cases.append((lambda t=slab: _left(t), float(ndtr(b) - ndtr(a)) + 0.01))
    _counted(iter(cases))


def test_a_narrow_pulse_in_two_directions_is_refused_with_its_width():
    pulse = gs.Target(lambda x, y: 1.0 * ((x > 0.3) & (x < 0.36)) + 0.1 * x * y)
    with pytest.raises(gs.ParameterError, match=r"jumps twice within 0\.06 along x1"):
        gs.predict(BLIND, pulse, alpha=1, lam=1)
