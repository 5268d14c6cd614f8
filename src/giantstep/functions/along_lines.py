"""Whether rules over several Gaussian variables can follow a function: seen on lines through its space.

Along each variable, 48 lines with the others held. What is narrower than the distance of lines, in all directions, may
hide between them; along a line, nothing that is wider than 0.05.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .variation import GRADED, WIDTH, Variation, follow, panel_edges

_LINES = 48
_SPAN = {
    2: 4.0,
    3: 2.5,
    4: 2.0,
}  # as far out as they go through the other variables, by the number of directions
_FAR = 6.0  # and as they are followed
_NODES = 64  # in a panel
_CROWD = 16 * _LINES  # panels that may need to be halved at a time
_NARROW = 1e-4  # half width of a panel that counts as a kink or jump
_FASTEST = {2: 200.0, 3: 100.0, 4: 50.0}  # bandwidth that rules do not miss, whether or not they follow it
_CLOSEST = 0.25  # distance of two kinks or jumps that no rule misses
_FELT = 1e-14  # share of E f² from which on a panel counts


class Followed(NamedTuple):
    """What lines show of a function."""

    fastest: float  # its bandwidth along any variable
    missed: str | None  # what rules of integration would miss, if anything


def follow_lines(f: Callable[..., Any], directions: int, planes: tuple[np.ndarray, np.ndarray]) -> Followed:
    """What f does along each variable, cut where it is known to kink: on `planes`, normals [H, k] and offsets [H]."""
    fastest = 0.0
    others = _points(directions - 1) * _SPAN[directions]  # [lines, k - 1]
    for j in range(directions):
        seen = _along(f, j, others, planes)
        nearest = np.maximum(np.maximum(seen.left, -seen.right), 0.0)
        power = seen.size**2 * np.exp(-0.5 * (nearest**2 + (others**2).sum(axis=1)[seen.owner]))
        point = np.isinf(seen.bandwidth) & (seen.right - seen.left < 4.0 * _NARROW)
        bandwidth = np.where((power > _FELT * power.max()) & ~point, seen.bandwidth, 0.0)
        fastest = max(fastest, float(bandwidth.max()))
        if fastest > _FASTEST[directions]:
            worst = int(np.where(bandwidth > _FASTEST[directions], power, 0.0).argmax())
            scale, place = seen.scale[worst], seen.middle[worst]
            return Followed(fastest, f"varies on a scale of {scale:.1g} along x{j + 1}, near {place:.2g}")
        gaps, places = _closest(seen.middle[point], seen.owner[point])
        if len(gaps) and (gap := np.median(gaps)) < _CLOSEST:
            missed = f"kinks or jumps twice within {gap:.1g} along x{j + 1}, near {places[0]:.2g}, on planes not named"
            return Followed(fastest, missed)
    return Followed(fastest, None)


def _along(
    f: Callable[..., Any], j: int, others: np.ndarray, planes: tuple[np.ndarray, np.ndarray]
) -> Variation:
    """What f does on lines along variable j, at those values of the others [lines, k - 1]."""
    normals, offsets = planes
    crossed = np.abs(normals[:, j]) > 1e-12
    rest = np.delete(normals[crossed], j, axis=1)
    at = (offsets[crossed] - others @ rest.T) / normals[crossed, j]  # [lines, planes]
    # panels begin elsewhere on each line: what is missed between two nodes of one of them is met on another one
    moved = WIDTH * np.arange(len(at)) / len(at)
    edges = [panel_edges(tuple(own), _FAR, by) for own, by in zip(at, moved, strict=True)]
    left, right = np.concatenate([e[:-1] for e in edges]), np.concatenate([e[1:] for e in edges])
    owner = np.repeat(np.arange(len(edges)), [len(e) - 1 for e in edges])

    def on_line(x: np.ndarray, owner: np.ndarray) -> Any:
        place = [np.broadcast_to(column[owner], x.shape) for column in others.T]
        return f(*place[:j], x, *place[j:])

    seen = follow(on_line, left, right, owner, at.reshape(-1), _NODES, _CROWD, _NARROW)
    if crossed.any():  # next to a kink that is known, convergence may be slow, but shows
        half = 0.5 * (seen.right - seen.left)
        distance = np.abs(at[seen.owner] - seen.middle[:, None]).min(axis=1)
        seen.bandwidth[seen.bandwidth * np.maximum(distance, half) < GRADED] = 0.0
    return seen


def _closest(places: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest distance of two places on each line that has several, and where that is; places in order."""
    apart = np.where(np.diff(owner) == 0, np.diff(places), np.inf)
    apart = np.where(apart < 4.0 * _NARROW, np.inf, apart)  # one place in two panels
    lines = [np.flatnonzero(owner[:-1] == line) for line in np.unique(owner)]
    least = [own[apart[own].argmin()] for own in lines if len(own)]
    least = [i for i in least if np.isfinite(apart[i])]
    return apart[least], places[least]


def _points(count: int) -> np.ndarray:
    """Points that fill the cube from -1 to 1, [lines, count]: multiples of powers of the root of x^(n+1) = x + 1."""
    root = np.roots([1.0, *[0.0] * (count - 1), -1.0, -1.0]) if count > 1 else np.array([1.618033988749895])
    g = float(np.max(np.real(root[np.abs(np.imag(root)) < 1e-12])))
    return 2.0 * ((np.arange(1, _LINES + 1)[:, None] * g ** -np.arange(1.0, count + 1.0)) % 1.0) - 1.0
