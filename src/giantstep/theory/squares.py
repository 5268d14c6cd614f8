"""What neurons learn of a target's quadratic part by their own squares: an effect of size that no limit has.

Given κ, a neuron's feature has the part ∂μ0/∂c·(w_i·ê)²(y² - 1) along a direction ê of the target that the spikes leave
open. With rows of d components that is of order 1/d, and n = αd samples fit no more than a share of that order of the
target's own part b (y² - 1). But a step on a target with such a part pulls every row along ê in proportion to its
component there: the spread Ω = d⟨(w_i·ê)²⟩ of rows, which the bulk knows, multiplies with every step, and the share
grows as Ω². To first order the readout's component along the centred squares is ν = (4αV2/d) Ω² b E[∂μ0/∂c/(1 + V)],
and the test error is lower by 4b E[∂μ0/∂c] ν. It is used to tell where that matters, not to correct: where Ω² is of the
order of d, what comes next matters too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .equations.averages import Averages
from .equations.solution import Solution
from .solver import OnRule
from .status import REAL_SIZE
from .symmetric import packing, upper_triangle

if TYPE_CHECKING:
    from .labels import Labels

_NOTHING = 1e-9  # a quadratic part that is rounding
_POINTS = 64  # nodes over a direction of the target: the quadratic part is needed to a few per cent


def learned_by_squares(rule: OnRule, solution: Solution) -> np.ndarray:
    """The share of the test error that this takes away at the setting's d, or at a usual size, [U, A].

    0 for margin losses, whose error it is not, and for spikes that were given, whose rows no step has pulled.
    """
    setting, problem = rule.setting, rule.problem
    slope, none = rule.features.dmu0, np.zeros(setting.alpha.shape)
    if not problem.first_layers.steps or problem.loss.margin or not slope.any():
        return none
    frame = problem.frame(rule.chunk)
    open_part = frame.rho[:, :, None] * frame.rho[:, None, :]
    b = open_part * (np.swapaxes(frame.turn, -1, -2) @ quadratic_part(problem.labels) @ frame.turn)
    if not (np.abs(b) > _NOTHING).any():
        return none
    averages, pack = Averages(rule.features, rule.bulk.modes), packing(slope.shape[1])
    V = averages.expand(solution.state.V * pack.counts, averages.phi)
    gain = 1.0 / (setting.unit[..., None] + V)
    table = averages.table(slope)
    pull = averages.against(gain, table) * averages.against(np.ones_like(gain), table)  # [U, A, K]
    bent = b[:, None] @ rule.bulk.spread_along_signals()  # [U, K, k, k]
    both = np.einsum("ukmn,uknm->uk", bent, bent)
    size = np.where(np.isinf(setting.d), REAL_SIZE, setting.d)
    gained = 16.0 * setting.alpha / size * (pack.vector(solution.state.V) * pull * both[:, None]).sum(axis=-1)
    return gained / np.maximum(np.abs(solution.test_error), 1e-300)


@lru_cache(maxsize=256)
def quadratic_part(labels: Labels) -> np.ndarray:
    """b = E[Y(zzᵀ - 1)]/2, [k, k]."""
    y, weights = labels.first_batch(0.0, _POINTS)[0]
    moments = weights[0] @ y[0]  # of 1, z_m, z_m z_l
    k = labels.directions
    b = np.zeros((k, k))
    rows, cols = upper_triangle(k)
    b[rows, cols] = b[cols, rows] = moments[1 + k :]
    return 0.5 * (b - moments[0] * np.eye(k))
