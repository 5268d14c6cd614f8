"""What is left of a target beyond its linear part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..gaussian import moments
from .labels import OneDirection, labels_of

if TYPE_CHECKING:
    from ..model import FunctionLike, Target


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
        return float(moments(labels.function)[0].remainder)
    mean, along, square = labels.law.clean.moments(finer=1)
    return square - float(along @ along) - mean**2
