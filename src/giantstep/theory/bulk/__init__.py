"""Bulks: the random-matrix part of the theory. A bulk depends on the covariances of the
first layer's rows, not on the samples, the labels or the loss."""

from .base import Bulk, Resolvent
from .interpolated import WORTHWHILE, InterpolatedBulk
from .isotropic import Isotropic, OnEigenvalues, Orthogonal
from .pencil import TrainedBulk

__all__ = [
    "WORTHWHILE",
    "Bulk",
    "InterpolatedBulk",
    "Isotropic",
    "OnEigenvalues",
    "Orthogonal",
    "Resolvent",
    "TrainedBulk",
]
