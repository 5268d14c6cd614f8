"""A first layer in the limit d → ∞: before any step (`Neurons.drawn`), after one (`step`), or stated (`given`).

Row i of group s is W_i = S_s + w_i: a spike that its group shares, and a bulk row of squared norm c_s. As d → ∞ all
that matters of the spikes is their Gram matrix Σ_st = S_s·S_t and their components Γ_sj = S_s·θ̂_j on the target's
directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .input_spectrum import InputSpectrum, Profile
from .modes import Modes

if TYPE_CHECKING:
    from ..functions import Function
    from ..model.letters import Letters
    from .derivative_moments import DerivativeMoments

_RANK = 1e-10  # eigenvalues of Σ over its trace under which a direction is rounding
_ROUNDING = 1e-15  # length of a direction's component that is none
_INSIDE = 1e-14  # 1 - γ² under which a direction of the target lies within the spikes' span


@dataclass(frozen=True)
class Frame:
    """Orthonormal directions d̂_j (j ≤ S) that the spikes span, and the target's directions relative to them.

    S_s = Σ_j b_sj d̂_j. The target's directions are turned, θ̂ = turn·θ̂', such that each θ̂'_m meets one d̂ at most:
    z'_m = γ_m κ_m + ρ_m y_m with κ_j = d̂_j·x and y_m = ê_m·x, all independent and standard normal.
    """

    b: np.ndarray  # [U, K, S]
    gamma: np.ndarray  # [U, k]; zero beyond the S-th
    turn: np.ndarray  # [U, k, k]
    back: np.ndarray  # [U, S, S]: the d̂_j are these combinations of the directions that the spikes were given along
    dual: np.ndarray | None = None  # [U, S, K]: d̂_j = Σ_s dual_js S_s, for spikes that steps have made

    @property
    def spikes(self) -> int:
        return self.b.shape[-1]

    @cached_property
    def rho(self) -> np.ndarray:
        return np.sqrt(np.maximum(0.0, 1.0 - self.gamma**2))

    @property
    def across(self) -> np.ndarray:
        """1/ρ, and 0 where a direction of the target lies within the spikes' span: there is no ê then."""
        rest = np.maximum(0.0, 1.0 - self.gamma**2)
        return np.where(rest > _INSIDE, 1.0 / np.sqrt(np.where(rest > _INSIDE, rest, 1.0)), 0.0)

    def in_target_and_spikes(self) -> tuple[np.ndarray, np.ndarray]:
        """d̂_j and ê_m as combinations of θ̂ [U, S + k, k] and of the spikes [U, S + k, K]."""
        assert self.dual is not None
        U, S, K = self.dual.shape
        k = self.gamma.shape[1]
        met = min(S, k)
        to_target, to_spikes = np.zeros((U, S + k, k)), np.zeros((U, S + k, K))
        to_spikes[:, :S] = self.dual
        to_target[:, S:] = self.across[..., None] * np.swapaxes(self.turn, -1, -2)
        to_spikes[:, S : S + met] = -(self.across * self.gamma)[:, :met, None] * self.dual[:, :met]
        return to_target, to_spikes

    def centre(self, kappa: np.ndarray) -> np.ndarray:
        """Mean of z' given κ [U or 1, S, N]: γ_m κ_m, and 0 for directions that meet no spike; [U, k, N]."""
        met = min(self.gamma.shape[1], kappa.shape[1])
        centre = np.zeros((len(self.gamma), self.gamma.shape[1], kappa.shape[-1]))
        centre[:, :met] = self.gamma[:, :met, None] * kappa[:, :met]
        return centre

    def at(self, chunk: np.ndarray) -> Frame:
        dual = None if self.dual is None else self.dual[chunk]
        return Frame(self.b[chunk], self.gamma[chunk], self.turn[chunk], self.back[chunk], dual)


