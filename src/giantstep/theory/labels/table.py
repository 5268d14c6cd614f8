"""A target of several directions given κ, by way of tables.

Turned directions meet the spikes' one to one, z'_m = γ_m κ_m + ρ_m y_m, or meet none, z'_j = y_j. Those that meet none
are averaged over first, once per target: what is left are functions of the `met` projections u alone, kept on the
nodes of a table. Given κ, the law of each u_m is a Gaussian of its own.

Where one direction meets a spike, E[Y | κ] is the Gaussian average of a function of one variable, E[Y | u], as that of
a target of one direction is. For several, and for laws of labels, the Gaussian of u_m is compressed onto the table's
nodes: a matrix for each of 1, y_m and y_m². Whatever is asked of the label is then a product of table and matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

import numpy as np

from ...cuts import Cuts
from ...gaussian import line_rule, piecewise_rule
from ..layer import Frame
from ..rule import Rule
from ..smoothed import tabulated
from ..symmetric import TINY
from ..upto import upto
from .compression import compress_law, interpolated, panel_nodes, separate
from .conditional_nodes import Nodes, conditional_nodes
from .joint import JointLaw, turned

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
STEPS = {1: 0, 2: 1, 4: 2}  # which of three rules a stride stands for


def refinement(points: int, directions: int) -> int:
    """How much finer than usual the rules are to be for that many κ intervals."""
    return min(_MOST_REFINED[directions], max(0, round(np.log2(points / _USUAL))))


Compute = Callable[[list[np.ndarray], np.ndarray, np.ndarray], np.ndarray]


class ConditionalTable:
    """E[· | u] of labels in directions turned by `turn`, the first `met` of which meet a spike."""

    def __init__(self, law: JointLaw, turn: np.ndarray, met: int):
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
            own = np.abs(np.abs(self._normals[:, m]) - 1.0) < _SAME
            at = self._offsets[own] * np.sign(self._normals[own, m])
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
        parts: list[np.ndarray] = []
        start, size = 0, 1
        while start < len(u):
            here = u[start : start + size]
            left = self._offsets - here @ self._normals[:, : self.met].T
            v, w = self._inner.nodes(left, inner_points, self.law.reach)
            z = turned(self.turn, [*here.T[..., None], *np.moveaxis(v, 1, 0)])
            parts.append(compute([np.broadcast_to(one, w.shape) for one in z], v, w))
            start, size = start + size, max(1, _BLOCK // w.shape[-1])
        table = np.concatenate(parts)
        table = table.reshape(*(len(one) for one in nodes), *table.shape[1:])
        if table.nbytes <= _LARGEST:
            self._tables[key] = table
        return table

    def moments(self, law: JointLaw, coarser: int, finer: int) -> np.ndarray:
        """E[Y | u], E[v_j Y | u] and E[Y² | u], [n_1, ..., n_met, 2 + unmet]."""

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            y = w * law.mean(*z)
            first, second = y.sum(axis=-1), (w * law.square(*z)).sum(axis=-1)
            return np.concatenate([first[:, None], np.einsum("pj,pvj->pv", y, v), second[:, None]], axis=-1)

        return self.table("moments" if law == self.law else "clean", compute, coarser, finer)

    def line(
        self, m: int, centre: np.ndarray, rho: np.ndarray, coarser: int, finer: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes y [N or 1, J] and weights for averages of functions of u_m = centre + ρy, both [N], cut at their
        breaks."""
        points = _LINE_POINTS[coarser] * 2**finer
        if not self.breakpoints[m]:
            fast = self.law.fastest * float(rho.max()) * self.law.reach / (np.pi * _LINE_POINTS[0])
            y, weights = line_rule(4 * int(points * np.clip(fast, 1.0, _MANY) / 4), self.law.reach)
            return y[None], weights[0][None]
        cuts = (np.array(self.breakpoints[m]) - centre[:, None]) / np.maximum(rho, TINY**0.5)[:, None]
        y, weights = piecewise_rule(cuts, min(points, 2 * _LINE_POINTS[coarser]) // 2, self.law.reach)
        return y.reshape(len(y), -1), weights[0].reshape(len(y), -1)

    def averages(
        self, law: JointLaw, coarser: int, finer: int, centre: np.ndarray, variance: np.ndarray
    ) -> np.ndarray:
        """Where one direction meets: averages of E[Y | u] and y E[Y | u], E[v_j Y | u] and E[Y² | u] over
        u = centre + ρy, [2 + k, M], at centres [M] with ρ² = variance [M]."""
        (axis,), table = self.axes(coarser, finer), self.moments(law, coarser, finer)
        parts: list[np.ndarray] = []
        size = max(1, _BLOCK // (4 * _LINE_POINTS[coarser] * 2**finer))
        for start in range(0, len(centre), size):
            m, rho = centre[start : start + size], np.sqrt(variance[start : start + size])
            y, w = self.line(0, m, rho, coarser, finer)
            values = interpolated(table, *axis, m[:, None] + rho[:, None] * y)  # [2 + unmet, M, J]
            mean = (values * w).sum(axis=-1)
            parts.append(np.concatenate([mean[:1], (values[:1] * (w * y)).sum(axis=-1), mean[1:]]))
        return np.concatenate(parts, axis=-1)

    def onto(
        self,
        m: int,
        centre: np.ndarray,
        rho: float,
        coarser: int,
        finer: int,
        functions: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """From nodes of a table along u_m to averages with weights f(y), u_m = centre [N] + ρy: [functions, N, n]."""
        y, w = self.line(m, centre, np.full(len(centre), rho), coarser, finer)
        u = centre[:, None] + rho * y
        return compress_law(u, w * functions(y), upto(len(u))[:, None], *self.axes(coarser, finer)[m])


@lru_cache
def _table(law: JointLaw, turn: bytes, met: int) -> ConditionalTable:
    return ConditionalTable(law, np.frombuffer(turn).reshape(law.directions, -1), met)


def conditional_table(law: JointLaw, frame: Frame) -> ConditionalTable:
    """That of first layers whose target is turned alike."""
    turn = frame.turn[0].round(14) + 0.0
    return _table(law, turn.tobytes(), min(frame.spikes, law.directions))


class TableOnRule:
    """Labels of U first layers, turned alike, at the nodes of a rule in κ."""

    def __init__(self, law: JointLaw, frame: Frame, rule: Rule, points: int):
        self.law, self._frame, self._rule = law, frame, rule
        self.finer, self.table = refinement(points, law.directions), conditional_table(law, frame)

    def onto(self, stride: int) -> list[np.ndarray]:
        """From nodes of the table along each u_m to κ_m: averages with weights 1, y_m and y_m², [U, 3, N_m, n_m]."""

        def powers(y: np.ndarray) -> np.ndarray:
            return np.stack([np.ones_like(y), y, y * y])

        matrices: list[np.ndarray] = []
        for m in range(self.table.met):
            centre = self._frame.gamma[:, m, None] * self._rule.axis(m, stride)
            both = zip(centre, self._frame.rho[:, m].tolist(), strict=True)
            own = [self.table.onto(m, at, rho, STEPS[stride], self.finer, powers) for at, rho in both]
            matrices.append(np.stack(own))
        return matrices

    def contracted(
        self, table: np.ndarray, onto: list[np.ndarray], powers: Sequence[int], stride: int
    ) -> np.ndarray:
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

    def nodes(self, stride: int) -> Iterator[tuple[int, Nodes]]:
        """Nodes over y at some κ after the others, for one first layer after the other: for oblique kinks, whose
        labels no table resolves."""
        kappa = self._rule.at(stride)[0]
        points = int(_DIRECT_POINTS[STEPS[stride]] * 1.5**self.finer)
        for u in range(len(self._frame.gamma)):
            own = kappa[min(u, len(kappa) - 1)]
            for start in range(0, own.shape[-1], _DIRECT_NODES):
                part = own[None, :, start : start + _DIRECT_NODES]
                yield u, conditional_nodes(self.law, self._frame.at(np.array([u])), part, points)

    def moments(self, law: JointLaw, stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E Y [U, N], E[y_m Y] [U, k, N] and E Y² given κ of this law, or of its clean one."""
        find = (
            self._on_a_line if self.table.met == 1 else self._directly if self.table.oblique else self._plane
        )
        mean, *along, square = find(law, stride)
        return mean, np.stack(along, axis=1), square

    def _on_a_line(self, law: JointLaw, stride: int) -> np.ndarray:
        """[2 + k, U, N]"""
        averages = partial(self.table.averages, law, STEPS[stride], self.finer)
        centre, rho = self._frame.gamma[:, :1] * self._rule.axis(0, stride), self._frame.rho[:, :1]
        return self._repeated(tabulated(averages, centre[:, None], rho**2)[:, :, 0], 2, stride)

    def _plane(self, law: JointLaw, stride: int) -> list[np.ndarray]:
        table, onto = self.table.moments(law, STEPS[stride], self.finer), self.onto(stride)
        none, *single = np.eye(self.table.met + 1, self.table.met, -1, dtype=int).tolist()
        mean, *rest = np.moveaxis(self.contracted(table, onto, none, stride), -1, 0)
        along = [self.contracted(table[..., :1], onto, powers, stride)[..., 0] for powers in single]
        return [mean, *along, *rest]

    def _directly(self, law: JointLaw, stride: int) -> np.ndarray:
        layers: list[list[np.ndarray]] = [[] for _ in self._frame.gamma]
        for u, nodes in self.nodes(stride):
            Y = nodes.mean if law == self.law else nodes.clean
            square = np.ones_like(Y) if law.binary else Y * Y
            layers[u].append(
                np.stack(
                    [nodes.average(f) for f in (Y, *(Y * y for y in np.moveaxis(nodes.y, 1, 0)), square)]
                )
            )
        return np.concatenate([np.concatenate(parts, axis=-1) for parts in layers], axis=1)
