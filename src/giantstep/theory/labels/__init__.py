"""The law of labels: how they depend on the target's projections, and what is left of that given κ."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from . import multi_index, single_index
from .binary import BinaryLaw, binary_law
from .joint import JointLaw, joint_law
from .label import LAYER, Label, is_sharp, kurtosis, label_layers
from .multi_index import SeveralDirections, pairs
from .single_index import OneDirection

if TYPE_CHECKING:
    from ...model import Target

__all__ = [
    "LAYER",
    "BinaryLaw",
    "ConditionalLabels",
    "JointLaw",
    "Label",
    "Labels",
    "OneDirection",
    "SeveralDirections",
    "binary_law",
    "is_sharp",
    "joint_law",
    "kurtosis",
    "label_layers",
    "labels_of",
    "pairs",
]

Labels: TypeAlias = OneDirection | SeveralDirections
ConditionalLabels: TypeAlias = single_index.ConditionalLabels | multi_index.ConditionalLabels


@lru_cache
def labels_of(target: Target) -> Labels:
    """The law of a target's labels, but for the noise that is added to real ones."""
    joint = joint_law(target)
    if joint is not None:
        return SeveralDirections(joint)
    law = binary_law(target)
    return OneDirection(target.function if law is None else law.function(), law)
