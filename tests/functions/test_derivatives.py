"""Derivatives of expressions against numerical ones in high precision, on expressions made at random."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from giantstep.errors import ExpressionError, ParameterError
from giantstep.functions import as_function

mp = mpmath.mp.clone()
mp.dps = 40

# An evaluator of its own for the language: Python itself on mpmath's numbers.
MEANING = {
    **{
        name: getattr(mp, name)
        for name in ("tanh", "sin", "cos", "exp", "erf", "sinh", "cosh", "sqrt", "sign")
    },
    "arctan": mp.atan,
    "arcsinh": mp.asinh,
    "log": mp.log,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "normal_cdf": mp.ncdf,
    "gelu": lambda x: x * mp.ncdf(x),
    "relu": lambda x: max(x, mp.mpf(0)),
    "abs": abs,
    "max": max,
    "min": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "where": lambda condition, a, b: a if condition else b,
    "He3": lambda x: x**3 - 3 * x,
    "pi": mp.pi,
}
SMOOTH = (
    "tanh",
    "sin",
    "cos",
    "erf",
    "arctan",
    "arcsinh",
    "sigmoid",
    "softplus",
    "normal_cdf",
    "gelu",
    "He3",
)

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


def meaning(text):
    # the text comes from the strategy above, never from outside
    code = compile(text, "<made at random>", "eval")
    return lambda x: mp.mpf(eval(code, {"__builtins__": {}}, {**MEANING, "x": x}))


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
        "exp(-x**2)",
        "log(1 + x**2)",
        "sinh(x)/cosh(x)",
        "where(x > 0, x**2, -x**2)",
        "where(x > 0.5, sqrt(abs(x)), x)*0 + sqrt(abs(x))",
        "x*x*sign(x)",
        "min(x, 0)**2",
        "gelu(sin(2*x)) + e**-x",
    ],
)
def test_derivatives_of_chosen_expressions_up_to_the_second(text):
    function = as_function(text)
    exact = meaning(text.replace("e**-x", "exp(-x)"))
    for x in (-2.3, -0.7, 0.31, 1.9):
        for order, candidate in ((1, function.derivative), (2, function.derivative.derivative)):
            slope = mp.diff(exact, mp.mpf(x), order)
            assert abs(candidate(x) - slope) <= 1e-13 * (1 + abs(slope))  # some hundred roundings


CONTINUOUS = [
    "max(x, 0)",
    "where(x > 0, x, 0)",
    "where(x > 1, x - 1, 0)",
    "abs(x)",
    "x*sign(x)",
    "sign(x)*tanh(x)",
    "sign(x)*sign(x)",
    "where(x > 0, sqrt(x), 0)",
    "sqrt(abs(x))",
    "abs(x)**0.2",
    "clip(5*x, -1, 1)",
    "where(x > 2, x**2, 4*x - 4)",
    "where(x**2 > 1, x**2, 1)",
    "1e6*max(x - 1, 0)",
    "where(x > 3, exp(x), exp(3)*(x - 2))",
    "abs(min(0.5, tanh(x) + 1))",  # its tail is rounding, which is not a jump
]
JUMPING = {
    "sign": 0.0,
    "heaviside": 0.0,
    "where(x > 1, x, 0)": 1.0,
    "x > -2": -2.0,
    "sign(x - 3)*tanh(x)": 3.0,
    "where(x > 0, x, 0) + 1e-6*sign(x - 1)": 1.0,
    "where(x > 2, x**2, 4.001*x - 4)": 2.0,
    "1000*x + (x > 0)": 0.0,
    "d/dx relu": 0.0,
    "d/dx abs(x - 1)": 1.0,
    "(x > 1) - (x > 1.00001)": 1.0,
}


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


def test_trivial_factors_are_simplified_away():
    assert len(as_function("d/dx 3*x + 1")._program.steps) == 0
