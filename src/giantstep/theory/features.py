"""Result 2: given the projection κ on the spike, features are Gaussian with coefficients μ0, μ1, μ2(κ).

Both sides of the regression become functions of one variable, tabulated here on the nodes of a rule in κ:
the features through μ0, μ1, μ2², and the target through its moments given κ.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from ..functions import Function
from ..gaussian import (
    STRIDES,
    UNRESOLVED,
    Moments,
    line_rule,
    nested,
    piecewise_rule,
    points_needed,
    sample,
    tail_reach,
)
from .labels import BinaryLaw

_INNER_TOLERANCE = 1e-11  # of the estimate, which is that of a rule with half the points or worse
_SHARP = 0.5  # width in κ below which a smoothed jump of the target is cut out rather than resolved
_LAYER = 6.0  # half-width, in standard deviations, of what is cut out


class Features(NamedTuple):
    """Coefficients of U models × K groups on N nodes in κ: σ ≃ μ0 1 + μ1 Wx + μ2 ξ, and ∂μ0/∂c."""

    kappa: np.ndarray  # [U or 1, N]
    weights: np.ndarray  # [U or 1, N], Gaussian weights of the nodes
    mu0: np.ndarray  # [U, K, N]
    mu1: np.ndarray
    mu2sq: np.ndarray
    dmu0: np.ndarray
    kappa2: np.ndarray | None = None  # projection on a second spike, where there is one


class Label(NamedTuple):
    """Moments of the labels Y given κ, over y = θ⊥·x and the labels' own law: E Y, E[yY], E Y²; all [U, N].

    Additive noise is not included: it only adds its variance to the last. `clean` are the moments of the
    noiseless target where those differ (binary labels with flips and the like).
    """

    t0: np.ndarray
    t1: np.ndarray
    t2: np.ndarray
    clean: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def coefficient_moments(moments: Moments, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """(μ0, μ1, μ2², ∂μ0/∂c) from the Gaussian moments of σ(rκ + √c z)."""
    return moments.mean, moments.first / np.sqrt(c), moments.remainder, moments.second / (2.0 * c)


class Tabulated(Protocol):
    """Features and label on three nested rules in κ."""

    def at(self, stride: int) -> tuple[Features, Label]:
        """Everything on the rule that uses every `stride`-th node (1, 2 or 4)."""
        ...


class Table:
    """Features and label on three nested rules in κ, from one set of function evaluations.

    `points` is the number of κ intervals (per piece, where the target's jumps are cut out), and `farther` stretches
    the range of κ, and those of z and y with it: what is left of a saturated feature comes from rare z. Refining the
    rule in κ is the solver's business, since only its answer tells what is needed; the inner averages over z and y
    are resolved here, to `_INNER_TOLERANCE`. Binary labels have a `law`, of which `target` is the clean version;
    their moments are closed forms. `layers` [U, ...] are more places at which to cut the rule in κ.
    """

    def __init__(
        self,
        activation: Function,
        target: Function,
        r: np.ndarray,
        c: np.ndarray,
        biases: np.ndarray,
        gamma: np.ndarray,
        points: int,
        farther: float = 1.0,
        law: BinaryLaw | None = None,
        layers: np.ndarray | None = None,
    ):
        total = float(np.sqrt(c + r**2).max())
        reach = farther * max(tail_reach(activation, _round_up(total)), tail_reach(target, 1.0))
        rho = np.sqrt(np.maximum(0.0, 1.0 - gamma**2))
        sharp = layers is not None or bool(is_sharp(target, gamma).any())
        if sharp:
            cuts = label_layers(target.breakpoints, gamma)
            cuts = cuts if layers is None else np.concatenate([cuts, layers], axis=-1)
            self._kappa, self._weights = piecewise_rule(cuts, points, reach)
        else:
            line, weights = line_rule(2 * points, reach)
            self._kappa, self._weights = line[None, None], tuple(w[None, None] for w in weights)
        self._c = c[:, :, None]
        self._features = _Column(activation, r, biases, np.sqrt(c), self._kappa, reach, symmetric=not sharp)
        self._law, self._gamma = law, gamma
        if law is None:
            self._label = _Column(
                target, gamma[:, None], np.zeros(1), rho[:, None], self._kappa, reach, symmetric=not sharp
            )

    def at(self, stride: int) -> tuple[Features, Label]:
        """Everything on the rule that uses every `stride`-th node (1, 2 or 4)."""
        kappa = self._kappa[..., nested(stride)]
        flat = (*kappa.shape[:1], -1)
        weights = self._weights[STRIDES.index(stride)]
        coefficients = coefficient_moments(self._features.moments(stride), self._c)
        features = Features(kappa.reshape(flat), weights.reshape(flat), *coefficients)
        return features, self._label_at(features.kappa, stride)

    def _label_at(self, kappa: np.ndarray, stride: int) -> Label:
        law = self._law
        if law is None:
            label = self._label.moments(stride)
            return Label(label.mean[:, 0], label.first[:, 0], label.square[:, 0])
        clean = None if law == law.clean else law.clean.moments(self._gamma, kappa)
        return Label(*law.moments(self._gamma, kappa), clean)


class _Column:
    """Moments of f(slope·κ + shift + scale·z) along κ; for an f with parity only κ ≥ 0 is evaluated.

    Averages over z that are resolved serve all three rules in κ. Those that are not (an undeclared kink) are
    coarsened together with κ, so that their errors show in the differences between the rules.
    """

    def __init__(
        self,
        f: Function,
        slope: np.ndarray,
        shift: np.ndarray,
        scale: np.ndarray,
        kappa: np.ndarray,
        reach: float,
        symmetric: bool,
    ):
        self._parity = f.parity if symmetric and not shift.any() else None
        if self._parity:
            kappa = kappa[..., kappa.shape[-1] // 2 :]
        argument = slope[:, :, None, None] * kappa[:, None] + shift[:, None, None]
        span, widest = _round_up(float(np.abs(argument).max())), _round_up(float(scale.max()))
        n = points_needed(f, widest, reach, span, _INNER_TOLERANCE)
        self._samples = sample(f, argument, scale[:, :, None, None], n, reach)
        self._resolved = self._samples.moments() if n < UNRESOLVED else None

    def moments(self, stride: int) -> Moments:
        """The moments [U, K, N] on the rule with every `stride`-th node."""
        take = slice(None, None, stride) if self._parity else nested(stride)
        if self._resolved is None:
            found = self._samples.moments(stride, (slice(None), slice(None), slice(None), take))
        else:
            found = Moments(*(m[..., take] for m in self._resolved))
        if self._parity:
            sign = 1.0 if self._parity == "even" else -1.0
            found = Moments(
                *(
                    np.concatenate([flip * half[..., :0:-1], half], axis=-1)
                    for half, flip in zip(found, (sign, -sign, sign, 1.0, 1.0), strict=True)
                )
            )
        return Moments(*(m.reshape(*m.shape[:2], -1) for m in found))


def features_at(
    activation: Function,
    r: np.ndarray,
    c: np.ndarray,
    biases: np.ndarray,
    kappa: np.ndarray,
    weights: np.ndarray,
) -> Features:
    """Coefficients of U first layers at κ [U, N] of one's own, with their weights."""
    reach = tail_reach(activation, _round_up(float(np.sqrt(c + r**2).max())))
    column = _Column(activation, r, biases, np.sqrt(c), kappa[:, None], reach, symmetric=False)
    coefficients = coefficient_moments(column.moments(1), c[:, :, None])
    return Features(kappa, weights, *coefficients)


def is_sharp(target: Function, gamma: np.ndarray) -> np.ndarray:
    """Where the target's jumps or kinks, smoothed over y, remain too steep in κ for a smooth rule."""
    if not target.breakpoints:
        return np.zeros(np.shape(gamma), bool)
    return np.sqrt(np.maximum(0.0, 1.0 - gamma**2)) < _SHARP * np.abs(gamma)


def doublings(r: np.ndarray, c: np.ndarray) -> np.ndarray:
    """How often a usual number of κ intervals is doubled, [U]: features vary on the scale √c/r."""
    steepness = (np.abs(r) / np.sqrt(c)).max(axis=1)
    return np.minimum(np.ceil(np.log2(np.maximum(steepness / 2.0, 1.0))), 4).astype(int)


def evaluations_per_model(activation: Function, target: Function, points: int) -> int:
    """Function values that one model needs per group, to size blocks of work."""
    inner = (len(activation.breakpoints) + 3 if activation.breakpoints else 1) * 64
    outer = (3 * len(target.breakpoints) + 3) if target.breakpoints else 2
    return inner * outer * points


def label_layers(breakpoints: tuple[float, ...], gamma: np.ndarray) -> np.ndarray:
    """Where γκ + ρy crosses a breakpoint for typical y: the layer's centre and its two rims, [U, cuts]."""
    layer = np.array([-_LAYER, 0.0, _LAYER])
    rho = np.sqrt(np.maximum(0.0, 1.0 - gamma**2))
    slope = np.where(gamma == 0.0, 1.0, gamma)[:, None, None]
    cuts = (np.asarray(breakpoints)[:, None] + layer * rho[:, None, None]) / slope
    return cuts.reshape(len(gamma), -1)


def _round_up(value: float) -> float:
    """The next quarter power of two, so that caches keyed on a scale are hit."""
    return 0.0 if value == 0.0 else 2.0 ** (math.ceil(4.0 * math.log2(value)) / 4.0)
