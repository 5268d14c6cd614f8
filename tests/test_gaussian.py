"""Gaussian moments against high-precision values, for every function that has a name and for some that have not."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre
from scipy.special import ndtr

from giantstep.errors import ParameterError
from giantstep.functions import Function, as_function, catalogue
from giantstep.gaussian import Moments, both_below, moments, resolution
from giantstep.gaussian.cuts import Cuts

from .functions.exact import CATALOGUE, mp

ACCURACY = 1e-10  # relative to the function's own Gaussian norm: what the theory's 1e-9 rests on
ROUND_OFF = 1e-13  # below this the error estimate need not follow the error
TAILS = 1e-12  # two computations may cut the Gaussian at different places, each where 1e-13 is left
POINTS = ((3.0, 0.1), (0.7, 1.3), (-60.0, 3.0), (20.0, 30.0))
POLYNOMIALS = [CATALOGUE[f"He{degree}"] for degree in range(1, 11)]


LEGENDRE = GaussLegendre(mp).calc_nodes(4, 90)  # 24 nodes and weights on [-1, 1] in 25 digits


def _panels(shift: float, scale: float, reach: float) -> list[float]:
    """Edges in x: at most 1.5 units of z apart, and one unit of x where the catalogue's functions bend.

    24 Gauss-Legendre nodes per panel then converge as 4.2^-48 = 1e-30 for the nearest poles (arctan, at ±i).
    Kinks sit at integers.
    """
    edges = {shift + scale * z for z in np.linspace(-reach, reach, math.ceil(2.0 * reach / 1.5) + 1)}
    low, high = shift - scale * reach, shift + scale * reach
    edges |= {float(x) for x in range(-50, 51) if low < x < high}
    return sorted(edges)


def reference_moments(f: Callable[[Any], Any], shift: float, scale: float) -> Moments:
    # squares of polynomials reach far out; functions that decay as exp(x) on one side shift the Gaussian by 2·scale
    reach = 16.0 if f in POLYNOMIALS else 9.5 + (2.0 * scale if scale < 10.0 else 0.0)
    with mp.workdps(22):
        sums = [mp.mpf(0)] * 4
        for left, right in itertools.pairwise(_panels(shift, scale, reach)):
            half, middle = (mp.mpf(right) - mp.mpf(left)) / 2, (mp.mpf(right) + mp.mpf(left)) / 2
            for node, weight in LEGENDRE:
                x = middle + half * node
                z = (x - shift) / scale
                value = f(x)
                term = weight * half * mp.exp(-z * z / 2) * value
                for k, test in enumerate((1, z, z * z, value)):
                    sums[k] += term * test
        mean, first, second, square = (s / (mp.sqrt(2 * mp.pi) * scale) for s in sums)
        second -= mean
        return Moments(*map(np.float64, (mean, first, second, square, square - mean**2 - first**2)))


def wave_moments(phase: float, shift: float, scale: float) -> Moments:
    """sin(shift + phase + scale·z), from E exp(i·scale·z) = exp(-scale²/2)."""
    a, damping = shift + phase, math.exp(-(scale**2) / 2)
    mean, first = damping * math.sin(a), scale * damping * math.cos(a)
    second, square = -(scale**2) * mean, (1 - damping**4 * math.cos(2 * a)) / 2
    return Moments(*map(np.float64, (mean, first, second, square, square - mean**2 - first**2)))


def distance(found: Moments, true: Moments) -> float:
    """Largest error of a moment in units of the function's own Gaussian norm (its square, for squares)."""
    size = np.sqrt(true.square) + 1e-150
    linear = max(abs(a - b) for a, b in zip(found[:3], true[:3], strict=True)) / size
    quadratic = max(abs(a - b) for a, b in zip(found[3:], true[3:], strict=True)) / size**2
    return float(max(linear, quadratic))


def test_the_reference_itself_reproduces_closed_forms():
    shift, scale = 0.7, 1.3
    assert distance(reference_moments(mp.sin, shift, scale), wave_moments(0.0, shift, scale)) < 1e-15


