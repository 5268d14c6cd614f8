"""A target of several directions given κ, by way of tables.

Turned directions meet the spikes' one to one, z'_m = γ_m κ_m + ρ_m y_m, or meet none, z'_j = y_j. Those that meet none
are averaged over first, once per target: what is left are functions of the `met` projections u alone, kept on the
nodes of a table. Given κ, the law of each u_m is a Gaussian of its own. It is compressed onto the table's nodes: a
matrix for each of 1, y_m and y_m². Whatever is asked of the label is then a product of table and matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...gaussian import STRIDES, line_rule, piecewise_rule
from ...gaussian.cuts import Cuts
from ..layer import Frame
from ..rule import Rule
from ..shifted_moments import tabulated
from ..symmetric import TINY
from .compression import compress_law, label_nodes, monomials, panel_nodes, separate, with_monomials
from .conditional_nodes import Nodes, conditional_nodes, turned
from .label import Label

if TYPE_CHECKING:
    from .multi_index import SeveralDirections

# pieces of a table, over its reach: u = γκ + ρy reaches farther than y
_EDGES = np.array([-13.0, -9.0, -5.0, -2.5, 0.0, 2.5, 5.0, 9.0, 13.0]) / 9.0
_TABLE_NODES = (20, 16, 12)  # in each of them, on three rules, finest first,
_MORE_NODES = 4  # and more for each refinement
_PER_BANDWIDTH = 1.25  # nodes that a bandwidth takes in a piece of width 2.5,
_MANY = 4  # at most so many times the usual
_LINE_POINTS = (64, 48, 32)  # intervals along y; half as many in each piece, where it is cut
_MOST_REFINED = {2: 3, 3: 2, 4: 0}  # refinements that a number of directions allows
_USUAL = 48  # κ intervals of a usual rule
_DIRECT_POINTS, _DIRECT_NODES = (8, 6, 4), 64  # nodes over y in a piece, and how many κ have theirs at a time
_BLOCK = 1 << 20  # function values in memory at a time
_LARGEST = 1 << 23  # bytes of a table that is kept: first layers after several steps each have their own
_SAME = 1e-9  # angle of planes that is rounding


def refinement(points: int, directions: int) -> int:
    """How much finer than usual the rules are to be for that many κ intervals."""
    return min(_MOST_REFINED[directions], max(0, round(np.log2(points / _USUAL))))


Compute = Callable[[list[np.ndarray], np.ndarray, np.ndarray], np.ndarray]
Summed = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From labels E[Y | z] [...], weights [rows, ...] and which law each belongs to, to sums [laws, rows, ...]."""


