"""First layers of each model: steps from random rows (`Network`), or stated spikes (`SpikedRF`, `TwoSpikes`).

`FirstLayers` keeps spikes and row norms after every step. The row covariances of the trained bulk are made of them on
demand (`step_covariance`), on rules as fine as asked for: each step that was taken is one block of the pencil.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotCovered
from ..losses import as_loss
from ..model.letters import Merging
from ..model.network import Network
from ..model.spiked import SpikedRF, TwoSpikes
from .batch import BatchLaw, batch_law, idle_batch, stacked
from .bulk import TrainedBulk
from .input_spectrum import InputSpectrum
from .labels import kurtosis, labels_of
from .layer import FirstLayer, Neurons, alike, given
from .step import POPULATION, Step, make_step, take_step
from .step_covariance import StepCovariance, columns_of

if TYPE_CHECKING:
    from ..model.target import Target

MOST_DIRECTIONS = 4  # of spikes
MOST_STEPS = 40  # the exact bulk of so many takes a gigabyte, of 60 three and a half
_MOST_STEPS_ON_SPECTRUM = 16  # and of so many on more than two eigenvalues of the inputs
POINTS = 128  # nodes over a batch before the first step,
_SPIKED_POINTS = 96, 64  # and intervals along each variable after it, for one spike and for several
# forces are differentiated by the network's output over steps of this times the size of labels,
_DIFFERENCE = 0.02
_DOUBLINGS = 2  # on rules whose nodes are doubled so often, for differences that are exact enough


@dataclass(frozen=True)
class FirstLayers:
    """U first layers of K groups: `path[t]` is the layer after t steps, `error` [U] the error of all their integrals.
    Spikes that a model states have no steps."""

    neurons: Neurons
    target: Target
    path: tuple[FirstLayer, ...]
    error: np.ndarray
    steps: tuple[Step, ...] = ()

    @property
    def layer(self) -> FirstLayer:
        """The first layer in the end."""
        return self.path[-1]

    def at(self, chunk: np.ndarray) -> FirstLayers:
        """Some of them."""
        path = tuple(layer.at(chunk) for layer in self.path)
        steps = tuple(step.at(chunk) for step in self.steps)
        return FirstLayers(self.neurons, self.target, path, self.error[chunk], steps)

    @cached_property
    def taken(self) -> np.ndarray:
        """Which steps changed anything, [U, T]."""
        taken = np.array([step.rate > 0.0 for step in self.steps], bool)
        return taken.reshape(len(self.steps), len(self.error)).T

    @cached_property
    def kinds(self) -> np.ndarray:
        """First layers with equal rows have been made in the same way, and can be worked on together: [U, ...]."""
        kinds = [_alike(layer, self.target) for layer in self.path]
        return np.concatenate([self.taken, *kinds], axis=1)

    @cached_property
    def scatter(self) -> np.ndarray:
        """d times the relative variance of E y² between batches, [U]: the largest of all steps.

        The mean square of n0 = αd labels y has the relative variance (kurtosis - 1)/n0. Steps on other losses than the
        square loss follow scores that do not grow with the label, and are left out.
        """
        labels = labels_of(self.target)
        scatter = np.zeros(len(self.error))
        for step, taken in zip(self.steps, self.taken.T, strict=True):
            # chosen, not multiplied: a kurtosis may be infinite
            counts = taken & step.loss.linear & (step.share > POPULATION)
            excess = kurtosis(*labels.powers, step.noise[counts]) - 1.0
            scatter[counts] = np.maximum(scatter[counts], step.share[counts] * excess)
        return scatter

    def trained_bulk(self, chunk: np.ndarray, refinement: int) -> TrainedBulk:
        """The bulk of U networks of one kind, then the same U on rules with half the nodes over each batch: 2U bulks.

        Rules have 2^refinement times their usual number of nodes.
        """
        taken = [int(t) for t in np.flatnonzero(self.taken[chunk[0]])] or [0]
        twice = np.concatenate([chunk, chunk])
        covariances, psi = list[StepCovariance](), None
        for t in reversed(taken):
            law = stacked(self.batch(t, chunk, refinement)[:2], len(chunk))
            step, before = self.steps[t].at(twice), self.path[t].at(twice)
            one = StepCovariance(self.neurons, before, step, law, t == taken[0], psi)
            covariances.insert(0, one)
            psi = None if one.first else one.earlier[0]
        last = self.layer.at(twice)
        columns = columns_of(self.neurons, last.frame(), covariances)
        return TrainedBulk(self.neurons.weights, last.c, [one.block for one in covariances], columns)

    def batch(self, t: int, chunk: np.ndarray, refinement: int, shift: float = 0.0) -> list[BatchLaw]:
        """The batch of step t of some networks of one kind, on three nested rules, finest first; with a `shift` of the
        network's output."""
        step, layer = self.steps[t].at(chunk), self.path[t].at(chunk)
        spikes = int(layer.spikes.max()) if np.any(layer.gram) else 0
        points = (POINTS, *_SPIKED_POINTS)[min(spikes, 2)] << refinement
        if not np.any(step.rate):  # no step at all: any batch will do
            return idle_batch(self.neurons, self.target.directions, points)
        return batch_law(self.neurons, self.target, layer, step.noise, step.loss, points, shift)[0]

    def mean_row_covariance(self, chunk: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """What steps have added to the covariance of the groups' mean rows, times p, [U, K, K]: an effect of order 1/d.
        And its error, [U].

        The network's output has the part Σ_t n_t ℓ_t s0_t w̄_t·x, linear in the mean rows w̄_t of the groups (n_t is a
        group's share of the neurons). A step descends on the residual, so it moves all rows against it:
        w̄_s → w̄_s - Σ_t D_st w̄_t with D_st = k_s E[ℓ'' s0_s s0_t] n_t ℓ_t, besides what happens to every row. Neurons
        then share less noise along the all-ones directions than drawn ones would, or more after strong steps: the
        covariance of the w̄, times p, is 1/n_s at first and L (1/n) Lᵀ after steps, L the product of all 1 - D. It is
        the difference that counts; None if rows are as drawn. The fluctuations of this pull from sample to sample are
        left out: with them the mean rows come out right, but errors at d = 150 to 200 do not, since other effects of
        order 1/d are not known. For inputs with a covariance this effect is not known.
        """
        taken, error = np.flatnonzero(self.taken[chunk[0]]), np.zeros(len(chunk))
        if not len(taken) or self.layer.spectrum.count > 1:
            return None, error
        K = len(self.neurons.values)
        L = np.broadcast_to(np.eye(K), (len(chunk), K, K))
        for t in taken:
            rate = self.steps[t].at(chunk).rate
            curvature, off = self._mean_curvature(int(t), chunk)
            L = L - rate[:, None, None] * (curvature * self.neurons.weights) @ L
            error += rate * off
        drawn = np.diag(1.0 / self.neurons.weights)
        return L @ drawn @ np.swapaxes(L, -1, -2) - drawn, error

    def _mean_curvature(self, t: int, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[ℓ'' ℓ_s s0_s ℓ_t s0_t] over the batch of step t, [U, K, K], and its error, [U].

        A kinked loss has no ℓ'' at a sample, but labels with a density make the average force a smooth function of the
        network's output f, so that this is -d/df E[e ℓ_s s0_s ℓ_t s0_t]. Each average is cut at its own kinks;
        differences over h, 2h and 4h are extrapolated to h = 0.
        """
        values = self.neurons.values[:, None]

        def averages(law: BatchLaw, e: np.ndarray) -> np.ndarray:
            s0 = values * law.moments.s0 + 0.0 * e[:, None]  # on every node
            return law.mean(e[:, None, None] * s0[:, :, None] * s0[:, None])

        loss = self.steps[t].loss
        if loss.linear:
            law = self.batch(t, chunk, 0)[0]
            return averages(law, np.ones_like(law.e)), np.zeros(len(chunk))
        h = _DIFFERENCE * float(np.sqrt(labels_of(self.target).powers[0]) or 1.0)

        def slope(h: float) -> np.ndarray:
            above, below = (
                np.stack([averages(law, law.e) for law in self.batch(t, chunk, _DOUBLINGS, shift)[:2]])
                for shift in (h, -h)
            )
            return (below - above) / (2.0 * h)

        first, second, third = (slope(h * 2.0**doublings) for doublings in range(3))
        better, worse = _extrapolated(first, second, 2), _extrapolated(second, third, 2)
        fine, half = best = _extrapolated(better, worse, 4)
        error = np.maximum(np.abs(best - better)[0], np.abs(fine - half))
        return fine, error.reshape(len(chunk), -1).max(axis=-1)


def _extrapolated(near: np.ndarray, far: np.ndarray, order: int) -> np.ndarray:
    """Differences over h and 2h, with errors of that order in h, at h = 0."""
    return near + (near - far) / (2.0**order - 1.0)


@singledispatch
def first_layers(model: Any, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> FirstLayers:
    """Those of a model whose parameters, with the target's noise, are arrays `values` [U]."""
    raise TypeError(model)  # refused with a sentence where models are checked


@first_layers.register(Network)
def _(model: Network, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> FirstLayers:
    if model.reuse_batch and model.most_steps > 1:
        raise NotCovered(
            "reuse_batch = True: rows that have seen a batch before are correlated with it, which the theory does not"
            " cover; simulate such a network, or give its steps fresh batches"
        )
    if model.refit is not None and model.most_steps > 1:
        raise NotCovered(
            "refit: a readout that is fitted between steps is correlated with the rows, neuron by neuron, which the"
            " theory does not cover; simulate such a network, or leave its readout as it was drawn"
        )
    if model.bias_scale and target.inputs is not None:
        raise NotCovered(
            f"bias_scale = {model.bias_scale:g}: biases of that size are covered for isotropic inputs; simulate such a"
            " network, give biases of order one in its Letters, or a target without inputs="
        )
    neurons = Neurons(model.activation, merging.letters, spread=model.norm_variance, bias_spread=model.bias_scale**2)
    shared = (values["beta"], values["noise"])
    steps = tuple(make_step(eta, alpha0, *shared, as_loss(loss)) for eta, alpha0, loss in model.stages(values))
    return train(neurons, target, steps, InputSpectrum.of(target, values))


@first_layers.register(SpikedRF)
def _(model: SpikedRF, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> FirstLayers:
    letters = merging.letters
    c = values["c"][:, None] * np.ones(len(letters.values))
    c = c if letters.c is None else np.broadcast_to(np.asarray(letters.c), c.shape)
    b = values["r"][:, None] * np.asarray(letters.values)
    theta = values["gamma"][:, None, None] * np.eye(target.directions, 1)  # along the target's first direction
    return given_layers(Neurons(model.activation, letters), target, given(b[..., None], theta, c))


@first_layers.register(TwoSpikes)
def _(model: TwoSpikes, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> FirstLayers:
    U, K = len(values["c"]), len(model.weights)
    b = np.broadcast_to(np.asarray(model.left) * np.asarray(model.strengths), (U, K, 2))
    theta = np.asarray(model.alignments) * np.eye(target.directions, 1) + np.zeros((U, 1, 1))
    c = values["c"][:, None] * np.ones(K)
    return given_layers(Neurons(model.activation, merging.letters), target, given(b, theta, c))


def given_layers(neurons: Neurons, target: Target, layer: FirstLayer) -> FirstLayers:
    """First layers that no step has made."""
    return FirstLayers(neurons, target, (layer,), np.zeros(len(layer.c)))


def train(
    neurons: Neurons, target: Target, steps: tuple[Step, ...], spectrum: InputSpectrum | None = None
) -> FirstLayers:
    """All steps, one after the other, for U networks at once."""
    spectrum = spectrum or InputSpectrum.isotropic(target.directions)
    most = MOST_STEPS if spectrum.count <= 2 else _MOST_STEPS_ON_SPECTRUM
    if len(steps) > most:
        raise NotCovered(
            f"steps = {len(steps)}: the theory covers up to {most}, which take a gigabyte; simulate more of them"
        )
    layer = neurons.drawn(len(steps[0].rate), spectrum)
    path, error = [layer], np.zeros(len(layer.c))
    for step in steps:
        layer, off = _moved(neurons, target, layer, step)
        error = np.maximum(error, off)
        path.append(layer)
        _check_directions(layer)
    return FirstLayers(neurons, target, tuple(path), error, steps)


def _moved(neurons: Neurons, target: Target, layer: FirstLayer, step: Step) -> tuple[FirstLayer, np.ndarray]:
    """First layers after a step, those that take it, and the error of its integrals, [U]."""
    after, error = layer, np.zeros(len(layer.c))
    moves = np.flatnonzero(step.rate > 0.0)
    for members in alike(_alike(layer, target)[moves]):
        chunk = moves[members]
        new, error[chunk] = take_step(neurons, target, layer.at(chunk), step.at(chunk))
        after = after.replaced(chunk, new)
    return after, error


def _alike(layer: FirstLayer, target: Target) -> np.ndarray:
    """Equal rows [U, ...] mark first layers with as many spikes, which see the target turned alike."""
    spiked = np.any(layer.gram != 0.0, axis=(-1, -2))
    kinds = np.where(spiked, layer.spikes, 0)[:, None]
    if target.directions == 1:
        return kinds
    turned = np.zeros((len(kinds), target.directions**2))
    for members in alike(kinds):
        turned[members] = labels_of(target).alike(layer.at(members).frame())
    return np.concatenate([kinds, turned], axis=1)


def _check_directions(layer: FirstLayer) -> None:
    """Averages over κ go over as many dimensions as the spikes span."""
    spikes = int(layer.spikes.max())
    if spikes > MOST_DIRECTIONS:
        raise NotCovered(
            f"from the second step on each letter has its own spike, and here they span {spikes} directions: the"
            f" theory covers up to {MOST_DIRECTIONS}; give fewer different letters (and biases), or simulate"
        )
