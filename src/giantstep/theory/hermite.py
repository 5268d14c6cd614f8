"""Averages of a target over a standard normal variable: its mean, its linear part, its power."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..gaussian import expectation, tail_reach
from .labels import OneDirection, labels_of

if TYPE_CHECKING:
    from ..functions import Function
    from ..model import FunctionLike, Target


class TargetMoments(NamedTuple):
    """Averages of the noiseless target."""

    mean: float  # E σ*
    first: float  # E zσ*
    square: float  # E σ*²


@lru_cache(maxsize=256)
def target_moments(f: Function) -> TargetMoments:
    """Those of a function; one of infinite variance is an error."""
    tail_reach(f, 1.0)

    def integrand(z: np.ndarray) -> np.ndarray:
        value = f(z)
        return np.stack([value, z * value, value * value])

    return TargetMoments(*map(float, expectation(integrand, f.breakpoints)))


def linear_error(target: Target | FunctionLike) -> float:
    """Smallest error of any linear (kernel) method in this regime: what is left of σ* beyond degree one.

    Parameters
    ----------
    target : Target, str or callable
        What is to be learned.

    Returns
    -------
    float
        The mean squared error of the best linear predictor.

    Examples
    --------
    >>> round(gs.linear_error("sin"), 4)
    0.0645
    """
    from ..model import as_target

    target = as_target(target)
    labels = labels_of(target)
    if isinstance(labels, OneDirection):
        mean, first, square = target_moments(labels.function)
        return square - first**2 - mean**2
    mean, along, square = labels.law.clean.moments(finer=1)
    return square - float(along @ along) - mean**2
