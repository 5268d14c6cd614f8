"""Result 3 for the square loss: one small nonlinear system, then linear algebra.

Scores are linear in the label, so the responses (V1, V2) close among themselves; given them the means
(m, ζ, ψ, χ) solve a linear system, and given those the norms (q1, q2) solve another. All arrays are
[U, A, ...]: U first layers, each with A settings of (α, λ, noise, d); K groups; N nodes in κ.

A ridgeless readout that interpolates (λ → 0, α < β) has V = v/λ: the same equations hold for v with λ = 1 and
1 + V replaced by v, which is what `unit` = 0 says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .bulk import Beside, Bulk
from .equations.averages import Averages, apply, symmetric
from .equations.means import Means, Setting, beside, signal_norms, solve_means, wobble
from .equations.response import Response, respond, total_tangent
from .equations.solution import Solution
from .equations.state import State, wobbling
from .features import Features, joined
from .labels import Label, joined_labels
from .rule import FINEST
from .solver import OnRule
from .symmetric import Packing, identity, largest, packing, solve_small

_NEWTON_STEPS = 60
_ROUNDS = 4  # towards where Newton's method begins
_SOLVED = 1e-9  # relative residual of what is worth starting from
_NEAR = 3e-2  # and of what is one step from where several rules may start together: they differ by as much
_ROUND_OFF = 2e-14  # relative residual at which Newton's steps only stir rounding errors
_STALLED = 1e-10  # and one that does so if it does not fall any more
_FINEST_CUT = 192  # κ intervals between cuts around thin layers at which refinement gives up


class Square:
    """The solver of the square loss; see `giantstep.theory.solver`."""

    linear = True

    def finest(self, spikes: int, cut: bool) -> int:
        return _FINEST_CUT if cut else FINEST[spikes]

    def restart(self, solution: Solution) -> np.ndarray:
        """What was not solved begins anew."""
        return np.where((solution.residual <= _SOLVED)[..., None], solution.state.V, np.nan)

    def solve(self, rules: Sequence[OnRule], start: np.ndarray | None, thorough: bool) -> list[Solution]:
        """All of them at once: rules lie end to end, and their readouts side by side.

        Several bulks take long to search for a solution: that is done on the last rule, the coarsest, alone.
        """
        last = rules[-1]
        if last.bulk is not rules[0].bulk:
            alone = Averages(last.features, last.bulk.modes)
            start = _responses(alone, last.bulk, last.setting, start, _NEAR).next()
        readouts = rules[0].setting.alpha.shape[1]
        bulk = Beside.of([rule.bulk for rule in rules], readouts)
        averages = Averages(
            joined([rule.features for rule in rules]),
            bulk.modes,
            [rule.features.weights.shape[-1] for rule in rules],
        )
        side = Side(
            averages,
            joined_labels([rule.label for rule in rules]),
            bulk,
            beside([rule.setting for rule in rules]),
            [wobble(rule.bulk, rule.setting) for rule in rules],
        )
        start = None if start is None else np.concatenate([start] * len(rules), axis=1)
        return _fit(side, _responses(averages, bulk, side.setting, start), thorough)

    def sized(self, rule: OnRule, limit: Solution) -> np.ndarray:
        """Responses are those of the limit: they do not depend on d."""
        found: Responses = limit.responses
        side = Side(found.averages, rule.label, rule.bulk, rule.setting, [wobble(rule.bulk, rule.setting)])
        return _fit(side, found, thorough=False)[0].test_error


@dataclass
class Side:
    """Points on one rule or several: averages and labels end to end along κ, readouts side by side [U, rules·A].

    `spreads` are those of the inputs' variances, rule by rule, [U, A, K, K] each.
    """

    averages: Averages
    label: Label
    bulk: Bulk
    setting: Setting
    spreads: list[np.ndarray | None]

    def readouts(self, values: np.ndarray) -> np.ndarray:
        """Of values [U, rules·A] that all rules share, those of one, [U, A]."""
        return values[:, : values.shape[1] // len(self.spreads)]

    def parts(self, values: np.ndarray) -> list[np.ndarray]:
        """Those of each rule, [U, A, ...] each."""
        readouts = values.shape[1] // len(self.spreads)
        return [values[:, i * readouts : (i + 1) * readouts] for i in range(len(self.spreads))]


@dataclass
class Responses:
    """The responses V = response(V̂(V)) of some points, and what all that depends on them is made of."""

    averages: Averages
    V: np.ndarray  # packed, [U, rules·A, P]
    residual: np.ndarray  # relative, [U, rules·A]
    response: Response
    hat: np.ndarray  # V̂, packed, [U, rules·A, P]
    gain: np.ndarray  # 1/(unit + V(κ)), [U, A, N]
    Jacobian: np.ndarray  # 1 - dF/dV, [U, rules·A, P, P]

    @cached_property
    def tangent(self) -> np.ndarray:
        """-∂V/∂V̂, [U, rules·A, P, P]."""
        return total_tangent(self.response)

    def next(self) -> np.ndarray:
        """V after one more step."""
        return _newton(self.V, self.response, self.Jacobian)


def solve(
    features: Features,
    label: Label,
    bulk: Bulk,
    setting: Setting,
    start: np.ndarray | None = None,
    thorough: bool = True,
) -> Solution:
    """All order parameters and both errors. `start` is a packed V to begin from (anew, where it is NaN)."""
    averages = Averages(features, bulk.modes)
    side = Side(averages, label, bulk, setting, [wobble(bulk, setting)])
    return _fit(side, _responses(averages, bulk, setting, start), thorough)[0]


def _fit(side: Side, responses: Responses, thorough: bool) -> list[Solution]:
    """Means, norms and errors on each rule, given the responses: linear algebra. Only the first may be `thorough`."""
    averages, label, bulk, setting = side.averages, side.label, side.bulk, side.setting
    V, response, gain = responses.V, responses.response, responses.gain
    noise = side.readouts(setting.noise) ** 2
    driving = _along_signals(averages, label.t1)
    means = _means(side, responses, driving)
    M = averages.expand(means.values.reshape(*V.shape[:2], -1), averages.means)
    doubled = 2.0 * means.psi.reshape(*V.shape[:2], -1)
    t0, t2 = label.t0[:, None], label.t2[:, None]
    base = M - 2.0 * t0
    base *= M
    base -= averages.expand(doubled, driving)
    base += t2
    base += noise[..., None]
    for part, m, spread in zip(averages.parts, side.parts(means.values[:, :, 0]), side.spreads, strict=True):
        if spread is not None:
            base[..., part] += wobbling(m, averages.dmu0[..., part], spread)

    pack = packing(len(bulk.weights))
    signal = signal_norms(bulk, response, responses.tangent, means)
    squared = gain * gain
    source = setting.ratio * averages.hats(base * squared)
    eye = identity(pack.size)
    right = apply(response.by_hat, source) + apply(eye - response.by_V, signal)
    q = solve_small(responses.Jacobian, right)

    R = base
    R += averages.expand(q * pack.counts, averages.phi)
    left_over = R * squared  # distance² to the label after the fit; zero where the readout interpolates
    train_error = averages.mean(left_over) * setting.unit**2
    test_error = averages.mean(R) - setting.noise**2
    if label.clean is not None:  # a test compares with clean labels
        c0, c1, c2 = label.clean
        more = averages.expand(doubled, _along_signals(averages, c1 - label.t1))
        test_error += averages.mean(c2[:, None] - t2 - 2.0 * M * (c0[:, None] - t0) - more)
    nothing = np.zeros(side.readouts(test_error).shape)
    solutions = [
        Solution(
            state=State(own_V, own_q, values, psi, bulk.modes),
            test_error=test,
            train_error=train,
            train_loss=0.5 * train,
            residual=residual,
            start=own_V,
            tail=nothing,
            rare=nothing,
            responses=responses if len(side.spreads) == 1 else None,
        )
        for own_V, own_q, values, psi, test, train, residual in zip(
            *map(side.parts, (V, q, means.values, means.psi, test_error, train_error, responses.residual)),
            strict=True,
        )
    ]
    if thorough:
        ratio = side.readouts(setting.ratio)
        solutions[0].tail = averages.tail(left_over)
        solutions[0].rare = averages.due_to_rare(R, ratio * left_over, responses.tangent)
    return solutions


def _responses(
    averages: Averages, bulk: Bulk, setting: Setting, start: np.ndarray | None, enough: float = _ROUND_OFF
) -> Responses:
    """The fixed point V = response(V̂(V)), by Newton: monotone from the first step on, because the map is concave.

    Down to a relative residual that is `enough`.
    """
    pack = packing(len(bulk.weights))
    eye = identity(pack.size)
    ratio = setting.ratio
    unit = setting.unit[:, : setting.unit.shape[1] // len(averages.parts), None]
    V = _nearby(averages, bulk, setting) if start is None or not np.isfinite(start).all() else start
    V = V if start is None else np.where(np.isfinite(start), start, V)
    best = np.full(V.shape[:2], np.inf)
    step = 0
    while True:
        gain = 1.0 / (unit + averages.expand(V * pack.counts, averages.phi))
        hat = ratio * averages.hats(gain)
        response = respond(bulk, V, hat, setting.beta, setting.lam)
        gap = response.V - V
        residual = largest(np.abs(gap) / scale(V, pack))
        slope = ratio[..., None] * averages.squares(gain * gain) * pack.counts
        Jacobian = eye - response.by_V - response.by_hat @ slope
        if step == _NEWTON_STEPS or _solved(residual, best, enough):
            return Responses(averages, V, residual, response, hat, gain, Jacobian)
        best = np.minimum(best, residual)
        V = _newton(V, response, Jacobian)
        step += 1


def _solved(residual: np.ndarray, best: np.ndarray, enough: float) -> bool:
    """Whether all residuals are small enough, or as small as rounding errors allow."""
    if not residual.max() <= max(enough, _STALLED):
        return False
    return bool(((residual <= enough) | ((residual >= best) & (residual < _STALLED))).all())


def _newton(V: np.ndarray, response: Response, Jacobian: np.ndarray) -> np.ndarray:
    """One of Newton's steps, or a plain one where that would lead below zero."""
    newton = V + solve_small(Jacobian, response.V - V)
    positive = (newton[..., packing(response.root.shape[-1]).diagonal] >= 0.0).all(axis=-1, keepdims=True)
    return np.where(positive, newton, response.V)


