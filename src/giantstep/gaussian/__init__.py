"""Gaussian expectations of functions with kinks and jumps, with an error estimate.

Everything in the theory that is not linear algebra is an average over a standard normal variable. A few rules
do them all, *nested* ones: the interior points of an n-point rule contain those of the n/2- and n/4-point
rules, so one set of function values yields three answers, and their differences an honest error.

- Functions without breakpoints: the trapezoidal rule on the line, which converges geometrically for analytic
  functions under a Gaussian weight.
- Functions that are straight between breakpoints: in closed form.
- Functions with breakpoints (kinks, jumps): the line is cut there, and at two fixed points so that no piece
  is wide compared with the Gaussian; each piece has a Fejér rule (open: never evaluated on a breakpoint).
- Where poles or roots come close (spectra, losses with kinks): pieces with nodes evenly spaced in a variable of
  their own.
"""

from .averages import (
    UNRESOLVED,
    along_gaussian,
    blurred_intervals,
    expectation,
    is_resolvable,
    least_intervals,
    moments,
    resolution,
    round_up,
    tail_reach,
)
from .normal import both_below, ndtr
from .rules import (
    REACH,
    STRIDES,
    density,
    even_pieces,
    extrapolated_error,
    fejer_rule,
    legendre,
    line_rule,
    nested,
    piecewise_rule,
    quarterable,
)
from .samples import Moments, Samples, sample
from .straight import straight_moments

__all__ = [
    "REACH",
    "STRIDES",
    "UNRESOLVED",
    "Moments",
    "Samples",
    "along_gaussian",
    "blurred_intervals",
    "both_below",
    "density",
    "even_pieces",
    "expectation",
    "extrapolated_error",
    "fejer_rule",
    "is_resolvable",
    "least_intervals",
    "legendre",
    "line_rule",
    "moments",
    "ndtr",
    "nested",
    "piecewise_rule",
    "quarterable",
    "resolution",
    "round_up",
    "sample",
    "straight_moments",
    "tail_reach",
]
