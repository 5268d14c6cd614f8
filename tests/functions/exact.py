"""The catalogue and the expression language once more: on mpmath's numbers, without looking at their definitions."""

import mpmath

mp = mpmath.mp.clone()
mp.dps = 40


def hermite(n, x):
    """He_k+1 = x He_k - k He_k-1."""
    before, now = 0 * x, 1 + 0 * x
    for k in range(n):
        before, now = now, x * now - k * before
    return now


CATALOGUE = {
    "identity": lambda x: x,
    **{name: getattr(mp, name) for name in ("tanh", "erf", "sin", "cos", "sign")},
    "arctan": mp.atan,
    "arcsinh": mp.asinh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "hard_tanh": lambda x: max(-1, min(1, x)),
    "relu": lambda x: max(x, mp.mpf(0)),
    "leaky_relu": lambda x: x if x > 0 else x * mp.mpf("0.01"),
    "elu": lambda x: x if x > 0 else mp.expm1(x),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "gelu": lambda x: x * mp.ncdf(x),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "abs": abs,
    "heaviside": lambda x: mp.mpf(x > 0),
    **{f"He{n}": lambda x, n=n: hermite(n, x) for n in range(1, 11)},
}
LANGUAGE = {
    **CATALOGUE,
    **{name: getattr(mp, name) for name in ("exp", "log", "log1p", "sinh", "cosh", "sqrt")},
    "normal_cdf": mp.ncdf,
    "max": max,
    "min": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "where": lambda condition, a, b: a if condition else b,
    "pi": mp.pi,
}


def meaning(text):
    """The function that Python itself makes of a text, which never comes from outside."""
    code = compile(text, "<made at random>", "eval")
    return lambda x: mp.mpf(eval(code, {"__builtins__": {}}, {**LANGUAGE, "x": x}))
