"""Where a number is right and yet not what real networks give: sizes, rare inputs, heavy tails, squares,
eigenvalues.

**Size.** At d = ∞ the answer is compared with that at a usual size, roughly and on the coarsest rule that was solved.

**Rare inputs.** A share of the test error may be due to inputs which a million samples may not hold (`Averages`).

**Heavy tails.** The labels' mean square may vary between the batches of the steps (`FirstLayers.scatter`).

**Squares.** Neurons learn of a target's quadratic part by their own squares: an effect of size that no limit has.
Given κ, a neuron's feature has the part ∂μ0/∂c·(w_i·ê)²(y² - 1) along a direction ê of the target that the spikes leave
open. With rows of d components that is of order 1/d, and n = αd samples fit no more than a share of that order of the
target's own part b (y² - 1). But a step on a target with such a part pulls every row along ê in proportion to its
component there: the spread Ω = d⟨(w_i·ê)²⟩ of rows, which the bulk knows, multiplies with every step, and the share
grows as Ω². To first order the readout's component along the centred squares is ν = (4αV2/d) Ω² b E[∂μ0/∂c/(1 + V)],
and the test error is lower by 4b E[∂μ0/∂c] ν. It is used to tell where that matters, not to correct: where Ω² is of the
order of d, what comes next matters too.

**Eigenvalues.** Of inputs with a covariance, a few may hold most of the rows. The theory is linear in what row norms
fluctuate by, and takes overlaps of rows as small: `spread` and `share` say how large these are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .answers import NEARLY_ZERO
from .equations.order_parameters import Solution
from .solver import Discretisation, Solver
from .status import (
    CONVERGED,
    DIVERGES,
    FAILED,
    FEW_EIGENVALUES,
    LIMIT_ALONE,
    NOTABLE,
    RARELY_SEEN,
    REAL_SIZE,
    SCATTERED,
    SQUARED,
    TOO_FEW_EIGENVALUES,
    TOO_WIDE,
    WIDE,
)
from .symmetric import TINY, packing, upper_triangle

if TYPE_CHECKING:
    from .labels import Labels

_SETTLED = 1e-7  # residual of what another size can be compared with
_NOTHING = 1e-9  # a quadratic part that is rounding
_POINTS = 64  # nodes over a direction of the target: the quadratic part is needed to a few per cent


def add_doubts(
    answers: dict[str, np.ndarray], solver: Solver, rules: list[Discretisation], solutions: list[Solution]
) -> None:
    """Add what is needed to judge some points (their test error at a usual size, the scatter, what squares learn,
    spread and share of the rows), and mark those that are solved but in doubt."""
    rule, d = rules[0], rules[0].readout.d
    answers["sized_error"] = solutions[0].test_error + _size_effect(solver, rules, solutions)
    answers["scatter"] = np.zeros(d.shape)
    if np.isfinite(d).any():
        answers["scatter"] = np.sqrt(rule.problem.first_layers.scatter[rule.chunk][:, None] / d)
    answers["squares"] = learned_by_squares(rules[-1], solutions[-1])
    answers["spread"], answers["share"] = spread_and_share(rule)
    mark(answers, rule.averages.mean(rule.label.t2[:, None]))


def mark(answers: dict[str, np.ndarray], typical: np.ndarray) -> None:
    """Say of a solved point that its number is not what real networks give; `typical` is E σ*²."""
    code, limit, sized = answers["code"], answers["test_error"], answers["sized_error"]
    with np.errstate(invalid="ignore"):  # what diverges has no size to compare with
        far = np.abs(limit - sized) > NOTABLE * np.maximum(np.abs(sized), NEARLY_ZERO * typical)
    code[(code == CONVERGED) & far] = LIMIT_ALONE
    for name, doubt in (("rare", RARELY_SEEN), ("squares", SQUARED)):
        code[((code == CONVERGED) | (code == LIMIT_ALONE)) & (answers[name] > NOTABLE)] = doubt
    widest = np.maximum(answers["spread"], answers["share"])
    code[((code == CONVERGED) | (code == LIMIT_ALONE)) & (widest > WIDE)] = FEW_EIGENVALUES
    code[~FAILED[code] & (code != DIVERGES) & (widest > TOO_WIDE)] = TOO_FEW_EIGENVALUES
    # means move by about a variance
    code[(code == CONVERGED) & (answers["scatter"] ** 2 > NOTABLE)] = SCATTERED


def _size_effect(solver: Solver, rules: list[Discretisation], solutions: list[Solution]) -> np.ndarray:
    """By how much the test error differs at a usual size, [U, A]; NaN where that is not known.

    What steps take from the rows in common is left out: it is a correction to the effect of size, and takes long to
    compute after several steps. Rules that are too coarse to be solved are passed over.
    """
    limit = np.isinf(rules[0].readout.d)
    if not limit.any():
        return np.zeros(limit.shape)
    solved = [place for place, one in enumerate(solutions) if (one.residual <= _SETTLED).all()]
    if not solved:
        return np.full(limit.shape, np.nan)
    rule, solution = rules[solved[-1]], solutions[solved[-1]]
    readout = replace(rule.readout, d=np.where(limit, REAL_SIZE, rule.readout.d))
    # a search may overflow on its way; a point without a finite residual counts as unsolved
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sized = solver.at_size(replace(rule, readout=readout), solution)
    return np.where(sized.residual <= _SETTLED, sized.test_error - solution.test_error, np.nan)


def spread_and_share(rule: Discretisation) -> tuple[np.ndarray, np.ndarray]:
    """The relative variance of row norms, and the mean squared cosine of two rows, [U, A] each: the largest of a group.

    At the readout's d, else at that of the inputs, else at a usual size; 0 for isotropic inputs, where both are of
    order 1/d.
    """
    d, inputs, bulk = rule.readout.d, rule.problem.first_layers.target.inputs, rule.bulk
    if inputs is None or rule.problem.first_layers.layer.spectrum.count == 1:
        return np.zeros(d.shape), np.zeros(d.shape)
    norm = bulk.modes.own.start
    variance = np.diagonal(bulk.free.forms()[:, 0, norm, :, norm], axis1=1, axis2=2)  # d Var |w̃|², [U, K]
    overlap = bulk.norm_overlap()
    assert overlap is not None
    size = np.where(np.isinf(d), inputs.d or REAL_SIZE, d)
    parts = variance, np.diagonal(overlap, axis1=1, axis2=2)
    spread, share = ((part / bulk.c**2).max(axis=-1)[:, None] / size for part in parts)
    return spread, share


def learned_by_squares(rule: Discretisation, solution: Solution) -> np.ndarray:
    """The share of the test error that this takes away at the readout's d, or at a usual size, [U, A].

    0 for margin losses, whose error it is not, and for spikes that were given, whose rows no step has pulled.
    """
    readout, problem = rule.readout, rule.problem
    slope, none = rule.averages.dmu0, np.zeros(readout.alpha.shape)
    if not problem.first_layers.steps or problem.loss.margin or not slope.any():
        return none
    frame = problem.frame(rule.chunk)
    open_part = frame.rho[:, :, None] * frame.rho[:, None, :]
    b = open_part * (np.swapaxes(frame.turn, -1, -2) @ quadratic_part(problem.labels) @ frame.turn)
    if not (np.abs(b) > _NOTHING).any():
        return none
    averages, pack = rule.averages, packing(slope.shape[1])
    V = (solution.state.V * pack.counts) @ averages.phi
    gain = 1.0 / (readout.one + V)
    table = averages.table(slope)
    pull = (gain @ table) * (np.ones_like(gain) @ table)  # [U, A, K]
    bent = b[:, None] @ rule.bulk.spread_along_signals()  # [U, K, k, k]
    both = np.einsum("ukmn,uknm->uk", bent, bent)
    size = np.where(np.isinf(readout.d), REAL_SIZE, readout.d)
    gained = 16.0 * readout.alpha / size * (pack.vector(solution.state.V) * pull * both[:, None]).sum(axis=-1)
    return gained / np.maximum(np.abs(solution.test_error), TINY)


@lru_cache
def quadratic_part(labels: Labels) -> np.ndarray:
    """b = E[Y(zzᵀ - 1)]/2, [k, k]."""
    y, weights = labels.first_batch(0.0, _POINTS)[0]
    moments = weights[0] @ y[0]  # of 1, z_m, z_m z_l
    k = labels.directions
    b = np.zeros((k, k))
    rows, cols = upper_triangle(k)
    b[rows, cols] = b[cols, rows] = moments[1 + k :]
    return 0.5 * (b - moments[0] * np.eye(k))
