"""Result 1: what one giant step makes of a first layer. From spikes and row norms before it to those after.

The step moves row i of group s by k_s/n Σ_μ e_μ σ'(W_i·x_μ) x_μ, k_s = η̃ℓ_s/β, e the residual of a sample. With σ'
split as in `slopes`, the part s0 that all rows of the group share moves the spike, S' = S + k v_{e s0}; the rest
changes the bulk rows. A fresh batch is free from how those are shaped, so the map is closed and exact:

    Γ' = Γ + k E[e s0 zᵀ],   Σ' = (components on known directions)² + (1/α) k E[e² s0 s0ᵀ] k,
    c' = c (m̄² + ν) + (k²/α) E[e² s2²],   m̄ = 1 + k E[e s1],   ν = (k²/α) E[e² s1²].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..functions import crossings
from ..gaussian import STRIDES, extrapolated_error, quarterable, tail_reach
from .labels import ConditionalLabels, Labels, is_sharp, label_layers, labels_of, pairs
from .law import Batch, joined, residuals, stacked
from .layer import FirstLayer, Frame
from .modes import Modes
from .rule import Rule, across_intervals
from .slopes import MeanSlopes, Slopes, at_rest, check_moment, shifted, shifted_error, shifted_means
from .upto import upto

if TYPE_CHECKING:
    from ..functions import Function
    from ..letters import Letters
    from ..losses import Loss
    from ..model import Target

_COARSEST, _FINEST = (
    256,
    8192,
)  # nodes over a batch before the first step: where refinement starts, and gives up
_SPIKED = (48, 384)  # and intervals along each variable after it
_TOLERANCE, _SPIKED_TOLERANCE = 1e-13, 1e-11
_UNFELT = 1e-17  # weight of a node, times its largest power, under which averages do without it
_NUDGE = 1e-4  # of the output, to see how residuals change with it


class Sight(NamedTuple):
    """A batch as a step sees it, on three nested rules, finest first: its law, and the averages of σ and σ' at its
    nodes, [U or 1, K, n or 1].

    `bend` [U or 1] is the mean curvature of the loss, by which residuals follow the output.
    """

    batch: Batch
    slopes: Slopes | MeanSlopes
    bend: np.ndarray


@dataclass(frozen=True)
class Neurons:
    """What stays the same through all steps: activation and letters; and rows that start with squared norm 1."""

    activation: Function
    letters: Letters
    spread: float = 0.0  # d·Var |w|² of the initial rows
    bias_spread: float = 0.0  # d·Var b of biases of order d^-½, besides those of the letters

    @property
    def values(self) -> np.ndarray:
        return np.asarray(self.letters.values)

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.letters.weights)

    @property
    def biases(self) -> np.ndarray:
        return np.asarray(self.letters.biases or (0.0,) * len(self.letters.values))

    def output(self, slopes: Slopes | MeanSlopes) -> np.ndarray:
        """The network's own output at each node, Σ_s n_s ℓ_s E σ, [U or 1, n]."""
        return np.einsum("s,...sn->...n", self.weights * self.values, slopes.mean)

    def modes(self, frame: Frame) -> Modes:
        """Those of trained rows: every neuron has a norm, and maybe a bias, of its own."""
        return Modes(frame.spikes, frame.gamma.shape[1], norms=1, biases=int(self.bias_spread > 0.0))

    def drawn(self, settings: int, directions: int = 1) -> FirstLayer:
        """U first layers before any step: no spikes."""
        K = len(self.values)
        blank = np.zeros((settings, K, K))
        return FirstLayer(
            np.ones((settings, K)),
            blank,
            np.zeros((settings, K, directions)),
            np.zeros((settings, K)),
        )


class Step(NamedTuple):
    """One step of U settings: k = η̃/β (0 where none is taken), 1/α, the labels' noise, all [U]; and its loss."""

    rate: np.ndarray
    share: np.ndarray
    noise: np.ndarray
    loss: Loss

    def at(self, chunk: np.ndarray) -> Step:
        return Step(self.rate[chunk], self.share[chunk], self.noise[chunk], self.loss)


