"""Rows of trained networks whose batches are drawn at finite d: the check of the exact bulk.

`gs.predict(net, target, bulk=Sampled(d, seed), ...)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giantstep.theory.bulk import Bulk
from giantstep.theory.origin import Origin
from giantstep.theory.rows import Exact

from .batches import sampled_bulk

__all__ = ["Sampled"]


@dataclass(frozen=True)
class Sampled(Exact):
    """The rows of a trained network, with batches drawn at dimension d and diagonalised."""

    d: int
    seed: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"sampled:{self.d}:{self.seed}"

    def width(self, origin: Origin) -> int:
        return self.d * len(origin.neurons.values) ** 2

    def coarsest(self, origin: Origin) -> int:
        return 0

    def on_a_line(self, origin: Origin) -> bool:
        return False

    def error(self, origin: Origin) -> np.ndarray:
        return origin.error

    def bulks(self, origin: Origin, chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        assert origin.training is not None
        bulk = sampled_bulk(origin.training, chunk, self.d, self.seed)
        return bulk, bulk, bulk