@pytest.mark.parametrize("name", catalogue())
def test_moments_of_every_named_function_are_accurate_at_any_shift_and_scale(name):
    f = catalogue()[name]
    for shift, scale in POINTS:
        if name in ("sin", "cos"):
            true = wave_moments(0.0 if name == "sin" else math.pi / 2, shift, scale)
        else:
            true = reference_moments(CATALOGUE[name], shift, scale)
        if true.square < 1e-80:  # a dead unit: below anything that an average over κ can see
            continue
        found, estimate = moments(f, shift, scale)
        error = distance(found, true)
        assert error < ACCURACY, (shift, scale)
        assert error < max(estimate, ROUND_OFF), (shift, scale)


@pytest.mark.parametrize("name", ["tanh", "abs", "sign", "He4"])
def test_many_shifts_and_scales_at_once_equal_one_at_a_time(name):
    f = catalogue()[name]
    shift, scale = np.array([[-3.0], [0.0], [40.0]]), np.array([0.1, 1.0, 30.0])
    together, estimate = moments(f, shift, scale)
    assert estimate.shape == together.mean.shape == (3, 3)
    for i, j in np.ndindex(3, 3):
        alone, _ = moments(f, shift[i, 0], scale[j])
        assert distance(Moments(*(m[i, j] for m in together)), alone) < TAILS


