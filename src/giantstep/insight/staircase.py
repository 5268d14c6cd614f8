"""The staircase: which directions of a target the spikes find, at which step, and why not others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermevander

from ..answers.dims import place_name
from ..answers.provenance import provenance
from ..errors import NotCovered
from ..gaussian import expectation
from ..model.arguments import checked_arguments
from ..model.network import Network
from ..model.target import as_target
from ..theory.first_layers import FirstLayers
from ..theory.labels import SeveralDirections, labels_of
from ..theory.layer import FirstLayer
from ..theory.problem import model_grid, pose

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike
    from ..model.target import Target

_FOUND = 1e-7  # overlap, over the spike's length, from which on a direction counts as found
_THERE = 1e-6  # size of a Hermite coefficient, over that of its function, from which on it counts
_ROUNDING = 1e-13
_DEGREES = 8  # of polynomials that are looked for


@checked_arguments()
def staircase(net: Network, target: Target | FunctionLike) -> xr.Dataset:
    r"""Which directions of a target the spikes of a network find, at which of its steps, and why others are not found.

    A spike with components γ on the target's directions finds direction :math:`x_j` at the next step if and only if

    .. math:: E[s_0 \partial_j g] = \sum_p \frac{r^p}{p!}\,h_{p+1}\,E[(\gamma\cdot\partial)^p \partial_j g] \ne 0:

    through a part of the target that is linear in :math:`x_j` times a polynomial of degree p in directions found
    before, and only if the activation has a Hermite coefficient :math:`h_{p+1}` of that order (at variance r² + c).
    Odd activations use even degrees p; ReLU, GELU and the like, which are a straight line plus an even function, use
    p = 0 and odd ones. A direction is never found if the target has it only in second or higher order.

    Parameters
    ----------
    net : Network
        The network, with its steps. Give numbers, not grids.
    target : Target or str or callable
        The function to learn, of one or several directions.

    Returns
    -------
    xarray.Dataset
        `overlap` (step, direction), the largest |γ| of any letter's spike; `found` (direction), the first step at which
        it is not 0, or 0; `reason` (direction), a sentence.

    Examples
    --------
    >>> import giantstep as gs
    >>> found = gs.staircase(gs.Network("relu", eta=1, alpha0=2, steps=3), "x1 + x1*x2 + x1*x2*x3")
    >>> found.found.values.tolist()
    [1, 2, 0]
    >>> print(found.reason.values[1])
    found at step 2: the target has x2 times terms of degree 1 in directions found before
    """
    target = as_target(target)
    grid = model_grid(net, target)
    grid.check_single("a staircase is climbed in one setting")
    layers = pose(net, target, grid, "isotropic").first_layers
    if (layers.layer.spectrum.tau * (1.0 - np.eye(target.directions))).any():
        raise NotCovered(
            "shares has directions of the target that share eigenvalues of the inputs: a step may then find one through"
            " the other, and a staircase has no reasons for that; ask predict for gamma after every step"
        )
    path = layers.path[1:]
    overlap = np.stack([_overlaps(layer) for layer in path])  # [step, direction]
    seen = overlap > _FOUND
    found = np.where(seen.any(axis=0), seen.argmax(axis=0) + 1, 0)
    reasons = [_reason(layers, int(step), j, found) for j, step in enumerate(found)]
    variables = {
        "overlap": (("step", "direction"), overlap),
        "found": (("direction",), found),
        "reason": (("direction",), np.array(reasons, dtype=object)),
    }
    coords = {"step": list(range(1, len(path) + 1)), "direction": list(range(1, overlap.shape[1] + 1))}
    answer = grid.dataset(variables, provenance("staircase", net, target), coords)
    answer["overlap"].attrs = {
        "symbol": r"\max|\gamma|",
        "long_name": "overlap of the spike with a direction of the target",
    }
    return answer


def _overlaps(layer: FirstLayer) -> np.ndarray:
    """The largest |γ| of any group's spike with each direction, [k]."""
    length = np.sqrt(np.diagonal(layer.gram[0]))
    there = length > 0.0
    found = np.abs(layer.on_target[0] / np.where(there, length, np.inf)[:, None]).max(axis=0)
    return np.where(found < _ROUNDING, 0.0, found)


def _reason(layers: FirstLayers, step: int, j: int, found: np.ndarray) -> str:
    """Why direction j is found at a step (0: never), in words."""
    name = place_name("direction", j + 1, alone=len(found) == 1)
    activation = layers.neurons.activation.name
    if not layers.taken.any():
        return "not found: the network takes no step"
    if step == 1:
        return f"found at step 1: the target has a linear part in {name}"
    if not found.any():
        return (
            "not found: the target has no linear part, so the first spike is noise, and later steps have nothing to"
            " build on"
        )
    taken = len(layers.path) - 1
    before = layers.path[step - 1 if step else taken]
    offered = _offered(layers, before, j)
    if not (offered or step):
        return f"not found: given the directions found before, nothing in the target is linear in {name}"
    orders = _orders(layers, before)
    used = [p for p in offered if p + 1 in orders]
    if step:
        return (
            f"found at step {step}: the target has {name} times terms of degree {_listed(used)} in directions found"
            " before"
        )
    if not used:
        return (
            f"not found: the target has {name} times degree {_listed(offered)} in directions found before, and"
            f" {activation} has no Hermite coefficient of order {_listed([p + 1 for p in offered])}"
        )
    return f"not found yet: the next step finds it, by terms of degree {_listed(used)}"


def _offered(layers: FirstLayers, layer: FirstLayer, j: int) -> list[int]:
    """Degrees p for which E[(γ·∂)^p ∂_j g] = E[He_p(n·z) z_j g], n along γ, does not vanish for some spike."""
    labels = labels_of(layers.target)
    assert isinstance(labels, SeveralDirections)  # of one direction there is nothing to be found later
    z, w = labels.nodes(0, 0)
    y = labels.mean(*z)
    spikes = layer.on_target[0]
    length = np.linalg.norm(spikes, axis=1)
    along = (spikes[length > 0.0] / length[length > 0.0, None]) @ z
    parts = (w * z[j] * y) @ hermevander(along, _DEGREES)  # [spikes, degrees]
    there = np.abs(parts) > _THERE * np.sqrt(w @ y**2) * _norms(_DEGREES)
    return np.flatnonzero(there.any(axis=0)).tolist()


def _orders(layers: FirstLayers, layer: FirstLayer) -> set[int]:
    """Orders of which some group's activation has a Hermite coefficient at variance r² + c."""
    sigma, biases = layers.neurons.activation, layers.neurons.biases
    found: set[int] = set()
    for bias, scale in zip(biases, np.sqrt(np.diagonal(layer.gram[0]) + layer.c[0]), strict=True):

        def parts(z: np.ndarray, bias: float = bias, scale: float = scale) -> np.ndarray:
            value = np.asarray(sigma(bias + scale * z))
            return np.concatenate([np.moveaxis(hermevander(z, _DEGREES + 1), -1, 0) * value, [value**2]])

        *coefficients, square = expectation(parts, sigma, bias, scale, tolerance=1e-11)
        there = np.abs(coefficients) > _THERE * np.sqrt(square) * _norms(_DEGREES + 1)
        found.update(np.flatnonzero(there).tolist())
    return found


def _norms(degree: int) -> np.ndarray:
    """√E He_p² for p up to a degree."""
    return np.sqrt([math.factorial(p) for p in range(degree + 1)])


def _listed(numbers: list[int]) -> str:
    return " and ".join(map(str, numbers)) if len(numbers) < 3 else ", ".join(map(str, numbers))
