"""How first layers come about: steps from drawn rows (`Network`), or spikes given (`SpikedRF`, `TwoSpikes`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotCovered
from ..groups import Merging
from ..losses import as_loss
from ..model import Network, SpikedRF, TwoSpikes
from .common_rows import taken_from_mean_rows
from .layer import FirstLayer, given
from .step import Neurons, make_step
from .training import Trained, trained

if TYPE_CHECKING:
    from ..model import Target


@dataclass(frozen=True)
class Origin:
    """U first layers of K groups, and where they are from."""

    neurons: Neurons
    layer: FirstLayer
    training: Trained | None = None  # None for spikes that were given

    @property
    def error(self) -> np.ndarray:
        """That of the integrals which led here, [U]."""
        return np.zeros(len(self.layer.c)) if self.training is None else self.training.error

    @property
    def scatter(self) -> np.ndarray:
        """d times the squared relative scatter of the labels' mean square between batches of the steps, [U]."""
        return np.zeros(len(self.layer.c)) if self.training is None else self.training.scatter

    @property
    def kinds(self) -> np.ndarray:
        """Equal rows [U, ...] mark first layers that can be worked on together."""
        return self.layer.spikes[:, None] if self.training is None else self.training.kinds

    def at(self, chunk: np.ndarray) -> Origin:
        """Some of them."""
        training = None if self.training is None else self.training.at(chunk)
        return Origin(self.neurons, self.layer.at(chunk), training)

    def common(self, chunk: np.ndarray) -> np.ndarray | None:
        """What steps have added to the covariance of mean rows, times p, [U, K, K]; None if rows are as drawn."""
        return None if self.training is None else taken_from_mean_rows(self.training, chunk)


@singledispatch
def origin(model: Any, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> Origin:
    """The first layers of a model whose parameters, with the target's noise, are arrays `values` [U]."""
    raise TypeError(model)  # refused with a sentence where models are checked


@origin.register(Network)
def _(model: Network, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> Origin:
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
    neurons = Neurons(
        model.activation, merging.letters, spread=model.norm_variance, bias_spread=model.bias_scale**2
    )
    shared = (values["beta"], values["noise"])
    steps = tuple(
        make_step(eta, alpha0, *shared, as_loss(loss)) for eta, alpha0, loss in model.stages(values)
    )
    found = trained(neurons, target, steps)
    return Origin(neurons, found.layer, found)


@origin.register(SpikedRF)
def _(model: SpikedRF, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> Origin:
    letters = merging.letters
    c = values["c"][:, None] * np.ones(len(letters.values))
    c = c if letters.c is None else np.broadcast_to(np.asarray(letters.c), c.shape)
    b = values["r"][:, None] * np.asarray(letters.values)
    theta = values["gamma"][:, None, None] * _first_of(target.directions)
    return Origin(Neurons(model.activation, letters), given(b[..., None], theta, c))


@origin.register(TwoSpikes)
def _(model: TwoSpikes, target: Target, merging: Merging, values: dict[str, np.ndarray]) -> Origin:
    U, K = len(values["c"]), len(model.weights)
    pairs = np.asarray(model.left) * np.asarray(model.strengths)
    b = np.broadcast_to(pairs, (U, K, 2))
    theta = np.asarray(model.alignments) * _first_of(target.directions) + np.zeros((U, 1, 1))
    c = values["c"][:, None] * np.ones(K)
    return Origin(Neurons(model.activation, merging.letters), given(b, theta, c))


def _first_of(directions: int) -> np.ndarray:
    """Spikes that are given are aligned with the target's first direction, [k, 1]."""
    return np.eye(directions, 1)
