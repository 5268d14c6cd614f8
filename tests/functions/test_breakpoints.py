"""Breakpoints: none may be missed, and each is known to machine precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import giantstep as gs
from giantstep.errors import GiantstepWarning
from giantstep.functions import as_function, followed, target_function
from giantstep.functions.breakpoints import RANGE

ROUNDING = 4 * np.finfo(float).eps


def nearest(points, wanted):
    return min((abs(point - wanted) for point in points), default=np.inf)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh", ()), ("softplus", ()), ("He4", ()), ("poly:1,2,3", ()), ("1/(1 + x**2)", ()), ("sqrt(2 + sin(x))", ()),
        ("log1p(x**2)", ()), ("relu", (0,)), ("abs", (0,)), ("sign", (0,)), ("heaviside", (0,)), ("hard_tanh", (-1, 1)),
        ("leaky_relu:0.2", (0,)), ("d/dx relu", (0,)), ("d/dx hard_tanh", (-1, 1)), ("where(x > 1, x, 0)", (1,)),
        ("0.1 < x <= 0.3", (0.1, 0.3)), ("relu(3*x - 1)", (1 / 3,)), ("relu(relu(x) - 1)", (0, 1)),
        ("abs(abs(x) - 2)", (-2, 0, 2)), ("max(x, x**2)", (0, 1)), ("max(x, 0, 1 - x)", (0, 0.5)),
        ("abs(x**2 - 2)", (-np.sqrt(2), np.sqrt(2))), ("sqrt(x**2)", (0,)), ("sqrt((x - 0.29)**2)", (0.29,)),
        ("((x - 0.123)**2)**0.5", (0.123,)), ("abs(x - 39.5)", (39.5,)), ("sign(tanh(x) - 0.5)", (np.arctanh(0.5),)),
        ("abs(sin(2*x))", tuple(np.pi / 2 * k for k in range(-25, 26))), ("abs(max(x, 0))", (0,)), ("x > 1e-300", (0,)),
        ("abs(log(abs(x) + 1) - 1)", (1 - np.e, 0, np.e - 1)),
        ("abs((x - 0.3)**2 - 1e-10)", (0.29999, 0.30001)),  # both between neighbours of the grid
        ("sign(cos(x/10) - 1 + 1e-9)", (-np.sqrt(2e-7), np.sqrt(2e-7))),
        ("where((x - 1e-5)**2 < 1e-10, 1, 0) + abs(x)", (0, 2e-5)),
        ("abs((x - 0.301)*(x - 0.303)*(x - 0.306))", (0.301, 0.303, 0.306)),
    ],
)  # fmt: skip
def test_breakpoints_are_the_known_ones(text, expected):
    points = as_function(text).breakpoints
    assert len(points) == len(expected)
    assert list(points) == sorted(points)
    # cos(x/10) - 1 + 1e-9 has its zero known to rounding/slope only: 1e-16 / 5e-6
    allowed = 1e-10 if "cos" in text else ROUNDING * max(1.0, RANGE)
    np.testing.assert_allclose(points, expected, rtol=0, atol=allowed)


place = st.floats(-20, 20).map(lambda x: round(x, 6))


@given(st.lists(place, min_size=1, max_size=6, unique=True), st.floats(1e-5, 0.02), st.floats(0.3, 3.0))
def test_no_kink_of_a_known_sum_is_missed(places, half, scale):
    forms = [
        ("abs(x - ({0}))*sin(x)", lambda a: [a]),
        ("tanh(max({1}*x, {1}*({0})))", lambda a: [a]),
        ("where((x - ({0}))**2 < {2}**2, 1, cos(x))", lambda a: [a - half, a + half]),
        ("abs(tanh(x) - tanh({0}))" if max(map(abs, places)) < 3 else "relu(({0}) - x)", lambda a: [a]),
        ("sqrt((x - ({0}))**2)", lambda a: [a]),
        ("min(exp(x/10), exp(({0})/10))", lambda a: [a]),
    ]
    chosen = [(form, kinks(a), a) for (form, kinks), a in zip(forms, places, strict=False)]
    function = as_function(" + ".join(form.format(repr(a), repr(scale), repr(half)) for form, _, a in chosen))
    for form, kinks, _ in chosen:
        for kink in kinks:
            # a zero is known to the rounding of the terms, 1e-14 at most, over the slope, 1e-2 at least
            assert nearest(function.breakpoints, kink) <= 1e-12, form


@pytest.mark.parametrize(
    ("text", "place"), [("sqrt(abs(x**2 - 0.6*x + 0.09))", 0.3), ("sqrt(abs(x**2 - 2.468*x + 1.522756))", 1.234)]
)
def test_a_zero_that_rounding_hides_is_found_to_rounding(text, place):
    """At a double root values are nothing but rounding for 1e-8 around it."""
    assert nearest(as_function(text).breakpoints, place) <= ROUNDING


HALF = np.sqrt(0.5)


@pytest.mark.parametrize(
    ("text", "planes"),
    [
        ("tanh(x1)*x2", []),
        ("max(x1, x2)", [(HALF, -HALF, 0)]),
        ("abs(3*x1 + 4*x2 - 2)", [(0.6, 0.8, 0.4)]),
        ("sign(x1*x2)", [(0, 1, 0), (1, 0, 0)]),
        ("abs(abs(x1) - x2)", [(HALF, -HALF, 0), (HALF, HALF, 0), (1, 0, 0)]),
        ("relu(-x1/2 - 1)*x2", [(1, 0, -2)]),
        ("abs(tanh(x1 + x2) - tanh(0.5))", [(HALF, HALF, 0.5 * HALF)]),
        ("sign(x1)*relu(max(x1, -x1, x2))", [(HALF, -HALF, 0), (HALF, HALF, 0), (1, 0, 0)]),
        ("sqrt((x1 - 1)**2 + x2**2)", [(0, 1, 0), (1, 0, 1)]),  # through the point where it vanishes
        ("abs(x1**2 - x2**2 + x1 - x2)", [(HALF, -HALF, 0), (HALF, HALF, -HALF)]),  # (x1 - x2)(x1 + x2 + 1)
        ("abs(x1 + x2)/(1 + x1**2)", [(HALF, HALF, 0)]),
        ("sqrt(x1**2 + 2*x1*x2 + x2**2)", [(HALF, HALF, 0)]),  # which it only touches
        ("sign(exp(x1) - exp(x2))", [(HALF, -HALF, 0)]),
        ("abs(where(x1 > 1, x2, x1 + x2))", [(0, 1, 0), (HALF, HALF, 0), (1, 0, 1)]),
        ("sign((x1 - x2)*(x3 + 0.5)*x2)", [(0, 0, 1, -0.5), (0, 1, 0, 0), (HALF, -HALF, 0, 0)]),
        (
            "relu(x1 + 2)*max(x1, x2, x3)",
            [(0, HALF, -HALF, 0), (HALF, -HALF, 0, 0), (HALF, 0, -HALF, 0), (1, 0, 0, -2)],
        ),
        ("abs(x1**3 - 4*x1)*x2", [(1, 0, -2), (1, 0, 0), (1, 0, 2)]),
    ],
)
def test_functions_of_several_variables_kink_on_the_known_hyperplanes(text, planes):
    found = target_function(text).kinks
    assert len(found) == len(planes)
    for (normal, offset), plane in zip(found, planes, strict=True):
        np.testing.assert_allclose((*normal, offset), plane, atol=1e-14)


def test_signs_have_their_jumps_besides_the_kinks():
    function = target_function("where(x1 > 0, x2 - 1, -x2)")
    assert [offset for _, offset in function.splits(signs=False)] == [0.0]
    np.testing.assert_allclose(
        [(*normal, offset) for normal, offset in function.splits(signs=True)],
        [(0, 1, 0), (0, 1, 1), (1, 0, 0)],
        atol=1e-14,
    )


def test_only_the_sign_of_labels_is_followed():
    function = target_function("x1*(2 + sin(900*x2))")
    assert "varies on a scale of" in followed(function, signs=False).missed
    assert followed(function, signs=True).missed is None


@pytest.mark.parametrize("text", ["abs(x1**2 + x2**2 - 1)", "max(x1*x2, x2**3)"])
def test_curved_kinks_are_warned_of(text):
    with pytest.warns(GiantstepWarning, match="on curved surfaces"):
        target_function(text)


@pytest.mark.parametrize("text", ["tanh(30*x1) + x1*x2", "sigmoid(20*x1)*tanh(20*x2) + x1"])
def test_steep_steps_of_a_target_of_two_directions_are_integrated(text):
    found = gs.predict(gs.SpikedRF("tanh", r=1, gamma=0.6), text, alpha=1, lam=0.1)
    assert float(found.quadrature_error) < 1e-7
