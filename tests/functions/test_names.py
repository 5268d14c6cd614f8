"""The catalogue: every name against an independent definition in high precision."""

import pickle

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.functions import Function, as_function, catalogue

from .exact import CATALOGUE, mp

POINTS = [-30.3, -7.1, -2.2, -0.9, -0.3, -1e-3, 1e-3, 0.4, 1.3, 3.7, 9.9, 35.1]
ROUNDINGS = 64 * np.finfo(float).eps  # a few dozen operations, each rounded once


def condition(function, x):
    """Size of the terms that a polynomial or piecewise formula adds up, which bounds its rounding error."""
    return 1 + abs(function(x)) + (abs(x) ** int(function.name[2:]) * 1e3 if function.name[:2] == "He" else 0)


@pytest.mark.parametrize("name", sorted({*CATALOGUE, *catalogue()}))
def test_named_functions_and_their_derivatives_agree_with_their_definition(name):
    function, far = as_function(name), np.array([-400.0, -60.0, 60.0, 400.0])
    assert np.isfinite(function(far)).all()
    for x in POINTS:
        assert abs(function(x) - CATALOGUE[name](mp.mpf(x))) <= ROUNDINGS * condition(function, x)
    if function.has_derivative:
        assert np.isfinite(function.derivative(far)).all()
        for x in POINTS:
            slope = mp.diff(CATALOGUE[name], mp.mpf(x))
            allowed = ROUNDINGS * (condition(function, x) + abs(x * function.derivative(x)))
            assert abs(function.derivative(x) - slope) <= allowed


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "silu", "gelu"])
def test_tails_keep_relative_accuracy(name):
    assert abs(as_function(name)(-30.0) / CATALOGUE[name](mp.mpf(-30)) - 1) < 1e-12  # erfc: some hundred roundings


@pytest.mark.parametrize(
    ("spelling", "spec"),
    [
        ("TANH", "tanh"), ("Leaky ReLU", "leaky_relu"), ("leaky-relu", "leaky_relu"),
        ("LeakyReLU:0.1", "leaky_relu:0.1"), ("leaky_relu: 0.01", "leaky_relu"), ("linear", "identity"),
        ("swish", "silu"),
        ("step", "heaviside"), ("hardtanh", "hard_tanh"), ("he3", "He3"), (" gelu ", "gelu"),
        ("poly:0, 1,0.50,0", "poly:0,1,0.5"), ("poly:0,0", "poly:0"),
        ("tanh(2*x)  +  0.3 * x**3", "tanh(2*x)+0.3*x**3"), ("max(x,1)", "max(x,1)"),
        ("x > 0 and  not (x > 1)", "x>0 and not(x>1)"), ("d/dx gelu", "d/dx gelu"), ("d/dx max(x,1)", "d/dx max(x,1)"),
        ("d/dx d/dx tanh(2 * x)", "d/dx d/dx tanh(2*x)"),
    ],
)  # fmt: skip
def test_spellings_lead_to_one_spec_which_leads_back(spelling, spec):
    function, x = as_function(spelling), np.linspace(-3.1, 3.1, 11)
    assert function.spec == spec
    for again in (as_function(spec), pickle.loads(pickle.dumps(function))):
        assert again == function
        assert hash(again) == hash(function)
        np.testing.assert_array_equal(again(x), function(x))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tahn", "'tanh'"), ("leaky_rleu:0.1", "'leaky_relu'"), ("He22", "He2"), ("relux", "'relu'"),
        ("qqqqqq", "catalogue()"), ("leaky_relu:1,2", "a=0.01"), ("tanh:1", "no parameter"),
        ("leaky_relu:nan", "finite"), ("leaky_relu:", "finite"), ("poly:1,inf", "finite"),
        ("poly:" + ",".join(["1"] * 70), "degree"),
        (np.polynomial.Polynomial([1, 1j]), "real"), (3, "not a function"),
    ],
)  # fmt: skip
def test_unknown_names_and_bad_parameters_say_what_to_do(text, words):
    with pytest.raises(ParameterError) as caught:
        as_function(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "polynomial",
    [
        np.polynomial.Polynomial([1, -2, 0.5], domain=[0, 3]),
        np.polynomial.Chebyshev([1, 2, 3]),
        np.polynomial.HermiteE([0, 1, 0, 2]),
        np.poly1d([3.0, 2.0, 1.0]),
    ],
)
def test_numpy_polynomials_are_understood_in_every_basis(polynomial):
    function = as_function(polynomial)
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(function(x), polynomial(x), rtol=1e-13, atol=1e-13)  # magnitudes up to 1e3
    np.testing.assert_allclose(function.derivative(x), polynomial.deriv()(x), rtol=1e-13, atol=1e-13)
    assert as_function(function.spec) == function


def test_what_stands_for_a_function():
    assert as_function(np.tanh) == as_function("tanh") != "tanh"
    assert as_function(np.absolute) == as_function("abs")
    function = Function(np.cbrt)
    assert as_function(function) is function
