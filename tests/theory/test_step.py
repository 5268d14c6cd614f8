"""The step: Result 1 against closed forms, and what it takes from the rows in common."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import giantstep as gs
from giantstep.functions import as_function
from giantstep.losses import as_loss
from giantstep.theory.first_layers import train
from giantstep.theory.layer import Neurons
from giantstep.theory.step import make_step

EXACT = 1e-12  # closed forms: rounding and quadratures that are exact to 1e-13


# Result 1 in closed form: relu, whose moments at a bias b are E σ = bΦ + φ, h1 = Φ, h2 = φ, E σ'² = Φ


def _by_hand(eta, alpha0, beta, noise, letters: gs.Letters) -> tuple[np.ndarray, float, np.ndarray]:
    """r per letter, γ and c per letter of a relu network on y = z² + z + sin(30z): E y = E zy = 1, E y² = 4.5."""
    values, weights = np.array(letters.values), np.array(letters.weights)
    b = np.array(letters.biases or np.zeros(len(values)))
    h1, h2 = norm.cdf(b), norm.pdf(b)
    f0 = float(np.sum(values * weights * (b * h1 + h2)))
    square = 4.5 - 2.0 * f0 + f0**2 + noise**2
    length = math.sqrt(1.0 + square / alpha0)
    k = eta / beta * values
    c = (1.0 + k * h2 * (1.0 - f0)) ** 2 + k**2 * h1 * (1.0 - h1) * square / alpha0
    return k * h1 * length, 1.0 / length, c


@pytest.mark.parametrize(
    "letters",
    [
        gs.Letters((1.0,), (1.0,)),
        gs.Letters((0.7,), (1.0,), biases=(0.4,)),
        gs.Letters((-0.5, 1.5), (0.3, 0.7), biases=(-0.6, 0.9)),
    ],
    ids=["uniform", "one letter with a bias", "letters with biases"],
)
def test_a_relu_layer_after_the_step_is_what_its_closed_form_says(letters):
    net = gs.Network("relu", eta=1.3, alpha0=0.8, beta=1.7, readout=letters)
    target = gs.Target("x**2 + x + sin(30*x)", noise=0.6)  # fast enough that the nested rules differ
    spikes, gamma, c = _by_hand(1.3, 0.8, 1.7, 0.6, letters)
    found = net.equivalent(target)
    assert np.asarray(found.gamma).item() == pytest.approx(gamma, rel=EXACT)
    assert np.asarray(found.r) * np.asarray(found.readout.values) == pytest.approx(
        spikes if len(spikes) > 1 or letters.biases else spikes / letters.values[0], rel=EXACT
    )
    assert np.ravel(found.readout.c or found.c) == pytest.approx(c, rel=EXACT)


def _absolute(power: float) -> float:
    """E|z|^power."""
    return 2.0 ** (power / 2.0) * math.gamma((power + 1.0) / 2.0) / math.sqrt(math.pi)


@pytest.mark.parametrize("power", [1.0, 1.2, 1.4, 2.0])
@pytest.mark.parametrize("odd", [True, False], ids=["sign(x)|x|^p", "|x|^p"])
def test_row_norms_of_a_power_are_those_of_its_closed_form(odd, power):
    """On sin, E sin² = (1 - e⁻²)/2; the slope p|x|^(p-1) is even for an odd power and odd for an even one."""
    net = gs.Network(("sign(x)*" if odd else "") + f"abs(x)**{power}", eta=1.3, alpha0=0.8, beta=1.7)
    k, output = 1.3 / 1.7, 0.0 if odd else _absolute(power)
    square = (1.0 - math.exp(-2.0)) / 2.0 + output**2
    whole = power**2 * _absolute(2 * power - 2)
    s0, s1 = (power * _absolute(power - 1), 0.0) if odd else (0.0, power * _absolute(power))
    bend = 1.0 - k * output * s1
    c = bend**2 + k**2 / 0.8 * square * (s1**2 + whole - s0**2 - s1**2)
    found = gs.predict(net, "sin", alpha=1, lam=0.1, bulk="isotropic")
    assert float(found["c"]) == pytest.approx(c, rel=EXACT)
    assert float(np.asarray(net.equivalent("sin").c)) == pytest.approx(c, rel=EXACT)


@pytest.mark.parametrize("text", ["sqrt(max(x,0))", "sign(x)*abs(x)**0.9", "abs(x-1)**0.3", "sqrt(abs(tanh(x)))"])
def test_a_step_through_an_unbounded_slope_is_refused(text):
    with pytest.raises(gs.ParameterError, match=f"unbounded near x = {int('-1' in text)},.*SpikedRF"):
        gs.predict(gs.Network(text, eta=1, alpha0=1), "sin", alpha=1, lam=0.1)
    assert np.isfinite(gs.predict(gs.SpikedRF(text, r=1, gamma=0.5), "sin", alpha=1, lam=0.1)["test_error"])
    assert np.isfinite(gs.predict(gs.Network(text, eta=0, alpha0=1), "sin", alpha=1, lam=0.1)["test_error"])


def test_a_slope_that_no_integral_of_a_step_resolves_is_refused():
    """A slope with two thousand undeclared jumps: no rule resolves it, and nothing pretends to."""
    wild = gs.Function(lambda x: x + np.arccos(np.cos(300 * x)) / 300, lambda x: 1.0 + np.sign(np.sin(300 * x)))
    net = gs.Network(wild, eta=1, alpha0=1)
    with pytest.raises(gs.ParameterError, match="varies on a scale of"):
        gs.predict(net, "sin", alpha=1, lam=0.1)
    with pytest.raises(gs.ParameterError, match="varies on a scale of"):
        net.equivalent("sin")


def test_what_an_early_step_did_not_resolve_is_not_forgotten():
    """A target with undeclared kinks in two variables, and a second step that hardly moves anything."""
    neurons, one = Neurons(as_function("tanh"), gs.Letters((1.0,), (1.0,))), np.ones(1)
    target = gs.Target(lambda x, y: np.abs(x + 0.3) + np.maximum(y, 0.2))
    steps = [make_step(eta * one, one, one, 0.0 * one, as_loss("square")) for eta in (1.0, 1e-12)]
    first, both = (train(neurons, target, tuple(steps[:count])).error.item() for count in (1, 2))
    assert both >= first > 1e-6


_ZEROS = 2.0 * sum(norm.pdf(n * math.pi) for n in range(-3, 4))  # twice the density of sin z at 0
_NOISY = quad(lambda z: 2.0 * norm.pdf(math.sin(z), scale=0.3) * norm.pdf(z), -9, 9, epsabs=1e-13, limit=200)[0]


@pytest.mark.parametrize(
    ("loss", "target", "noise", "curvature"),
    [
        ("square", "sign", 0.0, 1.0),
        ("logistic", "sign", 0.0, 0.25),
        ("absolute", "sin", 0.0, _ZEROS),
        ("pinball:0.9", "sin", 0.0, 0.5 * _ZEROS),
        ("absolute", "sin", 0.3, _NOISY),
        ("huber:0.5", "tanh", 0.0, 2.0 * norm.cdf(math.atanh(0.5)) - 1.0),  # P(|y| < 0.5)
    ],
)
def test_the_step_drags_the_common_part_of_linear_rows_by_their_own_output(loss, target, noise, curvature):
    """σ = 2x, letter 0.6: the output is linear in the mean row with slope 1.2, and so is the pull on each row.

    It goes with the mean curvature of the loss, at a kink the jump of its derivative times the density of labels there.
    """
    neurons = Neurons(as_function("2*x"), gs.Letters((0.6,), (1.0,)))
    step = make_step(np.array([0.9, 0.0]), np.ones(2), np.full(2, 1.5), np.full(2, noise), as_loss(loss))
    layers = train(neurons, gs.Target(target), (step,))
    covariance, error = layers.mean_row_covariance(np.array([0]))
    taken = 1.0 - np.sqrt(1.0 + covariance.item())
    # differences over 0.02 of functions that vary on the scale of one, extrapolated twice
    assert taken == pytest.approx(0.6 * curvature * 1.2**2, rel=3e-8)
    assert abs(taken - 0.6 * curvature * 1.2**2) < error[0] + EXACT < 1e-6
    assert layers.mean_row_covariance(np.array([1]))[0] is None


def test_a_second_step_on_a_kinked_loss_drags_by_the_density_of_its_residuals():
    """All is Gaussian for σ = 2x on y = z + noise: the absolute loss has the mean curvature 2/√(2π E e²)."""
    neurons = Neurons(as_function("2*x"), gs.Letters((0.6,), (1.0,)))
    rates, noise = (np.ones(1), np.ones(1), np.full(1, 1.5)), np.full(1, 0.5)
    steps = tuple(make_step(*rates, noise, as_loss(loss)) for loss in ("square", "absolute"))
    layers = train(neurons, gs.Target("x"), steps)
    frame = layers.path[1].frame()
    power = float((frame.gamma - 1.2 * frame.b[..., 0]).item() ** 2 + frame.rho.item() ** 2 + 0.5**2)
    curvatures = np.array([1.0, 2.0 / math.sqrt(2.0 * math.pi * power)])
    left = np.prod(1.0 - curvatures * 1.2**2 / 1.5)
    covariance, _ = layers.mean_row_covariance(np.array([0]))
    assert covariance.item() == pytest.approx(left**2 - 1.0, rel=1e-8)  # extrapolated differences, as above
