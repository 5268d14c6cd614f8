"""Result 1: what one giant step makes of a first layer. From spikes and row norms before it to those after.

The step moves row i of group s by k_s/n Σ_μ e_μ σ'(W_i·x_μ) x_μ, k_s = η̃ℓ_s/β, e the residual of a sample. With σ'
split as in `derivative_moments`, the part s0 that all rows of the group share moves the spike, S' = S + k v_{e s0}; the
rest changes the bulk rows. A fresh batch is independent of how those are shaped, so the map is closed and exact:

    P' = P + kω (A P + B),   Q' = Q + kω A Q,   and on the noise of the batch Q' = kω ((1/α) E[e² s0 s0ᵀ])^½,
    c̄' = c̄ ϖ² + (k²/α) (c E[e² s1²] + E[e² s2²]) ω,   ϖ = 1 + k E[e s1] ω,

as functions over the spectrum ω of the inputs (`Profile`). E[e s0 xᵀ] is the pull along the directions x that the batch
knows, which A and B write in terms of the spikes and of the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..gaussian import extrapolated_error
from .batch import BatchLaw, batch_law
from .derivative_moments import check_slope_is_bounded
from .input_spectrum import Profile
from .labels import labels_of
from .layer import FirstLayer, Neurons
from .rule import refine
from .symmetric import indices

if TYPE_CHECKING:
    from ..losses import Loss
    from ..model.target import Target

_RULES = (256, 8192)  # nodes over a batch before the first step: where refinement starts, and gives up
_SPIKED_RULES = (48, 384)  # and intervals along each variable after it
_TOLERANCE, _SPIKED_TOLERANCE = 1e-13, 1e-11
POPULATION = 1e-18
"""1/α0 of a batch that is as good as all inputs."""


class Step(NamedTuple):
    """One step of U settings: k = η̃/β (0 where none is taken), 1/α, the labels' noise, all [U]; and its loss."""

    rate: np.ndarray
    share: np.ndarray
    noise: np.ndarray
    loss: Loss

    def at(self, chunk: np.ndarray) -> Step:
        return Step(self.rate[chunk], self.share[chunk], self.noise[chunk], self.loss)


def make_step(eta: np.ndarray, alpha0: np.ndarray, beta: np.ndarray, noise: np.ndarray, loss: Loss) -> Step:
    """Of a network's parameters; η̃ = 0 or α0 = 0 is no step, α0 = ∞ one on the population gradient.

    That is a batch so enormous that its noise is lost in rounding, unless the target shows the step no direction: its
    spike then is as random as any, and not made of rounding errors.
    """
    taken = (eta > 0) & (alpha0 > 0)
    share = np.where(taken, np.maximum(1.0 / np.where(taken, alpha0, 1.0), POPULATION), 0.0)
    return Step(np.where(taken, eta / beta, 0.0), share, noise, loss)


def take_step(neurons: Neurons, target: Target, layer: FirstLayer, step: Step) -> tuple[FirstLayer, np.ndarray]:
    """The first layers after a step, and the error [U] of the integrals that this took, over their own size.

    All of them either have no spikes yet or as many directions of spikes.
    """
    if np.any(step.rate):
        check_slope_is_bounded(neurons.activation)
    before = not np.any(layer.gram)
    (points, last), tolerance = (_RULES, _TOLERANCE) if before else (_SPIKED_RULES, _SPIKED_TOLERANCE)
    # noise in the labels only adds its variance to e², unless another loss bends it
    exact_noise = step.loss.linear and not labels_of(target).binary
    noise = 0.0 * step.noise if exact_noise else step.noise
    extra = step.noise**2 if exact_noise else 0.0 * step.noise
    after = layer

    def compute(left: np.ndarray, points: int) -> np.ndarray:
        nonlocal after
        laws, error = batch_law(neurons, target, layer.at(left), noise[left], step.loss, points)
        averages = (_averages(law, layer.c[left], extra[left]) for law in laws)
        on_all_rules = np.tile(left, len(laws))  # one after the other, as first layers of their own
        rules = _after(
            neurons, layer.at(on_all_rules), step.at(on_all_rules), *map(np.concatenate, zip(*averages, strict=True))
        )
        after = after.replaced(left, rules.at(indices(len(left))))
        return np.maximum(_distance(rules, len(laws)), error)

    error = refine(compute, len(step.rate), points, last, tolerance)
    return after, error


def _averages(law: BatchLaw, c: np.ndarray, extra: np.ndarray) -> tuple[np.ndarray, ...]:
    """s0 at some sample, E[e s1], E[e² (c s1² + s2²)], E[x e s0] and E[e² s0 s0ᵀ] over a batch; `extra` [U] is
    noise that e leaves out."""
    e, E, (s0, s1, n2) = law.e[:, None] + 0.0 * extra[:, None, None], law.mean, law.moments[1:4]
    e2, slope = e**2 + extra[:, None, None], np.broadcast_to(s0[..., 0], c.shape)
    stretch, force = E(e2 * (c[..., None] * s1**2 + n2)), E(e2[:, :, None] * s0[:, :, None] * s0[:, None])
    return slope, E(e * s1), stretch, law.along(e * s0), force


def _after(
    neurons: Neurons,
    layer: FirstLayer,
    step: Step,
    slope: np.ndarray,
    turn: np.ndarray,
    stretch: np.ndarray,
    pull: np.ndarray,
    force: np.ndarray,
) -> FirstLayer:
    """First layers after a step, from averages over its batch."""
    assert layer.profile is not None
    before, spectrum = layer.profile, layer.profile.spectrum
    k, share, omega = step.rate[:, None] * neurons.values, step.share[:, None], spectrum.omega[:, None]
    turned = 1.0 + (k * turn)[..., None] * omega  # ϖ
    c = before.c * turned**2 + (k**2 * share * stretch)[..., None] * omega
    to_target, to_spikes = layer.known_directions()
    pulled = k[..., None] * pull  # [U, K, directions]
    A, B = pulled @ to_spikes, pulled @ to_target
    noise = _root(force) * (k * np.sqrt(share))[..., None]
    P, Q = (part + omega[:, None] * np.einsum("ust,utmj->usmj", A, part) for part in (before.P, before.Q))
    P = P + omega[:, None] * B[..., None]
    Q = np.concatenate([Q, omega[:, None] * noise[..., None]], axis=2)
    facing = np.where(layer.facing == 0.0, np.sign(k * slope), layer.facing)
    return FirstLayer.over(Profile(spectrum, P, Q, c), facing)


def _root(covariance: np.ndarray) -> np.ndarray:
    """A matrix [U, K, K] whose columns are independent noises of that covariance."""
    if covariance.shape[-1] == 1:
        return np.sqrt(covariance)
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None]


def _distance(layers: FirstLayer, rules: int) -> np.ndarray:
    """Error [U] of the first of three rules, relative to the scale of each quantity."""
    changes: list[np.ndarray] = []
    for part in (layers.c, layers.gram, layers.on_target):
        values = part.reshape(rules, len(part) // rules, -1)
        size = np.abs(values[0]).max(axis=-1, keepdims=True) + 1e-3
        changes.append(np.abs(np.diff(values, axis=0)) / size)
    return extrapolated_error(*np.concatenate(changes, axis=-1)).max(axis=-1)
