"""What is to be solved, as arrays: U first layers of K groups, and A settings of the readout on each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..functions import Function
from ..losses import Loss, square
from .bulk import Bulk
from .features import Table, Tabulated, doublings, evaluations_per_model, is_sharp
from .labels import BinaryLaw

BLOCK = 1 << 20  # array elements in flight: a few megabytes, so that passes stay in cache

# bulks(chunk, refinement) gives the bulk of some first layers on three nested rules, finest first; the rules
# that a bulk may have inside (over the first batch) have 2^refinement times their usual number of nodes
Bulks = Callable[[np.ndarray, int], tuple[Bulk, Bulk, Bulk]]


@dataclass
class Problem:
    """What `predict` asks: K groups; first layers [U, K] or [U]; readout settings [U, A]."""

    activation: Function
    target: Function
    weights: np.ndarray  # [K]
    biases: np.ndarray  # [K]
    r: np.ndarray  # [U, K]
    c: np.ndarray  # [U, K]
    gamma: np.ndarray  # [U]
    bulks: Bulks
    alpha: np.ndarray  # [U, A]
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    width: int = 64  # array elements in flight per grid point
    loss: Loss = square
    law: BinaryLaw | None = None  # of labels ±1, whose clean version is `target`
    coarsest: int = 48  # κ intervals per piece to begin with,
    finest: int = 2048  # and at which refinement gives up

    def blocks(self, points: int) -> list[tuple[np.ndarray, int]]:
        """First layers that can share a rule in κ, few enough at a time, and the κ intervals to begin with.

        Those are `points`, or more where features vary fast.
        """
        sharp, doubled = is_sharp(self.target, self.gamma), doublings(self.r, self.c)
        blocks = []
        for kind in np.unique(np.stack([doubled, sharp]), axis=1).T:
            members = np.flatnonzero((doubled == kind[0]) & (sharp == kind[1]))
            first = points << int(kind[0])
            cost = evaluations_per_model(self.activation, self.target, first) * self.r.shape[1]
            size = max(1, BLOCK // max(cost, self.width))
            blocks += [(members[i : i + size], first) for i in range(0, len(members), size)]
        return blocks

    def table(
        self, chunk: np.ndarray, points: int, farther: float = 1.0, layers: np.ndarray | None = None
    ) -> Tabulated:
        """Features and label of some first layers, on rules of that many κ intervals."""
        layer = (self.r[chunk], self.c[chunk], self.biases, self.gamma[chunk])
        return Table(self.activation, self.target, *layer, points, farther, self.law, layers)

    def at(self, u: int, a: int, d: float) -> Problem:
        """One of its points alone, at another input dimension."""
        row, bulks = np.array([u]), self.bulks
        settings = {name: getattr(self, name)[[u]][:, [a]] for name in ("alpha", "beta", "lam", "noise")}
        layer = {name: getattr(self, name)[row] for name in ("r", "c", "gamma")}
        alone = {"d": np.full((1, 1), d), "bulks": lambda _, refinement: bulks(row, refinement)}
        return replace(self, **settings, **layer, **alone)
