"""Result 3 for the square loss: one small nonlinear system, then linear algebra.

Scores are linear in the label, so the responses (V1, V2) close among themselves; given them the means
(m, ζ, ψ, χ) solve a linear system, and given those the norms (q1, q2) solve another. All arrays are
[U, A, ...]: U first layers, each with A settings of (α, λ, noise, d); K groups; N nodes in κ.

A ridgeless readout that interpolates (λ → 0, α < β) has V = v/λ: the same equations hold for v with λ = 1 and
1 + V replaced by v, which is what `unit` = 0 says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .around import TINY, Around
from .bulk import Bulk
from .equations.averages import Averages, apply, expand, symmetric
from .equations.means import Means, Setting, signal_norms, solve_means, wobble
from .equations.response import Response, respond, total_tangent
from .equations.solution import Solution
from .equations.state import State, wobbling
from .features import Features
from .labels import Label
from .rule import FINEST
from .solver import OnRule
from .symmetric import Packing, packing, solve_small

_NEWTON_STEPS = 60
_SOLVED = 1e-9  # relative residual of what is worth starting from
_ROUND_OFF = 2e-14  # relative residual at which Newton's steps only stir rounding errors
_FINEST_CUT = 192  # κ intervals between cuts around thin layers at which refinement gives up
_ALMOST_RIDGELESS = 1e-12  # a λ small enough to start from above when there is none


class Square:
    """The solver of the square loss; see `giantstep.theory.solver`."""

    linear = True

    def finest(self, spikes: int, cut: bool) -> int:
        return _FINEST_CUT if cut else FINEST[spikes]

    def restart(self, solution: Solution) -> np.ndarray:
        """What was not solved begins from above again: that is monotone."""
        return np.where((solution.residual <= _SOLVED)[..., None], solution.state.V, np.nan)

    def solve(self, rule: OnRule, start: np.ndarray | None, thorough: bool) -> Solution:
        return solve(rule.features, rule.label, rule.bulk, rule.setting, start, thorough)

    def sized(self, rule: OnRule, limit: Solution) -> np.ndarray:
        """Responses are those of the limit: they do not depend on d."""
        assert limit.responses is not None
        return _fit(limit.responses, rule.label, rule.bulk, rule.setting, thorough=False).test_error

    def slopes(self, around: Around, here: Solution) -> np.ndarray:
        """Responses move by one step of Newton's method; means and norms, linear algebra, follow."""
        features, label, bulk, setting = around.departing()
        start = here.state.V.repeat(len(around.weights), axis=0) + 0j
        return np.imag(solve(features, label, bulk, setting, start, thorough=False).test_error)[:, 0] / TINY


@dataclass
class Responses:
    """The responses V = response(V̂(V)) of some points, and what all that depends on them is made of."""

    averages: Averages
    V: np.ndarray  # packed, [U, A, P]
    residual: np.ndarray  # relative, [U, A]
    response: Response
    gain: np.ndarray  # 1/(unit + V(κ)), [U, A, N]
    Jacobian: np.ndarray  # 1 - dF/dV, [U, A, P, P]

    @cached_property
    def tangent(self) -> np.ndarray:
        """-∂V/∂V̂, [U, A, P, P]."""
        return total_tangent(self.response)


def solve(
    features: Features,
    label: Label,
    bulk: Bulk,
    setting: Setting,
    start: np.ndarray | None = None,
    thorough: bool = True,
) -> Solution:
    """All order parameters and both errors. `start` is a packed V to begin from (from above, where it is NaN)."""
    responses = _responses(Averages(features, bulk.modes), bulk, setting, start)
    return _fit(responses, label, bulk, setting, thorough)


