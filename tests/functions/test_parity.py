"""Parity is observed on values."""

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.functions import Function, as_function

TEXTS = {
    "odd": (
        "tanh", "erf", "sign", "hard_tanh", "He3", "poly:0,1,0,2", "tanh(2*x) + 0.3*x**3", "relu(x) - relu(-x)",
        "(x > 0) - 0.5", "sigmoid(x) - 1/2", "d/dx cos", "sin(100*pi*x)*cos(x)",
        "exp(x**2/9)*where(x > 0, 1, -1)",  # overflows at the far end
    ),
    "even": (
        "abs", "cos", "He4", "poly:3,0,2", "5", "x*sin(x)/(1 + x**2)", "where(x > 0, x, -x)", "x*(x - 1) + x",
        "softplus(2*x) - x", "where(x > 0, exp(x**2), exp(x*x))", "d/dx tanh",
    ),
    None: (
        "relu", "gelu", "sigmoid", "heaviside", "poly:3,1", "tanh(x) + 1e-9", "cos(x) + 1e-9*x", "tanh(x) + 1e-6*x**2",
        "tanh(x) + where(abs(x - 30) < 1e-5, 1, 0)",  # a needle far out, announced by its breakpoints
        "cos(x) + max(x - 39, 0)", "where(x > 1, 1, where(x < -1.0001, -1, x))",
        "sin(pi*x)**2 + sin(100*pi*x)*0.01",  # vanishes at every point of a grid of spacing 0.01
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parity", "text"), [(parity, text) for parity in TEXTS for text in TEXTS[parity]])
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
