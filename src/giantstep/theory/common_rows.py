"""What steps leave of the rows that groups have in common: an effect of order 1/d.

The network's output has the part Σ_t n_t ℓ_t s0_t w̄_t·x, linear in the mean rows w̄_t of the groups (n_t is a group's
share of the neurons). A step descends on the residual, so it moves all rows against it: w̄_s → w̄_s - Σ_t D_st w̄_t with
D_st = k_s E[ℓ'' s0_s s0_t] n_t ℓ_t, besides what happens to every row. Neurons then share less noise along the all-ones
directions than drawn ones would, or more after strong steps: the covariance of the w̄, times p, is 1/n_s at first and
L (1/n) Lᵀ after steps, L the product of all 1 - D. It is the difference that counts. The fluctuations of this pull
from sample to sample are left out: with them the mean rows come out right, but errors at d = 150 to 200 do not, since
other effects of order 1/d are not known.
"""

from __future__ import annotations

import numpy as np

from .training import Trained


def taken_from_mean_rows(trained: Trained, chunk: np.ndarray) -> np.ndarray:
    """What steps have added to the covariance of the groups' mean rows, times p, [U, K, K]; networks of one kind."""
    neurons = trained.neurons
    left = np.broadcast_to(np.eye(len(neurons.values)), (len(chunk), *2 * (len(neurons.values),)))
    for t in np.flatnonzero(trained.taken[chunk[0]]):
        sight, step = trained.seen(int(t), chunk, 0), trained.steps[t].at(chunk)
        s0 = sight.slopes.s0 + 0.0 * sight.batch.e[:, None]  # on every node
        s0 = s0 * neurons.values[:, None]  # ℓ_s s0_s
        pull = sight.batch.mean(s0[:, :, None] * s0[:, None])[..., 0] * neurons.weights
        left = left - (step.rate * sight.bend)[:, None, None] * pull @ left
    drawn = np.diag(1.0 / neurons.weights)
    return left @ drawn @ np.swapaxes(left, -1, -2) - drawn
