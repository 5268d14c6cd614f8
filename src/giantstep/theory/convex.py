"""Result 3 for any convex loss: one map of all order parameters onto themselves, and its fixed point.

The channel turns the fields that the order parameters make into averages of the proximal score; those drive the
bulk, whose answer is the next set of order parameters:

    (V, q, m, ζ, ψ, χ)  →  M, P, V, q (κ)  →  F1, F2, G, Dy (κ)  →  V̂ = α/β E[φG],  q̂ = α/β E[φF2],  u  →  ...

The means are not taken from the plain map, which may diverge along the soft directions, but from one joint
linearised step: the score answers a change of the mean field by -G times it. All arrays are [U, A, ...].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .bulk import Bulk
from .channel import Channel, Scores, Training
from .equations.anderson import FixedPoint, Search, anderson, newton
from .equations.averages import Averages, apply
from .equations.means import Setting, signal_norms, solve_means, wobble
from .equations.response import Response, respond, total_tangent
from .equations.secants import Secants
from .equations.solution import Solution
from .equations.state import Coordinates, State, fields
from .features import Features
from .labels import Label
from .solver import OnRule
from .symmetric import packing
from .upto import upto

_TOLERANCE, _ROUGH_TOLERANCE = 1e-10, 1e-8  # residuals at which the search ends
_ANDERSON_STEPS, _NEWTON_STEPS = 80, 12
_WEAK, _STRONG, _STAGES = 1.0 / 64.0, 512.0, 5  # where the fallback's path in λ starts, and its stages
_LOG_STEP, _MEAN_STEP = 2.0, 1.0  # how far a logarithm, and a mean on its own scale, may move at once
_EFFORT = 4e6  # array elements of its averages after which a point is given up on a rule,
_TRIES = 10  # but not before so many evaluations
_NEGLIGIBLE = 1e-7  # a mean over what would fit the labels, under which it is not known to tolerance
_RUNAWAY = 1e6  # a mean beyond which the iteration is not followed


class Convex:
    """The solver of any other convex loss; see `giantstep.theory.solver`."""

    linear = False

    def finest(self, spikes: int, cut: bool) -> int:
        return 64 if cut else {1: 512, 2: 64}.get(spikes, 24)

    def restart(self, solution: Solution) -> np.ndarray:
        return solution.start

    def solve(self, rules: Sequence[OnRule], start: np.ndarray | None, thorough: bool) -> list[Solution]:
        return [
            solve(
                rule.features,
                rule.label,
                rule.bulk,
                rule.channel,
                rule.setting,
                thorough,
                start,
                rule.hopeless,
                rule.exhausted,
            )
            for rule in rules
        ]

    def sized(self, rule: OnRule, limit: Solution) -> Solution:
        return self.solve([rule], limit.start, thorough=False)[0]


class _Problem:
    """The map at one rule in κ."""

    def __init__(self, features: Features, label: Label, bulk: Bulk, channel: Channel, setting: Setting):
        self.bulk, self.channel, self.setting = bulk, channel, setting
        self.averages = Averages(features, bulk.modes)
        self._moments = label[:3]
        power = self.averages.mean(label.t2[:, None]) + setting.noise**2
        self._least = _NEGLIGIBLE * np.sqrt(power / self.averages.size) + 1e-12
        self.pack = packing(len(bulk.weights))
        self.coordinates = Coordinates(self.pack, bulk.modes)
        self.wobble = wobble(bulk, setting)
        U, A = setting.alpha.shape
        self.shape = (U, A)
        self.rows = np.repeat(upto(U), A)
        N, k = self.averages.phi.shape[-1], bulk.modes.signals
        self._scores = [np.zeros((U * A, *inner, N)) for inner in ((), (), (), (k,))]
        self._tangent = np.zeros((U, A, self.pack.size, self.pack.size))
        self._effort = np.zeros(U * A)

    def fields(self, state: State) -> tuple[np.ndarray, ...]:
        """M, P, V and q on the κ nodes, [U, A, N]."""
        return fields(state, self.averages, self.pack, self.wobble)

    def _channel_arguments(self, fields: tuple[np.ndarray, ...], at: np.ndarray) -> tuple[np.ndarray, ...]:
        flat = (field.reshape(len(self.rows), *field.shape[2:])[at] for field in fields)
        return (self.rows[at], *flat, self.setting.noise.reshape(-1)[at])

    def training(self, fields: tuple[np.ndarray, ...]) -> Training:
        """What the fitted outputs are like, everywhere, [U·A, N]."""
        return self.channel.training(*self._channel_arguments(fields, np.ones(len(self.rows), bool)))

    def mean(self, values: np.ndarray) -> np.ndarray:
        """E over κ of [U·A, N] as [U, A]."""
        return self.averages.mean(values.reshape(*self.shape, -1))

    def due_to_rare(self, error: np.ndarray) -> np.ndarray:
        """Share of the test error due to rare inputs, with the scores of the last step that was taken."""
        fit = self._scores[Scores._fields.index("F2")].reshape(*self.shape, -1)
        return self.averages.due_to_rare(error, self.setting.ratio * fit, self._tangent)

    def step(self, x: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The map on vectors [U·A, n]; only `active` points are looked at anew."""
        x = x.reshape(*self.shape, -1)
        state = self.coordinates.state(x)
        fields = self.fields(state)
        arguments = self._channel_arguments(fields, active)
        self._effort[active] += np.minimum(self.channel.work(*arguments), _EFFORT / _TRIES)
        found = self.channel.scores(*arguments)
        for kept, new in zip(self._scores, found, strict=True):
            kept[active] = new
        scores = Scores(*(kept.reshape(*self.shape, *kept.shape[1:]) for kept in self._scores))
        new = self.coordinates.vector(self._answer(state, fields, scores))
        return np.where(active.reshape(self.shape)[..., None], new, x).reshape(active.size, -1)

    def _answer(self, state: State, fields: tuple[np.ndarray, ...], scores: Scores) -> State:
        """The bulk's answer to the averaged scores."""
        averages, setting, bulk, pack = self.averages, self.setting, self.bulk, self.pack
        ratio, K = setting.ratio, pack.groups
        M, _, V, _ = fields
        U, A = self.shape
        hat = ratio * averages.hats(scores.G)
        response = respond(bulk, state.V, hat, setting.beta, setting.lam)
        slope = np.maximum(scores.G, self.channel.loss.floor(V, self._spread(fields)))
        pairs = ratio[..., None] * averages.mean_pairs(slope)
        if self.wobble is not None:
            pairs[..., :K, :K] += self.wobble * ratio[..., None] * averages.tilts(scores.G)
        means = solve_means(
            bulk,
            setting,
            response,
            pack.matrix(hat),
            pairs,
            ratio * averages.on_means(scores.F1 + slope * M),
            (ratio[..., None] * averages.on_mu1(scores.Dy)).reshape(U, A, -1),
            ratio[..., 0] * averages.size,
        )
        self._tangent = tangent = total_tangent(response)
        noise = apply(tangent, ratio * averages.hats(scores.F2))
        norms = noise + signal_norms(bulk, response, tangent, means)
        return State(self._closed(state.V, response), norms, means.values, means.psi, bulk.modes)

    def _spread(self, fields: tuple[np.ndarray, ...]) -> np.ndarray:
        """Mean square of what a score is a function of: of residuals, or of fields around their mean, [U, A, N]."""
        if self.channel.loss.margin:
            return fields[-1]
        return missed(self._moments, fields) + self.setting.noise[..., None] ** 2

    def _closed(self, V: np.ndarray, response: Response) -> np.ndarray:
        """The bulk's relation V = response(V) closed by one Newton step, or its plain value if that overshoots."""
        left = np.eye(V.shape[-1]) - response.by_V
        plain = response.V
        closed = V + np.linalg.solve(left, (plain - V)[..., None])[..., 0]
        positive = self.coordinates.logarithms
        fine = np.all(closed[..., positive] > 0.1 * plain[..., positive], axis=-1)
        return np.where(fine[..., None], closed, plain)

    def cold(self) -> FixedPoint:
        """Where to start from when nothing is known."""
        K, share = self.pack.groups, self.bulk.weights
        V2 = share / (1.0 + self.setting.lam[..., None])
        V1 = V2[..., :, None] * np.eye(K)
        q = 0.5 * self.pack.pack(np.broadcast_to(np.diag(share), V1.shape), np.broadcast_to(share, V2.shape))
        modes = self.bulk.modes
        means, psi = (np.zeros((*self.shape, count, K)) for count in (modes.means, modes.signals))
        x = self.coordinates.vector(State(self.pack.pack(V1, V2), q, means, psi, modes))
        return FixedPoint(x.reshape(len(self.rows), -1), Secants(len(self.rows), x.shape[-1]))

    def begun(self, start: np.ndarray) -> FixedPoint:
        """Where to start from another solution, as `ended` gives it, [U, A, ...]."""
        flat, size = start.reshape(len(self.rows), -1), self.coordinates.size
        return FixedPoint(flat[:, :size].copy(), Secants.unpacked(flat[:, size:], size))

    def ended(self, found: FixedPoint) -> np.ndarray:
        """A solution for other rules to start from, with what steps towards it have taught if they have led there."""
        found.secants.forget(~(found.residual <= _ROUGH_TOLERANCE))
        return np.concatenate([found.x, found.secants.packed()], axis=-1).reshape(*self.shape, -1)

    def worthwhile(self) -> np.ndarray:
        """Points that have not taken too much work yet, [U·A]."""
        return self._effort < _EFFORT

    def distance(self, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        new, old = (a.reshape(*self.shape, -1) for a in (new, old))
        return self.coordinates.distance(new, old, self._least).reshape(-1)


def missed(moments: tuple[np.ndarray, ...], fields: tuple[np.ndarray, ...]) -> np.ndarray:
    """E[(Y - ω)²] given κ for labels with these moments, without their noise, [U, A, N]."""
    (t0, t1, t2), (M, P, _, q) = (t[:, None] for t in moments), fields
    return t2 - 2.0 * M * t0 + M * M - 2.0 * (P * t1).sum(axis=2) + q


def solve(
    features: Features,
    label: Label,
    bulk: Bulk,
    channel: Channel,
    setting: Setting,
    thorough: bool = True,
    start: np.ndarray | None = None,
    hopeless: np.ndarray | None = None,
    exhausted: np.ndarray | None = None,
) -> Solution:
    """All order parameters and errors; `start` is that of another solution, such as a coarser rule's.

    A solution that only estimates the quadrature error need not be `thorough`: fewer digits, no last resort. No effort
    is spent on `hopeless` points, which stay unsolved; no last resort on `exhausted` ones, for which it was in vain.
    """
    tolerance = _TOLERANCE if thorough else _ROUGH_TOLERANCE
    problem = _Problem(features, label, bulk, channel, setting)
    found = problem.cold() if start is None else problem.begun(start)
    skipped = np.zeros(len(found.x), bool) if hopeless is None else hopeless.reshape(-1)
    found.residual[skipped] = 0.0
    _search(problem, found, tolerance)
    resort = np.full(len(found.x), thorough) if exhausted is None else thorough & ~exhausted.reshape(-1)
    for easy in (_WEAK, _STRONG):
        todo = resort & (found.residual > tolerance) & problem.worthwhile()
        if todo.any():
            _continue_in_lam(problem, found, todo, tolerance, easy)
    found.residual[skipped] = np.inf
    return _fit(problem, label, found)


def _search(problem: _Problem, found: FixedPoint, tolerance: float, damping: float = 1.0) -> None:
    """Anderson's mixing, and Newton's method where it stalls."""
    limit = np.where(problem.coordinates.is_log, _LOG_STEP, _MEAN_STEP)
    search = Search(problem.step, problem.distance, limit, tolerance, problem.worthwhile)
    anderson(search, found, _ANDERSON_STEPS, damping)
    lost = np.abs(found.x).max(axis=-1) > _RUNAWAY
    found.residual[lost] = np.minimum(found.residual[lost], 0.0)  # not worth Newton's effort: see below
    newton(search, found, _NEWTON_STEPS)
    found.residual[lost] = np.inf


def _continue_in_lam(
    problem: _Problem, found: FixedPoint, todo: np.ndarray, tolerance: float, factor: float
) -> None:
    """Start from `factor` times λ and follow the solution to λ itself: the last resort, at points `todo`.

    From a small λ, fields are spread and kinks of the loss matter little; from a large one, little is fitted.
    """
    setting, final = problem.setting, problem.setting.lam
    path = problem.cold()
    for stage in range(_STAGES, -1, -1):
        easier = final * factor ** (stage / _STAGES)
        problem.setting = replace(setting, lam=easier)
        path.residual = np.where(todo, np.inf, 0.0)
        path.secants.forget(todo)
        last = stage == 0
        _search(problem, path, tolerance if last else 1e-4, damping=0.6)
    problem.setting = setting
    found.evaluations += path.evaluations
    found.improve(todo, path.x, path.residual)


def _fit(problem: _Problem, label: Label, found: FixedPoint) -> Solution:
    x = found.x.reshape(*problem.shape, -1)
    state = problem.coordinates.state(x)
    found_fields = problem.fields(state)
    training = Training(*(problem.mean(values) for values in problem.training(found_fields)))
    R = missed(label.clean or label[:3], found_fields)
    return Solution(
        state=state,
        test_error=problem.averages.mean(R),
        train_error=training.error,
        train_loss=training.loss,
        residual=found.residual.reshape(problem.shape),
        evaluations=found.evaluations.reshape(problem.shape),
        start=problem.ended(found),
        tail=problem.averages.tail(R),
        rare=problem.due_to_rare(R),
    )
