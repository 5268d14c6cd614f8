"""What steps leave of the rows that groups have in common: an effect of order 1/d.

The network's output has the part Σ_t n_t ℓ_t s0_t w̄_t·x, linear in the mean rows w̄_t of the groups (n_t is a group's
share of the neurons). A step descends on the residual, so it moves all rows against it: w̄_s → w̄_s - Σ_t D_st w̄_t with
D_st = k_s E[ℓ'' s0_s s0_t] n_t ℓ_t, besides what happens to every row. Neurons then share less noise along the all-ones
directions than drawn ones would. The fluctuations of this pull from sample to sample are left out: with them the mean
rows come out right, but errors at d = 150 to 200 do not, since other effects of order 1/d are not known.
"""

from __future__ import annotations

import numpy as np

from .training import Trained


def left_of_mean_rows(trained: Trained, chunk: np.ndarray) -> np.ndarray:
    """The product of all 1 - D, [U, K, K], for networks of one kind."""
    neurons = trained.neurons
    left = np.broadcast_to(np.eye(len(neurons.values)), (len(chunk), *2 * (len(neurons.values),)))
    for t in np.flatnonzero(trained.taken[chunk[0]]):
        sight, step = trained.seen(int(t), chunk, 0)[0], trained.steps[t].at(chunk)
        s0 = (sight.slopes.s0 + 0.0 * sight.batch.e[:, None]) * neurons.values[
            :, None
        ]  # ℓ_s s0_s on every node
        pull = sight.batch.mean(s0[:, :, None] * s0[:, None]) * neurons.weights
        left = left - (step.rate * sight.bend)[:, None, None] * pull @ left
    return left
