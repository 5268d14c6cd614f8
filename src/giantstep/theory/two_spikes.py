"""Two spikes with different left vectors: the spike's rank-one theory in a two-dimensional κ.

F = W + (s1 v1ᵀ + s2 v2ᵀ)/√d, where neuron i of group τ has the pair s_τ = (s1, s2). It sees s_τ·κ, κ being the
input's projections on the two (orthogonal) directions. Given κ its features are Gaussian as before, so the
equations are those of one spike, with averages over two κ's, a ζ for each direction, and one group per pair.

The directions may be rotated within their plane: one of them along the target's projection on it, and the target
is then a function of that κ and of y alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..gaussian import STRIDES, extrapolated_error, points_needed, sample, tail_reach
from ..grid import Grid
from ..model import SpikedRF, Target, TwoSpikes
from ..parameters import parameter
from ..provenance import provenance
from . import square
from .bulk import Isotropic
from .equations.means import Setting
from .features import Features, Label, Table, coefficient_moments
from .symmetric import packing

if TYPE_CHECKING:
    import xarray as xr

_POINTS, _FINEST = 32, 128  # half the κ intervals in each direction: where refinement starts and gives up
_ACCEPTED = 1e-6
_RESIDUAL = 1e-9
_BLOCK = 1 << 21  # function values in flight


def predict_two_spikes(
    model: TwoSpikes, target: Target, *, alpha: Any, lam: Any, d: Any = None, tolerance: float = 1e-8
) -> xr.Dataset:
    """Errors and order parameters of the square loss; a pair of proportional left vectors is one spike in disguise.

    `m`, `q2` have the dimension `group`, `q1` (`group`, `group_`), `psi` `group`, `zeta` (`group`, `spike`).
    """
    grid = Grid(
        {
            "beta": model.beta,
            "noise": target.noise,
            "alpha": parameter("alpha", alpha, low=0.0, strict=True),
            "lam": parameter("lam", lam, low=0.0, strict=True),
            "d": np.inf if d is None else parameter("d", d, low=1.0, infinite=True),
        }
    )
    flat = {
        name: grid.over(name, grid.dims).reshape(1, -1) for name in ("alpha", "beta", "lam", "noise", "d")
    }
    setting = Setting(**flat, unit=np.ones_like(flat["alpha"]))
    plane = _Plane(model, target)
    points = _POINTS
    while True:
        solutions: list[Any] = []
        for stride in reversed(STRIDES):
            features, label = plane.table(points, stride)
            bulk = Isotropic(np.full((1, len(model.weights)), model.c), np.asarray(model.weights), spikes=2)
            start = solutions[-1].start if solutions else None
            solutions.append(square.solve(features, label, bulk, setting, start))
        coarse, middle, fine = (s.test_error for s in solutions)
        error = extrapolated_error(np.abs(fine / middle - 1.0), np.abs(middle / coarse - 1.0))
        if np.all(error <= tolerance) or 2 * points > _FINEST:
            return _dataset(model, target, grid, solutions[-1], plane, error)
        points *= 2


class _Plane:
    """The plane of the two spikes, turned so that the target's projection lies along the first axis."""

    def __init__(self, model: TwoSpikes, target: Target):
        gamma = np.asarray(model.alignments)
        self.length = float(np.hypot(*gamma))
        self.turn = (
            np.array([[gamma[0], gamma[1]], [-gamma[1], gamma[0]]]) / self.length
            if self.length
            else np.eye(2)
        )
        self.spikes = np.asarray(model.left) * np.asarray(model.strengths) @ self.turn.T  # [K, 2]
        self._model, self._target = model, target.function

    def table(self, points: int, stride: int) -> tuple[Features, Label]:
        """Features and label on the product of a rule in κ along the target and one across."""
        f, c = self._model.activation, float(self._model.c)
        along = Table(
            f,
            self._target,
            self.spikes[:1, :1] * 0.0,
            np.full((1, 1), c),
            np.zeros(1),
            np.array([self.length]),
            points,
        )
        one, label = along.at(stride)
        total = float(np.sqrt(c + (self.spikes**2).sum(axis=1)).max())
        reach = tail_reach(f, total)
        n = 2 * points // stride
        across = reach * (2.0 * np.arange(1, n) / n - 1.0)
        across_weights = 2.0 * reach / n * np.exp(-0.5 * across**2) / np.sqrt(2.0 * np.pi)
        kappa = np.repeat(one.kappa[0], len(across))
        kappa2 = np.tile(across, one.kappa.shape[-1])
        weights = np.outer(one.weights[0], across_weights).reshape(1, -1)
        argument = self.spikes @ np.stack([kappa, kappa2])  # [K, N]
        nodes = points_needed(f, float(np.sqrt(c)), reach, float(np.abs(argument).max()), 1e-11)
        parts = [
            coefficient_moments(
                sample(f, block, np.full(block.shape, np.sqrt(c)), nodes, reach).moments(), np.asarray(c)
            )
            for block in np.array_split(argument, max(1, argument.size * nodes // _BLOCK), axis=1)
        ]
        mu = (np.concatenate(values, axis=-1)[None] for values in zip(*parts, strict=True))
        t0, t1, t2 = (np.repeat(t, len(across), axis=-1) for t in (label.t0, label.t1, label.t2))
        return Features(kappa[None], weights, *mu, kappa2=kappa2[None]), Label(t0, t1, t2)


def reduced(model: TwoSpikes) -> SpikedRF | None:
    """The one-spike model that this is in disguise, if all pairs are multiples of one: else None."""
    from ..model import Letters

    pairs = np.asarray(model.left) * np.asarray(model.strengths)
    values, vectors = np.linalg.eigh(pairs.T @ pairs)
    if values[0] > 1e-24 * values[1]:
        return None
    direction = vectors[:, 1]
    letters = pairs @ direction
    gamma = float(direction @ np.asarray(model.alignments))
    readout = Letters(tuple(letters), model.weights)
    return SpikedRF(model.activation, r=1.0, gamma=gamma, c=model.c, beta=model.beta, readout=readout)


def _dataset(
    model: TwoSpikes, target: Target, grid: Grid, found: Any, plane: _Plane, error: np.ndarray
) -> xr.Dataset:
    pack = packing(len(model.weights))
    dims, shape = grid.dims, grid.shape
    zeta = (
        np.stack([found.state.zeta, found.state.chi], axis=-1) @ plane.turn
    )  # back to the user's directions
    answers = {
        "test_error": (found.test_error, ()),
        "train_error": (found.train_error, ()),
        "train_loss": (found.train_loss, ()),
        "m": (found.state.m, ("group",)),
        "zeta": (zeta, ("group", "spike")),
        "psi": (found.state.psi, ("group",)),
        "q1": (pack.matrix(found.state.q), ("group", "group_")),
        "q2": (pack.vector(found.state.q), ("group",)),
        "residual": (found.residual, ()),
        "quadrature_error": (error, ()),
        "converged": ((found.residual <= _RESIDUAL) & (error <= _ACCEPTED), ()),
    }
    variables = {
        name: ((*dims, *extra), np.asarray(values[0]).reshape((*shape, *values.shape[2:])))
        for name, (values, extra) in answers.items()
    }
    return grid.dataset(variables, provenance("predict", model, target, loss="square", bulk="isotropic"))
