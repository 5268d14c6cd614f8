"""Fast, narrow and broken functions against closed forms: an answer is right, or it is refused with a sentence.

Features without a spike that see nothing of an odd target, or a huge penalty, leave a test error of E[target²].
"""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
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


def _moments(frequency: float, phase: float) -> tuple[float, float, float]:
    """E f, E f' and E f² of f = sin(fx + p)."""
    damping = math.exp(-(frequency**2) / 2)
    square = 0.5 * (1.0 - damping**4 * math.cos(2.0 * phase))
    return damping * math.sin(phase), damping * frequency * math.cos(phase), square


def _waves(seed: int, count: int, slowest: float, fastest: float) -> Iterator[tuple[str, float, float]]:
    """sin(fx + p) as text, its frequency and its phase."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        frequency, phase = float(rng.uniform(slowest, fastest)), float(rng.uniform(0, 6))
        yield f"sin({frequency!r}*x + {phase!r})", frequency, phase


def test_a_small_fast_part_is_not_overlooked():
    """x + 1e-3 sin(67x): three rules that take the wave for a constant would leave 5e-7 of it."""
    assert gs.linear_error("x + 0.001*sin(67*x)") == pytest.approx(5e-7, rel=1e-9)


def _bump(width: float, at: float, name: str = "x") -> tuple[str, float]:
    """The exponent of exp(-((x - a)/w)²), and E exp(-2((x - a)/w)²)."""
    variance = width**2 / 4
    square = math.sqrt(variance / (1 + variance)) * math.exp(-(at**2) / 2 / (1 + variance))
    return f"-(({name} - ({at!r}))/{width!r})**2", square


def test_a_fast_wave_is_noise_to_spiked_features():
    """sin(fx + p) has variance 1/2 and no smooth part: x plus it has the error of x with such noise, plus 1/2."""
    rng = np.random.default_rng(5)
    for text, *_ in _waves(5, 12, 30.0, 280.0):
        r, gamma, alpha = (float(x) for x in rng.uniform([0.3, 0, 0.5], [2, 0.9, 2]))
        model, at = gs.SpikedRF("tanh", r=r, gamma=gamma), {"alpha": alpha, "lam": 0.1}
        noisy = gs.predict(model, gs.Target("x", noise=math.sqrt(0.5)), **at).test_error
        error = gs.predict(model, f"x + {text}", **at).test_error
        assert float(error) == pytest.approx(float(noisy) + 0.5, rel=PROMISED)


def test_frequency_and_phase_of_a_fast_wave_do_not_matter_to_a_network():
    """The batch sees overtones of the wave: 1/(1 + e²) has all of them, and some fit any even spacing of nodes."""
    net, waves = gs.Network("tanh", eta=2.5, alpha0=0.3), _waves(6, 12, 40.0, 150.0)
    errors = [float(gs.predict(net, f"x + {text}", alpha=1, lam=0.1).test_error) for text, *_ in waves]
    assert np.ptp(errors) < PROMISED * errors[0]


def test_coefficients_of_a_wave_are_their_closed_forms():
    """Without a spike μ0 = E f, μ1 = E f', and μ2 is the rest of E f²."""
    for frequency in [0.5, 1.0, 2.0, *np.random.default_rng(7).uniform(3, 250, 30)]:
        found = gs.coefficients(gs.SpikedRF(f"sin({float(frequency)!r}*x + 0.4)", r=0, gamma=0), kappa=[0.0])
        mean, slope, square = _moments(float(frequency), 0.4)
        expected = [mean, slope, math.sqrt(square - mean**2 - slope**2)]
        values = [float(found[name].squeeze()) for name in ("mu0", "mu1", "mu2")]
        np.testing.assert_allclose(values, expected, atol=1e-10)


Counted = Iterator[tuple[Callable[[], float], float]]


def _lines_through_waves() -> Counted:
    for text, *wave in _waves(1, 300, 1.0, 400.0):
        mean, slope, square = _moments(*wave)
        yield partial(gs.linear_error, text), square - mean**2 - slope**2


