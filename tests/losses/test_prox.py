"""Proximal scores against minimisation in forty digits, and by the properties that every convex loss has."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giantstep.losses import Loss, as_loss

EPS = np.finfo(float).eps
STIFFNESSES = [10.0**k for k in (-9, -7, -5, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8)]

# the losses once more, as functions of exact numbers
EXACT = {
    "square": lambda y, z: (y - z) ** 2 / 2,
    "huber:0.5": lambda y, z: (y - z) ** 2 / 2 if abs(y - z) < mp.mpf("0.5") else (abs(y - z) - mp.mpf("0.25")) / 2,
    "absolute": lambda y, z: abs(y - z),
    "pinball:0.75": lambda y, z: max(mp.mpf("0.75") * (y - z), (z - y) / 4),
    "hinge": lambda y, z: max(mp.mpf(0), 1 - y * z),
    "squared_hinge": lambda y, z: max(mp.mpf(0), 1 - y * z) ** 2 / 2,
    "logistic": lambda y, z: mp.log1p(mp.exp(-y * z)),
    "exponential": lambda y, z: mp.exp(-y * z),
}  # fmt: skip


def log_cosh(y, z):
    return np.logaddexp(y - z, z - y) - np.log(2.0)


def log_cosh_slope(y, z):
    return -np.tanh(y - z)


OWN = Loss(log_cosh, log_cosh_slope)
OWN_HINGE = Loss(lambda y, z: np.maximum(0.0, 1.0 - y * z), lambda y, z: np.where(y * z < 1.0, -y, 0.0), kinks=(1.0,))
LOSSES = {name: as_loss(name) for name in EXACT} | {"log cosh": OWN, "own hinge": OWN_HINGE}
EXACT |= {"log cosh": lambda y, z: mp.log(mp.cosh(y - z)), "own hinge": EXACT["hinge"]}


def minimised(name: str, y: float, omega: float, V: float) -> mp.mpf:
    """The score p that minimises V p²/2 + ℓ(y, ω + V p), by ternary search between p = 0 and -ℓ'(ω)."""
    with mp.workdps(60):
        y_, omega_, V_ = mp.mpf(y), mp.mpf(omega), mp.mpf(V)

        def objective(p: mp.mpf) -> mp.mpf:
            return V_ * p * p / 2 + EXACT[name](y_, omega_ + V_ * p)

        slope = float(LOSSES[name].derivative(np.float64(y), np.float64(omega)))
        bound = mp.mpf(1.01 * abs(slope) + 1e-3)  # a kink at ω itself has its other slope within this of 0 ...
        if name in ("absolute", "pinball:0.75", "hinge", "own hinge"):
            bound = mp.mpf(1.01)  # ... or has slopes of at most 1
        low, high = -bound, bound
        for _ in range(170):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if objective(left) < objective(right):
                high = right
            else:
                low = left
        return (low + high) / 2


@pytest.mark.parametrize("name", LOSSES)
def test_scores_are_those_of_the_minimiser_for_seventeen_decades_of_stiffness(name: str):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    for V in STIFFNESSES:
        spread = 2.0 if name == "exponential" else 2.0 * np.sqrt(1.0 + V)
        cases = [(spread * rng.standard_normal(), -1.0), (1.0 - 0.3 * V, 1.0), (-1.0 + 0.4 * V, -1.0), (5.0, -1.0)]
        for omega, y in cases:
            if name == "exponential":
                omega = np.clip(omega, -20.0, 20.0)  # beyond, the search above would need still more digits
            f, g = (float(part) for part in loss.score(y, np.asarray(omega), np.asarray(V)))
            expected = minimised(name, y, omega, V)
            # rounding y, ω and z* in the last digit moves f by g times that; 32 such roundings are allowed
            bound = 32 * EPS * (abs(f) + g * (abs(omega) + abs(y) + V * abs(f)) + 1e-3)
            assert abs(f - expected) <= bound, (V, omega, y)


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_derivatives_of_scores(name: str):
    loss, rng = LOSSES[name], np.random.default_rng(1)
    for V in (1e-3, 0.3, 4.0, 1e3):
        omega, y = rng.normal(size=200) * (1.0 + np.sqrt(V)), rng.choice([-1.0, 1.0], 200)
        h = 1e-5 * (1.0 + np.abs(omega))
        breaks = loss.breaks(y, np.full_like(y, V))
        smooth = np.all(np.abs(breaks - omega[:, None]) > 3 * h[:, None], axis=-1)
        right, left = (loss.score(y, omega + sign * h, np.full_like(y, V)).f for sign in (1, -1))
        slope = -(right - left) / (2 * h)
        # second differences of a score are at most its size over V or so; rounding adds EPS/h
        bound = 1e-8 * (1.0 + np.abs(slope)) / min(V, 1.0) + 1e-9
        found = loss.score(y, omega, np.full_like(y, V)).g
        assert np.all(np.abs(found - slope)[smooth] <= bound[smooth])


@pytest.mark.parametrize("name", ["huber:0.5", "absolute", "pinball:0.75", "hinge", "squared_hinge", "own hinge"])
def test_slopes_of_scores_jump_where_breaks_are(name: str):
    loss, h = LOSSES[name], 1e-3
    for V, y in ((0.3, 1.0), (0.3, -1.0), (40.0, 1.0), (40.0, -1.0)):
        breaks = loss.breaks(y, np.array(V))
        left, right = (loss.score(y, breaks + side * h, np.full(breaks.shape, V)).g for side in (-1, 1))
        assert np.all(np.abs(left - right) > 0.9 * np.maximum(left, right)), (V, y)


def test_a_loss_of_ones_own_breaks_where_that_of_the_catalogue_does():
    for V, y in ((0.3, 1.0), (40.0, -1.0)):
        breaks = [np.sort(LOSSES[name].breaks(y, np.array(V))) for name in ("own hinge", "hinge")]
        np.testing.assert_allclose(*breaks, rtol=1e-12)


stiffness = st.floats(-9.0, 8.0).map(lambda k: 10.0**k)
field = st.floats(-50.0, 50.0)


@pytest.mark.parametrize("name", LOSSES)
@given(V=stiffness, one=field, two=field, y=st.sampled_from([-1.0, 1.0]))
def test_the_proximal_map_is_monotone_and_firmly_nonexpansive(name: str, V: float, one: float, two: float, y: float):
    low, high = sorted((one, two))
    f, g = LOSSES[name].score(y, np.array([low, high]), np.full(2, V))
    rounding = 64 * EPS * (abs(low) + abs(high) + 1.0 + V * np.abs(f).max())
    moved = (high - low) + V * (f[1] - f[0])  # z*(high) - z*(low)
    assert -rounding <= moved <= (high - low) + rounding
    assert np.all(g >= 0.0)
    assert np.all(g * V <= 1.0 + 4 * EPS)