class ConditionalTable:
    """E[· | u] of labels in directions turned by `turn`, the first `met` of which meet a spike."""

    def __init__(self, law: SeveralDirections, turn: np.ndarray, met: int):
        self.law, self.turn, self.met = law, turn, met
        normals, self._offsets = law.planes
        self._normals = normals @ turn
        self.unmet = law.directions - met
        self._inner = Cuts(self._normals[:, met:])
        # kinks that cross several directions of the spikes at an angle, where a table of products is blind
        self.oblique = bool(((np.abs(self._normals[:, :met]) > _SAME).sum(axis=1) > 1).any())
        self.breakpoints = [self._breaks(m) for m in range(met)]
        self._tables: dict[tuple[str, int, int], np.ndarray] = {}

    def _breaks(self, m: int) -> tuple[float, ...]:
        """Where functions of u_m break: exactly known if it is the only one, else for hyperplanes across it."""
        if self.met == 1:
            at = Cuts(self._normals).places(0, self._offsets, [])[0]
        else:
            across = np.abs(np.abs(self._normals[:, m]) - 1.0) < _SAME
            at = self._offsets[across] * np.sign(self._normals[across, m])
        return tuple(np.unique(np.round(at[np.abs(at) < self.law.reach], 13)).tolist())

    def axes(self, coarser: int, finer: int) -> list[tuple[np.ndarray, int]]:
        """Ends of the pieces along each u_m, and the number of nodes between them."""
        usual = _TABLE_NODES[coarser] + _MORE_NODES * finer
        wanted = round(_PER_BANDWIDTH * self.law.fastest * usual / _TABLE_NODES[0])
        count = max(usual, min(_MANY * usual, wanted))
        edges = self.law.reach * _EDGES
        return [(separate(np.concatenate([edges, breaks])), count) for breaks in self.breakpoints]

    def table(self, name: str, compute: Compute, coarser: int, finer: int) -> np.ndarray:
        """Averages over the directions that meet no spike, on the nodes of a table: [n_1, ..., n_met, ...].

        `compute(z, v, w)` makes them of z [points, J] in the user's directions, v [points, unmet, J] and weights.
        """
        key = (name, coarser, finer)
        if key in self._tables:
            return self._tables[key]
        nodes = [panel_nodes(*axis) for axis in self.axes(coarser, finer)]
        u = np.stack([one.reshape(-1) for one in np.meshgrid(*nodes, indexing="ij")], axis=-1)
        inner_points = self._inner.points(coarser, finer, self.law.fastest)
        left = self._offsets - u @ self._normals[:, : self.met].T
        each = self._inner.nodes(left[:1], inner_points, self.law.reach)[1].size
        count = min(len(u), -(-len(u) * each // _BLOCK))
        parts: list[np.ndarray] = []
        for here, offsets in zip(np.array_split(u, count), np.array_split(left, count), strict=True):
            v, w = self._inner.nodes(offsets, inner_points, self.law.reach)
            z = turned(self.turn, [*here.T[..., None], *np.moveaxis(v, 1, 0)])
            parts.append(compute([np.broadcast_to(one, w.shape) for one in z], v, w))
        table = np.concatenate(parts)
        table = table.reshape(*(len(one) for one in nodes), *table.shape[1:])
        if table.nbytes <= _LARGEST:
            self._tables[key] = table
        return table

    def onto(
        self,
        m: int,
        centre: np.ndarray,
        rho: np.ndarray,
        coarser: int,
        finer: int,
        functions: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """From nodes of a table along u_m = centre + ρy, both [N], to averages with weights f(y): [functions, N, n]."""
        y, w = self._line(m, centre, rho, coarser, finer)
        u = centre[:, None] + rho[:, None] * y
        return compress_law(u, w * functions(y), np.arange(len(u))[:, None], *self.axes(coarser, finer)[m])

    def _line(
        self, m: int, centre: np.ndarray, rho: np.ndarray, coarser: int, finer: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes y [N or 1, J] and weights for averages of functions of u_m, cut at their breaks."""
        points = _LINE_POINTS[coarser] * 2**finer
        if not self.breakpoints[m]:
            fast = self.law.fastest * float(rho.max()) * self.law.reach / (np.pi * _LINE_POINTS[0])
            y, weights = line_rule(4 * int(points * np.clip(fast, 1.0, _MANY) / 4), self.law.reach)
            return y[None], weights[0][None]
        cuts = (np.array(self.breakpoints[m]) - centre[:, None]) / np.maximum(rho, TINY**0.5)[:, None]
        y, weights = piecewise_rule(cuts, min(points, 2 * _LINE_POINTS[coarser]) // 2, self.law.reach)
        return y.reshape(len(y), -1), weights[0].reshape(len(y), -1)


@lru_cache
def _table(law: SeveralDirections, turn: bytes, met: int) -> ConditionalTable:
    return ConditionalTable(law, np.frombuffer(turn).reshape(law.directions, -1), met)


def conditional_table(law: SeveralDirections, frame: Frame) -> ConditionalTable:
    """That of first layers whose target is turned alike."""
    turn = frame.turn[0].round(14) + 0.0
    return _table(law, turn.tobytes(), min(frame.spikes, law.directions))


def _powers(y: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(y), y, y * y])


def _first_two(mean: np.ndarray, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    """E Y and E Y² of real labels, for laws one after the other: [laws, rows, 2]."""
    starts = np.flatnonzero(np.diff(np.broadcast_to(which, mean.shape).reshape(-1), prepend=-1))
    powers = np.stack([mean, mean * mean]).reshape(2, -1)
    sums = np.add.reduceat(rows.reshape(len(rows), 1, -1) * powers, starts, axis=-1)
    return np.moveaxis(sums, -1, 0)


class TableOnRule:
    """Labels of U first layers, turned alike, at the nodes of a rule in κ."""

    def __init__(self, law: SeveralDirections, frame: Frame, rule: Rule, points: int):
        self._law, self._frame, self._rule = law, frame, rule
        self._finer, self._table = refinement(points, law.directions), conditional_table(law, frame)

    def label(self, stride: int) -> Label:
        """Moments of the labels on the rule with every `stride`-th node."""
        clean = None if self._law == self._law.clean else self.moments(self._law.clean, stride)
        return Label(*self.moments(self._law, stride), clean)

    def moments(self, law: SeveralDirections, stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E Y [U, N], E[y_m Y] [U, k, N] and E Y² given κ of this law, or of its clean one."""
        one_spike = self._table.met == 1 and not self._table.oblique
        k, find = law.directions, self._on_line if one_spike else self._weights
        first, second = np.moveaxis(find(law, _first_two, stride, 1 + k), -1, 0)  # [U, N, 1 + k]
        square = np.ones_like(second[..., 0]) if law.binary else second[..., 0]
        return first[..., 0], first[..., 1:].swapaxes(-1, -2), square

    def _on_line(self, law: SeveralDirections, summed: Summed, stride: int, rows: int) -> np.ndarray:
        """Where one direction meets a spike they depend on γκ and ρ² alone, so that many first layers share a table of
        them. (200 of them take ten times longer one by one.)"""
        table = self._tabulated(law, summed, stride)

        def averages(centre: np.ndarray, variance: np.ndarray) -> np.ndarray:
            place = 0, centre, np.sqrt(variance), STRIDES.index(stride), self._finer
            one, y, _ = self._table.onto(*place, _powers)
            plain = np.tensordot(one, table[:, : rows - 1], 1)  # of 1 and of the directions that meet none
            return np.insert(plain, 1, y @ table[:, 0], axis=1).reshape(len(centre), -1).T

        centre, rho = self._frame.gamma[:, :1] * self._rule.axis(0, stride), self._frame.rho[:, :1]
        found = np.moveaxis(tabulated(averages, centre[:, None], rho**2)[:, :, 0], 0, -1)
        return self._repeated(found.reshape(*found.shape[:2], rows, -1), 1, stride)

    def labels(self, noise: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels [U, N, J] with noise [U], and weights [U, N, rows, J] for 1, y_m and y_m y_l."""
        nodes = label_nodes(self._law.size, STRIDES.index(stride), self._finer)
        rows = len(monomials(self._law.directions))
        return nodes.with_noise(self._weights(self._law, nodes.compress, stride, rows), noise)

    def _tabulated(self, law: SeveralDirections, summed: Summed, stride: int) -> np.ndarray:
        """Sums over the directions that meet no spike, [n_1, ..., n_met, monomials of those, ...]."""

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            return summed(law.mean(*z), with_monomials(np.moveaxis(v, 1, 0), w), np.arange(len(w))[:, None])

        name = f"{summed.__name__}{' of clean labels' * (law != self._law)}"
        return self._table.table(name, compute, STRIDES.index(stride), self._finer)

    def _weights(self, law: SeveralDirections, summed: Summed, stride: int, rows: int) -> np.ndarray:
        """[U, N, rows, ...] for 1, y_m and y_m y_l, or the first few of these: from tables over the directions that
        meet a spike, or from nodes over y at each κ.

        y_i y_j is a product of powers of those that meet a spike, which are averaged over here, and a row of the table
        for the others.
        """
        if self._table.oblique:
            layers: list[list[np.ndarray]] = [[] for _ in self._frame.gamma]
            for u, nodes in self._nodes(stride):
                Y = nodes.mean if law == self._law else nodes.clean
                layers[u].append(summed(Y[0], with_monomials(nodes.y[0], nodes.w[0], rows), nodes.which))
            return np.stack([np.concatenate(parts) for parts in layers])
        met, table, onto = self._table.met, self._tabulated(law, summed, stride), self._onto(stride)
        row = {which: at for at, which in enumerate(monomials(self._table.unmet))}
        weights: list[np.ndarray] = []
        for which in monomials(law.directions)[:rows]:
            outside = row[tuple(j - met for j in which if j >= met)]
            powers = [which.count(m) for m in range(met)]
            weights.append(self._contracted(table[..., outside, :], onto, powers, stride))
        return np.stack(weights, axis=2)

    def _onto(self, stride: int) -> list[np.ndarray]:
        """From nodes of the table along each u_m to κ_m: averages with weights 1, y_m and y_m², [U, 3, N_m, n_m]."""
        matrices: list[np.ndarray] = []
        for m in range(self._table.met):
            centre = self._frame.gamma[:, m, None] * self._rule.axis(m, stride)
            rho = np.broadcast_to(self._frame.rho[:, m, None], centre.shape)
            layers = [
                self._table.onto(m, *one, STRIDES.index(stride), self._finer, _powers)
                for one in zip(centre, rho, strict=True)
            ]
            matrices.append(np.stack(layers))
        return matrices

    def _contracted(self, table: np.ndarray, onto: list[np.ndarray], powers: Sequence[int], stride: int) -> np.ndarray:
        """Averages over y^powers of what is in a table [n_1, ..., n_met, F]: [U, N, F] on all nodes of the rule."""
        averages = np.broadcast_to(table, (len(onto[0]), *table.shape))
        for m, power in enumerate(powers):
            moved = np.moveaxis(averages, 1 + m, 1)
            flat = onto[m][:, power] @ moved.reshape(*moved.shape[:2], -1)
            averages = np.moveaxis(flat.reshape(*flat.shape[:2], *moved.shape[2:]), 1, 1 + m)
        return self._repeated(averages.reshape(len(averages), -1, averages.shape[-1]), 1, stride)

    def _repeated(self, values: np.ndarray, axis: int, stride: int) -> np.ndarray:
        """On all nodes of the rule: the target does not depend on all spikes."""
        return np.repeat(values, self._rule.size(stride) // values.shape[axis], axis=axis)

    def _nodes(self, stride: int) -> Iterator[tuple[int, Nodes]]:
        """Nodes over y at some κ after the others, for one first layer after the other: for oblique kinks, whose
        labels no table resolves."""
        kappa = self._rule.at(stride)[0]
        points = int(_DIRECT_POINTS[STRIDES.index(stride)] * 1.5**self._finer)
        for u in range(len(self._frame.gamma)):
            own = kappa[min(u, len(kappa) - 1)]
            for start in range(0, own.shape[-1], _DIRECT_NODES):
                part = own[None, :, start : start + _DIRECT_NODES]
                yield u, conditional_nodes(self._law, self._frame.at(np.array([u])), part, points)
