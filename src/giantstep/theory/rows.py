"""Laws of the first layer's bulk rows: each is an object that answers with its bulk; a text only names one.

=================  =================================================================================================
`Isotropic`        all directions alike: spiked random features, and the paper's model of a network
`Exact`            the trained network itself, whose rows carry the imprint of its batches
`Orthogonal`       the special W = Π⊥
=================  =================================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..errors import ParameterError
from . import bulk as bulks
from .bulk import Bulk
from .layer import Frame
from .modes import Modes
from .origin import Origin
from .slopes import check_moment
from .training import POINTS

PLAIN_WIDTH = 128  # array elements in flight per grid point, where a bulk takes none of its own
NAMES = ("isotropic", "exact", "orthogonal")


class Rows(ABC):
    """A law of rows."""

    name: str

    def check(self, origin: Origin, model: Any) -> None:  # noqa: B027  (most laws suit every model)
        """Refuse a first layer that cannot have such rows."""

    def width(self, origin: Origin) -> int:
        """Array elements in flight per grid point."""
        return PLAIN_WIDTH

    def coarsest(self, origin: Origin) -> int:
        """With which refinement of the rules inside its bulk to begin."""
        return 0

    def modes(self, origin: Origin, frame: Frame) -> Modes:
        """What carries signal; here in rows whose norms do not fluctuate."""
        return Modes(frame.spikes, frame.gamma.shape[1])

    def on_a_line(self, origin: Origin) -> bool:
        """Whether a bulk is an exact one of a single group, which `bulk.Along` can tabulate."""
        return False

    def error(self, origin: Origin) -> np.ndarray:
        """That of the integrals behind first layers with such rows, which no rule shows, [U]."""
        return origin.error

    @abstractmethod
    def bulks(self, origin: Origin, chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        """The bulk of some first layers of one kind on three nested rules, finest first.

        Rules that it may have inside, over batches, have 2^refinement times their usual number of nodes.
        """


class Isotropic(Rows):
    name = "isotropic"

    def bulks(self, origin: Origin, chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        layer = origin.layer.at(chunk)
        modes = self.modes(origin, layer.frame())
        return _thrice(bulks.Isotropic(layer.c, origin.neurons.weights, modes))


class Exact(Rows):
    """Rows of networks that were trained, each with a norm of its own."""

    name = "exact"

    def check(self, origin: Origin, model: Any) -> None:
        _check_trained(self.name, origin)

    def modes(self, origin: Origin, frame: Frame) -> Modes:
        return origin.neurons.modes(frame)

    def width(self, origin: Origin) -> int:
        rank = len(origin.neurons.values) * (1 if origin.neurons.activation.parity == "odd" else 2)
        return round(POINTS * 2.0 ** self.coarsest(origin)) * rank**2

    def coarsest(self, origin: Origin) -> int:
        return 0 if origin.training is None else origin.training.coarsest

    def error(self, origin: Origin) -> np.ndarray:
        assert origin.training is not None
        return np.maximum(origin.error, origin.training.row_error)

    def on_a_line(self, origin: Origin) -> bool:
        return len(origin.neurons.values) == 1

    def bulks(self, origin: Origin, chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        assert origin.training is not None
        return origin.training.exact(chunk, refinement)


class Orthogonal(Rows):
    name = "orthogonal"

    def check(self, origin: Origin, model: Any) -> None:
        if origin.training is not None:
            raise ParameterError(
                "bulk = 'orthogonal' is a special SpikedRF or TwoSpikes, W = Π⊥; a Network's rows are not orthogonal"
            )
        if np.any(np.asarray(model.beta) != 1.0) or np.any(origin.layer.c != 1.0):
            raise ParameterError(
                "bulk = 'orthogonal' is W = Π⊥, with as many unit rows as dimensions: beta = 1 and c = 1"
            )

    def bulks(self, origin: Origin, chunk: np.ndarray, refinement: int) -> tuple[Bulk, Bulk, Bulk]:
        modes = self.modes(origin, origin.layer.at(chunk).frame())
        return _thrice(bulks.Orthogonal(origin.neurons.weights, modes))


def rows_law(named: str | Rows | None, origin: Origin) -> Rows:
    """The law that a text names; by default the best one that a first layer has."""
    if isinstance(named, Rows):
        return named
    if named is None:
        return Isotropic() if origin.training is None else Exact()
    if named.startswith("sampled"):
        raise ParameterError(
            f"bulk = {named!r} is no longer there; to check the exact bulk, train networks: simulate(...), then compare"
        )
    plain = {law.name: law for law in (Isotropic(), Exact(), Orthogonal())}
    if named not in plain:
        raise ParameterError(f"bulk = {named!r} is unknown; use one of {', '.join(NAMES)}, or leave it out")
    return plain[named]


def _check_trained(name: str, origin: Origin) -> None:
    if origin.training is None:
        raise ParameterError(
            f"bulk = {name!r} is that of a trained Network; a SpikedRF or TwoSpikes has the isotropic one"
        )
    if origin.training.taken.any():
        check_moment(
            origin.neurons.activation,
            4,
            f"row norms after a step fluctuate too much for bulk = {name!r}",
            "use bulk='isotropic', or an activation that is smoother there (a power above 3/4)",
        )


def _thrice(bulk: Bulk) -> tuple[Bulk, Bulk, Bulk]:
    """A bulk with no rule inside is the same on all three."""
    return bulk, bulk, bulk
