"""The catalogue: every name against an independent definition in high precision."""

import pickle

import mpmath
import numpy as np
import pytest

from giantstep.errors import ExpressionError, ParameterError
from giantstep.functions import Function, as_function, catalogue

mp = mpmath.mp.clone()
mp.dps = 40

INDEPENDENT = {
    "identity": lambda x: x,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "sin": mp.sin,
    "cos": mp.cos,
    "arctan": mp.atan,
    "arcsinh": mp.asinh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "hard_tanh": lambda x: max(-1, min(1, x)),
    "relu": lambda x: max(x, 0),
    "leaky_relu": lambda x: x if x > 0 else x * 0.01,
    "elu": lambda x: x if x > 0 else mp.expm1(x),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "gelu": lambda x: x * mp.ncdf(x),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "abs": abs,
    "sign": mp.sign,
    "heaviside": lambda x: mp.mpf(x > 0),
    **{f"He{n}": lambda x, n=n: mp.hermite(n, x / mp.sqrt(2)) / mp.sqrt(2) ** n for n in range(1, 11)},
}
POINTS = [-30.3, -7.1, -2.2, -0.9, -0.3, -1e-3, 1e-3, 0.4, 1.3, 3.7, 9.9, 35.1]
ROUNDINGS = 64 * np.finfo(float).eps  # a few dozen operations, each rounded once


def condition(function, x):
    """Size of the terms that a polynomial or piecewise formula adds up, which bounds its rounding error."""
    return 1 + abs(function(x)) + (abs(x) ** int(function.name[2:]) * 1e3 if function.name[:2] == "He" else 0)


def test_every_name_of_the_catalogue_is_checked_here():
    assert set(INDEPENDENT) == set(catalogue())


@pytest.mark.parametrize("name", INDEPENDENT)
def test_named_functions_agree_with_their_definition(name):
    function = as_function(name)
    for x in POINTS:
        assert abs(function(x) - INDEPENDENT[name](mp.mpf(x))) <= ROUNDINGS * condition(function, x)


@pytest.mark.parametrize("name", [name for name, f in catalogue().items() if f.has_derivative])
def test_derivatives_of_named_functions_agree_with_numerical_ones(name):
    function = as_function(name)
    for x in POINTS:
        exact = mp.diff(INDEPENDENT[name], mp.mpf(x))
        allowed = ROUNDINGS * (condition(function, x) + abs(x * function.derivative(x)))
        assert abs(function.derivative(x) - exact) <= allowed


@pytest.mark.parametrize("name", INDEPENDENT)
def test_named_functions_and_derivatives_are_finite_far_out(name):
    x = np.array([-400.0, -60.0, 60.0, 400.0])
    function = as_function(name)
    assert np.isfinite(function(x)).all()
    if function.has_derivative:
        assert np.isfinite(function.derivative(x)).all()


def test_tails_keep_relative_accuracy():
    for name in ("sigmoid", "softplus", "silu", "gelu"):
        value, exact = as_function(name)(-30.0), INDEPENDENT[name](mp.mpf(-30))
        assert abs(value / exact - 1) < 1e-12, name  # erfc of scipy: some hundred roundings


@pytest.mark.parametrize(
    ("spelling", "spec"),
    [
        ("TANH", "tanh"),
        ("Leaky ReLU", "leaky_relu"),
        ("leaky-relu", "leaky_relu"),
        ("LeakyReLU:0.1", "leaky_relu:0.1"),
        ("leaky_relu: 0.01", "leaky_relu"),
        ("linear", "identity"),
        ("swish", "silu"),
        ("step", "heaviside"),
        ("hardtanh", "hard_tanh"),
        ("he3", "He3"),
        (" gelu ", "gelu"),
        ("poly:0, 1,0.50,0", "poly:0,1,0.5"),
        ("poly:0,0", "poly:0"),
        ("tanh(2*x)  +  0.3 * x**3", "tanh(2*x)+0.3*x**3"),
        ("x > 0 and  not (x > 1)", "x>0 and not(x>1)"),
        ("d/dx gelu", "d/dx gelu"),
        ("d/dx d/dx tanh(2 * x)", "d/dx d/dx tanh(2*x)"),
    ],
)
def test_spellings_lead_to_one_spec_which_leads_back(spelling, spec):
    function = as_function(spelling)
    assert function.spec == spec
    again = as_function(spec)
    assert again == function
    assert hash(again) == hash(function)
    x = np.linspace(-3.1, 3.1, 11)
    np.testing.assert_array_equal(again(x), function(x))


def test_parameters_change_the_function_and_its_identity():
    steep, shallow = as_function("leaky_relu:0.5"), as_function("leaky_relu:0.1")
    assert (steep(-2.0), shallow(-2.0)) == (-1.0, -0.2)
    assert steep != shallow
    assert as_function("elu:2")(-50.0) == pytest.approx(-2.0, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tahn", "'tanh'"),
        ("leaky_rleu:0.1", "'leaky_relu'"),
        ("He22", "He2"),
        ("relux", "'relu'"),
        ("qqqqqq", "catalogue()"),
        ("leaky_relu:1,2", "a=0.01"),
        ("tanh:1", "no parameter"),
        ("leaky_relu:nan", "finite"),
        ("leaky_relu:", "finite"),
        ("poly:1,inf", "finite"),
        ("poly:" + ",".join(["1"] * 70), "degree"),
    ],
)
def test_unknown_names_and_bad_parameters_say_what_to_do(text, words):
    with pytest.raises(ParameterError) as caught:
        as_function(text)
    assert words in str(caught.value)


def test_the_offending_parameter_is_pointed_at():
    with pytest.raises(ExpressionError) as caught:
        as_function("poly:1,2,three")
    assert caught.value.position == len("poly:1,2,")


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


def test_polynomials_with_complex_coefficients_are_refused():
    with pytest.raises(ParameterError, match="real"):
        as_function(np.polynomial.Polynomial([1, 1j]))


def test_numpy_functions_stand_for_the_names_they_have():
    assert as_function(np.tanh) == as_function("tanh")
    assert as_function(np.absolute) == as_function("abs")


@pytest.mark.parametrize(
    "text", ["tanh", "leaky_relu:0.3", "poly:1,2", "max(x,1)", "d/dx gelu", "d/dx max(x,1)"]
)
def test_functions_from_text_survive_pickling(text):
    function = as_function(text)
    assert pickle.loads(pickle.dumps(function)) == function


def test_a_function_is_returned_as_it_is_and_nonsense_is_refused():
    function = Function(np.cbrt)
    assert as_function(function) is function
    with pytest.raises(ParameterError, match="not a function"):
        as_function(3)  # type: ignore[arg-type]
    assert as_function("tanh") != "tanh"
