"""Features of chosen samples, a block at a time: computed anew in every pass, or kept while they are few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..functions import Function
from ..simulation.backend import Backend
from .inputs import Inputs
from .step import Trained, features

_KEPT_ELEMENTS = 1 << 24
"""Features that are kept between passes: 128 MB. More samples than fit are passed over again."""


@dataclass
class Features:
    """φ/√p of the samples of an index, in its order; the first `fresh` of them were seen by no step."""

    trained: Trained
    activation: Function
    X: Any
    inputs: Inputs
    index: np.ndarray
    fresh: int
    backend: Backend
    _kept: list[Any] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.trained.rows)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """(positions in the index, φ/√p of these samples), which the caller leaves as they are."""
        n, p = self.shape
        keep, start = n * p <= _KEPT_ELEMENTS, 0
        fresh = [] if self._kept else self._computed()
        for block in self._kept or fresh:
            if keep and fresh:
                self._kept.append(block)
            stop = start + block.shape[0]
            yield slice(start, stop), block
            start = stop

    def gathered(self) -> Any:
        """All of them as one array, for what cannot work in blocks."""
        return self.backend.xp.concat([block for _, block in self.blocks()], axis=0)

    def first(self, count: int) -> Features:
        """Those of the first samples alone."""
        if count == len(self.index):
            return self
        part = replace(self, index=self.index[:count], fresh=min(count, self.fresh), _kept=[])
        if self._kept:
            inside = ((where, block) for where, block in self.blocks() if where.start < count)
            part._kept = [block[: count - where.start, :] for where, block in inside]
        return part

    def _computed(self) -> Iterator[Any]:
        scale = self.shape[1] ** -0.5
        for block in features(self.trained, self.activation, self.X, self.inputs, self.backend, self.index):
            block *= scale
            yield block
