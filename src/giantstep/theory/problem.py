"""From a description on a grid to the engine's arrays: first layers along the dimensions that shape them,
readout settings along the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..model import Letters, Network, SpikedRF, Target
from .bulk import Bulk, Isotropic
from .engine import Bulks, Problem
from .groups import Merging, merge
from .mapping import FirstLayer, first_layer, warn_if_poor

BULKS = ("isotropic", "exact")


class Posed(NamedTuple):
    """A problem, and what it takes to label its answers."""

    problem: Problem
    layer: FirstLayer
    merging: Merging
    layer_dims: tuple[str, ...]
    setting_dims: tuple[str, ...]
    bulk: str


def pose(model: Network | SpikedRF, target: Target, grid: Grid, bulk: str | None) -> Posed:
    """The problem on a grid, with the named bulk or the best one that the model has."""
    merging = merge(model.readout, odd=model.activation.parity == "odd")
    letters = merging.letters
    shaping = ("eta", "alpha0", "beta", "noise") if isinstance(model, Network) else ("r", "gamma", "c")
    layer_dims = grid.dims_of(shaping)
    setting_dims = tuple(dim for dim in grid.dims if dim not in layer_dims)
    values = {name: grid.over(name, layer_dims).reshape(-1) for name in shaping}
    if isinstance(model, Network):
        layer = first_layer(model.activation, letters, target, **values)
    else:
        c = values["c"][:, None] * np.ones(len(letters.values))
        c = c if letters.c is None else np.broadcast_to(np.asarray(letters.c), c.shape)
        layer = FirstLayer(values["r"][:, None] * np.ones_like(c), values["gamma"], c)
    U = len(layer.r)
    count = int(np.prod(grid.shape)) // U
    name, bulks, width = _bulks(model, target, letters, layer, values, bulk)

    def setting(name: str, default: float = 0.0) -> np.ndarray:
        if name not in grid:
            return np.full((U, count), default)
        return grid.over(name, layer_dims + setting_dims).reshape(U, count)

    problem = Problem(
        activation=model.activation,
        target=target.function,
        weights=np.asarray(letters.weights),
        biases=np.asarray(letters.biases or (0.0,) * len(letters.values)),
        r=layer.r * np.asarray(letters.values),
        c=layer.c,
        gamma=layer.gamma,
        bulks=bulks,
        alpha=setting("alpha"),
        beta=setting("beta"),
        lam=setting("lam"),
        noise=setting("noise"),
        d=setting("d", np.inf),
        width=width,
    )
    return Posed(problem, layer, merging, layer_dims, setting_dims, name)


def _bulks(
    model: Network | SpikedRF,
    target: Target,
    letters: Letters,
    layer: FirstLayer,
    values: dict[str, np.ndarray],
    bulk: str | None,
) -> tuple[str, Bulks, int]:
    if bulk not in (None, *BULKS):
        raise ParameterError(f"bulk = {bulk!r} is unknown; use one of {list(BULKS)}, or leave it out")
    weights = np.asarray(letters.weights)
    if isinstance(model, SpikedRF):
        if bulk == "exact":
            raise ParameterError(
                "bulk = 'exact' is the bulk of a trained Network; a SpikedRF has the isotropic one"
            )
        bulk = "isotropic"
    elif bulk is None:
        bulk = "exact" if letters.biases is None else "isotropic"
        if bulk == "isotropic":
            warn_if_poor(model.activation, letters, target, layer, values["eta"], values["beta"])
    if bulk == "isotropic":

        def isotropic(chunk: np.ndarray, _: int) -> tuple[Bulk, Bulk, Bulk]:
            one = Isotropic(layer.c[chunk], weights)
            return one, one, one

        return bulk, isotropic, 64
    if letters.biases is not None:
        raise ParameterError(
            "bulk = 'exact' does not cover biases in the gradient step; name bulk='isotropic', or leave biases out"
        )
    from .imprint import POINTS, exact_bulk

    def exact(chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        chosen = {name: array[chunk] for name, array in values.items()}
        return exact_bulk(
            model.activation, letters, target, layer.gamma[chunk], **chosen, points=POINTS * 2**refinement
        )

    rank = len(weights) * (1 if model.activation.parity == "odd" else 2)
    return bulk, exact, POINTS * rank**2