def make_step(eta: np.ndarray, alpha0: np.ndarray, beta: np.ndarray, noise: np.ndarray, loss: Loss) -> Step:
    """Of a network's parameters; η̃ = 0 or α0 = 0 is no step, α0 = ∞ one on the population gradient."""
    taken = (np.real(eta) > 0) & (np.real(alpha0) > 0)
    share = np.where(taken, 1.0 / np.where(taken, alpha0, 1.0), 0.0)
    return Step(np.where(taken, eta / beta, 0.0), share, noise, loss)


def stepped(neurons: Neurons, target: Target, layer: FirstLayer, step: Step) -> tuple[FirstLayer, np.ndarray]:
    """The first layers after a step, and the error [U] of the integrals that this took, over their own size.

    All of them either have no spikes yet or as many directions of spikes.
    """
    if np.any(step.rate):
        check_moment(
            neurons.activation,
            2,
            "a gradient step makes rows of infinite norm",
            "use an activation that is smoother there (a power above 1/2), or SpikedRF, which needs no derivative",
        )
    resting = not np.any(layer.gram)
    points, last = (_COARSEST, _FINEST) if resting else _SPIKED
    # noise in the labels only adds its variance to e², unless another loss bends it
    exact_noise = step.loss.linear and not labels_of(target).binary
    noise = 0.0 * step.noise if exact_noise else step.noise
    extra = step.noise**2 if exact_noise else 0.0 * step.noise
    found, error = layer, np.full(len(step.rate), np.inf)
    left = np.arange(len(error))
    while len(left):
        whole = len(left) == len(error)
        one, move = (layer, step) if whole else (layer.at(left), step.at(left))
        seen, off = sights(neurons, target, one, noise[left], step.loss, points, means=True)
        rules = _moved(neurons, one, move, extra[left], seen)
        found = rules[0] if whole else found.replaced(left, rules[0])
        error[left] = np.maximum(_distance(*rules), off)
        points *= 2
        left = (
            left[error[left] > (_TOLERANCE if resting else _SPIKED_TOLERANCE)] if points <= last else left[:0]
        )
    return found, error


def _moved(
    neurons: Neurons, layer: FirstLayer, step: Step, extra: np.ndarray, sight: Sight
) -> list[FirstLayer]:
    """The first layer after a step, on each of the rules over its batch."""
    batch, slopes = sight.batch, sight.slopes
    e, E = batch.e[:, None], batch.mean
    rates = step.rate[:, None] * neurons.values
    k, share = rates[..., None], step.share[:, None, None]
    s0, s1, n2 = (
        part + 0.0 * e for part in (slopes.s0, slopes.s1, slopes.n2)
    )  # on every node, [U or 1, K, n]

    noisy, square = bool(extra.any()), e**2

    def squared(f: np.ndarray) -> np.ndarray:
        """E[e² f], the noise of the labels included, [U, K, rules]."""
        found = E(square * f)
        return found + extra[:, None, None] * E(f) if noisy else found

    scale = 1.0 + k * E(e * s1)
    c = layer.c[..., None] * (scale**2 + k**2 * share * squared(s1 * s1)) + k**2 * share * squared(n2)
    pulled = k[..., None] * batch.along(e * s0)  # [U, K, directions, rules]
    K = s0.shape[1]
    pairs = squared((s0[:, :, None] * s0[:, None]).reshape(len(s0), K * K, -1))
    noise = (k * share)[:, :, None] * pairs.reshape(len(pairs), K, K, -1) * k[:, None, :]
    facing = np.where(layer.facing == 0.0, np.sign(np.real(rates) * slopes.s0[..., 0]), layer.facing)
    return [
        FirstLayer(c[..., i], *_spikes(layer, pulled[..., i], noise[..., i]), facing)
        for i in range(c.shape[-1])
    ]