def _nearby(averages: Averages, bulk: Bulk, setting: Setting) -> np.ndarray:
    """Where Newton's method begins: the responses V1 = nw, V2 = nv if all inputs had the same features, and C_s = c_s.

    v = (1/p) tr H⁻¹ is what neurons are free to do. Penalty and samples take the rest, and linear features take
    more of it along the rows:

        1 - λv = (α/β) av/(1 + av),      w = cv/(1 + cαv E[μ1²]/(1 + av)),      av = Σ n (w E[μ1²] + v E[μ2²]),

    of which the first is a quadratic equation for v, given the power a of the features. A few rounds will do.
    """
    pack, n = packing(len(bulk.weights)), bulk.weights
    power = averages.typical[:, None, pack.diagonal]
    first, second = power[..., : pack.groups], power[..., pack.groups :]  # E μ1², E μ2², [U, 1, K]
    lam, unit, ratio = setting.lam[..., None], setting.unit[..., None], setting.ratio
    linear = bulk.c[:, None] * first
    held, more, pulled = lam * unit, ratio - 1.0, linear * setting.alpha[..., None]
    v, freed = ratio, np.ones(1)  # freed: w/cv
    for _ in range(_ROUNDS):
        a: np.ndarray = ((linear * freed + second) @ n)[..., None]
        b = held + more * a
        root = np.sqrt(b * b + np.where(a > 0.0, 4.0 * held * a, 0.0))  # λ may be infinite
        root += np.abs(b)
        v = np.where(b >= 0.0, 2.0 * unit / root, root / (2.0 * lam * a))
        freed = 1.0 / (1.0 + pulled * v / (unit + a * v))
    V2 = n * v
    return pack.pack((bulk.c[:, None] * V2 * freed)[..., None] * identity(pack.groups), V2)


