"""How fast a function varies, and where, observed at nodes that no rule of integration uses.

Rules of integration that agree with each other prove nothing if all of them miss what happens between their nodes. So a
function is looked at first, on the Chebyshev nodes of panels that are halved until a series follows f and f² on each
of them. The degree of the series over half the panel's width is its bandwidth: nodes of a trapezoidal rule must be no
farther apart than 2π over it.

Where no panel is narrow enough the function jumps, and kinks show as panels of 1e-7. Both become breakpoints, and so
do the ends of a bump or step that is narrow compared with the rest: integrals are split there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .breakpoints import MAX_BREAKPOINTS
from .chebyshev import through

WIDTH = 2.0  # of a panel to begin with,
_NODES = 160  # and its nodes: neighbours are less than 0.02 apart
_OFFSET = 0.6137  # where panels begin: people put kinks at round numbers, and a panel that ends there cannot see them
# edges, in units of this width; beyond 16, panels are as wide as they are far out
_OUTWARD = np.concatenate([np.arange(9.0), 8.0 + 2.0 ** np.arange(1, 64)])
_TAIL = 10  # one in so many coefficients, at the end of a series, must be negligible
_NEGLIGIBLE = 1e-10  # compared with the function
_TINY = 1e-6  # the same on a panel that counts as a point
_ROUNDING = 30.0  # how much larger rounding is in coefficients than in differences of neighbouring values
_OVERHEAD = 8.0  # degree that a panel needs for 1e-10, however narrow it is
_CROWD = 256  # panels that may need to be halved at a time
POINT = 1e-4  # half width of a panel that counts as a point: a kink or jump
_ZOOM, _ZOOMS = 16, 4  # to a sixteenth of the width, so often: to 3e-9
_PIECE = 96  # degree of a piece between located breakpoints
LOCATED = 12.0  # as far out as breakpoints are located
_GRADED = 160.0  # bandwidth times distance from a known kink or step: the pieces of rules that end there follow that


class Variation(NamedTuple):
    """Panels [P] from left to right."""

    left: np.ndarray
    right: np.ndarray
    bandwidth: np.ndarray  # of f and f²; infinite where no panel was narrow enough
    size: np.ndarray  # the largest |f| on it
    owner: np.ndarray  # which line it lies on, if there are several

    @property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.left + self.right)

    @property
    def scale(self) -> np.ndarray:
        """Lengths on which f varies, [P]; where it is not known, a distance of nodes that was too large."""
        apart = np.pi / _NODES * (self.right - self.left)
        with np.errstate(divide="ignore"):
            return np.where(np.isinf(self.bandwidth), apart, 2.0 * np.pi / self.bandwidth)


@lru_cache(maxsize=1024)
def observe(f: Callable[[Any], Any], breakpoints: tuple[float, ...], far: float) -> Variation:
    """Panels between breakpoints on which a series follows f, for |x| ≤ far."""
    return follow(lambda x, line: f(x), [panel_edges(breakpoints, far)], np.asarray(breakpoints))


def follow(
    f: Callable[[np.ndarray, np.ndarray], Any],
    lines: list[np.ndarray],
    known: np.ndarray,
    nodes: int = _NODES,
    crowd: int = _CROWD,
    narrowest: float = 4.0 * np.finfo(float).eps,
) -> Variation:
    """Panels of f(x, owner) that are halved until a series follows it on each, or until they are that narrow.

    `lines` have the edges of the first panels on each line. Next to `known` breakpoints, which are known to rounding at
    best, panels are not narrower than a point.
    """
    left, right = (np.concatenate([edges[part] for edges in lines]) for part in (slice(-1), slice(1, None)))
    owner = np.repeat(np.arange(len(lines)), [len(edges) - 1 for edges in lines])
    t, to_series = through(nodes)
    tail = nodes // _TAIL
    typical, noise = None, 0.0
    done: list[Variation] = []
    while len(left):
        half = 0.5 * (right - left)
        x = (left + half)[:, None] + half[:, None] * t
        values = _finite(f, x, owner[:, None])
        largest = np.abs(values).max(axis=-1)
        if typical is None:
            density = np.exp(-0.5 * (left + half) ** 2)
            typical = np.sqrt((half * density * (values**2).mean(axis=-1)).sum() / len(lines)) + 1e-150
        # a kink leaves less and less on narrower panels: there it is compared with what the function does on them
        tiny = half < POINT
        size = np.where(tiny, np.ptp(values, axis=-1) + 1e-9 * largest + 1e-150, np.maximum(largest, typical))
        g = (values - tiny[:, None] * values[:, :1]) / size[:, None]
        series = np.abs(np.stack([g, g * g]) @ to_series.T).max(axis=0)
        if not noise and series[:, -tail:].max() >= _NEGLIGIBLE:
            noise = _ROUNDING * _rounding(f, x, owner) + 1e-300
        counts = series >= np.maximum(np.where(tiny, _TINY, _NEGLIGIBLE), noise / size)[:, None]
        degree = np.where(counts.any(axis=-1), nodes - 1 - counts[:, ::-1].argmax(axis=-1), 0)
        unresolved = degree >= nodes - tail
        at_break = np.isin(left, known) | np.isin(right, known)
        narrow = half < np.where(at_break, POINT, narrowest * np.maximum(1.0, np.abs(x[:, 0])))
        halve = unresolved & ~narrow
        crowded = halve & (np.count_nonzero(halve) > crowd)
        bandwidth = np.maximum(degree - _OVERHEAD, 0.0) / half
        bandwidth += np.minimum(degree, _OVERHEAD) / np.maximum(half, 1.0)
        bandwidth[crowded | (unresolved & narrow)] = np.inf
        bandwidth[narrow & at_break] = 0.0
        halve &= ~crowded
        done.append(Variation(*(part[~halve] for part in (left, right, bandwidth, largest, owner))))
        middle = (left + half)[halve]
        left, right = np.concatenate([left[halve], middle]), np.concatenate([middle, right[halve]])
        owner = np.tile(owner[halve], 2)
    columns = [np.concatenate(column) for column in zip(*done, strict=True)]
    order = np.lexsort([columns[0], columns[-1]])
    return Variation(*(column[order] for column in columns))


def kinks(f: Callable[[Any], Any], panels: Variation) -> list[float]:
    """Where f jumps or kinks besides its known breakpoints; nowhere if it does so all the time.

    In each panel that counts as a point: where its second difference is largest, closer and closer.
    """
    narrow = (panels.right - panels.left < 2.0 * POINT) & (panels.bandwidth > _PIECE / POINT)
    if np.count_nonzero(narrow) > MAX_BREAKPOINTS:
        return []
    middle, width = panels.middle[narrow], 1.1 * (panels.right - panels.left)[narrow]
    for _ in range(_ZOOMS if len(middle) else 0):
        x = middle + np.linspace(-0.5, 0.5, 2 * _ZOOM + 1)[:, None] * width
        bent = np.abs(np.diff(_finite(lambda x, line: f(x), x, x), 2, axis=0))
        middle, width = x[1 + bent.argmax(axis=0), np.arange(len(middle))], width / _ZOOM
    return middle.tolist()


def narrow_parts(panels: Variation, breakpoints: tuple[float, ...]) -> list[float]:
    """The ends of parts that are narrow compared with the rest, if splitting there makes for fewer nodes in all.

    Parts are made of neighbouring panels as long as one series of degree `_PIECE` would follow all of them. There are
    none where a function varies fast throughout.
    """
    cuts: list[float] = []
    parts, start, fastest = 1, panels.left[0], 0.0
    for left, right, bandwidth in zip(panels.left, panels.right, panels.bandwidth, strict=True):
        full = left > start and 0.5 * max(fastest, bandwidth) * (right - start) > _PIECE
        if full:
            cuts.append(float(left))
        if full or left in breakpoints:
            parts, start, fastest = parts + 1, left, 0.0
        fastest = max(fastest, bandwidth)
    whole = panels.bandwidth.max() * LOCATED / np.pi
    return cuts if len(cuts) <= MAX_BREAKPOINTS and 2 * parts * _PIECE < whole else []


def panel_edges(breakpoints: tuple[float, ...], far: float, moved: float = 0.0) -> np.ndarray:
    """Where panels begin and end before they are halved."""
    first = _OFFSET + moved
    right = first + WIDTH * _OUTWARD
    left = 2.0 * first - WIDTH - right
    return np.unique(np.clip(np.concatenate([left, right, breakpoints, [-far, far]]), -far, far))


def _finite(f: Callable[[np.ndarray, np.ndarray], Any], x: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Values of f; 0 where it has overflowed, or has none."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(x, owner), float)
    return np.where(np.abs(values) < 1e150, values, 0.0)


def _rounding(f: Callable[[np.ndarray, np.ndarray], Any], x: np.ndarray, owner: np.ndarray) -> float:
    """The size of rounding, from third differences of neighbouring values: f may compute in single precision."""
    some = slice(None, None, max(1, len(x) // 16))
    near = x[some, ::16, None] * (1.0 + 1e-7 * np.arange(4))
    return float(np.quantile(np.abs(np.diff(_finite(f, near, owner[some, None, None]), 3, axis=-1)), 0.9))


_LINES = 48
_SPAN = {2: 4.0, 3: 2.5, 4: 2.0}  # as far out as they go through the other variables, by the number of directions
_FAR = 6.0  # and as they are followed
_LINE_NODES = 64  # in a panel
_LINE_CROWD = 16 * _LINES  # panels that may need to be halved at a time
_FASTEST = {2: 200.0, 3: 100.0, 4: 50.0}  # bandwidth that rules do not miss, whether or not they follow it
_CLOSEST = 0.25  # distance of two kinks or jumps that no rule misses
_FELT = 1e-14  # share of E f² from which on a panel counts


class Followed(NamedTuple):
    """How a function varies along lines."""

    fastest: float  # its bandwidth along any variable
    missed: str | None  # the feature that rules of integration would miss, in words


def follow_lines(f: Callable[..., Any], directions: int, planes: tuple[np.ndarray, np.ndarray]) -> Followed:
    """How f varies along each variable, cut at its known kinks, the hyperplanes with normals [H, k] and offsets [H]."""
    fastest = 0.0
    # places of the lines, [lines, k - 1]: multiples of irrational numbers, less their whole parts, fill a cube
    others = np.arange(1, _LINES + 1)[:, None] * np.sqrt([2.0, 3.0, 5.0])[: directions - 1] % 1.0
    others = (2.0 * others - 1.0) * _SPAN[directions]
    for j in range(directions):
        panels = _along(f, j, others, planes)
        nearest = np.maximum(np.maximum(panels.left, -panels.right), 0.0)
        power = panels.size**2 * np.exp(-0.5 * (nearest**2 + (others**2).sum(axis=1)[panels.owner]))
        point = np.isinf(panels.bandwidth) & (panels.right - panels.left < 4.0 * POINT)
        bandwidth = np.where((power > _FELT * power.max()) & ~point, panels.bandwidth, 0.0)
        fastest = max(fastest, float(bandwidth.max()))
        if fastest > _FASTEST[directions]:
            worst = int(np.where(bandwidth > _FASTEST[directions], power, 0.0).argmax())
            place = f"{panels.scale[worst]:.1g} along x{j + 1}, near {panels.middle[worst]:.2g}"
            return Followed(fastest, f"varies on a scale of {place}")
        gap, place = _closest(panels.middle[point], panels.owner[point]) if point.any() else (np.inf, 0.0)
        if gap < _CLOSEST:
            missed = f"kinks or jumps twice within {gap:.1g} along x{j + 1}, near {place:.2g}, on planes not named"
            return Followed(fastest, missed)
    return Followed(fastest, None)


def _along(f: Callable[..., Any], j: int, others: np.ndarray, planes: tuple[np.ndarray, np.ndarray]) -> Variation:
    """How f varies on lines along variable j, where the other variables are `others` [lines, k - 1]."""
    normals, offsets = planes
    crossed = np.abs(normals[:, j]) > 1e-12
    rest = np.delete(normals[crossed], j, axis=1)
    at = (offsets[crossed] - others @ rest.T) / normals[crossed, j]  # [lines, planes]
    # panels begin elsewhere on each line: what is missed between two nodes of one of them is met on another one
    moved = WIDTH * np.arange(len(at)) / len(at)
    edges = [panel_edges(tuple(own), _FAR, by) for own, by in zip(at, moved, strict=True)]

    def on_line(x: np.ndarray, owner: np.ndarray) -> Any:
        place = [np.broadcast_to(column[owner], x.shape) for column in others.T]
        return f(*place[:j], x, *place[j:])

    panels = follow(on_line, edges, at.reshape(-1), _LINE_NODES, _LINE_CROWD, POINT)
    half = 0.5 * (panels.right - panels.left)
    distance = np.abs(at[panels.owner] - panels.middle[:, None]).min(axis=1, initial=1e300)
    panels.bandwidth[panels.bandwidth * np.maximum(distance, half) < _GRADED] = 0.0
    return panels


def _closest(places: np.ndarray, owner: np.ndarray) -> tuple[float, float]:
    """The distance within which half the lines that have several places have two, and a place of such; in order."""
    apart = np.where(np.diff(owner, append=-1) == 0, np.diff(places, append=np.inf), np.inf)
    least = np.minimum.reduceat(apart, np.flatnonzero(np.diff(owner, prepend=-1)))
    several = np.isfinite(least)
    return (float(np.median(least[several])), float(places[apart.argmin()])) if several.any() else (np.inf, 0.0)
