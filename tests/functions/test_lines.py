"""Functions that are straight between their breakpoints are recognised, and no others; their moments are closed."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from giantstep.functions import Function, as_function
from giantstep.gaussian import moments, sample, straight_moments

STRAIGHT = {
    "relu": [(0, 0), (0, 1)],
    "abs": [(0, -1), (0, 1)],
    "sign": [(-1, 0), (1, 0)],
    "hard_tanh": [(-1, 0), (0, 1), (1, 0)],
    "relu(x - 1) - 3*sign(x + 2) - x": [(3, -1), (-3, -1), (-4, 0)],
}
"""Value at 0 and slope of each line."""

UNDECLARED = {
    "an end far out": lambda x: np.minimum(1e5 - x, 0.0),
    "a narrow bump": lambda x: np.exp(-((100.0 * (x - 0.3)) ** 2)),
    "a bump where few look": lambda x: 3.0 * ((x > 12.0) & (x < 12.7)),
    "a bend beside the breakpoint": lambda x: np.where((x > -2e-2) & (x < 0.0), x * (x + 2e-2), 0.0),
    "nothing that is a number": lambda x: np.where(x > 1e9, np.nan, 0.0),
}


@pytest.mark.parametrize("text", STRAIGHT)
def test_lines_are_those_of_the_function(text):
    np.testing.assert_allclose(as_function(text).lines, STRAIGHT[text], atol=1e-14)


@pytest.mark.parametrize("text", ["tanh", "elu", "relu(x)**2", "abs(x) + 1e-12*sin(x)", "where(x > 30, x**2, relu(x))"])
def test_what_is_curved_anywhere_is_not_straight(text):
    assert as_function(text).lines is None


@pytest.mark.parametrize("what", UNDECLARED)
def test_what_is_not_declared_is_seen(what):
    assert Function(lambda x: np.maximum(x, 0.0) + UNDECLARED[what](x), breakpoints=[0.0]).lines is None


def test_a_kink_that_is_not_declared_is_found_and_the_lines_beside_it_too():
    f = Function(lambda x: np.maximum(x, 0.0) + np.maximum(x - 3.0, 0.0), breakpoints=[0.0])
    np.testing.assert_allclose(f.breakpoints, [0.0, 3.0], atol=1e-7)
    np.testing.assert_allclose(f.lines, [(0, 0), (0, 1), (-3, 2)], atol=1e-12)


def test_a_table_of_values_is_asked_no_more_than_it_can_answer():
    def table(x):
        if np.abs(x).max() > 60.0:
            raise OverflowError("not in the table")
        return np.maximum(x, 0.0)

    f = Function(table, breakpoints=[0.0])
    assert f.lines is None
    np.testing.assert_allclose(moments(f)[0], moments(as_function("relu"))[0], rtol=1e-13)


NUMBERS = st.floats(-3.0, 3.0)
BREAKS = st.tuples(NUMBERS, NUMBERS, NUMBERS)


@given(
    st.lists(BREAKS, min_size=1, max_size=4, unique_by=lambda one: round(one[0], 2)),
    NUMBERS,
    NUMBERS,
    st.floats(-8.0, 8.0),
    st.floats(0.05, 5.0),
)
def test_closed_forms_are_the_averages(breaks, value, slope, shift, scale):
    """Against the rule that is cut at the breakpoints, to the rounding of what both add up."""
    at, jumps, bends = (np.array(part) for part in zip(*sorted(breaks), strict=True))

    def drawn(x):
        beyond = np.asarray(x)[..., None] - at
        return value + slope * x + np.where(beyond > 0.0, jumps + bends * beyond, 0.0).sum(axis=-1)

    f = Function(drawn, breakpoints=at)
    closed_form = straight_moments(f, np.array(shift), np.array(scale))
    assume(closed_form is not None)  # else rounding of the lines, or terms that cancel: the rule it is
    closed, error = closed_form
    assert closed.remainder >= 0.0
    assert error < 1e-8  # 4e-16·v⁴ where all of f is in a tail, v ≤ 40
    rule = sample(f, np.array(shift), np.array(scale), 128).moments()
    size = (np.abs(jumps).sum() + (np.abs(bends).sum() + abs(slope)) * (8.0 + 9.0 * scale) + abs(value)) ** 2
    for found, expected in zip(closed, rule, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14 * max(size, 1.0), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "shift", "scale"),
    [
        ("hard_tanh(1e6*x)", 0.5, 1.0),
        ("hard_tanh", 2.0, 1e6),
        ("hard_tanh", 2.0, 300.0),
        ("abs(x - 1e5) - abs(x + 1e5)", 0.0, 1.0),
    ],
)
def test_terms_that_cancel_leave_their_averages_to_rules(text, shift, scale):
    """From outside of a steep ramp too, whose lines say nothing of it."""
    f = as_function(text)
    found, error = moments(f, shift, scale)
    rule = sample(f, np.array(shift), np.array(scale), 128).moments()
    assert error < 1e-11
    for one, other in zip(found, rule, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * float(rule.square))


def test_no_width_is_the_value_itself():
    found, _ = moments(as_function("sign"), np.array([-1.0, 0.0, 2.0]), 0.0)
    np.testing.assert_array_equal(found.square, 1.0)
    for part in (found.first, found.second, found.remainder):
        np.testing.assert_array_equal(part, 0.0)


@pytest.mark.parametrize("far", [0.5, 2.0, 6.0, 12.0, 25.0])
def test_the_error_that_is_told_is_not_less_than_the_error(far):
    """ReLU at a kink that far out, against many digits; errors count over √E f², and over E f² for squares."""
    found, told = moments(as_function("relu"), -far, 1.0)
    with mp.workdps(60):
        v, tail, density = mp.mpf(far), mp.ncdf(-mp.mpf(far)), mp.npdf(mp.mpf(far))
        square, mean = (1 + v**2) * tail - v * density, density - v * tail
        remainder = square - mean**2 - tail**2
        off = [abs(found.square - square), abs(found.remainder - remainder)]
        off = max(*(one / square for one in off), abs(found.mean - mean) / mp.sqrt(square))
    assert off <= told
    assert told < 1e-15 * (10.0 + 4.0 * far**4)  # the rounding of terms that differ by 1/far⁴ of themselves