def _along_signals(averages: Averages, t1: np.ndarray) -> np.ndarray:
    """μ1 E[y_m Y]: what labels with moments t1 [U, k, N] tell of each signal, [U, k·K, N]."""
    return (t1[:, :, None] * averages.mu1[:, None]).reshape(len(averages.mu1), -1, t1.shape[-1])


def _means(side: Side, responses: Responses, driving: np.ndarray) -> Means:
    """The means under the square loss's score (T - M)/(1 + V), which is linear in them."""
    averages, bulk, setting, gain = side.averages, side.bulk, side.setting, responses.gain
    K, F = len(bulk.weights), averages.means.shape[1]
    tested = [averages.mean_products, averages.means * side.label.t0[:, None], driving]
    found = setting.ratio * averages.against(gain, averages.table(np.concatenate(tested, axis=1)))
    pairs, r, r_psi = (found[..., part] for part in _tests(F))
    pairs = symmetric(pairs, F)
    parts = zip(side.parts(pairs), side.parts(setting.ratio), side.spreads, strict=True)
    for rule, (part, ratio, spread) in enumerate(parts):
        if spread is not None:
            part[..., :K, :K] += spread * ratio[..., None] * averages.tilts(gain, rule)
    size = setting.ratio[..., 0] * averages.size
    hat1 = packing(K).matrix(responses.hat)
    return solve_means(bulk, setting, responses.response, hat1, pairs, r, r_psi, size)


def _tests(F: int) -> tuple[slice, slice, slice]:
    """Where products of mean modes, mean modes and signals stand among what `_means` averages against."""
    pairs = F * (F + 1) // 2
    return slice(0, pairs), slice(pairs, pairs + F), slice(pairs + F, None)


def scale(V: np.ndarray, pack: Packing) -> np.ndarray:
    """What an entry of V is small or large against: its own diagonal entries."""
    if pack.groups == 1:
        return np.where(V > 0, V, 1.0)
    lead = np.sqrt(V[..., pack.diagonal[: pack.groups]])
    size = np.concatenate([lead[..., pack.rows] * lead[..., pack.cols], pack.vector(V)], axis=-1)
    return np.where(size > 0, size, 1.0)
