"""The two parts of a sweep, theory and simulation: which points they want, how these are cut into jobs, and how
answers become the Dataset that `predict` or `simulate` would give.

A job is what is computed together and stored in one transaction:

- theory: a block of up to 2048 points, one call of `predict`; first layers × readouts, so that work on a first layer
  is shared;
- simulation: one trial at one setting of the model, with all samples sizes and penalties that are missing there,
  so that the first layer and the (nested) data are shared.

Blocks are laid out on the grid that is wanted, whatever is there already. A job that was lost is therefore made again
of exactly the same points, and gives the same bits. What a job answers is kept point by point (see `points`), so
that a wider grid of alphas or lams asks for the new ones alone.
"""

from __future__ import annotations

from ..description import Sweep
from .base import Part
from .simulation import SimulationPart
from .theory import TheoryPart

__all__ = ["Part", "parts"]


def parts(sweep: Sweep) -> list[Part]:
    """What a sweep asks for; the theory first, since it is quick."""
    wanted: list[Part] = []
    if sweep.theory is not None:
        wanted.append(TheoryPart(sweep))
    if sweep.simulation is not None:
        wanted.append(SimulationPart(sweep))
    return wanted
