"""Parity, proven by form or observed on values."""

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.functions import Function, as_function


@pytest.mark.parametrize(
    ("text", "parity"),
    [
        ("tanh", "odd"),
        ("erf", "odd"),
        ("sign", "odd"),
        ("hard_tanh", "odd"),
        ("abs", "even"),
        ("cos", "even"),
        ("He3", "odd"),
        ("He4", "even"),
        ("relu", None),
        ("gelu", None),
        ("sigmoid", None),
        ("heaviside", None),
        ("poly:0,1,0,2", "odd"),
        ("poly:3,0,2", "even"),
        ("poly:3,1", None),
        ("5", "even"),
        ("tanh(2*x) + 0.3*x**3", "odd"),
        ("x*sin(x)/(1 + x**2)", "even"),
        ("where(x > 0, x, -x)", "even"),
        ("relu(x) - relu(-x)", "odd"),
        ("softplus(2*x) - x", "even"),  # log(2 cosh x)
        ("(x > 0) - 0.5", "odd"),
        ("x*(x - 1) + x", "even"),
        ("sigmoid(x) - 1/2", "odd"),
        ("exp(x**2/9)*where(x > 0, 1, -1)", "odd"),  # overflows at the far end
        ("where(x > 0, exp(x**2), exp(x*x))", "even"),
        ("d/dx tanh", "even"),
        ("d/dx cos", "odd"),
        ("tanh(x) + 1e-9", None),
        ("cos(x) + 1e-9*x", None),
        ("tanh(x) + 1e-6*x**2", None),
        ("tanh(x) + where(abs(x - 30) < 1e-5, 1, 0)", None),  # a needle far out, announced by its breakpoints
        ("cos(x) + max(x - 39, 0)", None),
        ("where(x > 1, 1, where(x < -1.0001, -1, x))", None),
        ("sin(pi*x)**2 + sin(100*pi*x)*0.01", None),  # vanishes at every point of a grid of spacing 0.01
        ("sin(100*pi*x)*cos(x)", "odd"),
    ],
)
def test_parity_of_text(text, parity):
    assert as_function(text).parity == parity


def test_parity_of_callables_is_observed_unless_given():
    assert Function(np.cbrt).parity == "odd"
    assert Function(lambda x: x**2 + 1).parity == "even"
    assert Function(lambda x: x + 1e-9).parity is None
    assert Function(lambda x: np.where(x > 2, 1.0, 0.0), breakpoints=[2]).parity is None
    assert Function(np.exp, parity="odd").parity == "odd"
    with pytest.raises(ParameterError, match="parity"):
        Function(np.exp, parity="both")  # type: ignore[arg-type]
