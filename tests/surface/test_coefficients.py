"""Result 2's coefficients against closed forms and against high-precision integrals."""

import math

import numpy as np
import pytest
from scipy.special import erf, ndtr

import giantstep as gs
from giantstep.functions import catalogue
from giantstep.insight.coefficients import hermite
from tests.functions.exact import CATALOGUE, mp

KAPPA = np.linspace(-4, 4, 33)
ROUNDING = 1e-13  # of quantities of order √E σ²: hundreds of function values, each to 2e-16


@pytest.mark.parametrize("c", [0.01, 1.0, 900.0])
@pytest.mark.parametrize("r", [0.0, 1.0, 20.0])
def test_erf_and_sign_have_closed_forms(r, c):
    smooth = gs.coefficients(gs.SpikedRF("erf", r=r, gamma=1.0, c=c), KAPPA)
    np.testing.assert_allclose(smooth.mu0, erf(r * KAPPA / math.sqrt(1 + 2 * c)), rtol=0, atol=ROUNDING)
    slope = 2 / math.sqrt(math.pi * (1 + 2 * c)) * np.exp(-((r * KAPPA) ** 2) / (1 + 2 * c))
    np.testing.assert_allclose(smooth.mu1, slope, rtol=0, atol=ROUNDING / math.sqrt(c))
    jump = gs.coefficients(gs.SpikedRF("sign", r=r, gamma=1.0, c=c), KAPPA)
    np.testing.assert_allclose(jump.mu0, erf(r * KAPPA / math.sqrt(2 * c)), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(jump.mu2**2, 1 - jump.mu0**2 - c * jump.mu1**2, rtol=0, atol=ROUNDING)


def test_relu_has_closed_forms_including_the_derivative_with_respect_to_c():
    r, c = 1.5, 2.0
    found = gs.coefficients(gs.SpikedRF("relu", r=r, gamma=1.0, c=c), KAPPA)
    x = r * KAPPA / math.sqrt(c)
    density = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    exact = {"mu0": math.sqrt(c) * (x * ndtr(x) + density), "mu1": ndtr(x), "dmu0": density / (2 * math.sqrt(c))}
    for name, values in exact.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=10 * ROUNDING)


@pytest.mark.parametrize("name", ["tanh", "softplus", "hard_tanh", "gelu", "leaky_relu"])
def test_the_stated_error_bounds_the_distance_to_a_high_precision_integral(name):
    r, c, kappa = 2.0, 9.0, -0.7
    found = gs.coefficients(gs.SpikedRF(name, r=r, gamma=1.0, c=c), kappa)
    with mp.workdps(25):
        cuts = sorted({-40, 40, *((b - r * kappa) / 3 for b in (-1, 0, 1)), *range(-9, 10, 3)})
        powers = ((1, 0), (1, 1), (2, 0))  # of σ and z
        mean, first, square = (
            mp.quad(lambda z, p=p, q=q: CATALOGUE[name](r * kappa + 3 * z) ** p * z**q * mp.npdf(z), cuts)
            for p, q in powers
        )
    size = float(mp.sqrt(square))
    stated = float(found.quadrature_error) + ROUNDING
    assert stated < 1e-10
    assert abs(float(found.mu0) - float(mean)) < stated * size
    assert abs(float(found.mu1) - float(first) / 3) < stated * size / 3
    assert abs(float(found.mu2) ** 2 - float(square - mean**2 - first**2)) < stated * size**2


def test_dimensions_follow_r_c_and_the_letters():
    letters = gs.Letters((-1, 2), (0.5, 0.5), biases=(0.0, 1.0), c=(1.0, 4.0))
    found = gs.coefficients(gs.SpikedRF("tanh", r=[0.5, 1.0], gamma=[0.1, 0.2, 0.3], readout=letters), KAPPA)
    assert found.mu0.sizes == {"r": 2, "kappa": KAPPA.size, "letter": 2}
    alone = gs.coefficients(gs.SpikedRF("tanh(x + 1)", r=2.0, gamma=0.0, c=4.0), KAPPA)
    np.testing.assert_allclose(found.mu2.sel(r=1.0, letter=2), alone.mu2, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("target", ["sin", "x1 + x2/2"])  # a spike on two directions has coefficients like any other
def test_coefficients_of_a_network_are_those_of_its_spike_and_rows(target):
    net = gs.Network("gelu", 1.0, 2.0)
    layer = gs.predict(net, target, alpha=1.0, lam=0.1)
    spiked = gs.SpikedRF("gelu", r=float(layer.r), gamma=0.0, c=float(layer.c))
    found, expected = gs.coefficients(net, KAPPA, target), gs.coefficients(spiked, KAPPA)
    for name in ("mu0", "mu1", "mu2"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_hermite_coefficients_of_hermite_polynomials(degree):
    found, factorial = hermite(catalogue()[f"He{degree}"]), math.factorial(degree)
    exact = [factorial if k == degree else 0.0 for k in range(3)]
    size = math.sqrt(factorial)
    np.testing.assert_allclose([found["h0"], found["h1"], found["h2"]], exact, rtol=0, atol=ROUNDING * size)
    assert found["square"] == pytest.approx(factorial, rel=1e-12)
    assert found["spread"] == pytest.approx(degree * factorial - (degree == 1), rel=1e-9, abs=1e-12)
    assert np.isnan(hermite(catalogue()["sign"])["spread"])  # it has no derivative
