"""Bulks side by side: each answers for some of the readouts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise

import numpy as np

from .base import Bulk, Resolvent


class Beside(Bulk):
    """Bulks of the same first layers (on one rule and another), with so many readouts each, one after the other."""

    def __init__(self, bulks: Sequence[Bulk], readouts: Sequence[int]):
        self.bulks = bulks
        self.parts = [slice(low, high) for low, high in pairwise(accumulate(readouts, initial=0))]
        self.weights, self.modes, self.c = bulks[0].weights, bulks[0].modes, bulks[0].c

    @staticmethod
    def of(bulks: Sequence[Bulk], readouts: int) -> Bulk:
        """With as many readouts for each; neighbours that are the same bulk are asked once."""
        runs = [list(run) for _, run in groupby(bulks, key=id)]
        if len(runs) == 1:
            return bulks[0]
        each, counts = [run[0] for run in runs], [readouts * len(run) for run in runs]
        return each[0].together(each, counts) or Beside(each, counts)

    def resolvent(self, Vt: np.ndarray) -> BesideResolvent:
        return BesideResolvent(self, Vt)


class BesideResolvent(Resolvent):
    """Theirs, joined along the readouts."""

    def __init__(self, bulk: Beside, Vt: np.ndarray):
        self.Vt, self._parts = Vt, bulk.parts
        self._each = [one.resolvent(Vt[:, part]) for one, part in zip(bulk.bulks, bulk.parts, strict=True)]
        self.T = np.concatenate([one.T for one in self._each], axis=1)

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return self.first_order(dVt)[0]

    def first_order(self, dVt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [one.first_order(dVt[:, part]) for one, part in zip(self._each, self._parts, strict=True)]
        tangents, leaks = zip(*found, strict=True)
        return np.concatenate(tangents, axis=1), np.concatenate(leaks, axis=1)

    def forms(self) -> np.ndarray:
        return np.concatenate([one.forms() for one in self._each], axis=1)

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        found = [one.cotangent(u[:, part]) for one, part in zip(self._each, self._parts, strict=True)]
        return np.concatenate(found, axis=1)