@dataclass(frozen=True)
class FirstLayer:
    """U first layers of K groups, and where their spikes lie relative to a target of k directions."""

    c: np.ndarray  # [U, K]
    gram: np.ndarray  # Σ, [U, K, K]
    on_target: np.ndarray  # Γ, [U, K, k]
    facing: np.ndarray  # [U, K], ±1: which way along its spike a group counts as positive; 0 before it has one
    stated: Frame | None = None  # where directions were given, which count even where no spike is on them
    profile: Profile | None = None  # the layer as functions over the inputs' spectrum, where steps make it

    @staticmethod
    def over(profile: Profile, facing: np.ndarray) -> FirstLayer:
        """Σ, Γ and c as integrals over the spectrum."""
        return FirstLayer(profile.row_norms, profile.gram, profile.on_target, facing, profile=profile)

    @property
    def spectrum(self) -> InputSpectrum:
        return InputSpectrum.isotropic(self.on_target.shape[-1]) if self.profile is None else self.profile.spectrum

    @property
    def row_covariance(self) -> np.ndarray:
        """c̄_s(ω), [U, K, J]."""
        return self.c[..., None] if self.profile is None else self.profile.c

    def known_directions(self) -> tuple[np.ndarray, np.ndarray]:
        """The orthonormal directions that a batch knows, as combinations of θ̂ [U, n, k] and of the spikes [U, n, K]."""
        if np.any(self.gram):
            return self.frame().in_target_and_spikes()
        (U, K), k = self.c.shape, self.on_target.shape[-1]
        return np.broadcast_to(np.eye(k), (U, k, k)), np.zeros((U, k, K))

    @property
    def spikes(self) -> np.ndarray:
        """S, the number of directions that the spikes span, [U]; at least one, which may have no spike on it."""
        if self.stated is not None:
            return np.full(len(self.c), self.stated.spikes)
        if self.c.shape[1] == 1:
            return np.ones(len(self.c), int)
        values = np.linalg.eigvalsh(self.gram)
        return np.maximum(1, (values > _RANK * values.sum(axis=-1, keepdims=True)).sum(axis=-1))

    def frame(self) -> Frame:
        """Directions of first layers that all have the same number of them."""
        return self._frame if self.stated is None else self.stated

    @cached_property
    def _frame(self) -> Frame:
        spikes = int(self.spikes.max())
        b, theta, dual = self._single() if spikes == 1 else self._several(spikes)
        return seen_from(b, theta, dual)

    def _single(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One direction, along the longest spike."""
        power = np.diagonal(self.gram, axis1=-2, axis2=-1)
        longest = np.arange(len(power)), power.argmax(axis=-1)
        own = power[longest][:, None]  # [U, 1]
        there = own > 0.0
        length = np.sqrt(np.where(there, own, 1.0)) * self.facing[longest][:, None]
        unit = np.where(there, 1.0 / np.where(length == 0.0, 1.0, length), 0.0)
        b = self.gram[longest] * unit  # Σ is symmetric
        # divided, not multiplied: exactly ±1 where it is aligned
        theta = self.on_target[longest] / np.where(there, length, np.inf)
        dual = np.zeros(power.shape)
        dual[longest] = unit[:, 0]
        return b[..., None], theta[:, :, None], dual[:, None]

    def _several(self, spikes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The leading eigenvectors of Σ."""
        values, vectors = np.linalg.eigh(self.gram)
        values, vectors = values[:, ::-1][:, :spikes], vectors[:, :, ::-1][:, :, :spikes]
        last = int(np.flatnonzero(np.any(self.gram != 0.0, axis=(0, 1)))[-1])  # its components count as positive
        vectors = vectors * np.where(vectors[:, [last]] < 0.0, -1.0, 1.0)
        dual = np.swapaxes(vectors / np.sqrt(values)[:, None], -1, -2)
        return vectors * np.sqrt(values)[:, None], np.swapaxes(dual @ self.on_target, -1, -2), dual

    def at(self, chunk: np.ndarray) -> FirstLayer:
        """Some of the first layers."""
        if len(chunk) == len(self.c) and (len(chunk) == 1 or (chunk == np.arange(len(chunk))).all()):
            return self  # with the frame that it may know
        stated = None if self.stated is None else self.stated.at(chunk)
        profile = None if self.profile is None else self.profile.at(chunk)
        return FirstLayer(self.c[chunk], self.gram[chunk], self.on_target[chunk], self.facing[chunk], stated, profile)

    def replaced(self, chunk: np.ndarray, new: FirstLayer) -> FirstLayer:
        """With others in place of some."""
        if len(chunk) == len(self.c):
            return new
        assert self.profile is not None
        assert new.profile is not None
        facing = self.facing.copy()
        facing[chunk] = new.facing
        return FirstLayer.over(self.profile.replaced(chunk, new.profile), facing)


def seen_from(b: np.ndarray, theta: np.ndarray, dual: np.ndarray | None = None) -> Frame:
    """Turn spikes' and target's directions until they meet one to one: the singular values of Θ [U, k, S]."""
    U, k, S = theta.shape
    if k == 1 and S == 1:
        return Frame(b, theta[:, :, 0], np.ones((U, 1, 1)), np.ones((U, 1, 1)), dual)
    if S == 1:
        gamma = np.zeros((U, k))
        gamma[:, 0] = np.minimum(np.linalg.norm(theta[:, :, 0], axis=-1), 1.0)
        return Frame(b, gamma, _completed(theta[:, :, 0]), np.ones((U, 1, 1)), dual)
    turn, values, back = np.linalg.svd(theta)
    still = values[:, :1, None] <= _ROUNDING  # a target across the spikes is not turned
    turn, back = np.where(still, np.eye(k), turn), np.where(still, np.eye(S), back)
    if k == 1:  # a line is turned round by its spike's direction instead
        back[:, 0] *= turn[:, 0]
        turn = np.ones_like(turn)
    gamma = np.zeros((U, k))
    gamma[:, : min(k, S)] = np.minimum(values, 1.0)
    return Frame(b @ np.swapaxes(back, -1, -2), gamma, turn, back, None if dual is None else back @ dual)


def _completed(theta: np.ndarray) -> np.ndarray:
    """Orthogonal matrices [U, k, k] with first column θ/|θ| [U, k], the unit matrix for θ = 0 and along the first axis.

    A reflection that takes the first axis to ∓θ: it depends on θ smoothly, so that equal θ are completed alike.
    """
    size = np.linalg.norm(theta, axis=-1, keepdims=True)
    first = np.eye(theta.shape[-1])[0]
    n = np.where(size > _ROUNDING, theta / np.where(size > _ROUNDING, size, 1.0), first)
    side = np.where(n[:, :1] < 0.0, -1.0, 1.0)
    v = first + side * n
    turn = np.eye(theta.shape[-1]) - 2.0 * v[:, :, None] * v[:, None, :] / (v**2).sum(axis=-1)[:, None, None]
    turn[:, :, 0] *= -side
    return turn


def given(b: np.ndarray, theta: np.ndarray, c: np.ndarray) -> FirstLayer:
    """Spikes b [U, K, S] along S orthonormal directions, on which the target's have components Θ [U, k, S]."""
    gram = b @ np.swapaxes(b, -1, -2)
    on_target = b @ np.swapaxes(theta, -1, -2)
    return FirstLayer(c, gram, on_target, np.where(b[..., 0] < 0.0, -1.0, 1.0), seen_from(b, theta))


def alike(keys: np.ndarray) -> Iterator[np.ndarray]:
    """Indices of equal rows [U, ...], one kind after the other."""
    if not keys.size or (keys == keys[0]).all():
        yield np.arange(len(keys))
        return
    _, kind = np.unique(keys, axis=0, return_inverse=True)
    for one in range(int(kind.max()) + 1):
        yield np.flatnonzero(kind.reshape(-1) == one)


@dataclass(frozen=True)
class Neurons:
    """What all steps leave as it is: activation and letters. Rows begin with squared norm 1."""

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

    def output(self, moments: DerivativeMoments) -> np.ndarray:
        """The network's own output at each node, Σ_s n_s ℓ_s E σ, [U or 1, n]."""
        return np.einsum("s,...sn->...n", self.weights * self.values, moments.mean)

    def modes(self, frame: Frame) -> Modes:
        """Those of trained rows: every neuron has a norm, and maybe a bias, of its own."""
        return Modes(frame.spikes, frame.gamma.shape[1], norms=1, biases=int(self.bias_spread > 0.0))

    def drawn(self, settings: int, spectrum: InputSpectrum | None = None) -> FirstLayer:
        """U first layers before any step: no spikes. Inputs are isotropic, unless told otherwise."""
        K = len(self.values)
        profile = Profile.drawn(spectrum or InputSpectrum.isotropic(1), settings, K)
        return FirstLayer.over(profile, np.zeros((settings, K)))
