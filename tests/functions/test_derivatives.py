"""Derivatives of expressions against numerical ones in high precision, on expressions made at random and chosen."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from giantstep.errors import ExpressionError, ParameterError
from giantstep.functions import as_function

from .exact import meaning, mp

ONE = (
    "tanh", "sin", "cos", "erf", "arctan", "arcsinh", "sigmoid", "softplus", "normal_cdf", "gelu", "He3", "abs", "relu",
)  # fmt: skip
FORMS = (
    *(f"{name}({{0}})" for name in ONE), "({0} + {1})", "({0} - {1})", "({0} * {1})", "{0}/(1 + ({1})**2)", "({0})**2",
    "({0})**3", "({0})**0", "(1 + ({0})**2)**-1.5", "sqrt(1 + ({0})**2)", "2**tanh({0})", "max({0}, {1})",
    "clip({0}, -1, tanh({1}) + 1)", "where({0} < {1}, {0}, {1})",
)  # fmt: skip
expressions = st.recursive(
    st.sampled_from(["x", "x", "0.5", "-1.25", "2", "pi"]),
    lambda inner: st.tuples(st.sampled_from(FORMS), inner, inner).map(lambda made: made[0].format(*made[1:])),
    max_leaves=6,
)


@settings(max_examples=300)
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


ONCE = [
    "max(x, 0)", "where(x > 0, x, 0)", "where(x > 1, x - 1, 0)", "abs(x)", "x*sign(x)", "sign(x)*tanh(x)",
    "sign(x)*sign(x)", "where(x > 0, sqrt(x), 0)", "sqrt(abs(x))", "abs(x)**0.2", "clip(5*x, -1, 1)",
    "where(x > 2, x**2, 4*x - 4)", "where(x**2 > 1, x**2, 1)", "1e6*max(x - 1, 0)",
    "where(x > 3, exp(x), exp(3)*(x - 2))",
    "abs(min(0.5, tanh(x) + 1))",  # its tail is rounding, which is not a jump
    # a branch that is not taken does not spoil the derivative,
    "sqrt(max(x, 0))", "max(x, 0)**0.7", "relu(x)**0.7 + x", "min(x, 0)**2 + sqrt(relu(x))", "tanh(sqrt(max(2*x, 0)))",
    "log1p(max(x, -1 + 1e-3))*0 + sqrt(max(x, 0)*max(x, 0))", "1/(1 + sqrt(max(x, 0)))",
    "sqrt(max(x, 0))/(2 + sin(x))", "sign(x)*abs(x)**0.51", "abs(x)**0.5*sign(x)",
    "where(x > 0, x*log(x), 0)", "tanh(1/x**2)",
    # nor does a part that overflows
    "1/cosh(x**2)", "sinh(1/cosh(max(x, 800)))", "x/(1 + cosh(x**2))",
]  # fmt: skip
TWICE = [
    "exp(-x**2)", "log(1 + x**2)", "sinh(x)/cosh(x)", "where(x > 0, x**2, -x**2)", "x*x*sign(x)", "min(x, 0)**2",
    "where(x > 0.5, abs(x)**1.5, x)*0 + abs(x)**2.5", "gelu(sin(2*x)) + exp(1)**-x", "x/(1 + abs(x))",
    "sin(x)/(2 - cos(3*x))", "max(x, 0)**1.7", "tanh(exp(x**2))", "exp(-exp(x**2))",
]  # fmt: skip


@pytest.mark.parametrize(("text", "times"), [*((text, 1) for text in ONCE), *((text, 2) for text in TWICE)])
def test_derivatives_of_chosen_expressions(text, times):
    function, exact = as_function(text), meaning(text)
    for order in range(1, times + 1):
        assert function.has_derivative
        function = function.derivative
        assert np.isfinite(function(0.0))  # also where there is none
        for x in (-39.0, -27.3, -4.4, -2.3, -0.7, -0.3, -1e-6, 1e-6, 1e-3, 0.31, 1.9, 4.4, 27.3, 39.0):
            slope = mp.diff(exact, mp.mpf(x), order)
            assert abs(function(x) - slope) <= 1e-13 * (1 + abs(slope)), (order, x)  # some hundred roundings


JUMPING = {
    "sign": 0.0, "heaviside": 0.0, "where(x > 1, x, 0)": 1.0, "x > -2": -2.0, "sign(x - 3)*tanh(x)": 3.0,
    "where(x > 0, x, 0) + 1e-6*sign(x - 1)": 1.0, "where(x > 2, x**2, 4.001*x - 4)": 2.0, "1000*x + (x > 0)": 0.0,
    "d/dx relu": 0.0, "d/dx abs(x - 1)": 1.0, "(x > 1) - (x > 1.00001)": 1.0, "d/dx sqrt(abs(x))": 0.0,
    "sinh(1/cosh(where(x > pi, x, 1e6)))": np.pi,  # to where a part overflows
}  # fmt: skip


@pytest.mark.parametrize("text", JUMPING)
def test_functions_that_jump_have_none_and_say_where(text):
    function = as_function(text)
    assert not function.has_derivative
    with pytest.raises(ParameterError, match="SpikedRF") as caught:
        _ = function.derivative
    assert f"jumps at x = {JUMPING[text]:g}" in str(caught.value)


@pytest.mark.parametrize("text", ["log(normal_cdf(x))", "(sigmoid(He3(x)))**-0.5"])
def test_overflow_far_out_is_no_warning(text):
    assert as_function(text).has_derivative  # warnings are errors here