def _fit(responses: Responses, label: Label, bulk: Bulk, setting: Setting, thorough: bool) -> Solution:
    """Means, norms and errors, given the responses: linear algebra."""
    averages, V, response, gain = responses.averages, responses.V, responses.response, responses.gain
    means = _means(averages, label, bulk, setting, response, gain)
    M = expand(means.values.reshape(*V.shape[:2], -1), averages.means)
    P2 = (2.0 * means.psi) @ averages.mu1[:, None]  # [U, A, k, N]
    t0, t1, t2 = (t[:, None] for t in (label.t0, label.t1, label.t2))
    base = M - 2.0 * t0
    base *= M
    base -= (P2 * t1).sum(axis=2)
    base += t2
    base += (setting.noise**2)[..., None]
    spread = wobble(bulk, setting)
    if spread is not None:
        base += wobbling(means.values[:, :, 0], averages, spread)

    pack = packing(len(bulk.weights))
    signal = signal_norms(bulk, response, responses.tangent, means)
    squared = gain * gain
    source = setting.ratio * averages.hats(base * squared)
    eye = np.eye(pack.size)
    right = apply(response.by_hat, source) + apply(eye - response.by_V, signal)
    q = solve_small(responses.Jacobian, right)

    R = base
    R += expand(q * pack.counts, averages.phi)
    left_over = R * squared  # distance² to the label after the fit; zero where the readout interpolates
    train_error = averages.mean(left_over) * setting.unit**2
    test_error = averages.mean(R) - setting.noise**2
    if label.clean is not None:  # a test compares with clean labels
        c0, c1, c2 = (clean[:, None] for clean in label.clean)
        test_error += averages.mean(c2 - t2 - 2.0 * M * (c0 - t0) - (P2 * (c1 - t1)).sum(axis=2))
    return Solution(
        state=State(V, q, means.values, means.psi, bulk.modes),
        test_error=test_error,
        train_error=train_error,
        train_loss=0.5 * train_error,
        residual=responses.residual,
        start=V,
        tail=averages.tail(left_over) if thorough else np.zeros(V.shape[:2]),
        rare=averages.due_to_rare(R, setting.ratio * left_over, responses.tangent)
        if thorough
        else np.zeros(V.shape[:2]),
        responses=responses,
    )


def _responses(averages: Averages, bulk: Bulk, setting: Setting, start: np.ndarray | None) -> Responses:
    """The fixed point V = response(V̂(V)), by Newton from above: monotone, because the map is concave.

    A complex start is a real solution whose equations have got infinitesimal imaginary parts: it moves at least once.
    """
    pack = packing(len(bulk.weights))
    eye = np.eye(pack.size)
    ratio = setting.ratio
    V = _upper_start(bulk, setting)
    V = V if start is None else np.where(np.isfinite(start), start, V)
    best, least = np.full(V.shape[:2], np.inf), int(np.iscomplexobj(V))
    step = 0
    while True:
        gain = 1.0 / (setting.unit[..., None] + expand(V * pack.counts, averages.phi))
        response = respond(bulk, V, ratio * averages.hats(gain), setting.beta, setting.lam)
        gap = response.V - V
        residual = np.max(np.abs(gap) / scale(V, pack), axis=-1)
        slope = ratio[..., None] * averages.squares(gain * gain) * pack.counts
        Jacobian = eye - response.by_V - response.by_hat @ slope
        stalled = (residual >= best) & (residual < 1e-10)  # rounding errors reached
        if step == _NEWTON_STEPS or (step >= least and np.all((residual <= _ROUND_OFF) | stalled)):
            return Responses(averages, V, residual, response, gain, Jacobian)
        best = np.minimum(best, residual)
        newton = V + solve_small(Jacobian, gap)
        positive = np.all(newton[..., pack.diagonal] >= 0.0, axis=-1)
        V = np.where(positive[..., None], newton, response.V)
        step += 1


def _upper_start(bulk: Bulk, setting: Setting) -> np.ndarray:
    """A point above the solution: the responses that there would be without any data, (c n/λ, n/λ)."""
    pack = packing(len(bulk.weights))
    lam = np.where(setting.lam > 0.0, setting.lam, _ALMOST_RIDGELESS)
    V2 = bulk.weights / lam[..., None]
    V1 = (bulk.c[:, None] * V2)[..., None] * np.eye(pack.groups)
    return pack.pack(V1, V2)


def _means(
    averages: Averages, label: Label, bulk: Bulk, setting: Setting, response: Response, gain: np.ndarray
) -> Means:
    """The means under the square loss's score (T - M)/(1 + V), which is linear in them."""
    K, F = len(bulk.weights), averages.means.shape[1]
    t0 = label.t0[:, None]
    signals = [averages.mu1 * label.t1[:, [m]] for m in range(bulk.modes.signals)]
    tested = [averages.mean_products, averages.means * t0, *signals]
    found = setting.ratio * (gain @ averages.table(np.concatenate(tested, axis=1)))
    both, r, r_psi = np.split(found, [F * (F + 1) // 2, F * (F + 1) // 2 + F], axis=-1)
    pairs = symmetric(both, F)
    spread = wobble(bulk, setting)
    if spread is not None:
        pairs[..., :K, :K] += spread * setting.ratio[..., None] * averages.tilts(gain)
    hat1 = packing(K).matrix(setting.ratio * averages.hats(gain))
    size = setting.ratio[..., 0] * averages.size
    return solve_means(bulk, setting, response, hat1, pairs, r, r_psi, size)


def scale(V: np.ndarray, pack: Packing) -> np.ndarray:
    """What an entry of V is small or large against: its own diagonal entries."""
    lead = np.sqrt(V[..., pack.diagonal[: pack.groups]])
    size = np.concatenate([lead[..., pack.rows] * lead[..., pack.cols], pack.vector(V)], axis=-1)
    return np.where(size > 0, size, 1.0)
