"""Moments of a function of one variable along κ: what features and labels of one direction are tabulated from."""

from __future__ import annotations

import numpy as np

from ..functions import Function
from ..gaussian import (
    DIRECT,
    LOST,
    STRIDES,
    UNRESOLVED,
    Moments,
    lattice,
    lattice_moments,
    nested,
    resolution,
    round_up,
    sample,
    straight_moments,
)
from .layer import alike
from .upto import upto

INNER_TOLERANCE = 1e-11  # of the estimate, which is that of a rule with half the points or worse

_IN_CACHE = 1 << 17  # function values that pass after pass finds in the processor's cache


class Column:
    """Moments of f(slope·κ + shift + scale·z) along κ; for an f with parity only κ ≥ 0 is evaluated.

    Averages over z that are resolved serve all three rules in κ. Those that are not (an undeclared kink) are
    coarsened together with κ, so that their errors show in the differences between the rules.
    """

    error = 0.0  # that does not show there, or that no rule in κ mends

    def __init__(
        self,
        f: Function,
        slope: np.ndarray,
        shift: np.ndarray,
        scale: np.ndarray,
        kappa: np.ndarray,
        reach: float,
        even: bool,
    ):
        """Slopes and scales [U, K], shifts [K]; κ [U or 1, pieces, nodes], on one `even` line or cut into pieces."""
        parity = f.parity if even and not shift.any() else None
        if parity:
            kappa = kappa[..., kappa.shape[-1] // 2 :]
        argument = slope[:, :, None, None] * kappa[:, None] + shift[:, None, None]  # [U, K, pieces, nodes]
        rows = argument.reshape(-1, *argument.shape[2:]), scale.reshape(-1)
        closed = straight_moments(f, rows[0], rows[1][:, None, None])
        fine = None if closed is None else closed[0]
        if fine is None:
            span, widest = round_up(float(np.abs(argument).max())), round_up(float(scale.max()))
            n, error = resolution(f, widest, reach, span, INNER_TOLERANCE)
            if error > LOST:
                self.error = error
            each = n * (len(f.breakpoints) + 3 if f.breakpoints else 1)  # the line is cut in so many pieces
            if n >= UNRESOLVED or error > LOST:
                takes = [slice(None, None, stride) if parity else nested(stride) for stride in STRIDES]
                self._found = [_mirrored(one, parity) for one in _coarsened(f, *rows, n, reach, each, takes)]
            else:
                apart = (kappa[..., -1:] - kappa[..., :1]).max() / (kappa.shape[-1] - 1)
                step = (slope * apart).reshape(-1) if even else None
                fine = _resolved(f, *rows, step, n, reach, each)
        if fine is not None:
            fine = _mirrored(fine, parity)
            self._found = [Moments(*(part[..., nested(stride)] for part in fine)) for stride in STRIDES]
        self._shape = (*argument.shape[:2], -1)

    def moments(self, stride: int) -> Moments:
        """The moments [U, K, N] on the rule with every `stride`-th node."""
        return Moments(*(part.reshape(self._shape) for part in self._found[STRIDES.index(stride)]))


def _resolved(
    f: Function, a: np.ndarray, scale: np.ndarray, step: np.ndarray | None, n: int, reach: float, each: int
) -> Moments:
    """Moments at arguments a [M, pieces, nodes], scales [M]; on an even line those of a row are a `step` [M] apart."""
    count = a.shape[-1]
    spacing = np.zeros((len(a), 2), int) if step is None else lattice(f, step, scale, count, n, reach)
    parts: list[tuple[np.ndarray, Moments]] = []
    for members in alike(spacing):
        shifts, nodes = map(int, spacing[members[0]])
        for rows in _parts(members, count * each):
            s = scale[rows]
            if step is None or (shifts, nodes) == DIRECT:
                some = _parts(upto(count), len(rows) * a.shape[1] * each)
                sums = [sample(f, a[rows][..., part], s[:, None, None], n, reach).moments() for part in some]
                own = Moments(*(np.concatenate(column, axis=-1) for column in zip(*sums, strict=True)))
            else:
                sums = lattice_moments(f, a[rows, 0, 0], step[rows], s, count, (shifts, nodes), reach)
                own = Moments(*(column[:, None] for column in sums))
            parts.append((rows, own))
    if len(parts) == 1:
        return parts[0][1]
    found = Moments(*(np.empty(a.shape) for _ in Moments._fields))
    for rows, own in parts:
        for column, values in zip(found, own, strict=True):
            column[rows] = values
    return found


def _coarsened(
    f: Function, a: np.ndarray, scale: np.ndarray, n: int, reach: float, each: int, takes: list[slice]
) -> list[Moments]:
    """Moments at arguments a [M, pieces, nodes] and at some of the nodes only, on coarser rules over z as well."""
    parts: list[list[Moments]] = []
    for rows in _parts(upto(len(a)), a[0].size * each):
        samples = sample(f, a[rows], scale[rows][:, None, None], n, reach)
        every = slice(None)
        parts.append(
            [
                samples.moments(stride, (every, every, take))
                for stride, take in zip(STRIDES, takes, strict=True)
            ]
        )
    return [Moments(*map(np.concatenate, zip(*rule, strict=True))) for rule in zip(*parts, strict=True)]


def _mirrored(half: Moments, parity: str | None) -> Moments:
    """From κ ≥ 0 to all κ: f at -κ and -z is f or -f."""
    if parity is None:
        return half
    sign = 1.0 if parity == "even" else -1.0
    return Moments(
        *(
            np.concatenate([flip * part[..., :0:-1], part], axis=-1)
            for part, flip in zip(half, (sign, -sign, sign, 1.0, 1.0), strict=True)
        )
    )


def _parts(indices: np.ndarray, each: int) -> list[np.ndarray]:
    """Parts of some indices that have so many function values each, few enough at a time to stay in cache."""
    count = min(len(indices), -(-len(indices) * each // _IN_CACHE))
    return [indices] if count == 1 else np.array_split(indices, count)
