"""Derivatives of expressions against numerical ones in high precision, on expressions made at random."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from giantstep.errors import ExpressionError, ParameterError
from giantstep.functions import as_function

from .exact import meaning, mp

SMOOTH = (
    "tanh", "sin", "cos", "erf", "arctan", "arcsinh", "sigmoid", "softplus", "normal_cdf", "gelu", "He3",
)  # fmt: skip

leaves = st.sampled_from(["x", "x", "0.5", "-1.25", "2", "pi"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(st.sampled_from(SMOOTH), inner).map("{0[0]}({0[1]})".format),
        st.tuples(st.sampled_from(["abs", "relu"]), inner).map("{0[0]}({0[1]})".format),
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map("({0[0]} {0[1]} {0[2]})".format),
        pair.map("{0[0]}/(1 + ({0[1]})**2)".format),
        st.tuples(inner, st.sampled_from(["2", "3", "0"])).map("({0[0]})**{0[1]}".format),
        inner.map("(1 + ({})**2)**-1.5".format),
        inner.map("sqrt(1 + ({})**2)".format),
        inner.map("2**tanh({})".format),
        pair.map("max({0[0]}, {0[1]})".format),
        pair.map("clip({0[0]}, -1, tanh({0[1]}) + 1)".format),
        st.tuples(inner, inner).map("where({0[0]} < {0[1]}, {0[0]}, {0[1]})".format),
    )


expressions = st.recursive(leaves, larger, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(expressions, st.floats(-2.5, 2.5))
def test_values_and_derivatives_of_random_expressions(text, x):
    try:
        function = as_function(text)
    except ExpressionError as refused:
        assume("not finite" not in refused.reason and "more than" not in refused.reason)
        raise
    assume(all(abs(x - point) > 1e-3 for point in function.breakpoints))
    exact = meaning(text)
    value, slope = exact(mp.mpf(x)), mp.diff(exact, mp.mpf(x))
    # rounding of intermediate results (1e-16), amplified by nested cubes: at most 1e6 at these sizes
    scale = 1 + max(abs(exact(mp.mpf(x + h))) for h in (-0.05, 0.0, 0.05))
    assume(scale < 1e6)
    assert abs(function(x) - value) <= 1e-10 * scale
    assert abs(function.derivative(x) - slope) <= 1e-10 * (scale + abs(slope))


@pytest.mark.parametrize(
    "text",
    [
        "exp(-x**2)", "log(1 + x**2)", "sinh(x)/cosh(x)", "where(x > 0, x**2, -x**2)", "x*x*sign(x)", "min(x, 0)**2",
        "where(x > 0.5, abs(x)**1.5, x)*0 + abs(x)**2.5", "gelu(sin(2*x)) + e**-x", "x/(1 + abs(x))",
        "sin(x)/(2 - cos(3*x))",
    ],
)  # fmt: skip
def test_derivatives_of_chosen_expressions_up_to_the_second(text):
    function = as_function(text)
    exact = meaning(text.replace("e**-x", "exp(-x)"))
    for x in (-2.3, -0.7, 0.31, 1.9):
        for order, candidate in ((1, function.derivative), (2, function.derivative.derivative)):
            slope = mp.diff(exact, mp.mpf(x), order)
            assert abs(candidate(x) - slope) <= 1e-13 * (1 + abs(slope))  # some hundred roundings


CONTINUOUS = [
    "max(x, 0)", "where(x > 0, x, 0)", "where(x > 1, x - 1, 0)", "abs(x)", "x*sign(x)", "sign(x)*tanh(x)",
    "sign(x)*sign(x)", "where(x > 0, sqrt(x), 0)", "sqrt(abs(x))", "abs(x)**0.2", "clip(5*x, -1, 1)",
    "where(x > 2, x**2, 4*x - 4)", "where(x**2 > 1, x**2, 1)", "1e6*max(x - 1, 0)",
    "where(x > 3, exp(x), exp(3)*(x - 2))",
    "abs(min(0.5, tanh(x) + 1))",  # its tail is rounding, which is not a jump
]  # fmt: skip
JUMPING = {
    "sign": 0.0, "heaviside": 0.0, "where(x > 1, x, 0)": 1.0, "x > -2": -2.0, "sign(x - 3)*tanh(x)": 3.0,
    "where(x > 0, x, 0) + 1e-6*sign(x - 1)": 1.0, "where(x > 2, x**2, 4.001*x - 4)": 2.0, "1000*x + (x > 0)": 0.0,
    "d/dx relu": 0.0, "d/dx abs(x - 1)": 1.0, "(x > 1) - (x > 1.00001)": 1.0, "d/dx sqrt(abs(x))": 0.0,
    "sinh(1/cosh(where(x > pi, x, 1e6)))": np.pi,  # to where a part overflows
}  # fmt: skip


@pytest.mark.parametrize("text", CONTINUOUS)
def test_continuous_functions_have_a_derivative(text):
    function = as_function(text)
    assert function.has_derivative
    x = np.array([-2.7, -0.4, 0.6, 1.8, 2.6])
    h = 1e-6  # central differences: error h²f'''/6 and rounding eps f/h, both below 1e-7 of the scale here
    numerical = (function(x + h) - function(x - h)) / (2 * h)
    np.testing.assert_allclose(function.derivative(x), numerical, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("text", JUMPING)
def test_functions_that_jump_have_none_and_say_where(text):
    function = as_function(text)
    assert not function.has_derivative
    with pytest.raises(ParameterError, match="SpikedRF") as caught:
        _ = function.derivative
    assert f"jumps at x = {JUMPING[text]:g}" in str(caught.value)


MASKED = {  # text: the derivative where there is one, for numpy arrays of positive and of negative numbers
    "sqrt(max(x, 0))": (lambda x: 0.5 / np.sqrt(x), lambda x: 0 * x),
    "max(x, 0)**0.7": (lambda x: 0.7 * x**-0.3, lambda x: 0 * x),
    "relu(x)**0.7 + x": (lambda x: 0.7 * x**-0.3 + 1, lambda x: 0 * x + 1),
    "min(x, 0)**2 + sqrt(relu(x))": (lambda x: 0.5 / np.sqrt(x), lambda x: 2 * x),
    "tanh(sqrt(max(2*x, 0)))": (lambda x: (1 - np.tanh(np.sqrt(2 * x)) ** 2) / np.sqrt(2 * x), lambda x: 0 * x),
    "log1p(max(x, -1 + 1e-3))*0 + sqrt(max(x, 0)*max(x, 0))": (lambda x: 0 * x + 1, lambda x: 0 * x),
    "1/(1 + sqrt(max(x, 0)))": (lambda x: -0.5 / np.sqrt(x) / (1 + np.sqrt(x)) ** 2, lambda x: 0 * x),
    "sqrt(max(x, 0))/(2 + sin(x))": (
        lambda x: 0.5 / np.sqrt(x) / (2 + np.sin(x)) - np.sqrt(x) * np.cos(x) / (2 + np.sin(x)) ** 2,
        lambda x: 0 * x,
    ),
    "sign(x)*abs(x)**0.51": (lambda x: 0.51 * x**-0.49, lambda x: 0.51 * (-x) ** -0.49),
    "abs(x)**0.5*sign(x)": (lambda x: 0.5 * x**-0.5, lambda x: 0.5 * (-x) ** -0.5),
    "where(x > 0, x*log(x), 0)": (lambda x: np.log(x) + 1, lambda x: 0 * x),
    "tanh(1/x**2)": (lambda x: -2 * x**-3 / np.cosh(x**-2) ** 2, lambda x: -2 * x**-3 / np.cosh(x**-2) ** 2),
}


@pytest.mark.parametrize("text", MASKED)
def test_a_branch_that_is_not_taken_does_not_spoil_the_derivative(text):
    function, (right, left) = as_function(text), MASKED[text]
    x = np.array([0.3, 0.7, 1.9, 8.8] if "/x" in text else [1e-6, 1e-3, 0.1, 0.7, 1.9, 4.4, 8.8])
    for found, expected in ((function.derivative(x), right(x)), (function.derivative(-x), left(-x))):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)  # some hundred roundings
    assert function.derivative(0.0) in (0.0, 1.0)  # at the point itself: that of one side, or 0


def test_the_second_derivative_of_a_masked_branch_is_finite_where_there_is_one():
    second = as_function("max(x, 0)**1.7").derivative.derivative(np.array([-8.0, -1e-3, 1e-3, 1.0, 8.0]))
    np.testing.assert_allclose(second, [0.0, 0.0, *(1.7 * 0.7 * np.array([1e-3, 1.0, 8.0]) ** -0.3)], rtol=1e-13)


@pytest.mark.parametrize(
    "text", ["tanh(exp(x**2))", "1/cosh(x**2)", "sinh(1/cosh(max(x, 800)))", "exp(-exp(x**2))", "x/(1 + cosh(x**2))"]
)
def test_a_part_that_overflows_does_not_spoil_the_derivative(text):
    x = np.array([-39.0, -27.3, -5.0, 5.0, 27.3, 39.0])
    slope = as_function(text).derivative(x)
    assert not np.isnan(slope).any()
    assert np.abs(slope[[0, 1, 4, 5]]).max() < 1e-9  # the function is constant there, to rounding


@pytest.mark.parametrize("text", ["log(normal_cdf(x))", "(sigmoid(He3(x)))**-0.5"])
def test_overflow_far_out_is_no_warning(text):
    assert as_function(text).has_derivative  # warnings are errors here
