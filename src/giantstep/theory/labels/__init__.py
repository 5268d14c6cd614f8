"""The distribution of labels: how they depend on the target's projections, and their moments given κ."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ...functions import Joint
from ...gaussian import moments
from ...model.arguments import checked_arguments
from .binary import BinaryLaw, binary_law, latent_noises
from .compression import pairs
from .label import LAYER, Label, is_sharp, kurtosis, label_layers
from .multi_index import SeveralDirections
from .single_index import OneDirection

if TYPE_CHECKING:
    from ...model.description import FunctionLike
    from ...model.target import Target

__all__ = [
    "LAYER",
    "BinaryLaw",
    "Label",
    "Labels",
    "OneDirection",
    "SeveralDirections",
    "binary_law",
    "is_sharp",
    "kurtosis",
    "label_layers",
    "labels_of",
    "linear_error",
    "pairs",
]

Labels: TypeAlias = OneDirection | SeveralDirections


@lru_cache
def labels_of(target: Target) -> Labels:
    """The law of a target's labels, but for the noise that is added to real ones."""
    if isinstance(target.function, Joint):
        noises = latent_noises(target) if target.binary else ()
        return SeveralDirections(target.function, target.binary, target.flips, *noises)
    law = binary_law(target)
    return OneDirection(target.function if law is None else law.function(), law)


@checked_arguments()
def linear_error(target: Target | FunctionLike) -> float:
    """The smallest error of any linear method, and in this regime of any kernel method.

    Parameters
    ----------
    target : Target, str or callable
        The function to learn.

    Returns
    -------
    float
        The mean squared error of the best linear predictor.

    Examples
    --------
    >>> round(gs.linear_error("sin"), 4)
    0.0645
    """
    labels = labels_of(target)
    if isinstance(labels, OneDirection):
        return float(moments(labels.function)[0].remainder)
    mean, along, square = labels.clean.moments(finer=1)
    return square - float(along @ along) - mean**2
