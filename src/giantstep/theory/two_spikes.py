"""Two spikes with different left vectors: the spike's rank-one theory in a two-dimensional κ.

F = W + (s1 v1ᵀ + s2 v2ᵀ)/√d, where neuron i of group τ has the pair s_τ = (s1, s2). It sees s_τ·κ, κ being the
input's projections on the two (orthogonal) directions. Given κ its features are Gaussian as before, so the
equations are those of one spike, with averages over two κ's, a ζ for each direction, and one group per pair.

The directions may be rotated within their plane: one of them along the target's projection on it, and the target
is then a function of that κ and of y alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..gaussian import points_needed, sample, tail_reach
from ..grid import Grid
from ..letters import Letters
from ..model import SpikedRF, Target, TwoSpikes
from ..parameters import parameter
from ..provenance import provenance
from . import engine
from .bulk import Isotropic
from .features import Features, Label, Table, coefficient_moments
from .problem import Problem
from .status import FAILED, SENTENCES

if TYPE_CHECKING:
    import xarray as xr

TOLERANCE = 1e-8
_COARSEST, _FINEST = 32, 128  # half the κ intervals in each direction: where refinement starts and gives up
_BLOCK = 1 << 21  # function values in flight


def predict_two_spikes(
    model: TwoSpikes,
    target: Target,
    *,
    alpha: Any,
    lam: Any,
    d: Any = None,
    tolerance: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Errors and order parameters of the square loss; a pair of proportional left vectors is one spike in disguise.

    `m`, `q2`, `V2` have the dimension `group`, `q1`, `V1` (`group`, `group_`), `psi` `group`, `zeta` (`group`,
    `spike`).
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
    plane = _Plane(model, target)
    problem = _posed(model, target, grid, plane)
    answers = engine.solve(problem, TOLERANCE if tolerance is None else tolerance, progress)
    return _dataset(model, target, grid, plane, answers)


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
        self.activation, self.target, self.c = model.activation, target.function, float(model.c)


class _PlaneTable:
    """Features and label on products of a rule in κ along the target and one across."""

    def __init__(self, plane: _Plane, points: int, farther: float):
        self._plane, self._points = plane, points
        layer = (np.zeros((1, 1)), np.full((1, 1), plane.c), np.zeros(1), np.array([plane.length]))
        self._along = Table(plane.activation, plane.target, *layer, points, farther)
        total = float(np.sqrt(plane.c + (plane.spikes**2).sum(axis=1)).max())
        self._inner_reach = tail_reach(plane.activation, total)
        self._reach = farther * self._inner_reach

    def at(self, stride: int) -> tuple[Features, Label]:
        one, label = self._along.at(stride)
        n = 2 * self._points // stride
        across = self._reach * (2.0 * np.arange(1, n) / n - 1.0)
        across_weights = 2.0 * self._reach / n * np.exp(-0.5 * across**2) / np.sqrt(2.0 * np.pi)
        kappa = np.repeat(one.kappa[0], len(across))
        kappa2 = np.tile(across, one.kappa.shape[-1])
        weights = np.outer(one.weights[0], across_weights).reshape(1, -1)
        mu = self._coefficients(self._plane.spikes @ np.stack([kappa, kappa2]))
        t0, t1, t2 = (np.repeat(t, len(across), axis=-1) for t in (label.t0, label.t1, label.t2))
        return Features(kappa[None], weights, *mu, kappa2=kappa2[None]), Label(t0, t1, t2)

    def _coefficients(self, argument: np.ndarray) -> list[np.ndarray]:
        """Result 2's coefficients [1, K, N] where groups see s_τ·κ = `argument` [K, N]."""
        f, c, reach = self._plane.activation, self._plane.c, self._inner_reach
        nodes = points_needed(f, float(np.sqrt(c)), reach, float(np.abs(argument).max()), 1e-11)
        parts = [
            coefficient_moments(
                sample(f, block, np.full(block.shape, np.sqrt(c)), nodes, reach).moments(), np.asarray(c)
            )
            for block in np.array_split(argument, max(1, argument.size * nodes // _BLOCK), axis=1)
        ]
        return [np.concatenate(values, axis=-1)[None] for values in zip(*parts, strict=True)]


@dataclass
class _PlaneProblem(Problem):
    """One first layer with two spikes: its features are tabulated on the plane of them."""

    plane: _Plane | None = None

    def blocks(self, points: int) -> list[tuple[np.ndarray, int]]:
        return [(np.array([0]), points)]

    def table(
        self, chunk: np.ndarray, points: int, farther: float = 1.0, layers: np.ndarray | None = None
    ) -> _PlaneTable:
        assert self.plane is not None
        return _PlaneTable(self.plane, points, farther)


def _posed(model: TwoSpikes, target: Target, grid: Grid, plane: _Plane) -> _PlaneProblem:
    weights, c = np.asarray(model.weights), np.full((1, len(model.weights)), model.c)
    bulk = Isotropic(c, weights, spikes=2)
    names = ("alpha", "beta", "lam", "noise", "d")
    settings: dict[str, Any] = {name: grid.over(name, grid.dims).reshape(1, -1) for name in names}
    return _PlaneProblem(
        activation=model.activation,
        target=target.function,
        weights=weights,
        biases=np.zeros(len(weights)),
        r=np.hypot(*plane.spikes.T)[None],
        c=c,
        gamma=np.array([plane.length]),
        bulks=lambda *_: (bulk, bulk, bulk),
        **settings,
        width=4 * _COARSEST**2,
        coarsest=_COARSEST,
        finest=_FINEST,
        plane=plane,
    )


def reduced(model: TwoSpikes) -> SpikedRF | None:
    """The one-spike model that this is in disguise, if all pairs are multiples of one: else None."""
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
    model: TwoSpikes, target: Target, grid: Grid, plane: _Plane, answers: dict[str, np.ndarray]
) -> xr.Dataset:
    code = answers.pop("code")
    zeta = np.stack([answers["zeta"], answers.pop("chi")], axis=-1) @ plane.turn  # in the user's directions
    failed = np.isin(code, FAILED)
    answers |= {"zeta": zeta, "converged": ~failed, "status": np.array(SENTENCES, dtype=object)[code]}
    inner = {"m": ("group",), "psi": ("group",), "zeta": ("group", "spike")}
    inner |= dict.fromkeys(("q2", "V2"), ("group",)) | dict.fromkeys(("q1", "V1"), ("group", "group_"))
    variables = {}
    for name, values in answers.items():
        if name not in ("residual", "quadrature_error", "converged", "status"):
            values[failed] = np.nan
        shaped = values[0].reshape((*grid.shape, *values.shape[2:]))
        variables[name] = ((*grid.dims, *inner.get(name, ())), shaped)
    return grid.dataset(variables, provenance("predict", model, target, loss="square", bulk="isotropic"))
