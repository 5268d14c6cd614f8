"""Chebyshev's polynomials are cosines, and series go through the points they were made from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giantstep.functions.chebyshev import polynomials, through


@given(count=st.integers(1, 200), t=st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=5))
def test_polynomials_are_cosines_of_multiples(count, t):
    """To rounding, which n-fold angles enlarge near the ends: the slope of T_n there is n²."""
    found = polynomials(np.array(t), count)
    assert found.shape == (len(t), count)
    exact = np.cos(np.arange(count) * np.arccos(np.array(t))[:, None])
    np.testing.assert_allclose(found, exact, atol=1e-15 * count**2 + 1e-15)


@pytest.mark.parametrize("count", [1, 2, 3, 16, 61])
def test_a_series_goes_through_its_points_and_is_the_function_if_that_is_a_polynomial(count):
    points, to_series = through(count)
    values = np.random.default_rng(count).standard_normal(count)
    np.testing.assert_allclose(polynomials(points, count) @ (to_series @ values), values, atol=1e-13)
    elsewhere = np.linspace(-1.0, 1.0, 7)
    power = count - 1
    found = polynomials(elsewhere, count) @ (to_series @ points**power)
    np.testing.assert_allclose(found, elsewhere**power, atol=1e-13)
