"""Rows of trained networks whose batches are drawn at finite d: the check of the exact bulk.

`gs.predict(net, target, bulk=sampled(d, seed), ...)`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from giantstep.theory.bulks import BulkLaw, Bulks
from giantstep.theory.problem import Problem

from .batches import sampled_bulk

__all__ = ["sampled"]


def sampled(d: int, seed: int) -> BulkLaw:
    """The rows of a trained network, with batches drawn at dimension d and diagonalised."""
    return BulkLaw(f"sampled:{d}:{seed}", partial(_make, d=d, seed=seed), trained=True)


def _make(problem: Problem, chunk: np.ndarray, refinement: int, d: int, seed: int) -> Bulks:
    return (sampled_bulk(problem.first_layers, chunk, d, seed),)
