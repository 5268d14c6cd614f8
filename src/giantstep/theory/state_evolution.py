"""The map of all order parameters onto themselves whose fixed point is Result 3, for any convex loss, on one rule in κ.

The channel turns the fields that the order parameters make into averages of the proximal score; those drive the
bulk, whose answer is the next set of order parameters:

    (V, q, m, ζ, ψ, χ)  →  M, P, V, q (κ)  →  F1, F2, G, Dy (κ)  →  V̂ = α/β E[φG],  q̂ = α/β E[φF2],  u  →  ...

The means are not taken from the plain map, which may diverge along the soft directions, but from one joint
linearised step: the score answers a change of the mean field by -G times it. All arrays are [U, A, ...].
"""

from __future__ import annotations

import numpy as np

from .channel import Scores, Training
from .equations.anderson import FixedPoint
from .equations.averages import apply
from .equations.means import norm_covariance, solve_means, stiffness
from .equations.order_parameters import Coordinates, OrderParameters, fields
from .equations.response import Response, respond
from .solver import Discretisation
from .symmetric import TINY, indices, packing, solve_small

_EFFORT = 8e6  # array elements of its averages after which a point that no rule has solved is given up,
_TRIES = 10  # but not before so many evaluations
_NEGLIGIBLE = 1e-7  # size of a mean, over one that would fit the labels, that may stay uncertain
_LEAST_SPREAD = 1e-4  # mean square of a field or residual at any κ that counts, over that at all of them
_NO_MEAN = 1e-18  # E μ0² over E σ² under which there is no force on it to speak of
_STEEPEST = 1e7  # slope of a score, over what is usual, beyond which a field is held on a jump by rounding


