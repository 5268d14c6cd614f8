"""Result 3 for the square loss: one small nonlinear system, then linear algebra.

Scores are linear in the label, so the responses (V1, V2) close among themselves; given them the means
(m, ζ, ψ, χ) solve a linear system, and given those the norms (q1, q2) solve another. All arrays are
[U, A, ...]: U first layers, each with A settings of (α, λ, noise, d); K groups; N nodes in κ.

A ridgeless readout that interpolates (λ → 0, α < β) has V = v/λ: the same equations hold for v with λ = 1 and
1 + V replaced by v, which is what `readout.one` = 0 says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bulk import Bulk
from .equations.averages import Averages, apply, symmetric
from .equations.means import Means, Readout, norm_covariance, solve_means
from .equations.order_parameters import OrderParameters, Solution, norm_variance
from .equations.response import Response, respond
from .rule import FINEST
from .solver import Discretisation, Solver
from .symmetric import identity, packing, solve_small

_NEWTON_STEPS = 60
_ROUNDS = 4  # towards where Newton's method begins
_SOLVED = 1e-9  # relative residual of what is worth starting from
_ROUND_OFF = 1e-13  # relative residual at which Newton's steps only stir rounding errors
_STALLED = 1e-10  # and one that does so if it does not fall any more
_FINEST_CUT = 192  # κ intervals between cuts around thin layers at which refinement gives up


class Square(Solver):
    """The solver of the square loss; see `giantstep.theory.solver`."""

    linear = True

    def finest(self, spikes: int, cut: bool) -> int:
        return _FINEST_CUT if cut else FINEST[spikes]

    def restart(self, solution: Solution, u: np.ndarray, a: np.ndarray) -> np.ndarray:
        """What was not solved begins anew."""
        return np.where((solution.residual <= _SOLVED)[..., None], solution.state.V, np.nan)[np.ix_(u, a)]

    def solve(self, rule: Discretisation, start: np.ndarray | None, thorough: bool) -> Solution:
        """All order parameters and both errors. `start` is a packed V to begin from (anew, where it is NaN)."""
        return _fit(_responses(rule.averages, rule.bulk, rule.readout, start), rule, thorough)

    def at_size(self, rule: Discretisation, solution: Solution) -> Solution:
        """The responses do not depend on d."""
        return _fit(solution.responses, rule, thorough=False)


@dataclass
class Responses:
    """The responses V = response(V̂(V)) of some points, and what all that depends on them is made of."""

    V: np.ndarray  # packed, [U, A, P]
    residual: np.ndarray  # relative, [U, A]
    response: Response
    hat: np.ndarray  # V̂, packed, [U, A, P]
    gain: np.ndarray  # 1/(1 + V(κ)), [U, A, N]
    Jacobian: np.ndarray  # 1 - dF/dV, [U, A, P, P]


def _fit(responses: Responses, rule: Discretisation, thorough: bool) -> Solution:
    """Means, norms and errors, given the responses: linear algebra.

    A sample's field is off its label by R(κ) = base(κ) + φ·q on average of the square, and that drives the norms:

        q = 𝒯 ((α/β) E[φ R gain²] + source) + rest,      𝒯 = -∂V/∂V̂ = left⁻¹ by_hat,

    with what the means bring along. With both sides times `left` this is a linear system for q, whose matrix is the
    Jacobian of the responses:

        (left - by_hat (α/β) E[φφᵀ gain²]) q = by_hat ((α/β) E[φ base gain²] + source) + left rest.
    """
    averages, label, bulk, readout = rule.averages, rule.label, rule.bulk, rule.readout
    V, response, gain = responses.V, responses.response, responses.gain
    spread = norm_covariance(bulk, readout)
    driving = _along_signals(averages, label.t1)
    means = _means(responses, rule, spread, driving)
    M = means.values.reshape(*V.shape[:2], -1) @ averages.means
    doubled = 2.0 * means.psi.reshape(*V.shape[:2], -1)
    t0, t2 = label.t0[:, None], label.t2[:, None]
    base = M - 2.0 * t0
    base *= M
    base -= doubled @ driving
    base += t2
    base += readout.noise[..., None] ** 2
    if spread is not None:
        base += norm_variance(means.values[:, :, 0], averages.dmu0, spread)

    pack = packing(len(bulk.weights))  # the norms: see the system above
    squared = gain * gain
    source = readout.alpha_over_beta * averages.hats(base * squared) + means.source
    right = apply(response.by_hat, source) + apply(response.left, means.rest)
    q = solve_small(responses.Jacobian, right)

    R = base
    R += (q * pack.counts) @ averages.phi
    left_over = R * squared  # distance² to the label after the fit; zero where the readout interpolates
    train_error = averages.mean(left_over) * readout.one[..., 0]
    test_error = averages.mean(R) - readout.noise**2
    if label.clean is not None:  # a test compares with clean labels
        c0, c1, c2 = label.clean
        more = doubled @ _along_signals(averages, c1 - label.t1)
        test_error += averages.mean(c2[:, None] - t2 - 2.0 * M * (c0[:, None] - t0) - more)
    nothing = np.zeros(test_error.shape)
    return Solution(
        state=OrderParameters(V, q, means.values, means.psi, bulk.modes),
        test_error=test_error,
        train_error=train_error,
        train_loss=0.5 * train_error,
        residual=responses.residual,
        start=V,
        responses=responses,
        tail=averages.tail(left_over) if thorough else nothing,
        rare=averages.due_to_rare(R, readout.alpha_over_beta * left_over, response.moved) if thorough else nothing,
    )


def _responses(averages: Averages, bulk: Bulk, readout: Readout, start: np.ndarray | None) -> Responses:
    """The fixed point V = response(V̂(V)), by Newton: monotone from the first step on, because the map is concave."""
    pack = packing(len(bulk.weights))
    ratio, one = readout.alpha_over_beta, readout.one
    V = _nearby(averages, bulk, readout) if start is None or not np.isfinite(start).all() else start
    V = V if start is None else np.where(np.isfinite(start), start, V)
    best = np.full(V.shape[:2], np.inf)
    step = 0
    while True:
        gain = 1.0 / (one + (V * pack.counts) @ averages.phi)
        hat = ratio * averages.hats(gain)
        response = respond(bulk, V, hat, readout.beta, readout.lam)
        gap = response.V - V
        residual = (np.abs(gap) / pack.sizes(V)).max(axis=-1)
        slope = ratio[..., None] * averages.squares(gain * gain) * pack.counts
        Jacobian = response.left - response.by_hat @ slope
        if step == _NEWTON_STEPS or _solved(residual, best):
            return Responses(V, residual, response, hat, gain, Jacobian)
        best = np.minimum(best, residual)
        V = _newton(V, response, Jacobian)
        step += 1


def _solved(residual: np.ndarray, best: np.ndarray) -> bool:
    """Whether all residuals are small enough, or as small as rounding errors allow."""
    return bool(((residual <= _ROUND_OFF) | ((residual >= best) & (residual < _STALLED))).all())


def _newton(V: np.ndarray, response: Response, Jacobian: np.ndarray) -> np.ndarray:
    """One of Newton's steps, or a plain one where that would lead below zero."""
    newton = V + solve_small(Jacobian, response.V - V)
    positive = (newton[..., packing(response.root.shape[-1]).diagonal] >= 0.0).all(axis=-1, keepdims=True)
    return np.where(positive, newton, response.V)


