"""Result 2: given the projection κ on the spike, features are Gaussian with coefficients μ0, μ1, μ2(κ).

Both sides of the regression become functions of one variable, tabulated here on the nodes of a rule in κ:
the features through μ0, μ1, μ2², and the target through its moments given κ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..gaussian import UNRESOLVED, Moments, nested, points_needed, round_up, sample, tail_reach
from .labels import BinaryLaw
from .layer import Frame
from .rule import Rule, across_intervals
from .smoothed import tabulated

_INNER_TOLERANCE = 1e-11  # of the estimate, which is that of a rule with half the points or worse
_SHARP = 0.5  # width in κ below which a smoothed jump of the target is cut out rather than resolved
_LAYER = 6.0  # half-width, in standard deviations, of what is cut out
_BLOCK = 1 << 21  # function values in flight


class Features(NamedTuple):
    """Coefficients of U models × K groups on N nodes in κ: σ ≃ μ0 1 + μ1 Wx + μ2 ξ, and ∂μ0/∂c."""

    kappa: np.ndarray  # [U or 1, S, N]
    weights: np.ndarray  # [U or 1, N], Gaussian weights of the nodes
    mu0: np.ndarray  # [U, K, N]
    mu1: np.ndarray
    mu2sq: np.ndarray
    dmu0: np.ndarray


class Label(NamedTuple):
    """Moments of the labels Y given κ, over y (the rest of the target's directions) and the labels' own law.

    E Y [U, N], E[y_m Y] [U, k, N], E Y² [U, N]. Additive noise is not included: it only adds its variance to the
    last. `clean` are the moments of the noiseless target where those differ (binary labels with flips and the like).
    """

    t0: np.ndarray
    t1: np.ndarray
    t2: np.ndarray
    clean: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def coefficient_moments(moments: Moments, c: np.ndarray) -> tuple[np.ndarray, ...]:
    """(μ0, μ1, μ2², ∂μ0/∂c) from the Gaussian moments of σ(rκ + √c z)."""
    return moments.mean, moments.first / np.sqrt(c), moments.remainder, moments.second / (2.0 * c)


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
        frame: Frame,
        c: np.ndarray,
        biases: np.ndarray,
        points: int,
        farther: float = 1.0,
        law: BinaryLaw | None = None,
        layers: np.ndarray | None = None,
    ):
        b, gamma = frame.b, frame.gamma[:, 0]
        total = float(np.sqrt(c + (b**2).sum(axis=-1)).max())
        own = tail_reach(activation, round_up(total))
        reach = farther * max(own, tail_reach(target, 1.0))
        sharp = layers is not None or bool(is_sharp(target, gamma).any())
        cuts = None
        if sharp:
            cuts = label_layers(target.breakpoints, gamma)
            cuts = cuts if layers is None else np.concatenate([cuts, layers], axis=-1)
        across = across_intervals(b, c, points)
        self._rule = rule = Rule(points, reach, cuts, across, farther * own)
        self._c = c[:, :, None]
        if frame.spikes == 1:
            scale = np.sqrt(c)
            self._features = _Column(
                activation, b[..., 0], biases, scale, rule.first, reach, symmetric=not sharp
            )
        else:
            self._features = _Sheet(activation, b, biases, c, rule, own)
        self._law, self._gamma, self._rho = law, gamma, frame.rho[:, 0]
        if law is None:
            slope, scale = gamma[:, None], self._rho[:, None]
            self._label = _Column(target, slope, np.zeros(1), scale, rule.first, reach, symmetric=not sharp)

    def at(self, stride: int) -> tuple[Features, Label]:
        """Everything on the rule that uses every `stride`-th node (1, 2 or 4)."""
        kappa, weights = self._rule.at(stride)
        coefficients = coefficient_moments(self._features.moments(stride), self._c)
        label = self._label_at(self._rule.line(stride)[0], stride)
        times = self._rule.others(stride)
        if times > 1:
            label = _repeated(label, times)
        return Features(kappa, weights, *coefficients), label

    def _label_at(self, kappa: np.ndarray, stride: int) -> Label:
        law = self._law
        if law is None:
            label = self._label.moments(stride)
            return Label(label.mean[:, 0], label.first, label.square[:, 0])
        t0, t1, t2 = law.moments(self._gamma, kappa)
        clean = None
        if law != law.clean:
            c0, c1, c2 = law.clean.moments(self._gamma, kappa)
            clean = (c0, c1[:, None], c2)
        return Label(t0, t1[:, None], t2, clean)


def _repeated(label: Label, times: int) -> Label:
    """Moments along the first direction, the same for all nodes across it."""
    parts = [np.repeat(part, times, axis=-1) for part in label[:3]]
    clean = label.clean and tuple(np.repeat(part, times, axis=-1) for part in label.clean)
    return Label(*parts, clean)  # type: ignore[arg-type]


class _Sheet:
    """Moments of σ(b·κ + bias + √c z) on the nodes of a plane or a space."""

    def __init__(
        self, f: Function, b: np.ndarray, biases: np.ndarray, c: np.ndarray, rule: Rule, reach: float
    ):
        self._f, self._b, self._biases, self._c, self._rule, self._reach = f, b, biases, c, rule, reach

    def moments(self, stride: int) -> Moments:
        argument = self._b @ self._rule.at(stride)[0] + self._biases[:, None]  # [U, K, N]
        return _by_tables(self._f, argument, self._c, self._reach)


def _by_tables(f: Function, argument: np.ndarray, c: np.ndarray, reach: float) -> Moments:
    """Moments of f(argument + √c z) at very many arguments [U, K, N], with variances c [U, K]."""
    widest, span = float(np.sqrt(c.max())), float(np.abs(argument).max())
    nodes = points_needed(f, round_up(widest), reach, round_up(span), _INNER_TOLERANCE)

    def averages(shift: np.ndarray, c: np.ndarray) -> np.ndarray:
        pieces = max(1, shift.size * nodes // _BLOCK)
        parts = [
            sample(f, a, np.sqrt(v), nodes, reach).moments()
            for a, v in zip(np.array_split(shift, pieces), np.array_split(c, pieces), strict=True)
        ]
        return np.concatenate([np.stack(part) for part in parts], axis=-1)

    return Moments(*tabulated(averages, argument, c))


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
        span, widest = round_up(float(np.abs(argument).max())), round_up(float(scale.max()))
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
    activation: Function, b: np.ndarray, c: np.ndarray, biases: np.ndarray, kappa: np.ndarray
) -> Features:
    """Coefficients of U first layers with one spike b [U, K] at κ [U, N] of one's own; nodes of weight one."""
    reach = tail_reach(activation, round_up(float(np.sqrt(c + b**2).max())))
    argument = b[..., None] * kappa[:, None] + biases[:, None]
    coefficients = coefficient_moments(_by_tables(activation, argument, c, reach), c[:, :, None])
    return Features(kappa[:, None], np.ones_like(kappa), *coefficients)


def is_sharp(target: Function, gamma: np.ndarray) -> np.ndarray:
    """Where the target's jumps or kinks, smoothed over y, remain too steep in κ for a smooth rule."""
    if not target.breakpoints:
        return np.zeros(np.shape(gamma), bool)
    return np.sqrt(np.maximum(0.0, 1.0 - gamma**2)) < _SHARP * np.abs(gamma)


def doublings(lengths: np.ndarray, c: np.ndarray) -> np.ndarray:
    """How often a usual number of κ intervals is doubled, [U]: features vary on the scale √c/(spike's length)."""
    steepness = (lengths / np.sqrt(c)).max(axis=1)
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