class StateEvolution:
    """One rule in κ, U first layers, A settings of the readout on each."""

    def __init__(self, rule: Discretisation):
        bulk, label, readout = rule.bulk, rule.label, rule.readout
        self.averages, self.bulk, self.channel, self.readout = rule.averages, bulk, rule.channel(), readout
        self._moments, self._clean = label[:3], label.clean or label[:3]
        power = self.averages.mean(label.t2[:, None]) + readout.noise**2
        self._least = _NEGLIGIBLE * np.sqrt(power / self.averages.size) + 1e-12
        self.pack = packing(len(bulk.weights))
        self.coordinates = Coordinates(self.pack, bulk.modes)
        self.norm_covariance = norm_covariance(bulk, readout)
        U, A = readout.alpha.shape
        self.shape = (U, A)
        self.rows = np.repeat(indices(U), A)
        N, k = self.averages.phi.shape[-1], bulk.modes.signals
        self._scores = [np.zeros((U * A, *inner, N)) for inner in ((), (), (), (k,))]
        self.effort = np.zeros(U * A)  # array elements that each point took

    def fields(self, state: OrderParameters) -> tuple[np.ndarray, ...]:
        """M, P, V and q on the κ nodes, [U, A, N]."""
        return fields(state, self.averages, self.pack, self.norm_covariance)

    def _channel_arguments(self, fields: tuple[np.ndarray, ...], at: np.ndarray) -> tuple[np.ndarray, ...]:
        flat = (field.reshape(len(self.rows), *field.shape[2:])[at] for field in fields)
        return (self.rows[at], *flat, self.readout.noise.reshape(-1)[at])

    def training(self, fields: tuple[np.ndarray, ...]) -> Training:
        """What the fitted outputs are like on average, [U, A]."""
        at_nodes = self.channel.training(*self._channel_arguments(fields, np.ones(len(self.rows), bool)))
        return Training(*(self.averages.mean(values.reshape(*self.shape, -1)) for values in at_nodes))

    def missed(self, fields: tuple[np.ndarray, ...]) -> np.ndarray:
        """Squared distance to a clean label given κ, [U, A, N]: its mean is the test error."""
        return missed(self._clean, fields)

    def due_to_rare(self, error: np.ndarray) -> np.ndarray:
        """Share of the test error due to rare inputs, with the scores of the last step that was taken."""
        fit = self._scores[Scores._fields.index("F2")].reshape(*self.shape, -1)
        return self.averages.due_to_rare(error, self.readout.alpha_over_beta * fit, self._response.moved)

    def unbalanced(self, x: np.ndarray) -> np.ndarray:
        """What scores leave of the force on the all-ones directions, which must vanish, over its parts, [U·A].

        Where scores jump and features are saturated, V(κ) may be far below a field's rounding errors. A field that lies
        on the jump is held there by enormous slopes, whatever the force, and a step of the map does not show it.
        """
        if self.channel.loss.continuous:
            return np.zeros(len(x))
        self.step(x, np.ones(len(x), bool))
        F1, F2, G, _ = (kept.reshape(*self.shape, *kept.shape[1:]) for kept in self._scores)
        averages, ratio, K = self.averages, self.readout.alpha_over_beta, self.pack.groups
        m = self.coordinates.state(x.reshape(*self.shape, -1)).m
        held = stiffness(self.bulk, self.readout, self._response)
        if self.norm_covariance is not None:
            held = held + self.norm_covariance * ratio[..., None] * averages.tilts(G)
        force = ratio * averages.on_means(F1)[..., :K] - apply(held, m)
        power = np.maximum(averages.mean(averages.means[:, :K] ** 2), _NO_MEAN * averages.size)[:, None]
        parts = ratio * np.sqrt(averages.mean(F2)[..., None] * power) + TINY
        found = (np.abs(force) / parts).max(axis=-1).reshape(-1)
        return np.where(np.isfinite(found), found, np.inf)

    def step(self, x: np.ndarray, active: np.ndarray) -> np.ndarray:
        """The map on vectors [U·A, n]; only `active` points are looked at anew."""
        x = x.reshape(*self.shape, -1)
        state = self.coordinates.state(x)
        fields = self.fields(state)
        arguments = self._channel_arguments(fields, active)
        work = self.channel.work(*arguments)
        self.effort[active] += np.minimum(work, _EFFORT / _TRIES)
        found = self.channel.scores(*arguments, work=work)
        for kept, new in zip(self._scores, found, strict=True):
            kept[active] = new
        scores = Scores(*(kept.reshape(*self.shape, *kept.shape[1:]) for kept in self._scores))
        new = self.coordinates.vector(self._answer(state, fields, scores))
        return np.where(active.reshape(self.shape)[..., None], new, x).reshape(active.size, -1)

    def _answer(self, state: OrderParameters, fields: tuple[np.ndarray, ...], scores: Scores) -> OrderParameters:
        """The bulk's answer to the averaged scores."""
        averages, readout, bulk, pack = self.averages, self.readout, self.bulk, self.pack
        ratio, K = readout.alpha_over_beta, pack.groups
        M, (U, A) = fields[0], self.shape
        hat = ratio * averages.hats(scores.G)  # V̂ = α/β E[φ G]
        self._response = response = respond(bulk, state.V, hat, readout.beta, readout.lam)
        slope = self._slope(fields, scores.G)
        pairs = ratio[..., None] * averages.mean_pairs(slope)
        if self.norm_covariance is not None:
            pairs[..., :K, :K] += self.norm_covariance * ratio[..., None] * averages.tilts(scores.G)
        means = solve_means(
            bulk,
            readout,
            response,
            pack.matrix(hat),
            pairs,
            ratio * averages.on_means(scores.F1 + slope * M),
            (ratio[..., None] * averages.on_mu1(scores.Dy)).reshape(U, A, -1),
            ratio[..., 0] * averages.size,
        )
        hat_q = ratio * averages.hats(scores.F2)  # q̂ = α/β E[φ F2]
        norms = response.moved(hat_q + means.source) + means.rest
        return OrderParameters(self._closed(state.V, response), norms, means.values, means.psi, bulk.modes)

    def _slope(self, fields: tuple[np.ndarray, ...], G: np.ndarray) -> np.ndarray:
        """How scores answer a change of the mean field, for the means' step: G, within bounds. [U, A, N].

        The fixed point does not depend on them, but whether it is reached does. Where G vanishes, means would go
        anywhere; a floor goes with the spread of what scores follow, but not down to that of inputs so rare that all
        features are saturated: means would stay where they are for their sake. Nor does G count where it is so
        steep that a field is held on a jump of the scores by rounding alone.
        """
        _, _, V, q = fields
        margin = self.channel.loss.margin
        spread = q if margin else missed(self._moments, fields) + self.readout.noise[..., None] ** 2
        usual = self.averages.mean(spread)[..., None]
        least = 0.1 / (V + np.sqrt(np.maximum(spread, _LEAST_SPREAD * usual)))
        return np.minimum(np.maximum(G, least), _STEEPEST / np.sqrt(usual))

    def _closed(self, V: np.ndarray, response: Response) -> np.ndarray:
        """The bulk's relation V = response(V) closed by one Newton step, or its plain value if that overshoots."""
        plain = response.V
        closed = V + solve_small(response.left, plain - V)
        positive = self.coordinates.logarithms
        fine = np.all(closed[..., positive] > 0.1 * plain[..., positive], axis=-1)
        return np.where(fine[..., None], closed, plain)

    def cold(self) -> FixedPoint:
        """Where to start from when nothing is known."""
        K, share = self.pack.groups, self.bulk.weights
        V2 = share / (1.0 + self.readout.lam[..., None])
        V1 = V2[..., :, None] * np.eye(K)
        q = 0.5 * self.pack.pack(np.broadcast_to(np.diag(share), V1.shape), np.broadcast_to(share, V2.shape))
        modes = self.bulk.modes
        means, psi = (np.zeros((*self.shape, count, K)) for count in (modes.means, modes.signals))
        x = self.coordinates.vector(OrderParameters(self.pack.pack(V1, V2), q, means, psi, modes))
        return FixedPoint.cold(x.reshape(len(self.rows), -1))

    def worthwhile(self) -> np.ndarray:
        """Points that have not taken too much work yet, [U·A]."""
        return self.effort < _EFFORT

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """What a change of each entry of x [U·A, n] is small or large against."""
        return self.coordinates.sizes(x.reshape(*self.shape, -1), self._least).reshape(x.shape)


def missed(moments: tuple[np.ndarray, ...], fields: tuple[np.ndarray, ...]) -> np.ndarray:
    """E[(Y - ω)²] given κ for labels with these moments, without their noise, [U, A, N]."""
    (t0, t1, t2), (M, P, _, q) = (t[:, None] for t in moments), fields
    return t2 - 2.0 * M * t0 + M * M - 2.0 * (P * t1).sum(axis=2) + q
