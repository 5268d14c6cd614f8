"""Which bulk a first layer has: three laws of its rows, by name.

=============  ===================================================================================================
isotropic      all directions alike: spiked random features, and the paper's model of a network; for inputs with a
               covariance, what the rows' covariances are on average over the batches
exact          the trained network itself, whose batches have shaped its rows
orthogonal     the special W = Π⊥
=============  ===================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from .bulk import Bulk, Isotropic, OnEigenvalues, Orthogonal

if TYPE_CHECKING:
    from .layer import FirstLayer
    from .problem import Problem

Bulks = tuple[Bulk, ...]
"""A bulk; if it has rules inside, also the one on rules with half the nodes, by which it is judged."""


@dataclass(frozen=True)
class BulkLaw:
    """A law of rows: `make` gives the bulks of some first layers of one kind, with rules inside that have 2^refinement
    times their usual number of nodes. In `trained` rows norms and biases are those that steps have left."""

    name: str
    make: Callable[[Problem, np.ndarray, int], Bulks]
    trained: bool = False


def _isotropic(problem: Problem, chunk: np.ndarray, refinement: int) -> Bulks:
    layer = problem.first_layers.layer.at(chunk)
    on_eigenvalues = None if layer.spectrum.count == 1 else _on_eigenvalues(layer)
    return (Isotropic(layer.c, problem.weights, problem.modes(chunk), on_eigenvalues),)


def _on_eigenvalues(layer: FirstLayer) -> OnEigenvalues:
    """Where the rows and the directions of a frame lie among the inputs' eigenvalues."""
    profile, spectrum = layer.profile, layer.spectrum
    assert profile is not None
    to_target, to_spikes = layer.frame().in_target_and_spikes()
    P, Q = (np.einsum("uns,usmj->unmj", to_spikes, part) for part in (profile.P, profile.Q))
    overlaps = profile.overlaps(P + to_target[..., None], Q)
    return OnEigenvalues(profile.c * spectrum.omega[:, None], spectrum.mu, overlaps)


def _orthogonal(problem: Problem, chunk: np.ndarray, refinement: int) -> Bulks:
    return (Orthogonal(problem.weights, problem.modes(chunk)),)


def _exact(problem: Problem, chunk: np.ndarray, refinement: int) -> Bulks:
    return problem.first_layers.trained_bulk(chunk, refinement).both()


ISOTROPIC, ORTHOGONAL = BulkLaw("isotropic", _isotropic), BulkLaw("orthogonal", _orthogonal)
EXACT = BulkLaw("exact", _exact, trained=True)
_NAMED = {law.name: law for law in (ISOTROPIC, EXACT, ORTHOGONAL)}


def choose_bulk(named: str | BulkLaw | None, model: Any, problem: Problem) -> BulkLaw:
    """The law that a text names; by default the best one that a first layer has. Refuses one that it cannot have."""
    steps = problem.first_layers.steps
    if isinstance(named, BulkLaw):
        law = named
    elif named is None:
        law = EXACT if steps else ISOTROPIC
    elif named not in _NAMED:
        raise ParameterError(f"bulk = {named!r} is unknown; use one of {', '.join(_NAMED)}, or leave it out")
    else:
        law = _NAMED[named]
    if law.trained and not steps:
        raise ParameterError(
            f"bulk = {law.name!r} is for a trained Network; a SpikedRF or TwoSpikes has bulk = 'isotropic'"
        )
    if law is ORTHOGONAL and steps:
        raise ParameterError(
            "bulk = 'orthogonal' is a special SpikedRF or TwoSpikes, W = Π⊥; a Network's rows are not orthogonal"
        )
    if law is ORTHOGONAL and (np.any(np.asarray(model.beta) != 1.0) or np.any(problem.c != 1.0)):
        raise ParameterError("bulk = 'orthogonal' is W = Π⊥, with as many unit rows as dimensions: beta = 1 and c = 1")
    return law
