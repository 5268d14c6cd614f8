"""Spikes and bulk of a trial's rows, measured after each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.letters import merge
from ..model.network import Network
from .data import Data, rows_at_most
from .draw import left_across, unit
from .gradient_step import Neurons, Weights, spread

_OWN_SAMPLES = 5  # per dimension, on which the network's own error is measured after each step

_Split = tuple[np.ndarray, np.ndarray, tuple[Any, ...], tuple[Any, ...], dict[str, np.ndarray]]
"""Spikes [S, p], squared norms of the rest of the rows, directions of spikes and of the target across, statistics."""


class Track:
    """What steps make of the rows: spikes and bulk, measured after each of them."""

    def __init__(
        self, model: Network, rows: Any, letters: np.ndarray, biases: Any | None, groups: tuple[slice, ...], test: Data
    ):
        self.model, self.letters, self.biases, self.groups, self.test = model, letters, biases, groups, test
        self.theta, self.backend = test.theta, test.draws.backend
        # a neuron's spike is its letter's times this: under a continuous law spikes are per unit of the letter
        self.scale = letters if model.readout.law is not None else np.ones(len(letters))
        self.taken, self._readout, self._several = 0, letters, model.most_steps > 1
        self._pull: Any = None  # Σ (y - E f) x of the first step
        self._history: list[dict[str, np.ndarray]] = []
        self._start, self._facing = self._means(rows), np.ones(len(groups))

    def stepped(self, rows: Any, pull: Any, readout: np.ndarray) -> None:
        """One more step, which was taken with this readout √p·a."""
        self._readout = readout
        if not self.taken:
            self._pull = pull
            self._facing = np.sign((self._means(rows) - self._start) @ self.backend.numpy(pull))
        self.taken += 1

    def _means(self, rows: Any) -> np.ndarray:
        """Mean row of each letter; for a continuous law, the mean row per unit of the letter."""
        backend, scales = self.backend, [self.scale[group] for group in self.groups]
        totals = (
            backend.matmul(backend.asarray(scale), rows[group, :])
            for scale, group in zip(scales, self.groups, strict=True)
        )
        return np.stack([backend.numpy(t) / float(s @ s) for t, s in zip(totals, scales, strict=True)])

    def measure(self, rows: Any) -> None:
        """Measure r, c, γ of every letter by the displacement of its mean row, and keep them."""
        if not self._several:
            return
        numpy, letters = self.backend.numpy, self.model.readout
        self._spikes = spikes = self._means(rows) - self._start
        length = np.sqrt((spikes**2).sum(axis=1)) * self._facing
        values = np.ones(1) if letters.law is not None else np.asarray(letters.values)
        r, inverse = np.zeros((2, len(length)))
        np.divide(length, values, out=r, where=values != 0.0)
        np.divide(1.0, length, out=inverse, where=length != 0.0)  # it is 0 where the first step does not go
        gamma = np.stack([spikes @ numpy(theta) for theta in self.theta], axis=-1) * inverse[:, None]
        self._bulk = self._bulk_norms(rows, spikes)
        c = np.array([self._bulk[group].mean() for group in self.groups])
        self._history.append({"r": r, "gamma": gamma, "c": c, "network_error": self._own_error(rows)})

    def _own_error(self, rows: Any) -> np.ndarray:
        """Mean squared error of the network itself, with the readout of its last step, on fresh samples."""
        neurons = Neurons(rows, self.biases, self.model.activation, self.backend)
        readout = self.backend.asarray(self._readout / len(self._readout) ** 0.5)[:, None]
        samples = min(_OWN_SAMPLES * rows.shape[1], rows_at_most(self.test.target, self.test.steps))
        return self.test.errors(neurons, readout, [int(samples)])[0, 0]

    def _bulk_norms(self, rows: Any, spikes: np.ndarray) -> np.ndarray:
        """Squared norms of the rows less their spikes."""
        numpy, matmul, asarray = self.backend.numpy, self.backend.matmul, self.backend.asarray
        square = numpy(self.backend.xp.sum(rows * rows, axis=1))
        scale = self.scale
        for group, spike in zip(self.groups, spikes, strict=True):
            along = numpy(matmul(rows[group, :], asarray(spike)))
            square[group] += scale[group] * (scale[group] * (spike @ spike) - 2.0 * along)
        return square

    def weights(self, rows: Any, free: Any) -> Weights:
        """The layer in the end. Without a step there is no spike, and `free` is a direction across the target."""
        split = self._after_several if self._several else self._after_one
        spike, bulk, v, rest, measured = split(rows, free)
        along = [self.backend.numpy(self.backend.matmul(rows, theta)) for theta in self.theta]
        # mean component of each letter's rows along each of the target's directions
        measured["overlap"] = np.array([[each[group].mean() for each in along] for group in self.groups])
        radii = np.sqrt(np.maximum(bulk, 0.0))
        neurons = rows, self.biases, self.model.activation, self.backend
        return Weights(*neurons, spike, radii, v, rest, self.theta, self.groups, measured)

    def _after_one(self, rows: Any, free: Any) -> _Split:
        """After one step rows are split along v ∝ Σ (y - E f) x: u_i = r·letter_i, r by least squares.

        Biases change the slope that the step goes through: then each letter has an r of its own.
        """
        backend, letters = self.backend, self.letters
        v = unit(free if self._pull is None else self._pull)
        along_v = backend.numpy(backend.matmul(rows, v))
        parts = self.groups if self.model.readout.biases is not None else (slice(0, len(letters)),)
        power, pulled = ([letters[part] @ one[part] for part in parts] for one in (letters, along_v))
        fits = (np.array(power) > 0.0) & bool(self.taken)
        r = np.divide(pulled, power, out=np.zeros(len(parts)), where=fits)
        spike = spread(r, parts) * letters
        bulk = backend.numpy(backend.xp.sum(rows * rows, axis=1)) - 2 * spike * along_v + spike**2
        gamma = [float(v @ theta) if self.taken else 0.0 for theta in self.theta]
        rest = left_across([theta - g * v for theta, g in zip(self.theta, gamma, strict=True)])
        c = np.array([bulk[group].mean() for group in self.groups])
        return spike[None], bulk, (v,), rest, {"c": c, "r": r, "gamma": np.array(gamma)}

    def _after_several(self, rows: Any, free: Any) -> _Split:
        """After several, along the directions that the letters' own spikes span."""
        numpy, asarray = self.backend.numpy, self.backend.asarray
        b, v = self._frame(self._spikes, numpy(free))
        theta = np.stack([numpy(one) for one in self.theta])
        rest = left_across(list(theta - (theta @ v.T) @ v))
        spike = np.stack([spread(component, self.groups) for component in b]) * self.scale
        measured = {}
        for name, first in self._history[0].items():  # steps that only other points of the grid take are NaN
            measured[name] = np.full((self.model.most_steps, *np.shape(first)), np.nan)
            if self.model.steps != 0:
                measured[name][: len(self._history)] = [values[name] for values in self._history]
        return spike, self._bulk, tuple(map(asarray, v)), tuple(map(asarray, rest)), measured

    def _frame(self, spikes: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Components [S, letters] of the spikes along orthonormal directions [S, d], the longest first.

        Letters that are one group in disguise share a spike, so that noise does not part them.
        """
        letters, S = self.model.readout, self.model.spike_directions
        if not self.taken:
            others = np.linalg.qr(np.stack([free, *np.eye(len(free))[: S - 1]]).T)[0].T
            return np.zeros((S, len(spikes))), np.concatenate([free[None], others[1:]])
        if letters.law is not None:
            v = self._faced(spikes / np.linalg.norm(spikes), spikes)
            return v @ spikes.T, v
        merging = merge(letters, self.model.activation.parity == "odd")
        shared = np.zeros((len(merging.letters.values), spikes.shape[1]))
        for letter, group in enumerate(merging.group):
            shared[group] += merging.share[letter] * merging.sign[letter] * spikes[letter]
        shared[np.asarray(merging.letters.values) == 0.0] = 0.0
        v = np.linalg.svd(shared, full_matrices=False)[2][:S]
        last = int(np.flatnonzero(merging.letters.values)[-1])  # its components count as positive
        v *= np.where(shared[last] @ v.T < 0.0, -1.0, 1.0)[:, None]
        if S == 1 or self.taken == 1:
            v = self._faced(v, spikes)
        return (shared @ v.T)[merging.group].T * merging.sign, v

    def _faced(self, v: np.ndarray, spikes: np.ndarray) -> np.ndarray:
        """Directions [S, d]; all spikes lie along the first one, which faces the same way as the longest spike."""
        longest = int((spikes**2).sum(axis=1).argmax())
        side = np.where(self._facing[longest] * (spikes[longest] @ v[0]) < 0.0, -1.0, 1.0)
        return np.concatenate([side * v[:1], v[1:]])