def _nearby(averages: Averages, bulk: Bulk, readout: Readout) -> np.ndarray:
    """Where Newton's method begins: the responses V1 = nw, V2 = nv if all inputs had the same features, and C_s = c_s.

    v = (1/p) tr H⁻¹ is what neurons are free to do. Penalty and samples take the rest, and linear features take
    more of it along the rows:

        1 - λv = (α/β) av/(1 + av),      w = cv/(1 + cαv E[μ1²]/(1 + av)),      av = Σ n (w E[μ1²] + v E[μ2²]),

    of which the first is a quadratic equation for v, given the power a of the features. A few rounds will do.
    """
    pack, n = packing(len(bulk.weights)), bulk.weights
    power = averages.typical[:, None, pack.diagonal]
    first, second = power[..., : pack.groups], power[..., pack.groups :]  # E μ1², E μ2², [U, 1, K]
    lam, one, ratio = readout.lam[..., None], readout.one, readout.alpha_over_beta
    linear = bulk.c[:, None] * first
    held, more, pulled = lam * one, ratio - 1.0, linear * readout.alpha[..., None]
    v, freed = ratio, np.ones(1)  # freed: w/cv
    for _ in range(_ROUNDS):
        a: np.ndarray = ((linear * freed + second) @ n)[..., None]
        b = 0.5 * (held + more * a)
        root = np.abs(b) + np.sqrt(b * b + np.where(a > 0.0, held * a, 0.0))  # λ may be infinite
        v = np.where(b >= 0.0, one / root, root / (lam * a))
        freed = 1.0 / (1.0 + pulled * v / (one + a * v))
    V2 = n * v
    return pack.pack((bulk.c[:, None] * V2 * freed)[..., None] * identity(pack.groups), V2)


def _along_signals(averages: Averages, t1: np.ndarray) -> np.ndarray:
    """μ1 E[y_m Y]: what labels with moments t1 [U, k, N] tell of each signal, [U, k·K, N]."""
    return (t1[:, :, None] * averages.mu1[:, None]).reshape(len(averages.mu1), -1, t1.shape[-1])


def _means(responses: Responses, rule: Discretisation, spread: np.ndarray | None, driving: np.ndarray) -> Means:
    """The means under the square loss's score (T - M)/(1 + V), which is linear in them."""
    averages, bulk, readout, gain = rule.averages, rule.bulk, rule.readout, responses.gain
    ratio, K, F = readout.alpha_over_beta, len(bulk.weights), averages.means.shape[1]
    tested = [averages.mean_products, averages.means * rule.label.t0[:, None], driving]
    averaged = ratio * (gain @ averages.table(np.concatenate(tested, axis=1)))
    products = averages.mean_products.shape[1]
    pairs = symmetric(averaged[..., :products], F)
    r, r_psi = averaged[..., products : products + F], averaged[..., products + F :]
    if spread is not None:
        pairs[..., :K, :K] += spread * ratio[..., None] * averages.tilts(gain)
    size = ratio[..., 0] * averages.size
    hat1 = packing(K).matrix(responses.hat)
    return solve_means(bulk, readout, responses.response, hat1, pairs, r, r_psi, size)