def _spikes(layer: FirstLayer, pulled: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ and Γ of spikes that were pulled along the directions known to the batch [U, K, directions], and otherwise at
    random, with covariance `noise` [U, K, K]."""
    if not np.any(layer.gram):  # the directions known to the batch are the target's own
        return pulled @ np.swapaxes(pulled, -1, -2) + noise, pulled
    frame = layer.frame()
    S = frame.spikes
    along, across = frame.b + pulled[..., :S], pulled[..., S:]
    gram = along @ np.swapaxes(along, -1, -2) + across @ np.swapaxes(across, -1, -2) + noise
    on_target = across * frame.rho[:, None, :]
    met = min(S, on_target.shape[-1])
    on_target[..., :met] += along[..., :met] * frame.gamma[:, None, :met]
    return gram, on_target @ np.swapaxes(frame.turn, -1, -2)


def _distance(fine: FirstLayer, middle: FirstLayer, coarse: FirstLayer) -> np.ndarray:
    """Error [U] of the finest of three rules, relative to the scale of each quantity."""
    changes: list[np.ndarray] = []
    for name in ("c", "gram", "on_target"):
        values = [getattr(layer, name).reshape(len(fine.c), -1) for layer in (fine, middle, coarse)]
        size = np.abs(values[0]).max(axis=-1, keepdims=True) + 1e-3
        changes.append(np.array([np.abs(a - b) / size for a, b in pairwise(values)]))
    return extrapolated_error(*np.concatenate(changes, axis=-1)).max(axis=-1)


# what a batch looks like


def sights(
    neurons: Neurons,
    target: Target,
    layer: FirstLayer,
    noise: np.ndarray,
    loss: Loss,
    points: int,
    means: bool = False,
) -> tuple[Sight, float]:
    """The batch of a step on three nested rules, finest first, and the error of the averages at its nodes.

    `means`: the averages that spikes and row norms need will do.
    """
    if not np.any(layer.gram):
        return _before(neurons, target, noise, loss, points)
    return _after(neurons, target, layer, noise, loss, points, shifted_means if means else shifted)


def _before(
    neurons: Neurons, target: Target, noise: np.ndarray, loss: Loss, points: int
) -> tuple[Sight, float]:
    """No spikes yet: e is a function of the label alone, and σ' has the same averages at every sample."""
    slopes, errors = at_rest(neurons.activation, neurons.biases)
    slopes = Slopes(*(part[None] for part in slopes))
    output = float(neurons.output(slopes)[0, 0])
    levels = np.unique(noise)
    drawn = labels_of(target)
    bends = tuple(output + bend for bend in loss.bends)
    labels = {float(x): _first_labels(drawn, float(x), points, bends) for x in levels}
    own = [float(x) for x in (noise if len(levels) > 1 else levels)]
    laws = {x: residuals(law, loss, output) for x, law in labels.items()}
    curved = {x: _bend(loss, law.e, output, law)[0] for x, law in labels.items()}
    batch = laws[own[0]] if len(levels) == 1 else stacked([laws[x] for x in own])
    return Sight(batch, slopes, np.array([curved[x] for x in own])), errors.means


@lru_cache(maxsize=64)
def _first_labels(drawn: Labels, noise: float, points: int, bends: tuple[float, ...]) -> Batch:
    """Labels before the first step, on three nested rules: they do not depend on the step that follows."""
    return joined([Batch(*rule) for rule in drawn.first_batch(noise, points, bends)])


def _after(
    neurons: Neurons,
    target: Target,
    layer: FirstLayer,
    noise: np.ndarray,
    loss: Loss,
    points: int,
    averages: Callable[..., Slopes | MeanSlopes],
) -> tuple[Sight, float]:
    frame = layer.frame()
    gamma, labels = frame.gamma[:, 0], labels_of(target)
    breaks = labels.breakpoints(frame)
    total = float(np.sqrt(layer.c + (frame.b**2).sum(axis=-1)).max())
    own = tail_reach(neurons.activation, total)
    cuts = [label_layers(breaks, gamma)] if is_sharp(breaks, gamma).any() else []
    turns = np.empty((len(gamma), 0))
    if loss.bends and frame.spikes == 1 and not noise.any() and labels.turning_values.size:
        turns = _turns(neurons, layer, frame, loss, labels.turning_values, own)
        cuts += [turns] if turns.size else []
    least = float(labels.least_intervals(frame).max()) * (2.0 if cuts else 1.0)
    points = max(points, 2 * quarterable(least))
    rule = Rule(
        points // 2,
        max(own, labels.reach),
        np.concatenate(cuts, axis=1) if cuts else None,
        across_intervals(frame.b, layer.c, points // 2),
        own,
        soft=bool(turns.size),
    )
    shift = frame.b @ rule.at(1)[0] + neurons.biases[:, None]
    slopes = averages(neurons.activation, shift, layer.c)
    levels = neurons.output(slopes)[..., None] + np.asarray(loss.bends) if loss.bends else None
    given = labels.batch(frame, rule, noise, points, levels)
    error = shifted_error(neurons.activation, shift, layer.c)
    nodes = upto(shift.shape[-1])[None]
    inside = [slopes.at(rule.nested(nodes, stride)[0]) for stride in STRIDES]
    rules = [_sight(neurons, rule, given, loss, own, s) for own, s in zip(inside, STRIDES, strict=True)]
    batches, slopes, bends = zip(*rules, strict=True)
    columns = (np.concatenate(column, axis=-1) for column in zip(*slopes, strict=True))
    return Sight(joined(batches), type(slopes[0])(*columns), bends[0]), error


def _turns(
    neurons: Neurons, layer: FirstLayer, frame: Frame, loss: Loss, turning: np.ndarray, reach: float
) -> np.ndarray:
    """κ [U, cuts] at which a bend of the loss, f(κ) + bend, passes a label at which labels turn: averages given κ have
    a root there."""
    values = np.unique(np.subtract.outer(turning, loss.bends))
    found: list[np.ndarray] = []
    for u, c in enumerate(layer.c):

        def output(kappa: np.ndarray, u: int = u, c: np.ndarray = c) -> np.ndarray:
            shift = frame.b[u : u + 1, :, 0, None] * kappa + neurons.biases[:, None]
            return neurons.output(shifted_means(neurons.activation, shift, c[None]))[0]

        found.append(crossings(output, values, reach).reshape(-1))
    most = max(len(cuts) for cuts in found)
    return np.stack([np.pad(cuts, (0, most - len(cuts)), constant_values=np.inf) for cuts in found])


def _sight(
    neurons: Neurons,
    rule: Rule,
    labels: ConditionalLabels,
    loss: Loss,
    slopes: Slopes | MeanSlopes,
    stride: int,
) -> Sight:
    kappa, weights = rule.at(stride)
    y, own = labels.at(stride)
    U, N, J = y.shape
    output = np.repeat(neurons.output(slopes), J, axis=-1)
    y = y.reshape(U, -1)
    rows = _rows(kappa, weights, own, U)
    felt = (np.abs(rows).max(axis=1) * (1.0 + y**4)).max(axis=0) > _UNFELT
    y, output = y[:, felt], output[:, felt]
    batch = Batch(-np.asarray(loss.derivative(y, output)), rows[..., felt])
    return Sight(batch, slopes.at(np.repeat(upto(N), J)[felt]), _bend(loss, y, output, batch))


def _bend(loss: Loss, y: np.ndarray, output: np.ndarray | float, batch: Batch) -> np.ndarray:
    """Mean of ∂²ℓ at labels y and the output, [U], on the finest rule: how residuals follow it."""
    if loss.linear:
        return np.ones(len(y))
    low, high = (np.asarray(loss.derivative(y, output + side + 0.0 * y)) for side in (-_NUDGE, _NUDGE))
    return batch.mean(high - low)[..., 0] / (2.0 * _NUDGE)


def _rows(kappa: np.ndarray, weights: np.ndarray, own: np.ndarray, U: int) -> np.ndarray:
    """Weights for 1, (κ, y) and their pairs: [U, rows, N·J], from `own` [U, N, rows, J] for 1, y and pairs of those."""
    S, k = kappa.shape[1], (isqrt(1 + 8 * own.shape[2]) - 3) // 2
    along = np.broadcast_to(kappa, (U, *kappa.shape[1:]))[..., None]  # [U, S, N, 1]
    plain, *rest = np.moveaxis(weights[..., None, None] * own, 2, 0)
    first, second = rest[:k], iter(rest[k:])
    rows = [plain, *(along[:, j] * plain for j in range(S)), *first]
    for i, j in pairs(S + k):
        if j < S:
            rows.append(along[:, i] * along[:, j] * plain)
        else:
            rows.append(along[:, i] * first[j - S] if i < S else next(second))
    return np.stack(rows, axis=1).reshape(U, len(rows), -1)
