"""Thin layers in κ, of width √q/|slope|, where the mean field crosses a kink of the score.

A strong ridge leaves little of the readout but m, and then √q ≪ |M|: outputs change sign, or a kinked loss changes
regime, within a layer of κ too thin for any rule that does not know of it. Here the layers are found, and wrong signs
are counted on a rule in κ that is cut around them: the averages that the equations need hardly notice these layers, a
count of signs sees nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...functions import Function
from ...gaussian import STRIDES, extrapolated_error, nested, piecewise_rule
from ...losses import Loss
from ..bulk import Bulk
from ..channel import BinaryChannel, SignChannel
from ..channel.base import REACH
from ..features import Features, features_at
from ..labels import BinaryLaw, label_layers
from ..problem import Problem
from ..solver import Discretisation
from ..symmetric import indices, packing
from .averages import Averages
from .means import Readout, norm_covariance
from .order_parameters import OrderParameters, Solution, fields

_MOST = 4  # crossings of a mark that are cut around
_LAYER = 5.0  # half-width of a layer in its own units
_HALVINGS = 20  # of the interval between two nodes that a crossing is in

Marks = Callable[[np.ndarray], list[np.ndarray]]


@dataclass
class Profile:
    """The fields of B solved points at any κ: U first layers [U, K] with equally many points on each."""

    activation: Function
    b: np.ndarray
    c: np.ndarray
    biases: np.ndarray
    gamma: np.ndarray  # [B]
    rho: np.ndarray  # [B, 1]
    state: OrderParameters  # [B, 1, ...]
    norm_covariance: np.ndarray | None  # [B, 1, K, K]
    nodes: np.ndarray  # [B, N], κ dense enough to show where fields cross a mark

    def at(self, kappa: np.ndarray) -> tuple[np.ndarray, ...]:
        """M, P, V and q at κ [B, N]."""
        features = features_at(self.activation, self.b, self.c, self.biases, kappa.reshape(len(self.b), -1))
        averages = Averages(_point_by_point(features, *kappa.shape), self.state.modes)
        found = fields(self.state, averages, packing(self.b.shape[1]), self.norm_covariance)
        return tuple(field[:, 0] for field in found)

    def layers(self, marks: Marks) -> np.ndarray:
        """Cuts [B, ...] at and around the κ where M crosses a mark; `marks(V)` lists them, [B, N] each.

        Crossings are those that show on the nodes; the ones nearest to the centre are kept.
        """
        nodes = np.clip(self.nodes, -REACH, REACH)
        if not marks(np.ones_like(nodes[:, :1])):
            return np.empty((len(nodes), 0))
        h, _ = self._above(marks, nodes)
        B, families, _ = h.shape
        change = np.sign(h[..., 1:]) != np.sign(h[..., :-1])
        count = int(min(_MOST, change.sum(axis=-1).max(initial=0)))
        if count == 0:
            return np.empty((B, 0))
        nearness = np.where(change, -np.abs(nodes[:, None, :-1]), -np.inf)
        at = np.argsort(-nearness, axis=-1, kind="stable")[..., :count]
        real = np.take_along_axis(change, at, axis=-1)  # fewer crossings than `count`: empty brackets far out
        spread = np.broadcast_to(nodes[:, None], h.shape)
        low, high = (np.where(real, np.take_along_axis(spread, at + i, axis=-1), REACH) for i in (0, 1))
        ends = [np.take_along_axis(h, at + i, axis=-1) for i in (0, 1)]
        slope = np.abs(ends[1] - ends[0]) / np.where(high > low, high - low, 1.0)
        own = indices(families)
        middle = root = low
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            values, root = self._above(marks, middle.reshape(B, -1))
            value = values.reshape(B, families, families, count)[:, own, own]
            left = np.sign(value) == np.sign(ends[0])
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        width = root.reshape(middle.shape) / np.maximum(slope, 1e-12)
        cuts = middle[..., None] + width[..., None] * np.array([-_LAYER, 0.0, _LAYER])
        real = real[..., None] & np.isfinite(cuts)  # a point without a solution has none
        return np.where(real, cuts, REACH).reshape(B, -1)

    def _above(self, marks: Marks, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M less each mark, [B, marks, N], and √q."""
        M, _, V, q = self.at(kappa)
        return np.stack([M - mark for mark in marks(V)], axis=1), np.sqrt(q)


