"""Bulks: the random-matrix part of the theory. A bulk knows the covariances of the first layer's rows, never
the samples, the labels or the loss."""

from .along import WORTHWHILE, Along
from .base import Bulk, Resolvent
from .isotropic import Isotropic
from .orthogonal import Orthogonal
from .pencil import Exact

__all__ = [
    "WORTHWHILE",
    "Along",
    "Bulk",
    "Exact",
    "Isotropic",
    "Orthogonal",
    "Resolvent",
]
