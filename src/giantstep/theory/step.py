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
from .derivative_moments import check_moment
from .input_spectrum import Profile
from .labels import labels_of
from .layer import FirstLayer, Neurons
from .rule import refine

if TYPE_CHECKING:
    from ..losses import Loss
    from ..model.target import Target

_RULES = (256, 8192)  # nodes over a batch before the first step: where refinement starts, and gives up
_SPIKED_RULES = (48, 384)  # and intervals along each variable after it
_TOLERANCE, _SPIKED_TOLERANCE = 1e-13, 1e-11


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
    taken = (eta > 0) & (alpha0 > 0)
    share = np.where(taken, 1.0 / np.where(taken, alpha0, 1.0), 0.0)
    return Step(np.where(taken, eta / beta, 0.0), share, noise, loss)


def take_step(
    neurons: Neurons, target: Target, layer: FirstLayer, step: Step
) -> tuple[FirstLayer, np.ndarray]:
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
    before = not np.any(layer.gram)
    (points, last), tolerance = (_RULES, _TOLERANCE) if before else (_SPIKED_RULES, _SPIKED_TOLERANCE)
    # noise in the labels only adds its variance to e², unless another loss bends it
    exact_noise = step.loss.linear and not labels_of(target).binary
    noise = 0.0 * step.noise if exact_noise else step.noise
    extra = step.noise**2 if exact_noise else 0.0 * step.noise
    after = layer

    def compute(left: np.ndarray, points: int) -> np.ndarray:
        nonlocal after
        before, move = layer.at(left), step.at(left)
        laws, error = batch_law(neurons, target, before, noise[left], step.loss, points)
        # the three rules as three times the first layers
        count = len(left)
        on_rules = [_pull(before, extra[left], law) for law in laws]
        pull = Pull(
            *(
                np.concatenate([np.broadcast_to(one, (count, *one.shape[1:])) for one in part])
                for part in zip(*on_rules, strict=True)
            )
        )
        thrice = np.tile(np.arange(count), 3)
        rules = _after(neurons, before.at(thrice), move.at(thrice), pull)
        after = after.replaced(left, rules.at(np.arange(count)))
        return np.maximum(_distance(rules), error)

    error = refine(compute, len(step.rate), points, last, tolerance)
    return after, error


class Pull(NamedTuple):
    """Averages over a batch of what its samples do to the rows of each group; U or 1 of them."""

    s0: np.ndarray  # E σ' before the step, or at the first node: its sign is that of the spike, [U, K]
    turn: np.ndarray  # E[e s1], [U, K]
    spread: np.ndarray  # c E[e² s1²] + E[e² s2²], [U, K]
    shared: np.ndarray  # E[e² s0 s0ᵀ], [U, K, K]
    along: np.ndarray  # E[e s0 x] on the directions x that the batch knows, [U, K, directions]


def _pull(layer: FirstLayer, extra: np.ndarray, law: BatchLaw) -> Pull:
    """On one rule over the batch; `extra` [U] is noise that e leaves out."""
    e, E = law.e[:, None], law.mean
    s0, s1, n2 = (part + 0.0 * e for part in (law.moments.s0, law.moments.s1, law.moments.n2))  # [U, K, n]
    e2 = e**2 + extra[:, None, None]
    spread = E(e2 * (layer.c[..., None] * s1**2 + n2))
    return Pull(s0[..., 0], E(e * s1), spread, E((e2 * s0)[:, :, None] * s0[:, None]), law.along(e * s0))


def _after(neurons: Neurons, layer: FirstLayer, step: Step, pull: Pull) -> FirstLayer:
    """The first layer after a step."""
    assert layer.profile is not None
    before, omega = layer.profile, layer.profile.spectrum.omega[:, None]
    k, share = step.rate[:, None] * neurons.values, step.share[:, None]

    turned = 1.0 + (k * pull.turn)[..., None] * omega  # ϖ
    c = before.c * turned**2 + (k**2 * share * pull.spread)[..., None] * omega
    to_target, to_spikes = layer.known_directions()
    pulled = k[..., None] * pull.along
    A, B = pulled @ to_spikes, pulled @ to_target
    noise = _root(pull.shared) * (k * np.sqrt(share))[..., None]
    P, Q = (part + omega[:, None] * np.einsum("ust,utmj->usmj", A, part) for part in (before.P, before.Q))
    P = P + omega[:, None] * B[..., None]
    Q = np.concatenate([Q, omega[:, None] * noise[..., None]], axis=2)
    facing = np.where(layer.facing == 0.0, np.sign(k * pull.s0), layer.facing)
    return FirstLayer.over(Profile(before.spectrum, P, Q, c), facing)


def _root(covariance: np.ndarray) -> np.ndarray:
    """A matrix [U, K, K] whose columns are independent noises of that covariance."""
    if covariance.shape[-1] == 1:
        return np.sqrt(covariance)
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None]


def _distance(rules: FirstLayer) -> np.ndarray:
    """Error [U] of the finest of three rules [3·U], relative to the scale of each quantity."""
    values = [part.reshape(3, len(rules.c) // 3, -1) for part in (rules.c, rules.gram, rules.on_target)]
    sizes = [np.abs(value[:1]).max(axis=-1, keepdims=True) + 1e-3 for value in values]
    change = np.abs(
        np.diff(np.concatenate([v / size for v, size in zip(values, sizes, strict=True)], axis=-1), axis=0)
    )
    return extrapolated_error(*change).max(axis=-1)