def profile_of(
    problem: Problem, chunk: np.ndarray, solution: Solution, bulk: Bulk, readout: Readout, kappa: np.ndarray
) -> Profile:
    """The fields of all points of a rectangle, one after the other, at any κ; `kappa` [U or 1, N] is the rule's."""
    U, A = readout.alpha.shape
    rows = np.repeat(indices(U), A)
    spread = norm_covariance(bulk, readout)
    spread = None if spread is None else spread.reshape(U * A, 1, *spread.shape[2:])
    frame = problem.frame(chunk)
    own = (frame.b[..., 0], problem.c[chunk], problem.biases, frame.gamma[rows, 0], frame.rho[rows])
    nodes = np.repeat(np.broadcast_to(kappa, (U, kappa.shape[-1])), A, axis=0)
    return Profile(problem.activation, *own, solution.state.reshaped(U * A, 1), spread, nodes)


def _point_by_point(features: Features, B: int, N: int) -> Features:
    """Features of U first layers on all nodes of their points, [U, ..., A·N], as those of B points, [B, ..., N]."""

    def parted(values: np.ndarray) -> np.ndarray:
        inner = values.shape[1:-1]
        return np.moveaxis(values.reshape(len(values), *inner, -1, N), -2, 1).reshape(B, *inner, N)

    return Features(*map(parted, features))


def bends(profile: Profile, loss: Loss) -> np.ndarray:
    """Cuts [B, ...] around the κ where the mean field crosses a bend of the score."""

    def marks(V: np.ndarray) -> list[np.ndarray]:
        return [bend for y in (-1.0, 1.0) for bend in np.moveaxis(loss.breaks(y, V), -1, 0)]

    return profile.layers(marks)


_ALWAYS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # cuts that keep panels narrow where most samples are
_INTERVALS = 32  # of the rule on each panel, which contains the two coarser ones that it is compared with


class WrongSigns(NamedTuple):
    """Shares [B] of wrong signs on clean test labels and on training labels, and their quadrature error."""

    test: np.ndarray
    train: np.ndarray
    error: np.ndarray


def count_wrong_signs(profile: Profile, law: BinaryLaw, loss: Loss) -> WrongSigns:
    """Wrong signs at solved points."""

    def marks(V: np.ndarray) -> list[np.ndarray]:
        """Fields at which an output vanishes: a test output, and fitted ones with either label."""
        zero = np.zeros_like(V)
        return [zero, *(V * loss.derivative(zero + y, zero) for y in (-1.0, 1.0))]

    always = np.broadcast_to(_ALWAYS, (len(profile.nodes), len(_ALWAYS)))
    cuts = always, profile.layers(marks), label_layers(law.cuts, profile.gamma)
    nodes, weights = piecewise_rule(np.concatenate(cuts, axis=-1), _INTERVALS)
    kappa = nodes.reshape(len(nodes), -1)
    centre = (profile.gamma[:, None] * kappa)[:, None]
    channel = BinaryChannel(loss, law, centre, profile.rho, _INTERVALS)
    train, test = channel.wrong(np.arange(len(kappa)), *profile.at(kappa))
    wrong = np.stack([test, train]).reshape(2, *nodes.shape)
    return _judged([(w * wrong[..., nested(s)]).sum(axis=(-1, -2)) for s, w in zip(STRIDES, weights, strict=True)])


def wrong_signs_on_rules(rules: list[Discretisation], solutions: list[Solution]) -> WrongSigns:
    """The same for several spikes, on the nodes of nested rules in κ, finest first."""
    U, A = rules[0].readout.alpha.shape
    found: list[np.ndarray] = []
    for rule, solution in zip(rules, solutions, strict=True):
        pack, channel = packing(len(rule.bulk.weights)), rule.channel()
        assert isinstance(channel, SignChannel)
        own = fields(solution.state, rule.averages, pack, norm_covariance(rule.bulk, rule.readout))
        flat = (field.reshape(U * A, *field.shape[2:]) for field in own)
        train, test = channel.wrong(np.repeat(indices(U), A), *flat)
        shares = [rule.averages.mean(part.reshape(U, A, -1)).reshape(-1) for part in (test, train)]
        found.append(np.stack(shares))
    return _judged(found)


def _judged(found: list[np.ndarray]) -> WrongSigns:
    fine, middle, coarse = found
    error = extrapolated_error(np.abs(fine - middle), np.abs(middle - coarse))
    return WrongSigns(fine[0], fine[1], error.max(axis=0))
