"""One function, many array libraries: same values, same kind, same precision."""

import array_api_strict
import numpy as np
import pytest

from giantstep.functions import Function, as_function, catalogue

TEXTS = [
    *catalogue(),
    *(f"d/dx {name}" for name, function in catalogue().items() if function.has_derivative),
    "poly:1,0,2",
    "5",
    "max(x, 0, 1 - x) + clip(x, -1, 1)",
    "where(x > 1 or x < -1, x**-1, x) + (not x > 0)",
    "(1 + x**2)**-0.3 + 2**x",
    "leaky_relu(x, 0.3) + erf(x) + normal_cdf(2*x)",
    "d/dx tanh(sqrt(max(x, 0)))",
    "d/dx abs(x)**1.5*sign(x)",
    "-1 <= x <= 2",
]
X = np.array([[-2.5, -0.75, 0.5], [1.25, 3.0, 7.5]])


@pytest.mark.parametrize("library", ["array_api_strict", "array_api_compat.torch"])
@pytest.mark.parametrize("text", TEXTS)
def test_libraries_agree(text, library):
    xp, function = pytest.importorskip(library), as_function(text)
    for precision in ("float64", "float32"):
        x = xp.asarray(X.astype(precision), dtype=getattr(xp, precision))
        result = function(x)
        assert type(result) is type(x)
        assert result.dtype == x.dtype
        expected = function(X)
        # He10 adds terms up to 1e9 times its value; the others a few roundings of their size
        rounding = np.finfo(precision).eps * 64
        allowed = rounding * (1 + np.abs(expected).max())
        np.testing.assert_allclose(np.asarray(result), expected, rtol=rounding, atol=allowed)


@pytest.mark.parametrize("text", TEXTS)
def test_numpy_keeps_shape_and_precision(text):
    function = as_function(text)
    for dtype in (np.float64, np.float32):
        for x in (X.astype(dtype), X.astype(dtype)[:, ::2].T, np.zeros((0, 3), dtype), np.array(0.5, dtype)):
            result = function(x)
            assert result.dtype == dtype
            assert np.shape(result) == x.shape
    assert type(function(0.5)) is float
    assert type(function(1)) is float
    assert isinstance(function(np.float64(0.5)), np.float64)
    np.testing.assert_array_equal(function(np.array([1, 2])), function(np.array([1.0, 2.0])))
    np.testing.assert_array_equal(function([1.0, 2.0]), function(np.array([1.0, 2.0])))
    assert function(0.5) == function(np.array([0.5]))[0]


@pytest.mark.parametrize("text", ["identity", "x", "5", "relu", "abs(x)"])
def test_the_result_never_shares_memory_with_its_argument(text):
    x = np.ones(3)
    assert not np.shares_memory(as_function(text)(x), x)


def test_callables_made_of_numpy_serve_other_libraries_too():
    x = array_api_strict.asarray(X)
    result = Function(lambda a: np.cbrt(a) + 1)(x)
    assert type(result) is type(x)
    np.testing.assert_array_equal(np.asarray(result), np.cbrt(X) + 1)
