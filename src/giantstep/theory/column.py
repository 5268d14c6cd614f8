"""Moments of a function of one variable along κ: what features and labels of one direction are tabulated from."""

from __future__ import annotations

import numpy as np

from ..functions import Function
from ..gaussian import (
    STRIDES,
    UNRESOLVED,
    Moments,
    nested,
    resolution,
    sample,
    straight_moments,
)
from .smoothed import tabulated
from .upto import upto

INNER_TOLERANCE = 1e-11  # of the estimate, which is that of a rule with half the points or worse

_FEWEST = 32  # points for averages that are lost anyway
_IN_CACHE = 1 << 17  # function values that pass after pass finds in the processor's cache


class Column:
    """Moments of f(slope·κ + shift + scale·z) along κ; for an f with parity only κ ≥ 0 is evaluated.

    Averages over z that are resolved serve all three rules in κ. Those that are not (an undeclared kink) are
    coarsened together with κ, so that their errors show in the differences between the rules.
    """

    error: np.ndarray | float = 0.0
    """[U], that does not show there: 1 where f is noise to every rule."""

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
        ends = np.stack([kappa.min(axis=(1, 2)), kappa.max(axis=(1, 2))], axis=-1)
        ends = slope[..., None] * ends[:, None] + shift[:, None]  # [U, K, 2]
        if parity:
            kappa = kappa[..., kappa.shape[-1] // 2 :]
        argument = slope[:, :, None, None] * kappa[:, None] + shift[:, None, None]  # [U, K, pieces, nodes]
        rows = argument.reshape(-1, *argument.shape[2:]), scale.reshape(-1)
        closed = straight_moments(f, rows[0], rows[1][:, None, None])
        fine = None if closed is None else closed[0]
        if fine is None:
            n, error = resolution(f, ends, scale, reach, INNER_TOLERANCE)
            if error == np.inf:
                alone = [resolution(f, *one, reach, INNER_TOLERANCE) for one in zip(ends, scale, strict=True)]
                self.error = np.array([1.0 * (error == np.inf) for _, error in alone])
                n = max((n for n, error in alone if error < np.inf), default=_FEWEST)
            each = n * (len(f.breakpoints) + 3 if f.breakpoints else 1)  # the line is cut in so many pieces
            if n >= UNRESOLVED:
                takes = [slice(None, None, stride) if parity else nested(stride) for stride in STRIDES]
                self._found = [_mirrored(one, parity) for one in _coarsened(f, *rows, n, reach, each, takes)]
            else:
                flat = argument.reshape(*argument.shape[:2], -1)
                fine = moments_at(f, flat, scale, n, reach)
                fine = Moments(*(part.reshape(rows[0].shape) for part in fine))
        if fine is not None:
            fine = _mirrored(fine, parity)
            self._found = [Moments(*(part[..., nested(stride)] for part in fine)) for stride in STRIDES]
        self._shape = (*argument.shape[:2], -1)

    def moments(self, stride: int) -> Moments:
        """The moments [U, K, N] on the rule with every `stride`-th node."""
        return Moments(*(part.reshape(self._shape) for part in self._found[STRIDES.index(stride)]))


def moments_at(f: Function, a: np.ndarray, scale: np.ndarray, n: int, reach: float) -> Moments:
    """Moments of f(a + scale·z) at arguments a [U, K, N] with scales [U, K], by rules of n intervals."""
    each = n * (len(f.breakpoints) + 3 if f.breakpoints else 1)  # the line is cut in so many pieces

    def averages(a: np.ndarray, c: np.ndarray) -> np.ndarray:
        parts = [sample(f, a[p], np.sqrt(c[p]), n, reach).moments() for p in _parts(upto(len(a)), each)]
        return np.concatenate([np.stack(part) for part in parts], axis=-1)

    return Moments(*tabulated(averages, a, scale**2))


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
