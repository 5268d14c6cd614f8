"""Result 1 in the user's terms: spike strengths, alignments and row norms of a trained network, letter by letter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import NotCovered, warn
from ..model.inputs import refuse_inputs
from ..model.letters import Letters
from ..model.spiked import SpikedRF
from .answers import ACCEPTED_ERROR
from .bulks import ISOTROPIC
from .features import Features
from .first_layers import given_layers
from .labels import Label
from .layer import FirstLayer
from .problem import Problem, averaged, model_grid, pose
from .symmetric import TINY

if TYPE_CHECKING:
    from ..model.network import Network
    from ..model.target import Target

_ROUNDING = 1e-8  # component on a direction, over the others, that is none


class Spiked(NamedTuple):
    """First layers letter by letter: r per unit of the letter, the alignment γ of its spike, c; each [U, letters]."""

    r: np.ndarray
    gamma: np.ndarray  # [U, letters, k]
    c: np.ndarray


def by_letter(layer: FirstLayer, values: np.ndarray) -> Spiked:
    """For groups with these letters. Each spike is r·letter times a unit direction, of which γ are the components.

    r has the sign of the slope that the first step went through; a letter of zero has no spike, r = γ = 0.
    """
    strength = np.sqrt(np.diagonal(layer.gram, axis1=-2, axis2=-1)) * layer.facing  # of r·letter
    r = np.where(values == 0.0, 0.0, strength / np.where(values == 0.0, 1.0, values))
    gamma = layer.on_target / np.where(strength == 0.0, np.inf, strength)[..., None]
    return Spiked(r, gamma, layer.c)


def network_errors(problem: Problem, tolerance: float = 1e-10) -> np.ndarray:
    """Mean squared error of the networks themselves after each step, with the readout they began with: [U, T]."""
    layers = problem.first_layers
    neurons = layers.neurons

    def compute(features: Features, label: Label, _: np.ndarray) -> np.ndarray:
        output = np.einsum("s,usn->un", neurons.weights * neurons.values, features.mu0)
        t0, _, t2 = label.clean or label[:3]
        return (features.weights * (t2 - 2.0 * output * t0 + output**2)).sum(axis=-1)[:, None]

    after = [
        replace(problem, law=ISOTROPIC, first_layers=given_layers(neurons, layers.target, layer))
        for layer in layers.path[1:]
    ]
    return np.concatenate([averaged(one, compute, tolerance)[0] for one in after], axis=1)


def equivalent(net: Network, target: Target) -> SpikedRF:
    """The spiked random features model with the network's spike, alignment and row norms.

    A SpikedRF has its spike along the target's first direction, and along no other.
    """
    refuse_inputs(target, "the SpikedRF that resembles a network")
    model, off = spiked_features(net, target)
    if off > _ROUNDING:
        raise NotCovered(
            "the spike of this network points along several directions of the target, and the spike of a SpikedRF along"
            " the first only; ask predict(..., bulk='isotropic') for that model itself"
        )
    return model


def spiked_features(net: Network, target: Target) -> tuple[SpikedRF, float]:
    """Features with the network's spike and row norms, and the largest share of a spike on further directions of the
    target than the first. They behave as the network's whatever that is; their γ is its alignment if it is 0."""
    grid = model_grid(net, target)
    problem = pose(net, target, grid, "isotropic")
    layer = problem.first_layers.layer
    if (reached := float(problem.first_layers.error.max(initial=0.0))) > ACCEPTED_ERROR:
        warn(
            f"the integrals behind this spike and these row norms were not resolved: their relative error is about"
            f" {reached:.1e}; name the breakpoints of a function of your own, Function(f, derivative, breakpoints=...)"
        )
    if layer.spikes.max() > 1:
        raise NotCovered(
            "after several steps the letters' spikes point in different directions: there is no SpikedRF with one"
            " spike that resembles this network; ask predict(..., bulk='isotropic') for that model itself"
        )
    size = np.linalg.norm(layer.on_target, axis=-1, keepdims=True)
    off = float((np.abs(layer.on_target[..., 1:]) / np.maximum(size, TINY)).max(initial=0.0))
    frame = layer.frame()
    if net.readout.uniform:
        r, gamma, c = (grid.labelled(values) for values in (frame.b[:, 0, 0], frame.gamma[:, 0], layer.c[:, 0]))
        return SpikedRF(net.activation, r=r, gamma=gamma, c=c, beta=net.beta), off
    grid.check_single("networks with letters have their spiked features one by one")
    # biases change the slope that each letter's spike goes through: carry that in the letters' values
    group, sign = problem.merging.group, problem.merging.sign
    spikes, letters = frame.b[0, group, 0] * sign, np.asarray(net.readout.values)
    strength = np.abs(spikes / np.where(letters == 0.0, np.inf, letters))
    unit = float(strength.max()) or 1.0
    readout = Letters(tuple(spikes / unit), net.readout.weights, net.readout.biases, tuple(layer.c[0, group]))
    gamma = float(frame.gamma[0, 0])
    return SpikedRF(net.activation, r=unit, gamma=gamma, beta=net.beta, readout=readout), off
