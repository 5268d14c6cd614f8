"""The names that stand for functions, each defined in the expression language, and how names are found.

Names are found whatever their case, hyphens, underscores and spaces; an unknown one gets a suggestion.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

import numpy as np

from .operations import ELEMENTARY

MAX_HERMITE = 10


def _hermite_text(degree: int) -> str:
    """The probabilists' Hermite polynomial of that degree."""
    coefficients = np.polynomial.hermite_e.herme2poly(np.eye(degree + 1)[degree])
    terms = [f"{c:+.0f}*x**{k}" for k, c in enumerate(coefficients) if c]
    return " ".join(reversed(terms)).removeprefix("+1*").removeprefix("+").replace("*x**0", "")


DEFINITIONS: dict[str, str] = {
    "identity": "x",
    **{name: f"{name}(x)" for name in ("tanh", "erf", "sin", "cos", "arctan", "arcsinh")},
    "sigmoid": "sigmoid(x)",
    "hard_tanh": "clip(x, -1, 1)",
    "relu": "max(x, 0)",
    "leaky_relu": "max(x, 0) + a*min(x, 0)",
    "elu": "max(x, 0) + a*expm1(min(x, 0))",
    "softplus": "softplus(x)",
    "gelu": "x*normal_cdf(x)",
    "silu": "x*sigmoid(x)",
    "abs": "abs(x)",
    "sign": "sign(x)",
    "heaviside": "x > 0",
    **{f"He{n}": _hermite_text(n) for n in range(1, MAX_HERMITE + 1)},
}
PARAMETERS = {"leaky_relu": {"a": 0.01}, "elu": {"a": 1.0}}
"""Further names in the text of a definition, with their default values."""

ALIASES = {
    "linear": "identity",
    "swish": "silu",
    "step": "heaviside",
    "absolute": "abs",
    "atan": "arctan",
    "asinh": "arcsinh",
}


TARGETS: dict[str, Callable[[int], str]] = {
    "committee": lambda k: f"({' + '.join(f'erf(x{j})' for j in range(1, k + 1))})/sqrt({k})",
    "parity": lambda k: f"sign({'*'.join(f'x{j}' for j in range(1, k + 1))})",
    "staircase": lambda k: " + ".join("*".join(f"x{i}" for i in range(1, j + 1)) for j in range(1, k + 1)),
}
"""Usual targets of k directions, as text."""


def named_target(name: str) -> Callable[[int], str] | None:
    """The target of several directions that has this name; None when there is none such."""
    return TARGETS.get(_plain(name))


def canonical(name: str) -> str | None:
    """The table's spelling of a name of DEFINITIONS or ELEMENTARY; None when there is none such."""
    return _SPELLINGS.get(_plain(name))


def unknown(name: str, *, also: tuple[str, ...] = ()) -> str:
    """What to say about a name that is not in the tables: the nearest that is, or where to look."""
    if named_target(name) is not None:
        return f"{name[:40]!r} is a target of several directions, and a function of one variable is needed"
    known = {_plain(candidate): candidate for candidate in (*DEFINITIONS, *ALIASES, *also)}
    near = difflib.get_close_matches(_plain(name), known, n=1)
    hint = f"did you mean {known[near[0]]!r}?" if near else "giantstep.functions.catalogue() lists the names"
    return f"no function is called {name[:40]!r}; {hint}"


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()


_SPELLINGS = {_plain(name): name for name in (*ELEMENTARY, *DEFINITIONS)} | ALIASES
