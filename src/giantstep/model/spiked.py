"""Spiked random features: first layers that are given directly, with one spike or two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import field

from ..errors import ParameterError, named, refused
from ..functions import Function, as_function
from .checks import number, number_tuple
from .description import DEFAULT, Model, description
from .letters import Letters, as_letters

if TYPE_CHECKING:
    from .description import Parameter


@description
class SpikedRF(Model):
    """Spiked random features σ(Fx), F = W + r 1 vᵀ/√d, with a readout to fit: the paper's model of a network after a
    step.

    Rows of W are uniform on the sphere of squared radius `c`, and |v|² = d. `Network.equivalent` gives the
    SpikedRF that resembles a trained network.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or your own function.
    r : number or grid
        Strength of the spike. With letters, neuron i has the strength r times its letter.
    gamma : number or grid
        Alignment v·θ/d of the spike with the target, from -1 to 1. If the target has several directions, the spike is
        aligned with the first only.
    c : number or grid
        Squared norm of the rows of W.
    beta : number or grid
        Width p, divided by d.
    readout : str or Letters
        The groups of neurons; see `Letters`.

    Examples
    --------
    >>> srf = gs.SpikedRF("tanh", r=[0, 1, 2], gamma=0.9)
    >>> gs.predict(srf, "sin", alpha=2, lam=0.1).test_error.values.round(4)
    array([0.2376, 0.0725, 0.0714])
    """

    activation: Function = field(converter=as_function)
    r: Parameter
    gamma: Parameter
    c: Parameter = DEFAULT
    beta: Parameter = DEFAULT
    readout: Letters = field(default="uniform", converter=as_letters)  # type: ignore[assignment]


def _as_pairs(pairs: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Sequence | np.ndarray) or not len(pairs):
        raise refused("left", pairs, "is not a sequence of pairs of numbers, such as [(1, 0), (0, 1)]")
    return tuple(number_tuple("TwoSpikes.left", pair) for pair in pairs)


@description
class TwoSpikes(Model):
    """Spiked random features with two spikes, F = W + (r1 u1 v1ᵀ + r2 u2 v2ᵀ)/√d, v1 and v2 orthogonal.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or your own function.
    strengths : pair of float
        The strengths (r1, r2) of the spikes.
    alignments : pair of float
        (v1·θ/d, v2·θ/d). If the target has several directions, θ is the first.
    left : sequence of pairs of float
        The pairs (u1, u2) that neurons may have.
    weights : sequence of float
        The share of the neurons that has each pair.
    c : float
        Squared norm of the rows of W.
    beta : float
        Width, divided by d.

    Notes
    -----
    If all pairs are multiples of one pair there is only one spike, along a combination of v1 and v2. `reduced()`
    shows the `SpikedRF` that such a model is equal to, and giantstep computes with that.

    Examples
    --------
    >>> two = gs.TwoSpikes("relu", strengths=(1, 2), alignments=(0.8, 0.5), left=[(1, 0), (0, 1)], weights=(0.5, 0.5))
    >>> float(gs.predict(two, "sin", alpha=1, lam=0.1).test_error.round(4))
    0.3943
    """

    group = "group"
    spike_directions = 2

    activation: Function = field(converter=as_function)
    strengths: tuple[float, ...] = field(converter=partial(number_tuple, "TwoSpikes.strengths"))
    alignments: tuple[float, ...] = field(converter=partial(number_tuple, "TwoSpikes.alignments"))
    left: tuple[tuple[float, ...], ...] = field(converter=_as_pairs)
    weights: tuple[float, ...] = field(converter=partial(number_tuple, "TwoSpikes.weights"))
    c: float = DEFAULT
    beta: float = DEFAULT

    def __attrs_post_init__(self) -> None:
        with named("weights"):
            _ = self.readout  # refuses weights that do not fit
        for name in ("c", "beta"):
            number(name, getattr(self, name))
        if {len(pair) for pair in (self.strengths, self.alignments, *self.left)} != {2}:
            raise ParameterError(
                "TwoSpikes has two spikes: give two strengths, two alignments, and pairs in left", "left"
            )
        if math.hypot(*self.alignments) > 1.0:
            raise refused(
                "alignments",
                self.alignments,
                "belong to two orthogonal directions, so the sum of their squares must be at most 1",
            )

    @property
    def readout(self) -> Letters:  # type: ignore[override]
        """The groups of neurons, numbered."""
        return Letters(tuple(range(len(self.left))), self.weights)

    def resolved(self) -> Model:
        return self.reduced() or self

    def reduced(self) -> SpikedRF | None:
        """The one-spike model that this equals, or None if it really has two spikes.

        Examples
        --------
        >>> gs.TwoSpikes("relu", (1, 2), (0.6, 0.0), left=[(1, 0), (2, 0)], weights=(0.5, 0.5)).reduced().gamma
        0.6
        """
        pairs = np.asarray(self.left) * np.asarray(self.strengths)
        values, vectors = np.linalg.eigh(pairs.T @ pairs)
        if values[0] > 1e-24 * values[1]:
            return None
        direction = vectors[:, 1]
        gamma = float(direction @ np.asarray(self.alignments))
        readout = Letters(tuple(pairs @ direction), self.weights)
        return SpikedRF(self.activation, r=1.0, gamma=gamma, c=self.c, beta=self.beta, readout=readout)
