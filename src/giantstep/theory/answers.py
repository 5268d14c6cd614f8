"""What solutions say: the answers of a rectangle, and a status for each of its points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .channel import Channel
from .equations.averages import Averages
from .equations.means import Setting, wobble
from .equations.signs import WrongSigns, wrong_signs_on_rules
from .equations.solution import Solution
from .equations.state import fields
from .features import Features
from .labels import Label
from .precision import ACCEPTED_ERROR, NEARLY_ZERO
from .problem import Problem
from .solver import OnRule
from .status import (
    CONVERGED,
    FAILED,
    IMPRECISE,
    LIMIT_ALONE,
    NOTABLE,
    RARE_INPUTS,
    RARELY_SEEN,
    REAL_SIZE,
    SCATTERED,
    SEPARABLE,
    SQUARED,
    UNSOLVED,
)
from .symmetric import packing
from .upto import upto

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


def scatter(problem: Problem, chunk: np.ndarray, d: np.ndarray) -> np.ndarray:
    """By how much, relatively, the labels' mean square varies between batches of the steps, [U, A]."""
    if np.all(np.isinf(d)):
        return np.zeros(d.shape)
    return np.sqrt(problem.first_layers.scatter[chunk][:, None] / d)


def at_usual_size(rule: OnRule) -> OnRule:
    """The same at a usual size where d = ∞ was asked for; itself, where it was not.

    What steps take from the rows in common is left out: it is a correction to the effect of size, and dear after
    several steps.
    """
    limit = np.isinf(rule.setting.d)
    if not limit.any():
        return rule
    size = np.where(limit, REAL_SIZE, rule.setting.d)
    return replace(rule, setting=replace(rule.setting, d=size))


def wrong_signs(rules: list[OnRule], solutions: list[Solution]) -> WrongSigns:
    """Shares of wrong signs on the rules in κ themselves, where there are several spikes."""
    U, A = rules[0].setting.alpha.shape
    rows = np.repeat(upto(U), A)
    points: list[tuple[np.ndarray, Channel, tuple[np.ndarray, ...]]] = []
    for rule, solution in zip(rules, solutions, strict=True):
        averages, pack = Averages(rule.features, rule.bulk.modes), packing(len(rule.bulk.weights))
        found = fields(solution.state, averages, pack, wobble(rule.bulk, rule.setting))
        flat = tuple(field.reshape(U * A, *field.shape[2:]) for field in found)
        weights = np.broadcast_to(rule.features.weights, (U, rule.features.weights.shape[-1]))[rows]
        points.append((weights, rule.channel, flat))
    return wrong_signs_on_rules(points, rows)


def wrong_by_ones(solution: Solution, features: Features, label: Label, setting: Setting) -> np.ndarray:
    """Share of labels that the sign of the all-ones field alone, Σ μ0 m, gets wrong at d = ∞; ∞ elsewhere."""
    field = solution.state.m @ features.mu0
    wrong = 0.5 * (1.0 - np.sign(field) * label.t0[:, None])
    return np.where(np.isinf(setting.d), (wrong * features.weights[:, None]).sum(axis=-1), np.inf)


def judge(answers: Answers, separable: np.ndarray, interpolates: np.ndarray, tolerance: float) -> None:
    """Say why a point fails, as far as this rule goes."""
    code = answers["code"]
    imprecise = ~(answers["quadrature_error"] <= max(tolerance, ACCEPTED_ERROR)) & (code == CONVERGED)
    code[imprecise] = IMPRECISE
    code[((code == UNSOLVED) | (code == IMPRECISE)) & separable] = SEPARABLE
    code[FAILED[code] & interpolates] = RARE_INPUTS


def mark(answers: Answers, typical: np.ndarray) -> None:
    """Say of a solved point that its number is not what real networks give; `typical` is E σ*²."""
    code, limit = answers["code"], answers["test_error"]
    size = np.maximum(np.abs(answers["sized_error"]), NEARLY_ZERO * typical)
    far = np.abs(limit - answers["sized_error"]) > NOTABLE * size
    code[(code == CONVERGED) & far] = LIMIT_ALONE
    code[((code == CONVERGED) | (code == LIMIT_ALONE)) & (answers["rare"] > NOTABLE)] = RARELY_SEEN
    doubtful = (code == CONVERGED) | (code == LIMIT_ALONE)
    code[doubtful & (answers["squares"] > NOTABLE)] = SQUARED
    code[(code == CONVERGED) & (answers["scatter"] ** 2 > NOTABLE)] = (
        SCATTERED  # means move by about a variance
    )
