"""Nodes over y, the rest of a target's directions, at each κ: for averages that know of fields along y as well."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...cuts import Cuts
from ...gaussian import line_rule
from ..layer import Frame
from .joint import JointLaw, turned

_NOTHING = 1e-14  # weight of a node that no average feels
_KINKED = 3  # how many times fewer nodes there are in a piece, where the line is cut, than on a whole line
_MOST = 24  # times four: intervals along y that smooth labels are given at most


class Measure(NamedTuple):
    """Nodes y [U, N, k, J] with weights w [U, N, J], and the law of labels there."""

    y: np.ndarray
    w: np.ndarray
    mean: np.ndarray  # E[Y | z]
    clean: np.ndarray  # that of clean labels


def measure(law: JointLaw, frame: Frame, kappa: np.ndarray, points: int) -> Measure:
    """At κ [U or 1, S, N]; `points` tells how fine."""
    centre, normals, offsets = frame.centre(kappa), *law.planes
    parts = []
    for u, (turn, rho) in enumerate(zip(frame.turn, frame.rho, strict=True)):
        own = normals @ turn
        y, w = _nodes(law, own * rho, offsets - centre[u].T @ own.T, points)
        z = turned(law, turn, centre[u][..., None] + rho[:, None, None] * np.moveaxis(y, 1, 0))
        clean = law if law == law.clean else law.clean
        parts.append((y, w, law.mean(*z), clean.mean(*z)))
    most = max(w.shape[-1] for _, w, _, _ in parts)
    return Measure(
        *(np.stack([_padded(part, most) for part in column]) for column in zip(*parts, strict=True))
    )


def _nodes(
    law: JointLaw, normals: np.ndarray, offsets: np.ndarray, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """y [N, k, J] and w [N, J] between hyperplanes normals·y = offsets [N, H]; without those of no weight."""
    k = law.directions
    if len(normals):
        y, w = Cuts(normals).nodes(offsets, max(2, points // _KINKED), law.reach)
    else:
        line, weights = line_rule(4 * int(np.clip(round(2 * points / 3), 2, _MOST)), law.reach)
        y = np.stack([one.reshape(-1) for one in np.meshgrid(*[line] * k, indexing="ij")])[None]
        w = np.prod(np.meshgrid(*[weights[0]] * k, indexing="ij"), axis=0).reshape(1, -1)
        y, w = (np.broadcast_to(a, (len(offsets), *a.shape[1:])) for a in (y, w))
    felt = w.max(axis=0) > _NOTHING
    return y[..., felt], w[..., felt]


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    short = size - values.shape[-1]
    return values if not short else np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, short)])
