"""Where a function of several variables is not smooth: the hyperplanes n·z = c of its kinks and jumps.

A part that can break (max, abs, a comparison, ...) does so where some difference of its arguments vanishes. Straight
lines in many directions cross the surface where it does. Points of a hyperplane have one tangent plane in common; where
each point has its own, the surface is curved, and integrals cannot be cut there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import ParameterError
from .breakpoints import MAX_BREAKPOINTS, bisect, breaks_at
from .calculus import derivative
from .function import Hyperplane
from .operations import ELEMENTARY
from .program import Program
from .tree import Node, postorder

_ROUNDING = 1e-12
_DIGITS = 10  # in which two tangent planes of one hyperplane agree
_STEEP = 2.0  # slope, over a step's width, from which on the usual rules would need many nodes
RIMS = np.array([-6.0, -2.5, 0.0, 2.5, 6.0])  # where a steep step is cut out, in units of its width
_TINY = 1e-9
_ACCIDENT = 2  # points of a curved surface may have one tangent plane, nearly
_NEAR = 6.0  # distance from 0 up to which many lines meet a hyperplane
_LINES = 64  # that are followed through space,
_ALONG = np.linspace(-12.0, 12.0, 256)  # and places on each, between neighbours of which a part vanishes once


def hyperplanes(root: Node, variables: int, signs: bool = False) -> tuple[tuple[Hyperplane, ...], bool]:
    """The kinks and jumps of a function (of its sign, with `signs`), and whether there are curved ones besides."""
    parts = [breaks_at(node) for node in postorder(root)] + [root if signs else None]
    factors = {factor: None for part in parts if part is not None for factor in _factors(part)}
    found = [_zeros(factor, variables) for factor in factors]
    planes = distinct(plane for planes, _ in found for plane in planes)
    if len(planes) > MAX_BREAKPOINTS:
        raise ParameterError(
            f"the function kinks or jumps on more than {MAX_BREAKPOINTS} hyperplanes; use a smooth function, or one"
            " that breaks less often"
        )
    return planes, any(curved for _, curved in found)


def steep_steps(root: Node, variables: int) -> tuple[Hyperplane, ...]:
    """Hyperplanes around those steps of a smooth function that are steep, tanh(8 x1) say: between them it is tame."""
    z, cuts = np.random.default_rng(0).normal(size=(variables, _LINES)), []
    for node in postorder(root):
        width = ELEMENTARY[node.op].width if node.op in ELEMENTARY else None
        if width is not None:
            affine, _ = _shared(_tangents(node.args[0], z))
            steep = np.linalg.norm(affine[:, :-1], axis=1) > _STEEP * width
            cuts += [(n, c + width * r) for *n, c in affine[steep] for r in RIMS]
    return distinct(cuts)


def _factors(node: Node) -> list[Node]:
    """Parts of a node, of which one vanishes where the node does."""
    if node.op in ("mul", "chain"):
        return _factors(node.args[0]) + _factors(node.args[1])
    if node.op in ("neg", "abs", "sign", "sqrt", "power", "div"):
        return _factors(node.args[0])
    return [] if node.op == "const" else [node]


def _zeros(node: Node, variables: int) -> tuple[list[Hyperplane], bool]:
    """Hyperplanes on which a node vanishes, and whether it does so elsewhere too."""
    value, rng = Program(node), np.random.default_rng(0)
    start, way = rng.normal(size=(2, variables, _LINES))
    way /= np.linalg.norm(way, axis=0)
    values = value(*(start[..., None] + way[..., None] * _ALONG))
    positive = values > 0.0
    line, cell = np.nonzero(positive[:, 1:] != positive[:, :-1])
    if not line.size:
        return _touched(node, start[:, 0], _TINY * np.median(np.abs(values))), False
    start, way, side = start[:, line], way[:, line], positive[line, cell]
    inside, _ = bisect(lambda t: value(*(start + way * t)) > 0.0, _ALONG[cell + ~side], _ALONG[cell + side])
    planes = _tangents(node, start + way * inside)
    with np.errstate(all="ignore"):
        planes /= np.linalg.norm(planes[:, :-1], axis=1, keepdims=True)
    planes, others = _shared(planes[np.isfinite(planes).all(axis=1)])  # where a part jumps past 0, it breaks itself
    return [(tuple(n), c) for *n, c in planes.tolist()], others


def _touched(node: Node, z: np.ndarray, least: float) -> list[Hyperplane]:
    """Hyperplanes along which a square vanishes, or through the point where a sum of squares does."""
    slopes = [derivative(node, variable=j) for j in range(len(z))]
    slope = np.array([Program(one)(*z) for one in slopes])
    form = np.array([[Program(derivative(one, variable=j))(*z) for j in range(len(z))] for one in slopes])
    if not np.isfinite(form).all():
        return []
    powers, axes = np.linalg.eigh(form)
    bent = np.abs(powers) > _TINY * np.abs(powers).max()
    normals = axes[:, bent].T
    z = z - (normals @ slope / powers[bent]) @ normals
    return [(tuple(n), float(n @ z)) for n in normals] if abs(Program(node)(*z)) <= least else []


def _tangents(node: Node, z: np.ndarray) -> np.ndarray:
    """Rows (n, c) such that n·z - c touches a node at the points z [k, M]."""
    slopes = np.array([Program(derivative(node, variable=j))(*z) for j in range(len(z))])
    with np.errstate(invalid="ignore"):
        return np.vstack([slopes, (slopes * z).sum(axis=0) - Program(node)(*z)]).T


def _shared(rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """Rows (n, c) that appear again and again, each once, and whether there are others that matter."""
    *_, first, count = np.unique(np.round(rows, _DIGITS) + 0.0, axis=0, return_index=True, return_counts=True)
    often, others = rows[first[count > _ACCIDENT]], rows[first[count <= _ACCIDENT]]
    return often, bool((np.abs(others[:, -1]) < _NEAR).any())


def as_planes(planes: Iterable[Hyperplane], directions: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals [H, k] and offsets [H]."""
    normals, offsets = [normal for normal, _ in planes], [offset for _, offset in planes]
    return np.array(normals).reshape(-1, directions), np.array(offsets, float)


def distinct(planes: Iterable[Hyperplane]) -> tuple[Hyperplane, ...]:
    """Each once, in order, with the first component of its normal that is not 0 positive."""
    kept: dict[tuple[float, ...], Hyperplane] = {}
    for normal, offset in planes:
        n = np.asarray(normal, float)
        size = np.linalg.norm(n) * np.sign(n[np.abs(n) > _ROUNDING * np.abs(n).max()][0])
        n, c = n / size, offset / size
        n, c = np.where(np.abs(n) < _ROUNDING, 0.0, n), 0.0 if abs(c) < _ROUNDING else float(c)
        plane = (tuple(n.tolist()), c)
        kept.setdefault(tuple(np.round([*plane[0], plane[1]], 10) + 0.0), plane)
    return tuple(kept[key] for key in sorted(kept))