BROKEN = {  # at a: E f, E zf, E (z² - 1)f and E f², given the density p there and the chance to be above
    "ramp": (lambda x, a: np.maximum(x - a, 0.0), lambda a, p, up: (p - a * up, up, p, (1 + a * a) * up - a * p)),
    "stair": (lambda x, a: 1.0 * (x > a), lambda a, p, up: (up, p, a * p, up)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_kink_or_jump_that_was_not_declared_is_found_and_integrated_to_rounding(name):
    function, closed = BROKEN[name]
    for at in [
        *np.random.default_rng(5).uniform(-2.5, 2.5, 50),
        -0.018501207431874,
    ]:  # the last is close to a panel's end
        f = Function(lambda x, at=at: function(x, at))
        mean, first, second, square = closed(at, math.exp(-at * at / 2) / math.sqrt(2 * math.pi), float(ndtr(-at)))
        found, estimate = moments(f)
        assert distance(found, Moments(mean, first, second, square, square - mean**2 - first**2)) < 10 * ROUND_OFF
        assert estimate < 10 * ROUND_OFF
        assert np.abs(np.subtract(f.breakpoints, at)).min() < 1e-8


@pytest.mark.parametrize("text", ["sin(900*x)", "abs(x)*sin(900*x)"])
def test_what_oscillates_too_fast_to_be_resolved_says_so(text):
    with pytest.raises(ParameterError, match=r"sin\(900\*x\) varies on a scale of 0.00\d near x = "):
        moments(as_function(text), 0.3, 5.0)


@pytest.mark.parametrize("text", ["exp(x**2/3)", "exp(0.26*x**2)"])
def test_a_function_of_infinite_variance_is_refused_with_a_sentence(text):
    with pytest.raises(ParameterError, match="grows too fast"):
        moments(as_function(text))


@pytest.mark.parametrize(
    ("f", "place"), [(np.sqrt, r"-0\."), (lambda x: np.where(x == 0, np.inf, x), "0;"), (np.arcsin, "-?1")]
)
def test_a_function_that_is_not_finite_somewhere_is_refused_for_that(f, place):
    with pytest.raises(ParameterError, match=f"is not finite at x = {place}"):
        moments(Function(f))


def test_a_function_that_grows_fast_but_has_a_variance_is_followed_far_enough():
    # E exp(a z²) = (1 - 2a)^-½, and with exp(2a z²) for the square
    found, estimate = moments(as_function("exp(0.2*x**2)"))
    assert found.mean == pytest.approx(0.6**-0.5, rel=ACCURACY)
    assert found.square == pytest.approx(0.2**-0.5, rel=ACCURACY)
    assert estimate < ACCURACY


def test_the_remainder_of_an_almost_linear_function_has_no_cancellation():
    """x + 1e-6 He3: μ2² = 6e-12 beside E f² = 1, to ten digits of itself."""
    found, _ = moments(as_function("x + 1e-6*(x**3 - 3*x)"))
    assert found.remainder == pytest.approx(6e-12, rel=1e-9, abs=0.0)  # by default anything within 1e-12 passes


def absolute(power: float) -> float:
    """E|z|^power."""
    return 2.0 ** (power / 2.0) * math.gamma((power + 1.0) / 2.0) / math.sqrt(math.pi)


@pytest.mark.parametrize("power", [0.3, 0.5, 0.8, 1.3, 2.0])
def test_powers_of_the_distance_have_the_moments_of_their_closed_forms(power):
    """An infinite slope at the breakpoint takes many nodes there."""
    found, estimate = moments(as_function(f"abs(x)**{power}"))
    assert found.mean == pytest.approx(absolute(power), rel=1e-11)
    assert found.square == pytest.approx(absolute(2 * power), rel=1e-11)
    assert estimate < 1e-11


@pytest.mark.parametrize("text", ["gelu", "exp(-x**2)", "tanh"])
def test_where_a_function_has_died_out_its_averages_take_no_more_points(text):
    """Beyond 10 the first two are a tail of which no rule has digits, and which no average over κ feels."""
    points, error = resolution(as_function(text), np.array([-40.0, 40.0]), np.ones(1), 9.0, 1e-11)
    assert points <= 192
    assert error <= 1e-11


@pytest.mark.parametrize("r", [-1.0, -0.999, -0.3, 0.0, 0.8, 1.0])
def test_two_normal_variables_are_both_below_with_the_chance_that_integration_gives(r):
    for h, k in ((0.0, 0.0), (0.0, 0.7), (-1.2, 0.0), (0.4, -0.9), (-2.0, -1.5), (1.5, 2.5), (-6.0, 1.0)):
        if abs(r) == 1.0:
            expected = ndtr(min(h, k)) if r > 0 else max(0.0, ndtr(h) + ndtr(k) - 1.0)
        else:
            width = mp.sqrt(1 - mp.mpf(r) ** 2)
            near = [x for x in (k / r if r else 0.0,) if -12 < x < h]  # where the integrand is steep
            expected = mp.quad(lambda x: mp.npdf(x) * mp.ncdf((k - r * x) / width), [-12, *near, h])  # noqa: B023
        assert float(both_below(np.array(h), np.array(k), np.array(r))) == pytest.approx(float(expected), abs=2e-15)


def test_rules_cut_at_hyperplanes_integrate_what_jumps_there():
    rng = np.random.default_rng(3)
    for m in (1, 2, 3):
        normals, offsets = rng.normal(size=(2, m)), rng.normal(size=2) / 2.0
        h, k = (offsets / np.linalg.norm(normals, axis=1))[:, None]
        r = np.array([normals[0] @ normals[1] / np.linalg.norm(normals, axis=1).prod()])
        # both at once has kinks along outer variables where the hyperplanes meet
        exact = [both_below(h, k, r)[0]]
        for n, c in zip(normals, offsets, strict=True):
            exact += [ndtr(c / np.linalg.norm(n)), _mean_distance(n, c)]
        cuts, found = Cuts(normals), []
        for level in (0, 1):
            z, w = cuts.nodes(offsets, cuts.points(level, level, 0.0), 9.0)
            found.append([w @ (normals @ z < offsets[:, None]).all(axis=0)])
            for n, c in zip(normals, offsets, strict=True):
                found[-1] += [w @ (n @ z < c), w @ np.abs(n @ z - c)]
        # one variable to rounding, two nearly; three, with seven nodes in a piece, to what the next rule says of it
        coarse = np.abs(np.subtract(found[0], exact)).max()
        assert coarse < {1: 1e-14, 2: 1e-11, 3: 1e-4}[m]
        assert coarse < 3 * np.abs(np.subtract(*found)).max() + 1e-11


def _mean_distance(n: np.ndarray, c: float) -> float:
    size = np.linalg.norm(n)
    x = c / size
    return size * (2.0 * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi) + x * (2.0 * ndtr(x) - 1.0))
