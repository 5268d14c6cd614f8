"""What solutions say: the answers of a task, and a status for each of its points."""

from __future__ import annotations

import numpy as np

from .equations.order_parameters import Solution
from .precision import ACCEPTED_ERROR
from .problem import Problem
from .solver import Discretisation
from .status import CONVERGED, FAILED, IMPRECISE, RARE_INPUTS, SEPARABLE, UNSOLVED
from .symmetric import packing

RESIDUAL_TOLERANCE = 1e-9

Answers = dict[str, np.ndarray]


def answers_of(problem: Problem, chunk: np.ndarray, solution: Solution, error: np.ndarray) -> Answers:
    state, frame = solution.state, problem.frame(chunk)
    pack = packing(state.groups)
    failed = ~(solution.residual <= RESIDUAL_TOLERANCE)
    zeta = np.zeros((*error.shape, max(problem.spikes, problem.directions), state.groups), state.means.dtype)
    zeta[:, :, : frame.spikes] = (
        np.swapaxes(frame.back, -1, -2)[:, None] @ state.zeta
    )  # along the directions given
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
