"""Chebyshev series go through the values that they were made from."""

import numpy as np
import pytest

from giantstep.functions.chebyshev import polynomials, through


@pytest.mark.parametrize("count", [1, 2, 3, 16, 61])
def test_a_series_goes_through_its_points_and_is_the_function_if_that_is_a_polynomial(count):
    points, to_series = through(count)
    values = np.random.default_rng(count).standard_normal(count)
    np.testing.assert_allclose(polynomials(points, count) @ (to_series @ values), values, atol=1e-13)
    elsewhere = np.linspace(-1.0, 1.0, 7)
    power = count - 1
    found = polynomials(elsewhere, count) @ (to_series @ points**power)
    np.testing.assert_allclose(found, elsewhere**power, atol=1e-13)
