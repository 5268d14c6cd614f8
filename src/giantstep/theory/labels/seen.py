"""A target of several directions as seen from the spikes: its label given κ, by way of tables.

Turned directions meet the spikes' one to one, z'_m = γ_m κ_m + ρ_m y_m, or meet none, z'_j = y_j. Those that meet none
are averaged over first, once per target: what is left are functions of the `met` projections u alone, kept on the
nodes of a table. Given κ, the law of each u_m is a Gaussian of its own, and is carried over to these nodes by
interpolation: a matrix for each of 1, y_m and y_m². Whatever is asked of the label is then a product of the two.

Where one direction meets a spike, moments are wanted alone, and for many first layers: averages against the Gaussian
of u on the table's own nodes, which carry Gauss weights, as far as it is wide enough for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ...cuts import Cuts
from ...gaussian import line_rule, piecewise_rule
from ..layer import Frame, alike
from ..rule import Rule
from .joint import JointLaw, turned
from .measure import Measure, measure
from .pieces import gauss, interpolated, spread, table_nodes

# pieces of a table, over its reach
_EDGES = np.array([-13.0, -9.0, -5.0, -2.5, 0.0, 2.5, 5.0, 9.0, 13.0]) / 9.0
_TABLE_NODES = (20, 16, 12)  # in each of them, on three rules, finest first
_MORE_NODES = 4  # for each refinement
_PER_BANDWIDTH, _MANY = (
    1.25,
    4,
)  # nodes that a bandwidth takes in a piece of width 2.5, at most so many times the usual
_LINE_POINTS = (64, 48, 32)  # intervals along y
_PIECE_POINTS = (32, 24, 16)  # and in each piece, where it is cut
_MOST_REFINED = {2: 3, 3: 2, 4: 0}  # refinements that a number of directions allows
_DIRECT_POINTS, _DIRECT_NODES = 8, 64  # nodes over y in a piece, and how many κ have theirs at a time
_BLOCK = 1 << 20  # function values in flight
_LARGEST = 1 << 23  # bytes of a table that is kept: first layers after several steps each have their own
_WIDEST = 5.0  # piece of a table, over the width of a Gaussian that is averaged over on its nodes,
_NARROWEST = 1.0 / 16.0  # and the narrowest Gaussian that is
STEPS = {1: 0, 2: 1, 4: 2}  # which of three rules a stride stands for


def refinement(points: int, directions: int, usual: int = 48) -> int:
    """How much finer than usual the rules are to be for that many κ intervals."""
    return min(_MOST_REFINED[directions], max(0, round(np.log2(points / usual))))


Compute = Callable[[list[np.ndarray], np.ndarray, np.ndarray], np.ndarray]


class View:
    """The law of labels in directions turned by `turn`, the first `met` of which meet a spike."""

    def __init__(self, law: JointLaw, turn: np.ndarray, met: int):
        self.law, self.turn, self.met = law, turn, met
        normals, self._offsets = law.planes
        self._normals = normals @ turn
        self.unmet = law.directions - met
        self._inner = Cuts(self._normals[:, met:])
        # kinks that cross several directions of the spikes at an angle, where a table of products is blind
        self.oblique = bool(((np.abs(self._normals[:, :met]) > 1e-9).sum(axis=1) > 1).any())
        self.breakpoints = [self._along(m) for m in range(met)]
        self._tables: dict[tuple[str, int, int], np.ndarray] = {}
        self._measured: dict[tuple[str, int, int, float], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def _along(self, m: int) -> tuple[float, ...]:
        """Where functions of u_m break: exactly known if it is the only one, else for hyperplanes across it."""
        if self.met == 1:
            order = np.r_[m, self.met : self.law.directions]
            at = Cuts(self._normals[:, order]).places(0, self._offsets, [])[0]
        else:
            own = np.abs(np.abs(self._normals[:, m]) - 1.0) < 1e-9
            at = self._offsets[own] * np.sign(self._normals[own, m])
        return tuple(np.unique(np.round(at[np.abs(at) < self.law.reach], 13)).tolist())

    def edges(self, m: int) -> np.ndarray:
        """Ends of the pieces of a table along u_m."""
        ends = np.unique(
            np.concatenate([self.law.reach * _EDGES, self.breakpoints[m]])
        )  # u = γκ + ρy reaches farther
        return ends[np.concatenate([[True], np.diff(ends) > 1e-9])]

    def axes(self, coarser: int, finer: int) -> list[tuple[np.ndarray, int]]:
        """Edges along each u_m, and nodes between them."""
        usual = _TABLE_NODES[coarser] + _MORE_NODES * finer
        nodes = max(
            usual, min(_MANY * usual, round(_PER_BANDWIDTH * self.law.fastest * usual / _TABLE_NODES[0]))
        )
        return [(self.edges(m), nodes) for m in range(self.met)]

    def table(self, name: str, compute: Compute, coarser: int, finer: int) -> np.ndarray:
        """Averages over the directions that meet no spike, on the nodes of a table: [n_1, ..., n_met, ...].

        `compute(z, v, w)` makes them of z [points, J] in the user's directions, v [points, unmet, J] and weights.
        """
        key = (name, coarser, finer)
        if key not in self._tables:
            nodes = [table_nodes(*axis) for axis in self.axes(coarser, finer)]
            u = np.stack(
                [one.reshape(-1) for one in np.meshgrid(*nodes, indexing="ij")], axis=-1
            )  # [points, met]
            parts: list[np.ndarray] = []
            start, size = 0, 1
            while start < len(u):
                here = u[start : start + size]
                left = self._offsets - here @ self._normals[:, : self.met].T
                v, w = self._inner.nodes(
                    left, self._inner.points(coarser, finer, self.law.fastest), self.law.reach
                )
                z = turned(self.law, self.turn, [*here.T[..., None], *np.moveaxis(v, 1, 0)])
                parts.append(compute([np.broadcast_to(one, w.shape) for one in z], v, w))
                start, size = start + size, max(1, _BLOCK // w.shape[-1])
            found = np.concatenate(parts)
            found = found.reshape(*(len(one) for one in nodes), *found.shape[1:])
            if found.nbytes > _LARGEST:
                return found
            self._tables[key] = found
        return self._tables[key]

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
        edges, count = self.axes(coarser, finer)[m]
        y, w = self.across(m, centre, rho, coarser, finer)
        weights = np.moveaxis(w * functions(y), 0, -2)
        at = np.clip(centre[:, None] + rho * y, edges[0], edges[-1])
        weights = np.broadcast_to(weights, (len(centre), *weights.shape[-2:]))
        return np.moveaxis(spread(at, weights, edges, count), 1, 0)

    def across(
        self, m: int, centre: np.ndarray, rho: float, coarser: int, finer: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes y [N or 1, J] and weights, cut where centre + ρy meets a break."""
        breaks = self.breakpoints[m]
        if not breaks or rho < 1e-12:
            usual = _LINE_POINTS[coarser] * 2**finer
            least = min(_MANY, self.law.fastest * rho * self.law.reach / (np.pi * _LINE_POINTS[0]))
            y, weights = line_rule(4 * int(usual * max(1.0, least) / 4), self.law.reach)
            return y[None], weights[0][None]
        y, weights = piecewise_rule(
            (np.asarray(breaks) - centre[:, None]) / rho,
            _PIECE_POINTS[coarser] * 2 ** min(1, finer),
            self.law.reach,
        )
        return y.reshape(len(y), -1), weights[0].reshape(len(y), -1)

    def moments(self, law: JointLaw, coarser: int, finer: int) -> np.ndarray:
        """E[Y | u], E[v_j Y | u] and E[Y² | u], [n_1, ..., n_met, 2 + unmet]."""

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            y = w * law.mean(*z)
            first, second = y.sum(axis=-1), (w * law.square(*z)).sum(axis=-1)
            return np.concatenate([first[:, None], np.einsum("pj,pvj->pv", y, v), second[:, None]], axis=-1)

        return self.table("moments" if law == self.law else "clean", compute, coarser, finer)

    def measured(
        self, law: JointLaw, coarser: int, finer: int, width: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where one direction meets: nodes u [n] that resolve a Gaussian of `width`, their Gauss weights, and the
        same moments there with u E[Y | u] at the end, [n, 3 + unmet]."""
        key = ("measured" if law == self.law else "clean measured", coarser, finer, width)
        if key not in self._measured:
            u, weights, table = self.resolved(self.moments(law, coarser, finer), coarser, finer, width)
            self._measured[key] = u, weights, np.concatenate([table, u[:, None] * table[:, :1]], axis=1)
        return self._measured[key]

    def resolved(
        self, table: np.ndarray, coarser: int, finer: int, width: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes u [n] that resolve a Gaussian of `width`, their Gauss weights, and a table of one direction there."""
        ((edges, count),) = self.axes(coarser, finer)
        parts: list[np.ndarray] = [
            np.linspace(a, b, 1 + int(np.ceil((b - a) / (_WIDEST * width)))) for a, b in pairwise(edges)
        ]
        narrow = np.concatenate([edges[:1], *(part[1:] for part in parts)])
        u = table_nodes(narrow, count)
        weights = np.outer(0.5 * np.diff(narrow), gauss(count)[1]).reshape(-1)
        return u, weights, interpolated(table, edges, count, u).T


def shared_width(rho: np.ndarray) -> np.ndarray:
    """Of Gaussians whose nodes serve for width ρ as well: equal for those within √2; 0 for narrow ones."""
    return np.where(
        rho >= _NARROWEST, 2.0 ** (np.floor(2.0 * np.log2(np.maximum(rho, _NARROWEST))) / 2.0), 0.0
    )


def _powers(y: np.ndarray) -> np.ndarray:
    """1, y and y²."""
    return np.stack([np.ones_like(y), y, y * y])


@lru_cache(maxsize=64)
def _view(law: JointLaw, turn: bytes, met: int) -> View:
    return View(law, np.frombuffer(turn).reshape(law.directions, -1), met)


def view(law: JointLaw, frame: Frame) -> View:
    """That of first layers whose target is turned alike."""
    turn = frame.turn[0].round(14) + 0.0
    return _view(law, turn.tobytes(), min(frame.spikes, law.directions))


class Seen:
    """Labels of U first layers, turned alike, at the nodes of a rule in κ."""

    def __init__(self, law: JointLaw, frame: Frame, rule: Rule, finer: int):
        self.law, self._frame, self._rule, self._finer = law, frame, rule, finer
        self.view = view(law, frame)

    def _onto(self, m: int, stride: int) -> np.ndarray:
        """From nodes of the table along u_m to κ_m: averages with weights 1, y_m and y_m², [U, 3, N_m, n_m]."""
        kappa = self._rule.axis(m, stride)
        found: list[np.ndarray] = []
        for u, (gamma, rho) in enumerate(zip(self._frame.gamma[:, m], self._frame.rho[:, m], strict=True)):
            centre = gamma * kappa[min(u, len(kappa) - 1)]
            found.append(self.view.onto(m, centre, float(rho), STEPS[stride], self._finer, _powers))
        return np.stack(found)

    def onto(self, stride: int) -> list[np.ndarray]:
        """Those matrices for every direction that meets a spike."""
        return [self._onto(m, stride) for m in range(self.view.met)]

    def contracted(self, table: np.ndarray, onto: list[np.ndarray], powers: tuple[int, ...]) -> np.ndarray:
        """Averages over y^powers of what is in a table [n_1, ..., n_met, F]: [U, N, F] on all nodes of the rule."""
        found = np.broadcast_to(table, (len(onto[0]), *table.shape))
        for m, power in enumerate(powers):
            moved = np.moveaxis(found, 1 + m, 1)
            flat = onto[m][:, power] @ moved.reshape(*moved.shape[:2], -1)
            found = np.moveaxis(flat.reshape(*flat.shape[:2], *moved.shape[2:]), 1, 1 + m)
        return found.reshape(len(found), -1, found.shape[-1])

    def beyond(self, nodes: int, stride: int) -> int:
        """How many nodes of the rule there are for each of these: the target does not see all spikes."""
        return self._rule.size(stride) // nodes

    def _on_a_line(self, law: JointLaw, stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Moments where one direction meets a spike: averages of functions of one variable over u = γκ + ρy."""
        rho, centre = self._frame.rho[:, 0], self._frame.gamma[:, :1] * self._rule.axis(0, stride)
        found = np.empty((len(rho), 2 + self.law.directions, centre.shape[-1]))
        width = shared_width(rho)
        for members in alike(width[:, None]):
            one = self._measured if width[members[0]] else self._interpolated
            found[members] = one(law, STEPS[stride], centre[members], rho[members], float(width[members[0]]))
        first, along, second = np.split(found, [1, -1], axis=1)
        beyond = self.beyond(first.shape[-1], stride)
        return tuple(np.repeat(part, beyond, axis=-1) for part in (first[:, 0], along, second[:, 0]))  # type: ignore[return-value]

    def _measured(
        self, law: JointLaw, coarser: int, centre: np.ndarray, rho: np.ndarray, width: float
    ) -> np.ndarray:
        """Averages of Y, yY, v_j Y and Y² over N(centre [U, N], ρ² [U]), [U, 2 + k, N], on nodes for `width`."""
        u, weights, table = self.view.measured(law, coarser, self._finer, width)
        parts: list[np.ndarray] = []
        for some in np.array_split(np.arange(len(rho)), max(1, centre.size * len(u) // _BLOCK)):
            scale = rho[some, None, None]
            kernel = (u / scale) - (centre[some] / rho[some, None])[..., None]
            kernel *= kernel
            kernel *= -0.5
            np.exp(kernel, out=kernel)
            kernel *= weights / (np.sqrt(2.0 * np.pi) * scale)
            parts.append(np.swapaxes(kernel @ table, -1, -2))
        first, *rest, shifted = np.moveaxis(np.concatenate(parts), 1, 0)
        along = (shifted - centre * first) / rho[:, None]  # y = (u - centre)/ρ
        return np.stack([first, along, *rest], axis=1)

    def _interpolated(
        self, law: JointLaw, coarser: int, centre: np.ndarray, rho: np.ndarray, width: float
    ) -> np.ndarray:
        """The same for Gaussians that are narrow against the table's pieces: by interpolation at centre + ρy."""
        table, (axis,) = self.view.moments(law, coarser, self._finer), self.view.axes(coarser, self._finer)
        found: list[np.ndarray] = []
        for m, scale in zip(centre, rho, strict=True):
            y, w = self.view.across(0, m, float(scale), coarser, self._finer)
            values = interpolated(table, *axis, m[:, None] + scale * y)  # [F, N, J]
            plain = (values * w).sum(axis=-1)
            found.append(np.concatenate([plain[:1], (values[0] * (w * y)).sum(axis=-1)[None], plain[1:]]))
        return np.stack(found)

    def measures(self, stride: int) -> Iterator[tuple[int, Measure]]:
        """Nodes over y at some κ after the others, for one first layer after the other: what oblique kinks take."""
        kappa = self._rule.at(stride)[0]
        points = int(_DIRECT_POINTS * (1.0, 0.75, 0.5)[STEPS[stride]] * 1.5**self._finer)
        for u in range(len(self._frame.gamma)):
            own = kappa[min(u, len(kappa) - 1)]
            for start in range(0, own.shape[-1], _DIRECT_NODES):
                part = own[None, :, start : start + _DIRECT_NODES]
                yield u, measure(self.law, self._frame.at(np.array([u])), part, points)

    def _directly(self, laws: int, stride: int) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
        """Moments from nodes over y at each κ."""
        found: list[list[list[np.ndarray]]] = [[[] for _ in self._frame.gamma] for _ in range(laws)]
        for u, (y, w, *means) in self.measures(stride):
            for which, mean in zip(found, means, strict=False):
                own = w[0] * mean[0]
                square = w[0].sum(axis=-1) if self.law.binary else (own * mean[0]).sum(axis=-1)
                along = np.einsum("nj,nkj->kn", own, y[0])
                which[u].append(np.concatenate([own.sum(axis=-1)[None], along, square[None]]))
        stacked = [np.stack([np.concatenate(parts, axis=-1) for parts in which]) for which in found]
        return tuple((one[:, 0], one[:, 1:-1], one[:, -1]) for one in stacked)

    def moments(self, stride: int) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
        """E Y [U, N], E[y_m Y] [U, k, N] and E Y² given κ; then those of clean labels, if they differ."""
        laws = [self.law] if self.law == self.law.clean else [self.law, self.law.clean]
        if self.view.met == 1:
            return tuple(self._on_a_line(law, stride) for law in laws)
        if self.view.oblique:
            return self._directly(len(laws), stride)
        onto = self.onto(stride)
        return tuple(self._moments(law, onto, stride) for law in laws)

    def _moments(
        self, law: JointLaw, onto: list[np.ndarray], stride: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table, met = self.view.moments(law, STEPS[stride], self._finer), self.view.met
        plain = self.contracted(table, onto, (0,) * met)
        first = [
            self.contracted(table[..., :1], onto, tuple(np.eye(met, dtype=int)[m]))[..., 0]
            for m in range(met)
        ]
        along = np.stack([*first, *np.moveaxis(plain[..., 1:-1], -1, 0)], axis=1)
        beyond = self.beyond(plain.shape[1], stride)
        return tuple(np.repeat(part, beyond, axis=-1) for part in (plain[..., 0], along, plain[..., -1]))  # type: ignore[return-value]
