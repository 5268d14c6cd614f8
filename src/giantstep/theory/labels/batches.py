"""The law of a label of several directions, compressed: a few hundred nodes y, with weights for averages of
g(y), x_j g(y) and x_j x_l g(y), however many variables there are and whatever the noise.

Functions that are smooth in y are kept: between edges at ±s 2^i, s the label's size, by their values on Gauss nodes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from ..layer import Frame
from ..rule import Rule
from ..upto import upto
from .joint import JointLaw
from .pieces import spread, table_nodes
from .seen import STEPS, Seen, refinement

_PANELS = 2.0 ** np.arange(-1, 11)  # edges to either side of 0, over √E y²
_PANELS = np.concatenate([-_PANELS[::-1], [0.0], _PANELS])
_PANEL_NODES = (16, 10, 6)  # between them, on three rules, finest first
# the law before the first step is made once for a target: so many refinements are there to begin with,
_ONCE = {2: 3, 3: 1, 4: 1}
_MOST_REFINED = {2: 3, 3: 2, 4: 1}  # and so many may follow
_NOISE_NODES = 24
_BLOCK = 1 << 16  # nodes at a time
_NOTHING = 1e-24  # weight of a node that no average feels


def pairs(count: int) -> list[tuple[int, int]]:
    """Of variables j ≤ l, in the order of a batch's rows."""
    return list(combinations_with_replacement(range(count), 2))


def _rows(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """w·(1, v_j, v_j v_l) for variables v [points, m, J]: [points, rows, J]."""
    first = [w * one for one in np.moveaxis(v, 1, 0)]
    second = [first[i] * v[:, j] for i, j in pairs(v.shape[1])]
    return np.stack([w, *first, *second], axis=1)


class _Scale:
    """Where labels of a law are put, on one of three rules."""

    def __init__(self, law: JointLaw, coarser: int, finer: int):
        self.law, self._count = law, _PANEL_NODES[coarser] + 2 * finer
        self.edges = float(np.sqrt(law.moments()[2])) * _PANELS

    @property
    def nodes(self) -> np.ndarray:
        return np.array([1.0, -1.0]) if self.law.binary else table_nodes(self.edges, self._count)

    def weigh(self, mean: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Labels with E[Y | z] [points, J] and weights [points, rows, J] on the nodes: [points, rows, nodes]."""
        if self.law.binary:
            return 0.5 * np.stack(
                [(rows * (1.0 + side * mean[:, None])).sum(axis=-1) for side in (1.0, -1.0)], axis=-1
            )
        return spread(np.clip(mean, self.edges[0], self.edges[-1]), rows, self.edges, self._count)

    def blurred(self, weights: np.ndarray, noise: float) -> np.ndarray:
        """With Gaussian noise added to labels: weights [..., nodes] again."""
        if noise == 0.0 or self.law.binary:
            return weights
        x, w = np.polynomial.hermite_e.hermegauss(_NOISE_NODES)
        at = np.clip(self.nodes[:, None] + noise * x, self.edges[0], self.edges[-1])
        own = np.broadcast_to(w / w.sum(), (len(at), 1, len(w)))
        return weights @ spread(at, own, self.edges, self._count)[:, 0]


@lru_cache(maxsize=32)
def _all_directions(law: JointLaw, coarser: int, finer: int) -> tuple[np.ndarray, np.ndarray]:
    z, w = law.nodes(0, _ONCE[law.directions] + finer - 2 * coarser)  # fewer by a factor of 2.25 each time
    scale = _Scale(law, coarser, finer)
    weights = [
        scale.weigh(law.mean(*z[:, part])[None], _rows(z[None, :, part], w[None, part]))
        for part in np.array_split(upto(len(w)), -(-len(w) // _BLOCK))
    ]
    return scale.nodes, np.sum(weights, axis=0)


@lru_cache(maxsize=64)
def first_batch(law: JointLaw, noise: float, points: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels [1, n] and weights [1, rows, n] of a batch before the first step, on three rules, finest first."""
    finer = min(_MOST_REFINED[law.directions], max(0, round(np.log2(points / 256))))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for coarser in range(3):
        y, weights = _all_directions(law, coarser, finer)
        weights = _Scale(law, coarser, finer).blurred(weights, noise)
        used = np.abs(weights).max(axis=(0, 1)) > _NOTHING
        found.append((y[None, used], weights[..., used]))
    return found


class GivenSeveral:
    """Labels of U settings at each κ: y [U, N, J] and weights [U, N, rows, J] for 1, y_m and y_m y_l."""

    def __init__(self, law: JointLaw, frame: Frame, rule: Rule, noise: np.ndarray, points: int):
        self._law, self._noise = law, noise
        self._finer = refinement(points, law.directions)
        self._seen = Seen(law, frame, rule, self._finer)

    def at(self, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """On the rule with every `stride`-th node."""
        scale = _Scale(self._law, STEPS[stride], self._finer)
        weights = self._directly(scale, stride) if self._seen.view.oblique else self._by_tables(scale, stride)
        if self._noise.any():
            weights = np.stack(
                [scale.blurred(one, float(x)) for one, x in zip(weights, self._noise, strict=True)]
            )
        used = np.abs(weights).reshape(-1, weights.shape[-1]).max(axis=0) > _NOTHING
        nodes, weights = scale.nodes[used], weights[..., used]
        return np.broadcast_to(nodes, (*weights.shape[:2], len(nodes))), weights

    def _directly(self, scale: _Scale, stride: int) -> np.ndarray:
        """Weights [U, N, rows, nodes] from nodes over y at each κ."""
        found: dict[int, list[np.ndarray]] = {}
        for u, (y, w, mean, _) in self._seen.measures(stride):
            found.setdefault(u, []).append(scale.weigh(mean[0], _rows(y[0], w[0])))
        return np.stack([np.concatenate(parts) for parts in found.values()])

    def _by_tables(self, scale: _Scale, stride: int) -> np.ndarray:
        """Those from tables over the directions that meet a spike."""
        seen, coarser = self._seen, STEPS[stride]
        view, met = seen.view, seen.view.met
        table = view.table(
            "law", lambda z, v, w: scale.weigh(self._law.mean(*z), _rows(v, w)), coarser, self._finer
        )
        onto = seen.onto(stride)
        rows = table.shape[-2]

        def averaged(powers: tuple[int, ...], row: int) -> np.ndarray:
            return seen.contracted(table[..., row, :], onto, powers)

        none = (0,) * met
        plain = seen.contracted(table.reshape(*table.shape[:met], -1), onto, none)
        plain = np.moveaxis(plain.reshape(*plain.shape[:2], rows, -1), 2, 0)
        unmet = {pair: 1 + view.unmet + i for i, pair in enumerate(pairs(view.unmet))}

        def power(*which: int) -> tuple[int, ...]:
            return tuple(which.count(m) for m in range(met))

        def row(*both: int) -> np.ndarray:
            """Weights for y_i, or for y_i y_j."""
            outside = [x - met for x in both if x >= met]
            place = (
                0 if not outside else 1 + outside[0] if len(outside) == 1 else unmet[outside[0], outside[1]]
            )
            inside = power(*both)
            return plain[place] if not any(inside) else averaged(inside, place)

        k = self._law.directions
        found = [plain[0], *(row(j) for j in range(k)), *(row(i, j) for i, j in pairs(k))]
        weights = np.stack(found, axis=2)  # [U, N, rows, J]
        return np.repeat(weights, seen.beyond(weights.shape[1], stride), axis=1)
