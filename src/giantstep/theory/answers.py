"""The answers of a task: values, their errors, and a status for each of its points.

Errors come from solutions on nested rules, finest first. Two rules are judged: that in κ, and those over batches inside
an exact bulk. Each is judged by itself, while the other one is held, so that errors of opposite sign cannot cancel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..gaussian import extrapolated_error
from .equations.order_parameters import Solution
from .problem import Problem
from .solver import Discretisation
from .status import CONVERGED, FAILED, IMPRECISE, RARE_INPUTS, SEPARABLE, UNSOLVED
from .symmetric import TINY, packing

RESIDUAL_TOLERANCE = 1e-9
ACCEPTED_ERROR = 1e-6  # quadrature error up to which a point that cannot be refined further counts as solved
NEARLY_ZERO = 1e-6  # error, over E σ*², under which its quadrature error counts as absolute
_SMALL_LOSS = 1e-2  # the same for the training loss
_MARGIN = 10.0  # for estimates that are sound up to a factor
_BULK_MARGIN = 2.0

Answers = dict[str, np.ndarray]


def answers_of(problem: Problem, chunk: np.ndarray, solution: Solution, error: np.ndarray) -> Answers:
    state, frame = solution.state, problem.frame(chunk)
    pack = packing(state.groups)
    failed = ~(solution.residual <= RESIDUAL_TOLERANCE)
    zeta = np.zeros((*error.shape, max(problem.spikes, problem.directions), state.groups), state.means.dtype)
    # along the spikes' directions as the user gave them
    zeta[:, :, : frame.spikes] = np.swapaxes(frame.back, -1, -2)[:, None] @ state.zeta
    return {
        "test_error": solution.test_error,
        "train_error": solution.train_error,
        "train_loss": solution.train_loss,
        "m": state.m,
        "zeta": zeta,
        "psi": frame.turn[:, None] @ state.psi,
        "chi": state.chi,
        "nu": state.nu,
        "q1": pack.matrix(state.q).copy(),
        "q2": pack.vector(state.q).copy(),
        "V1": pack.matrix(state.V).copy(),
        "V2": pack.vector(state.V).copy(),
        "rare": solution.rare,
        "residual": solution.residual,
        "quadrature_error": error,
        "code": np.where(failed, UNSOLVED, CONVERGED).astype(np.int8),
    }


def wrong_by_ones(rule: Discretisation, solution: Solution) -> np.ndarray:
    """Share of labels that the sign of the all-ones field alone, Σ μ0 m, gets wrong at d = ∞; ∞ elsewhere."""
    field = solution.state.m @ rule.averages.features.mu0
    wrong = 0.5 * (1.0 - np.sign(field) * rule.label.t0[:, None])
    return np.where(np.isinf(rule.readout.d), rule.averages.mean(wrong), np.inf)


def judge(answers: Answers, separable: np.ndarray, interpolates: np.ndarray, tolerance: float) -> None:
    """Say why a point fails, as far as this rule goes."""
    code = answers["code"]
    code[(code == CONVERGED) & ~(answers["quadrature_error"] <= max(tolerance, ACCEPTED_ERROR))] = IMPRECISE
    # where no sample has any loss all scores vanish, and any larger m would do as well
    lost = (code == UNSOLVED) | (code == IMPRECISE) | (answers["train_loss"] == 0.0)
    code[lost & separable] = SEPARABLE
    code[FAILED[code] & interpolates] = RARE_INPUTS


def kappa_error(solutions: Sequence[Solution], typical: np.ndarray, linear: bool) -> np.ndarray:
    """The error that the rule in κ leaves, [U, A]: the largest relative error of the test error, of the training
    loss and, for `linear` scores, of the responses.

    A quantity whose error changes sign between two rules has nearly the same value on both. If these are the finer
    rules, it seems exact, and the other quantities show the error. If they are the coarser ones, it seems to converge
    slowly; the largest change of all quantities on each pair of rules then gives a better estimate.
    """
    last, previous = _changes(solutions, typical, linear)
    apart = extrapolated_error(last, previous).max(axis=0)
    together = extrapolated_error(last.max(axis=0), previous.max(axis=0))
    error = np.minimum(apart, _MARGIN * together) + solutions[0].tail
    return np.nan_to_num(error, nan=np.inf, posinf=np.inf)


def bulk_error(solutions: Sequence[Solution], typical: np.ndarray, linear: bool) -> np.ndarray:
    """What the rules inside the bulk leave, [U, A], from solutions on them and on rules with half the nodes.

    Twice the difference is more than the error wherever twice the nodes leave two thirds of it or less. They leave much
    less here: integrands over batches are smooth between cuts at their kinks, and their errors are squared.
    """
    (change,) = _changes(solutions, typical, linear)
    return np.nan_to_num(_BULK_MARGIN * change.max(axis=0), nan=np.inf, posinf=np.inf)


def _changes(solutions: Sequence[Solution], typical: np.ndarray, linear: bool) -> np.ndarray:
    """Changes from each solution to the next, relative to the first one's size, [pairs, quantities, U, A].

    The responses join in where they are solved to rounding, so that their differences are the quadrature's.
    """
    errors = np.array([(solution.test_error, solution.train_loss) for solution in solutions])
    least = np.multiply.outer((NEARLY_ZERO, _SMALL_LOSS), typical)
    sizes = np.maximum(np.abs(errors[0]), least) + TINY
    changes = np.abs(np.diff(errors, axis=0)) / sizes
    if not linear:
        return changes
    V, pack = np.array([solution.state.V for solution in solutions]), packing(solutions[0].state.groups)
    of_responses = (np.abs(np.diff(V, axis=0)) / pack.sizes(V[0])).max(axis=-1)
    return np.concatenate([changes, of_responses[:, None]], axis=1)
