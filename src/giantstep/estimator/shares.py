"""Which samples the steps see. It depends on what a sample is, not on where it stands.

Each row of inputs has a key, a hash of its numbers and of the seed; samples are dealt out in the order of their keys.
So the order of the samples does not matter, and copies of an input never stand on both sides, where a readout would be
judged on inputs that its features were trained on. Samples that are equal in all are one sample of their joint weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError
from .inputs import row_blocks

FRESH = -1
"""Share of the samples that no step sees."""


def keys(X: Any, seed: int) -> np.ndarray:
    """A 64-bit hash per row; equal rows, dense or sparse, have equal ones."""
    d = X.shape[1]
    factors = np.random.default_rng(seed).integers(0, 1 << 63, size=d, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    found = np.empty(X.shape[0], dtype=np.uint64)
    for part, block in row_blocks(X):
        if hasattr(block, "tocsr"):  # absent entries are zeros, and a zero adds nothing
            block = block.tocsr()
            mixed = _mixed(_bits(block.data)) * factors[block.indices]
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
            found[part] = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
        else:
            found[part] = (_mixed(_bits(block)) * factors).sum(axis=1, dtype=np.uint64)
    return _mixed(found)


def merged(X: Any, y: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Samples without repeats: where inputs and labels are the same, the first of them has the weight of all."""
    key = keys(X, 0)
    if copies(key) is None:
        return X, y, weights
    label = np.unique(y, return_inverse=True)[1].astype(np.uint64) if y.ndim == 1 else keys(y, 1)
    _, first, member = np.unique(_mixed(key + _mixed(label)), return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they came
    kept = first[order]
    return X[kept], y[kept], np.bincount(member, weights)[order]


def deal(
    key: np.ndarray, weights: np.ndarray, strata: np.ndarray | None, split: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """(share, place): the step that sees each sample, or FRESH, and its place in (0, 1) of the order of keys.

    The first `split` of the weight goes to the steps, in equal shares, and so within every stratum (class).
    """
    place = np.empty(len(key))
    strata = np.zeros(len(key), dtype=int) if strata is None else strata
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        members = members[np.argsort(key[members], kind="stable")]
        firsts = np.flatnonzero(np.diff(key[members], prepend=~key[members[0]]))  # of each set of copies
        sizes = np.add.reduceat(weights[members], firsts)
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        place[members] = np.repeat(middle, np.diff(firsts, append=len(members)))
    share = np.where(place < split, np.minimum((place / split * steps).astype(int), steps - 1), FRESH)
    if len(set(share == FRESH)) == 1:  # very few samples: one goes to the other side
        if (key == key[0]).all():
            raise ParameterError("all inputs are equal; steps and readout need two different ones")
        share[key == key.min()] = 0 if share[0] == FRESH else FRESH
    return share, place


def copies(key: np.ndarray) -> np.ndarray | None:
    """For each sample the number of its set of copies; None where all inputs differ."""
    distinct, member = np.unique(key, return_inverse=True)
    return None if len(distinct) == len(key) else member


def _bits(values: Any) -> np.ndarray:
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # + 0.0: there are two zeros


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Every bit of the answer depends on all bits (the finaliser of splitmix64); 0 stays 0."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
