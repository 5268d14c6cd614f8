"""A user's own callable: wrapped, checked, never guessed about."""

import math
import pickle
from dataclasses import FrozenInstanceError

import array_api_strict
import numpy as np
import pytest

from giantstep import Network, predict
from giantstep.errors import ParameterError
from giantstep.functions import Function, as_function


def cubic(x):
    return x**3


def cubic_slope(x):
    return 3 * x**2


def test_a_plain_callable_is_wrapped_without_a_derivative():
    function = as_function(cubic)
    assert (function.name, function.breakpoints, function.has_derivative) == ("cubic", (), False)
    assert function(2.0) == 8.0


def test_a_derivative_is_a_function_with_the_same_breakpoints():
    function = Function(cubic, derivative=cubic_slope, breakpoints=[2, 0, 0], name="c")
    assert function.has_derivative
    assert function.derivative(2.0) == 12.0
    assert (function.derivative.name, function.derivative.breakpoints) == ("c'", (0.0, 2.0))
    slope = Function(cubic_slope)
    assert Function(cubic, derivative=slope).derivative is slope


def test_identity_is_that_of_the_callable_and_what_is_said_of_it():
    assert as_function(cubic) == as_function(cubic)
    assert hash(as_function(cubic)) == hash(as_function(cubic))
    assert as_function(cubic) != as_function(cubic_slope)
    assert Function(cubic) != Function(cubic, breakpoints=[1])
    observed = Function(cubic)
    assert observed.parity == "odd"
    assert observed == Function(cubic)  # having looked at its parity does not change it
    function = Function(cubic, derivative=cubic_slope, breakpoints=[0.5])
    again = pickle.loads(pickle.dumps(function))
    assert again == function
    assert again.derivative(1.0) == 3.0


@pytest.mark.parametrize("function", [as_function(cubic), as_function("tanh")])
def test_functions_cannot_be_changed(function):
    with pytest.raises(FrozenInstanceError):
        function.name = "other"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Function("tanh"), "is not callable"),
        (lambda: Function(cubic, derivative=3), "derivative = 3"),
        (lambda: Function(np.abs, breakpoints=[np.inf]), "finite"),
        (lambda: as_function(cubic).derivative, "Function(f, derivative=...)"),
        (lambda: as_function(cubic).spec, "cannot be written as text"),
        (lambda: Function(math.erf)(np.ones(3)), "numpy.vectorize"),
        (lambda: Function(lambda a: a if a > 0 else 0.0)(np.ones(3)), "does not accept a numpy array (The truth value"),
        (lambda: Function(lambda a: a.relu())(np.ones(3)), "no attribute 'relu'"),
        (lambda: Function(lambda a: a[:2])(np.ones(3)), "element by element"),
    ],
)
def test_refusals_say_what_to_do(call, words):
    with pytest.raises(ParameterError) as caught:
        call()
    assert words in str(caught.value)


def test_a_constant_callable_is_spread_over_the_array():
    np.testing.assert_array_equal(Function(lambda x: 2.0)(np.ones((2, 2))), np.full((2, 2), 2.0))


def test_arrays_of_another_library_become_numpys():
    """As those of JAX do, whose functions take numpy's arrays and give their own, of single precision."""

    def single(values):
        return array_api_strict.asarray(np.asarray(values, np.float32))

    function = Function(lambda x: single(np.tanh(x)), derivative=lambda x: single(1 - np.tanh(x) ** 2))
    for given in (function, function.derivative):
        answer = given(np.linspace(-1, 1, 5))
        assert type(answer) is np.ndarray
        assert answer.dtype == np.float64
    assert abs(function(0.5) - np.tanh(0.5)) < 1e-7  # of single precision
    assert np.ndim(function(0.5)) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: 1 / (1 + np.exp(-2 * x)),  # of another slope
        lambda x: -1 / (1 + np.exp(-x)),
        lambda x: np.where(x < 0, 0.0, 1 / (1 + np.exp(-x))),  # on one side only
        lambda x: 0.9 / (1 + np.exp(-x)),
        lambda x: 1 / (1 + np.exp(-x)) + 0.1 * (np.abs(x) < 0.5),  # around 0 only
    ],
)
def test_a_derivative_that_is_not_the_functions_own_is_refused(wrong):
    function = Function(lambda x: np.logaddexp(0, x), derivative=wrong, name="plus")
    with pytest.raises(ParameterError, match=r"derivative of 'plus' does not match the function: at x = .* slope"):
        _ = function.derivative


@pytest.mark.parametrize(
    ("right", "slope"),
    [
        (lambda x: np.maximum(x, 0), lambda x: np.where(x > 0, 1.0, 0.0)),  # a kink that was not named
        (lambda x: np.sqrt(np.abs(x)), lambda x: np.sign(x) / (2 * np.sqrt(np.abs(x)))),
        (lambda x: np.sin(300 * x), lambda x: 300 * np.cos(300 * x)),
        (lambda x: np.tanh(x.astype(np.float32)), lambda x: (1 - np.tanh(x) ** 2).astype(np.float32)),
        (lambda x: 1e6 + 1e-3 * x, lambda x: 1e-3),
        (lambda x: 2.0, lambda x: 0.0),
        (np.exp, np.exp),
    ],
)
def test_no_right_derivative_is_refused(right, slope):
    assert Function(right, derivative=slope).derivative(0.5) == pytest.approx(float(slope(np.array(0.5))))


@pytest.mark.parametrize("at_zero", [np.inf, 1.0])
def test_a_slope_without_bound_is_refused_whatever_its_value_at_the_place(at_zero):
    def slope(x):
        return np.where(x == 0, at_zero, 0.8 * np.abs(np.where(x == 0, 1.0, x)) ** -0.2)

    power = Function(lambda x: np.sign(x) * np.abs(x) ** 0.8, slope, breakpoints=[0])
    with pytest.raises(ParameterError, match="its derivative is unbounded near x = 0"):
        predict(Network(power, eta=1, alpha0=1), "sin", alpha=1, lam=0.1)