def _errors_of_waves() -> Counted:
    return ((partial(_left, text), _moments(*wave)[2]) for text, *wave in _waves(2, 40, 1.0, 300.0))


def _bumps() -> Counted:
    rng = np.random.default_rng(3)
    for width in np.geomspace(0.5, 0.001, 40):
        text, square = _bump(float(width), float(rng.uniform(-2, 2)))
        yield partial(_left, f"exp({text})"), square


def _pulses() -> Counted:
    """Of a width of a fiftieth and more, anywhere within ±5, as the documentation says."""
    rng = np.random.default_rng(4)
    for width in np.geomspace(0.5, 0.0201, 40):
        low = float(rng.uniform(-5, 5 - width))
        high = low + float(width)
        tails = ndtr(-abs(low)), ndtr(-abs(high))
        share = abs(tails[0] - tails[1]) if low * high > 0 else 1.0 - sum(tails)
        yield partial(_left, lambda x, a=low, b=high: 1.0 * ((x > a) & (x < b))), float(share)


def _plane_waves() -> Counted:
    for f, g in np.random.default_rng(9).uniform(1, [120, 30], (24, 2)).tolist():
        yield partial(_left, f"sin({f!r}*x1 + {g!r}*x2)"), 0.5 * (1 - math.exp(-2 * (f**2 + g**2)))


def _plane_bumps() -> Counted:
    rng = np.random.default_rng(9)
    for i, width in enumerate(np.geomspace(1.0, 0.005, 30).tolist()):
        a, b = rng.uniform(-2, 2, 2).tolist()
        (one, square), (other, factor) = _bump(width, a, "x1"), _bump(width, b, "x2")
        text, truth = (f"exp({one})*x2", square) if i % 2 else (f"exp({one} {other})", square * factor)
        yield partial(_left, text), truth


def _plane_pulses() -> Counted:
    rng = np.random.default_rng(9)
    for width in np.geomspace(1.0, 0.02, 24):
        a = float(rng.uniform(-2, 2))
        b = a + float(width)
        slab = gs.Target(lambda x, y, a=a, b=b: 1.0 * ((x > a) & (x < b)) + 0.1 * x * y, directions=2)
        yield partial(_left, slab), float(ndtr(b) - ndtr(a)) + 0.01


# how many are right at least; of one direction, all are
KINDS = [(_lines_through_waves, 300), (_errors_of_waves, 40), (_bumps, 40), (_pulses, 40)]
KINDS += [(_plane_waves, 1), (_plane_bumps, 8), (_plane_pulses, 0)]


@pytest.mark.parametrize(("kind", "least"), KINDS, ids=[kind.__name__.strip("_") for kind, _ in KINDS])
def test_fast_and_narrow_functions_have_their_closed_forms_or_are_refused(kind, least):
    right = 0
    for ask, truth in kind():
        try:
            error = ask()
        except gs.GiantstepError:
            continue
        assert error == pytest.approx(truth, rel=PROMISED, abs=MOST_ABSOLUTE)
        right += 1
    assert right >= least


@pytest.mark.parametrize(("slope", "left", "right"), [(0.3, 1.2345, 1.3345), (-0.7, 0.5, 0.52), (1.9, -2.001, -1.99)])
def test_a_narrow_strip_of_two_directions_has_the_error_of_its_closed_form(slope, left, right):
    """Odd features of rows without a spike, and a penalty that leaves nothing: the error is E[target²]."""
    strip = f"where(x1 + ({slope})*x2 > {left}, 1, 0)*where(x1 + ({slope})*x2 < {right}, 1, 0)"
    found = gs.predict(gs.Network("tanh", eta=0, alpha0=0), strip, alpha=1.0, lam=1e12)
    chance = np.diff(ndtr(np.array([left, right]) / np.hypot(1.0, slope))).item()
    assert float(found.test_error) == pytest.approx(chance, rel=1e-8)  # the default tolerance of two directions
