"""The expression language: what it means, and what it refuses and where."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giantstep.errors import ExpressionError
from giantstep.functions import as_function
from giantstep.functions.expression import MAX_DEPTH, MAX_EXPONENT, MAX_LENGTH

X = np.array([-2.5, -1.0, -0.25, 0.5, 1.5, 3.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh(2*x) + 0.3*x**3", np.tanh(2 * X) + 0.3 * X**3), ("max(x, 0)", np.maximum(X, 0)),
        ("max(x, 0, 2)", np.maximum(X, 2)), ("min(x, -x, 1)", -np.abs(X)),
        ("where(x > 1, x, 0)", np.where(X > 1, X, 0)), ("clip(x, -1, 2)", np.clip(X, -1, 2)),
        ("-1 <= x < 1.5", (X >= -1) & (X < 1.5)),
        ("x > 1 or x < -1 and not x < -2", (X > 1) | ((X < -1) & (X >= -2))), ("(x > 0)*x", np.where(X > 0, X, 0)),
        ("-x**2", -(X**2)), ("2**-x", 2.0**-X), ("e**x - exp(x)", 0 * X), ("x**0", X**0),
        ("(1 + x**2)**-1", 1 / (1 + X**2)), ("(1 + x**2)**1.5", (1 + X**2) ** 1.5), ("He3(x)/6", (X**3 - 3 * X) / 6),
        ("ReLU(x - 1) + leaky_relu(x, 0.5)", np.maximum(X - 1, 0) + np.where(X > 0, X, X / 2)),
        ("arctan(x) + sinh(x) - cosh(x)", np.arctan(X) + np.sinh(X) - np.cosh(X)),
        ("sqrt(2)*pi + 0*x", np.full(6, np.sqrt(2) * np.pi)), ("x - -x", 2 * X), ("1_000*x", 1000 * X), ("   x", X),
        ("where(1 > 2, x, -x)", -X), ("max(x, 0) <= 0", X <= 0), (f"(x/3)**{MAX_EXPONENT}", (X / 3) ** MAX_EXPONENT),
        ("leaky_relu:0.5", np.where(X > 0, X, X / 2)), ("elu:2", np.where(X > 0, X, 2 * np.expm1(X))),
        ("exp(x**2/5)", np.exp(X**2 / 5)), ("x**20", X**20), ("where(x > 0, sqrt(x), 0)", np.sqrt(np.maximum(X, 0))),
    ],
)  # fmt: skip
def test_expressions_mean_what_they_say(text, expected):
    np.testing.assert_allclose(as_function(text)(X), expected, rtol=1e-14, atol=1e-14)  # some ten roundings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sinh(x) <= x**0.5", [0, 0, 0, 1, 0, 0]),
        ("x**0.5 >= sinh(x)", [0, 0, 0, 1, 0, 0]),
        ("sqrt(x) < 1 or sqrt(x) >= 1", [0, 0, 0, 1, 1, 1]),
        ("not sqrt(x) < 1", [1, 1, 1, 0, 1, 1]),  # as in Python: not (nan < 1) holds
        ("0 <= sqrt(x) <= 2", [0, 0, 0, 1, 1, 1]),
        ("where(log(x) <= 0, 1, 2)", [2, 2, 2, 1, 2, 2]),
    ],
)
def test_no_comparison_with_an_undefined_value_holds(text, expected):
    assert as_function(text)(X).tolist() == expected
    assert as_function("x <= 0.5")(0.5) == as_function("x >= 0.5")(0.5) == 1.0


LONG = {
    "1" * (MAX_LENGTH - 2) + "*x": 0,
    "x+" * MAX_LENGTH + "x": MAX_LENGTH,
    "(" * 300 + "x" + ")" * 300: None,
    "-" * 900 + "x": MAX_DEPTH + 1,
    "tanh(" * 150 + "x" + ")" * 150: (MAX_DEPTH + 1) * 5,
    "x**(" * 120 + "1" + ")" * 120: None,
}
HOSTILE = {  # column of the refusal (None: wherever Python's parser stopped), and texts that are refused there
    0: [
        "__import__(x)", "eval(x)", "exec(x)", "open(x)", "print(x)", "x.__class__", "x.__class__.__bases__",
        "().__class__", "np.tanh(x)", "y + 1", "lambda: x", "[x]", "{x}", "[x for x in x]", "(x for x in x)", "x == 1",
        "x is x", "x in x", "'tanh'", '"x"', "tanh(x)(x)", "tanh()", "tanh(x, x)", "where(x > 1, 2)", "max(x)",
        "clip(x, 1)", "1 if x > 0 else 2", "x and x", "x, x", "1e999", "1e308*10*x", "nan", "inf*x", "1/0", "x/0",
        "0/0*x", "log(0)*x", "log(-1)*x", "(-8)**0.5*x", "10.0**64*10.0**64*10.0**64*10.0**64*10.0**64*x", "1j*x",
        "True*x", "None", "...", "x // 2", "~x", "х", "ｘ", "σ(x)", "√x", "", "   ", "import os",
    ],
    1: ["x[0]", "f'{x}'", "b'x'", "x; x", "x\nx", "x\x00", "x\t+1", "x^2", "x²", "x\u200b"],
    2: ["x != 1", "x # comment", "x % 2", "x @ x", "x & 1"],
    3: ["(x := 3)", "x**65", "x**-65", "x**1e300", "x**x"],
    4: ["1 + os", "not x", "x + 1e999", "x + nan"],
    5: ["tanh(*x)"],
    6: ["2*x + tan(x)", "where(x, 1, 2)", "9**9**9**9", "(-2)**x"],
    7: ["(lambda: x)()", "tanh(x=1)", "tanh(**x)"],
    8: ["lambda x: x"],
    9: ["poly:1,2,three"],
    11: ["__import__('os').system('true')"],
    14: ["leaky_relu(x, x)"],
    None: ["x = 3", "(", "x +", "x x", "0777*x", "await x", "yield x"],
}  # fmt: skip
REFUSED = LONG | {text: column for column, texts in HOSTILE.items() for text in texts}


@pytest.mark.parametrize("text", REFUSED)
def test_everything_outside_the_language_is_refused_at_its_column(text):
    with pytest.raises(ExpressionError) as caught:
        as_function(text)
    assert caught.value.text == text
    assert 0 <= caught.value.position <= len(text)
    assert caught.value.reason
    if REFUSED[text] is not None:
        assert caught.value.position == REFUSED[text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y = x", "without an ="), ("2x", "as in 2*x"), ("2 tanh(x)", "as in 2*x"), ("(1 + x)x", "as in 2*x"),
        ("tanh(x", "never closed"),
        # what no Gaussian average can use
        ("log(x)", "not finite at x = 0"), ("1/x", "not finite at x = 0"), ("sqrt(x)", "not finite at x = -0.01"),
        ("x**-2", "not finite at x = 0"), ("x**0.3", "not finite"), ("sin(x)/x", "not finite at x = 0"),
        ("1/(x - 0.123456789)", "0.123457"), ("1/(x**2 - 1e-9)", "not finite"),
        ("1/((x - 0.003)*(x - 0.004))", "0.003"), ("where(x > 0, 1/x, 0)", "unbounded near x = 0"),
        ("where(x > 0, log(x), 0)", "unbounded near x = 0"),
        ("1/(x - 20)", "unbounded near x = 20"), ("exp(exp(x))", "not finite"), ("((x**64)**64)**64", "not finite"),
        ("1e308*(1e308*x)", "not finite"), ("abs(sin(3*x))", "more than 64"), ("sign(sin(1000*x))", "more than 64"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(text, words):
    with pytest.raises(ExpressionError) as caught:
        as_function(text)
    assert words in caught.value.reason


def test_the_caret_of_the_message_stands_under_the_offence_also_in_another_process():
    with pytest.raises(ExpressionError) as caught:
        as_function("2*x + foo(x)")
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("foo")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.position) == (str(caught.value), 6)


def test_branches_that_are_not_taken_do_not_warn():
    function = as_function("where(x > 0, x*exp(-1/x), 0)/(1 + exp(-1000*x))")  # warnings are errors here
    assert function(np.array([-1.0, 0.0, 1.0])) == pytest.approx([0.0, 0.0, np.exp(-1.0)], rel=1e-14)


@settings(max_examples=400)
@given(st.text(alphabet="x0123.e+-*/() <>=,aminwhertnspoglqukd_'\"[]{}:;\\\n\x00π", max_size=40))
def test_any_text_is_a_function_or_an_expression_error(text):
    try:
        function = as_function(text)
    except ExpressionError as refusal:
        position = refusal.position
    else:
        position = 0
        assert as_function(function.spec) == function
    assert 0 <= position <= len(text)
