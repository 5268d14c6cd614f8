"""Expressions made at random and with intent: a function or a sentence, within a second, and no NaN for a slope."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.functions import as_function

QUICK, ALL = 300, 20_000
# of this process: one on a quiet machine, five on a slow or busy one; what explodes takes minutes
SECONDS = 5.0
ONE = (
    "abs", "sign", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "arctan", "sinh", "cosh", "tanh", "arcsinh",
    "erf", "normal_cdf", "sigmoid", "softplus", "relu", "leaky_relu", "elu", "gelu", "silu", "hard_tanh", "heaviside",
    "He2", "He3", "He10",
)  # fmt: skip
NUMBERS = ("0", "1", "2", "-1", "0.5", "-0.3", "1e-9", "1e6", "pi", "e", "40", "64")
EXPONENTS = ("0", "1", "2", "3", "0.5", "-1", "-2", "0.7", "-0.5", "1.5", "64", "0.01")


def made(chance: random.Random, depth: int) -> str:
    """An expression of at most this depth."""
    if depth == 0 or chance.random() < 0.05:
        return chance.choice(["x", "x", "x", chance.choice(NUMBERS)])

    def inner() -> str:
        return made(chance, depth - 1)

    match chance.randrange(8):
        case 0 | 1:
            return f"{chance.choice(ONE)}({inner()})"
        case 2 | 3:
            return f"({inner()} {chance.choice('+-*/')} {inner()})"
        case 4:
            return f"({inner()})**{chance.choice(EXPONENTS)}"
        case 5:
            return f"{chance.choice(['max', 'min'])}({', '.join(inner() for _ in range(chance.randint(2, 4)))})"
        case 6:
            condition = f"{inner()} {chance.choice(['<', '<=', '>', '>='])} {inner()}"
            return f"where({condition}, {inner()}, {inner()})"
        case _:
            return f"clip({inner()}, {chance.choice(NUMBERS)}, {inner()})"


def answered(text: str) -> bool:
    """Whether a text is a function; that takes a second at most, and so does all that is asked of it then."""
    began = time.process_time()
    try:
        function = as_function(text)
        parity = function.parity
        slope = function.derivative if function.has_derivative else None
    except ParameterError:
        return False
    finally:
        assert time.process_time() - began < SECONDS, text
    assert parity in ("odd", "even", None)
    x = np.linspace(-8.9, 8.9, 179) + 0.00123
    assert np.isfinite(function(x)).all(), text
    if slope is not None:
        near = np.abs(x[:, None] - np.asarray(function.breakpoints, dtype=float)).min(axis=1, initial=np.inf) < 1e-3
        assert not np.isnan(slope(x[~near])).any(), text
    return True


@pytest.mark.parametrize("seeds", [range(QUICK), pytest.param(range(QUICK, ALL), marks=pytest.mark.hostile)])
def test_random_expressions_are_answered_at_once(seeds):
    functions = 0
    for seed in seeds:
        chance = random.Random(seed)
        text = made(chance, chance.randint(1, 5))
        prefix = "d/dx " * (chance.random() < 0.1) * chance.randint(1, 4)
        functions += answered(prefix + text)
    assert functions > 0.2 * len(seeds)  # it is not all nonsense


WAYS = {
    "abs, nested": "abs(" * 95 + "x" + ")" * 95,
    "abs, shifted": "abs(1-" * 45 + "x" + ")" * 45,
    "abs of tanh": "abs(tanh(" * 48 + "x" + "))" * 48,
    "abs of sin": "abs(" + "sin(9*" * 45 + "x" + ")" * 45 + ")",
    "relu, nested": "relu(" * 95 + "x" + ")" * 95,
    "relu, shifted": "relu(1-" * 45 + "x" + ")" * 45,
    "relu of tanh": "relu(tanh(" * 48 + "x" + "))" * 48,
    "gelu, nested": "gelu(" * 95 + "x" + ")" * 95,
    "clip, nested": "clip(" * 60 + "x" + ",-1,1)" * 60,
    "max, nested": "max(x," * 95 + "x" + ")" * 95,
    "max of lines": "max(" + ",".join(f"{k}*x-{k * k}" for k in range(-32, 32)) + ")",
    "sum of abs": "+".join(f"abs(x-{k})" for k in range(64)),
    "sum of abs of polynomials": "+".join(["abs(He10(x))"] * 60),
    "where, nested": "where(x>0," * 60 + "x" + ",x)" * 60,
    "square roots": "sqrt(1+" * 48 + "x**2" + ")" * 48,
    "fractions": "1/(1+" * 48 + "x**2" + ")" * 48,
    "powers": "(" * 48 + "x" + "**2+1)**0.3" * 48,
    "polynomials, nested": "He10(tanh(" * 45 + "x" + "))" * 45,
    "a jump at every step": "sign(sin(1000*x))",
    "products": "*".join(["tanh(x+1)"] * 98),
    "comparisons": " and ".join(f"tanh(x)>{k / 100}" for k in range(60)),
}


@pytest.mark.parametrize("derivatives", [0, 1, 4])
@pytest.mark.parametrize("way", WAYS)
def test_no_text_takes_long(way, derivatives):
    answered("d/dx " * derivatives + WAYS[way])
