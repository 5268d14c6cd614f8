"""Where a function of several variables is not smooth: the hyperplanes n·z = c of its kinks and jumps.

A part that can break (max, abs, a comparison, ...) does so where some difference of its arguments vanishes. That set
is made of hyperplanes where the difference is a product of, or pieces of, affine functions; a function of one affine
combination alone; or a quadratic form that factors. Otherwise it is curved, and integrals cannot be cut there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product

import numpy as np

from . import tree
from .breakpoints import breakpoints, breaks_at, with_slopes, zeros
from .function import Hyperplane
from .operations import ELEMENTARY
from .program import Program
from .tree import Node, postorder

MAX_PIECES = 16  # affine pieces of one part that are told apart
_ROUNDING = 1e-12
_STEEP = 2.0  # slope, over a step's width, from which on the usual rules would need many nodes
RIMS = np.array([-6.0, -2.5, 0.0, 2.5, 6.0])  # where a steep step is cut out, in units of its width
_POINTS = 4096  # at which a part must be larger than
_SMALL = 0.01  # of its median not to vanish anywhere
_TRIALS = 64  # points at which a part is compared with a quadratic form


def hyperplanes(root: Node, variables: int, signs: bool = False) -> tuple[tuple[Hyperplane, ...], bool]:
    """The kinks and jumps of a function (of its sign, with `signs`), and whether there are curved ones besides."""
    surfaces, cuts, curved = _Surfaces(variables), [], False
    parts = [breaks_at(node) for node in postorder(root)] + [root if signs else None]
    for part in parts:
        if part is not None:
            planes = surfaces.zeros(part)
            curved |= planes is None
            cuts += planes or []
    return distinct(cuts), curved


def steep_steps(root: Node, variables: int) -> tuple[Hyperplane, ...]:
    """Hyperplanes around those steps of a smooth function that are steep, tanh(8 x1) say: between them it is tame."""
    surfaces, cuts = _Surfaces(variables), []
    for node in postorder(root):
        width = ELEMENTARY[node.op].width if node.op in ELEMENTARY else None
        pieces = surfaces.pieces(node.args[0]) if width else None
        if width is None or pieces is None:
            continue
        for affine in pieces:
            slope = np.linalg.norm(affine[1:])
            if slope > _STEEP * width:
                cuts += [(tuple(affine[1:] / slope), float((width * r - affine[0]) / slope)) for r in RIMS]
    return distinct(cuts)


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


class _Surfaces:
    """Where parts of one expression vanish; what has been found out about a part is kept."""

    def __init__(self, variables: int):
        self._variables = variables
        self._points = 2.0 * np.random.default_rng(0).normal(size=(variables, _POINTS))
        self.zeros = cache(self._zeros)
        self.pieces = cache(self._pieces)

    def _zeros(self, node: Node) -> list[Hyperplane] | None:
        """Hyperplanes that hold all zeros of a node; None where it has others."""
        if tree.is_const(node) or self._stays_away_from_zero(node):
            return []
        if node.op in ("mul", "chain"):
            parts = [self.zeros(arg) for arg in node.args[:2]]
            return None if None in parts else [plane for part in parts for plane in part or ()]
        if node.op in ("neg", "abs", "sign", "sqrt", "power", "div"):
            return self.zeros(node.args[0])
        pieces = self.pieces(node)
        if pieces is not None:
            return [plane for piece in pieces if (plane := _plane(piece)) is not None]
        along = self._along_one_direction(node)
        return along if along is not None else _quadratic(node, self._variables)

    def _stays_away_from_zero(self, node: Node) -> bool:
        """Whether it has one sign and about one size at many points, as 1 + x1**2 does."""
        values = np.asarray(Program(node)(*self._points))
        same_sign = np.isfinite(values).all() and abs(np.sign(values).sum()) == values.size
        return bool(same_sign and np.abs(values).min() > _SMALL * np.median(np.abs(values)))

    def _pieces(self, node: Node) -> list[np.ndarray] | None:
        """The affine functions [c0, c1, ...] of which a node is always one; None where it has other pieces."""
        args, size = node.args, self._variables + 1
        if node.op in ("const", "x"):
            return [node.value * np.eye(size)[0] if node.op == "const" else np.eye(size)[1 + int(node.value)]]
        parts = [self.pieces(arg) for arg in args] if node.op in _PIECEWISE else [None]
        if any(part is None for part in parts):
            return None
        first, *others = (part or [] for part in parts)
        match node.op:
            case "neg":
                affine = [-a for a in first]
            case "abs":
                affine = [s * a for a in first for s in (1.0, -1.0)]
            case "max" | "min":
                affine = [*first, *others[0]]
            case "add" | "sub":
                sign = 1.0 if node.op == "add" else -1.0
                affine = [a + sign * b for a, b in product(first, others[0])]
            case "div" if tree.is_const(args[1]):
                affine = [a / args[1].value for a in first]
            case "mul" if tree.is_const(args[0]):
                affine = [args[0].value * b for b in others[0]]
            case _:
                return None
        unique = list({tuple(np.round(a, 12)): a for a in affine}.values())
        return unique if len(unique) <= MAX_PIECES else None

    def _along_one_direction(self, node: Node) -> list[Hyperplane] | None:
        """Zeros of a function of one combination n·z alone, which are sought along a line; None if it has more."""
        normals: list[np.ndarray] = []

        @cache
        def on_line(part: Node) -> Node | None:
            """The same as a function of x = n·z."""
            pieces = self.pieces(part)
            if pieces is None or len(pieces) > 1:
                args = [on_line(arg) for arg in part.args]
                return None if None in args else Node(part.op, tuple(args), part.value)  # type: ignore[arg-type]
            (affine,) = pieces
            size = float(np.linalg.norm(affine[1:]))
            if size <= _ROUNDING:
                return tree.const(float(affine[0]))
            normals.append(affine[1:] / size)
            slope = size * float(normals[0] @ normals[-1])
            if abs(abs(slope) - size) > _ROUNDING * size:  # elsewhere
                return None
            return tree.add(tree.const(float(affine[0])), tree.mul(tree.const(slope), tree.X))

        line = on_line(node)
        if line is None or not normals:
            return None
        at = zeros(with_slopes(line, {}), np.asarray(breakpoints(line)))
        return [(tuple(normals[0]), float(zero)) for zero in at]


_PIECEWISE = ("neg", "abs", "max", "min", "add", "sub", "div", "mul")


def _plane(affine: np.ndarray) -> Hyperplane | None:
    """Where an affine function [c0, c1, ...] = c0 + c1 x1 + ... vanishes."""
    size = np.linalg.norm(affine[1:])
    return None if size <= _ROUNDING else (tuple(affine[1:] / size), float(-affine[0] / size))


def _quadratic(node: Node, variables: int) -> list[Hyperplane] | None:
    """Zeros of (a·z + a0)(b·z + b0), or the point where a sum of squares vanishes; None for other functions."""
    z = np.random.default_rng(0).normal(size=(variables, _TRIALS))
    values = np.asarray(Program(node)(*z))
    if not np.isfinite(values).all():
        return None
    ones = np.concatenate([np.ones((1, _TRIALS)), z])
    i, j = np.triu_indices(variables + 1)
    basis = (ones[i] * ones[j]).T
    coefficients, *_ = np.linalg.lstsq(basis, values, rcond=None)
    if np.abs(basis @ coefficients - values).max() > 1e-11 * max(1.0, np.abs(values).max()):
        return None
    form = np.zeros((variables + 1, variables + 1))
    form[i, j] += 0.5 * coefficients
    form[j, i] += 0.5 * coefficients
    powers, vectors = np.linalg.eigh(form)
    kept = np.abs(powers) > 1e-10 * np.abs(powers).max()
    powers, vectors = powers[kept], vectors[:, kept] * np.sqrt(np.abs(powers[kept]))
    if len(powers) == 2 and powers[0] * powers[1] < 0:
        forms = [vectors[:, 0] + vectors[:, 1], vectors[:, 0] - vectors[:, 1]]
    elif (powers > 0).all() or (powers < 0).all():  # vanishes at most where all squares do, at one point
        centre = np.linalg.lstsq(vectors[1:].T, -vectors[0], rcond=None)[0]
        forms = [np.eye(1, len(form), 1 + j)[0] - x * np.eye(1, len(form))[0] for j, x in enumerate(centre)]
    else:
        return None
    return [plane for form in forms if (plane := _plane(form)) is not None]
