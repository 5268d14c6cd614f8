"""Result 2: given the projection κ on the spike, features are Gaussian with coefficients μ0, μ1, μ2(κ).

Both sides of the regression become functions of one variable, tabulated here on the nodes of a rule in κ:
the features through μ0, μ1, μ2², and the target through its moments given κ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..gaussian import Moments, resolution, round_up, tail_reach
from .labels import LAYER, Label, Labels, is_sharp, label_layers
from .layer import Frame
from .rule import Rule, across_intervals
from .shifted_moments import INNER_TOLERANCE, Column, moments_at, pieces
from .symmetric import TINY

STEEPEST = 32.0  # spike over √c up to which a smooth rule in κ resolves features, with enough intervals

_WIDER = 4.0  # each rim around a steep layer over the one inside it
_MIRRORED = 1e-12  # how well nodes must match their mirror images


class Features(NamedTuple):
    """Coefficients of U models × K groups on N nodes in κ: σ ≃ μ0 1 + μ1 Wx + μ2 ξ, and ∂μ0/∂c."""

    kappa: np.ndarray  # [U or 1, S, N]
    weights: np.ndarray  # [U or 1, N], Gaussian weights of the nodes
    mu0: np.ndarray  # [U, K, N]
    mu1: np.ndarray
    mu2sq: np.ndarray
    dmu0: np.ndarray


def coefficient_moments(moments: Moments, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """(μ0, μ1, μ2², ∂μ0/∂c) from the Gaussian moments of σ(rκ + √c z)."""
    return moments.mean, moments.first / np.sqrt(c), moments.remainder, moments.second / (2.0 * c)


class Table:
    """Features and label on three nested rules in κ, from one set of function evaluations.

    `points` is the number of κ intervals (per piece, where the target's jumps are cut out), and `farther` stretches
    the range of κ, and those of z and y with it: what is left of a saturated feature comes from rare z. Refining the
    rule in κ is the solver's business, since only its answer tells what is needed; the inner averages over z and y
    are resolved here, to `INNER_TOLERANCE`. `layers` [U, ...] are more places at which to cut the rule in κ.
    """

    _moments: Callable[[int], Moments]
    error: np.ndarray | float
    """Of averages over z that were not resolved, as far as the three rules do not show it."""

    def __init__(
        self,
        activation: Function,
        labels: Labels,
        frame: Frame,
        c: np.ndarray,
        biases: np.ndarray,
        points: int,
        farther: float = 1.0,
        layers: np.ndarray | None = None,
    ):
        b, gamma = frame.b, frame.gamma[:, 0]
        total = float(np.sqrt(c + (b**2).sum(axis=-1)).max())
        features_reach = tail_reach(activation, round_up(total))
        reach, breaks = farther * max(features_reach, labels.reach), labels.breakpoints(frame)
        all_cuts = [] if layers is None else [layers]
        if layers is not None or is_sharp(breaks, gamma).any():
            all_cuts.append(label_layers(breaks, gamma))
        if frame.spikes == 1 and steepness(b, c).max() > STEEPEST:
            all_cuts.append(feature_layers(b[..., 0], c, biases, reach))
        cuts = np.concatenate(all_cuts, axis=-1) if all_cuts else None
        sharp = cuts is not None
        across = across_intervals(b, c, points)
        self._rule = rule = Rule(points, reach, cuts, across, farther * features_reach)
        self._c = c[:, :, None]
        if frame.spikes == 1:
            column = Column(activation, b[..., 0], biases, np.sqrt(c), rule.first, reach, even=not sharp)
            self._moments, self.error = column.moments, column.error
        else:
            argument = b @ rule.at(1)[0] + biases[:, None]  # [U, K, N]
            fine, self.error = _by_tables(activation, argument, c, features_reach)
            self._moments = lambda stride: Moments(*(_nested(rule, part, stride) for part in fine))
        self._labels = labels.conditional_moments(frame, rule, points, reach)

    def at(self, stride: int) -> tuple[Features, Label]:
        """Everything on the rule that uses every `stride`-th node (1, 2 or 4)."""
        kappa, weights = self._rule.at(stride)
        coefficients = coefficient_moments(self._moments(stride), self._c)
        return Features(kappa, weights, *coefficients), self._labels(stride)


def _nested(rule: Rule, values: np.ndarray, stride: int) -> np.ndarray:
    """Values [U, K, N] on the finest rule at every `stride`-th of its nodes along each direction."""
    return np.swapaxes(rule.nested(np.swapaxes(values, 1, 2), stride), 1, 2)


def _by_tables(f: Function, argument: np.ndarray, c: np.ndarray, reach: float) -> tuple[Moments, float]:
    """Moments of f(argument + √c z) at very many arguments [U, K, N], with variances c [U, K]; and their error."""
    nodes, error = resolution(f, argument, np.sqrt(c), reach, INNER_TOLERANCE)
    return moments_at(f, argument, np.sqrt(c), nodes, reach), error


def features_at(activation: Function, b: np.ndarray, c: np.ndarray, biases: np.ndarray, kappa: np.ndarray) -> Features:
    """Coefficients of U first layers with one spike b [U, K] at κ [U, N] of one's own; nodes of weight one."""
    reach = tail_reach(activation, round_up(float(np.sqrt(c + b**2).max())))
    argument = b[..., None] * kappa[:, None] + biases[:, None]
    coefficients = coefficient_moments(_by_tables(activation, argument, c, reach)[0], c[:, :, None])
    return Features(kappa[:, None], np.ones_like(kappa), *coefficients)


def steepness(b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """How fast features vary along κ, [U]: their scale is √c/(spike's length). Spikes b [U, K, S]."""
    return (np.sqrt((b**2).sum(axis=-1)) / np.sqrt(c)).max(axis=1)


def doublings(steep: np.ndarray) -> np.ndarray:
    """How often a usual number of κ intervals is doubled for features so steep, [U]; beyond `STEEPEST` the rule is cut
    instead."""
    steep = np.where(steep > STEEPEST, 0.0, steep)
    return np.ceil(np.log2(np.maximum(steep / 2.0, 1.0))).astype(int)


def feature_layers(b: np.ndarray, c: np.ndarray, biases: np.ndarray, reach: float) -> np.ndarray:
    """Where bκ + bias is around 0, and ever wider rims, for steep spikes b [U, K]: [U, cuts]."""
    width = np.sqrt(c) / np.maximum(np.abs(b), TINY)
    narrowest = float(width[width > 0.0].min(initial=reach))
    count = max(1, int(np.ceil(np.log(reach / narrowest) / np.log(_WIDER))))
    rims = LAYER * _WIDER ** np.arange(count)
    rims = np.concatenate([-rims[::-1], [0.0], rims])
    centre = -biases / np.where(b == 0.0, np.inf, b)
    return (centre[..., None] + width[..., None] * rims).reshape(len(b), -1)


def evaluations_per_model(activation: Function, breaks: int, points: int) -> int:
    """Function values that one model needs per group, to size blocks of work.

    Averages at one κ are made a part at a time, so that at most 16 values a piece are in memory together.
    """
    inner = pieces(activation) * 16
    outer = 3 * (breaks + 1) if breaks else 2
    return inner * outer * points


def folded(features: Features, label: Label) -> tuple[Features, Label]:
    """Both on the half κ ≥ 0 (of the first direction), its weights doubled; as they are, if nodes are not symmetric.

    With an odd activation, no biases and labels that change sign with the input, all of Result 3 is even in κ: μ0,
    ∂μ0/∂c and E Y are odd, the other coefficients and moments even, and averages only ever have products of them that
    are even. Losses other than the square loss take 1.6 to 2.1 times longer without it.
    """
    kappa, n = features.kappa, features.kappa.shape[-1]
    if not np.abs(kappa + kappa[..., ::-1]).max() <= _MIRRORED:
        return features, label
    half = slice(n // 2, None)
    weights = 2.0 * features.weights[..., half]
    weights[..., : n % 2] *= 0.5  # the middle is its own image
    rest = {name: getattr(features, name)[..., half] for name in ("kappa", "mu0", "mu1", "mu2sq", "dmu0")}
    return features._replace(weights=weights, **rest), label.apply(lambda part: part[..., half])
