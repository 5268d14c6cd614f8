"""From a description on a grid to the engine's arrays: first layers along the dimensions that shape them,
readout settings along the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..letters import Letters
from ..losses import Loss, square
from ..model import Network, SpikedRF, Target, check_model
from .bulk import Bulk, Isotropic, Orthogonal
from .groups import Merging, merge
from .labels import binary_law
from .problem import Bulks, Problem
from .step.mapping import FirstLayer, Step, common_drag, first_layer, warn_if_poor

BULKS = ("isotropic", "exact", "sampled", "orthogonal")


class Posed(NamedTuple):
    """A problem, and what it takes to label its answers."""

    problem: Problem
    layer: FirstLayer
    merging: Merging
    layer_dims: tuple[str, ...]
    setting_dims: tuple[str, ...]
    bulk: str


def model_grid(model: Network | SpikedRF, target: Target, **more: object) -> Grid:
    """The grid of a model's own parameters, the target's noise, and `more`."""
    check_model(model)
    return Grid(model.numbers() | {"noise": target.noise} | more)


def pose(
    model: Network | SpikedRF, target: Target, grid: Grid, bulk: str | None, loss: Loss = square
) -> Posed:
    """The problem on a grid, with the named bulk or the best one that the model has."""
    law = binary_law(target)
    merging = merge(model.readout, odd=model.activation.parity == "odd")
    letters = merging.letters
    layer_dims = grid.dims_of(model.shaping)
    setting_dims = tuple(dim for dim in grid.dims if dim not in layer_dims)
    values = {name: grid.over(name, layer_dims).reshape(-1) for name in model.shaping}
    if isinstance(model, Network):
        step = Step.of(model, target, letters)
        layer = first_layer(step, **values)
    else:
        step = None
        c = values["c"][:, None] * np.ones(len(letters.values))
        c = c if letters.c is None else np.broadcast_to(np.asarray(letters.c), c.shape)
        layer = FirstLayer(values["r"][:, None] * np.ones_like(c), values["gamma"], c)
    U = len(layer.r)
    count = int(np.prod(grid.shape)) // U
    name, bulks, width = _bulks(model, step, letters, layer, values, bulk)

    def setting(name: str, default: float = 0.0) -> np.ndarray:
        if name not in grid:
            return np.full((U, count), default)
        return grid.over(name, layer_dims + setting_dims).reshape(U, count)

    problem = Problem(
        activation=model.activation,
        target=target.function if law is None else law.function(),
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
        loss=loss,
        law=law,
    )
    return Posed(problem, layer, merging, layer_dims, setting_dims, name)


def _bulks(
    model: Network | SpikedRF,
    step: Step | None,
    letters: Letters,
    layer: FirstLayer,
    values: dict[str, np.ndarray],
    bulk: str | None,
) -> tuple[str, Bulks, int]:
    """The bulk's name, its maker, and how many array elements a grid point takes."""
    name = _named(model, letters, bulk)
    weights = np.asarray(letters.weights)
    drag = common_drag(step, **values) if step is not None else None
    if name == "isotropic":
        if bulk is None and step is not None:
            warn_if_poor(step, layer, values["eta"], values["beta"], values["noise"])
        return (
            name,
            lambda chunk, _: _thrice(
                Isotropic(layer.c[chunk], weights, drag=None if drag is None else drag[chunk])
            ),
            64,
        )
    if name == "orthogonal":
        _check_orthogonal(model)
        return name, lambda chunk, _: _thrice(Orthogonal(weights)), 64
    assert step is not None  # the other bulks are a network's
    from .step.imprint import POINTS, exact_bulk, sampled_bulk

    rank = len(weights) * (1 if model.activation.parity == "odd" else 2)
    if name == "exact":

        def exact(chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
            chosen = {key: array[chunk] for key, array in values.items()}
            points = POINTS * 2**refinement
            found = exact_bulk(step, layer.gamma[chunk], **chosen, points=points)
            for bulk in found:
                bulk.drag = None if drag is None else drag[chunk]
            return found

        return name, exact, POINTS * rank**2
    d, seed = _sample_size(name)

    def sampled(chunk: np.ndarray, _: int) -> tuple[Bulk, Bulk, Bulk]:
        chosen = {key: array[chunk] for key, array in values.items()}
        found = sampled_bulk(step, **chosen, d=d, seed=seed)
        found.drag = None if drag is None else drag[chunk]
        return _thrice(found)

    return name, sampled, d * rank**2


def _named(model: Network | SpikedRF, letters: Letters, bulk: str | None) -> str:
    """Which bulk to use, or a sentence why the one asked for does not fit."""
    network, biased = isinstance(model, Network), letters.biases is not None
    if bulk is None:
        return "exact" if network and not biased else "isotropic"
    kind = bulk.split(":")[0]
    if kind not in BULKS:
        raise ParameterError(f"bulk = {bulk!r} is unknown; use one of {list(BULKS)}, or leave it out")
    if kind in ("exact", "sampled"):
        if not network:
            raise ParameterError(
                f"bulk = {bulk!r} is that of a trained Network; a SpikedRF has the isotropic one"
            )
        if biased:
            raise ParameterError(
                f"bulk = {bulk!r} does not cover biases in the gradient step; use bulk='isotropic', or no biases"
            )
    if kind == "orthogonal" and network:
        raise ParameterError(
            "bulk = 'orthogonal' is a special SpikedRF, W = Π⊥; a Network's rows are not orthogonal"
        )
    return bulk


def _check_orthogonal(model: Network | SpikedRF) -> None:
    assert isinstance(model, SpikedRF)
    if (
        np.any(np.asarray(model.beta) != 1.0)
        or np.any(np.asarray(model.c) != 1.0)
        or model.readout.c is not None
    ):
        raise ParameterError(
            "bulk = 'orthogonal' is W = Π⊥, with as many unit rows as dimensions: beta = 1 and c = 1"
        )


def _sample_size(name: str) -> tuple[int, int]:
    """Dimension and seed from 'sampled', 'sampled:D' or 'sampled:D:SEED'."""
    try:
        d, seed = (*(int(part) for part in name.split(":")[1:]), *(1000, 0)[name.count(":") :])
    except ValueError:
        raise ParameterError(
            f"bulk = {name!r}: write 'sampled', 'sampled:1000' or 'sampled:1000:7' (d, seed)"
        ) from None
    if d < 10:
        raise ParameterError(f"bulk = {name!r}: a sampled batch needs d of at least 10")
    return d, seed


def _thrice(bulk: Bulk) -> tuple[Bulk, Bulk, Bulk]:
    """A bulk with no rule inside is the same on all three."""
    return bulk, bulk, bulk
