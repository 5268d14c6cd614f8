"""Moments of a function of one variable at many shifts, as features and labels of one direction need them along κ.

Averages over h ~ N(0, c) of functions of a + h are smoothed on the scale √c as functions of a, whatever kinks were
averaged over: on a panel of width √c the Chebyshev series through 16 points is exact to rounding, its error falls as
4⁻ⁿ/√n!. As functions of c they are analytic but at c = 0: on an octave of c the error of 16 points falls as 5.8⁻ⁿ. So
very many averages are interpolated in tables (`tabulated`): two spikes take half the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..functions import Function
from ..functions.chebyshev import polynomials, through
from ..gaussian import STRIDES, UNRESOLVED, Moments, nested, resolution, sample, straight_moments
from .layer import alike
from .symmetric import BLOCK, TINY

_NODES = 16
_POINTS, _TO_SERIES = through(_NODES)

Averages = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From shifts [M] and variances [M] to quantities [Q, M]."""


def tabulated(averages: Averages, shift: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`averages` at shifts [U, K, N] with variances c [U, K], [Q, U, K, N]: by way of tables if that is less work."""
    U, K, N = shift.shape
    a, v = shift.reshape(-1, N), c.reshape(-1)
    with np.errstate(divide="ignore"):  # c = 0 is an octave of its own, -∞
        octave = np.floor(np.log2(v))
    parts = list(alike(octave[:, None]))
    found = [_octave(averages, a[rows], v[rows], float(octave[rows[0]])) for rows in parts]
    if len(parts) == 1:
        return found[0].reshape(-1, U, K, N)
    return np.concatenate(found, axis=1)[:, np.argsort(np.concatenate(parts))].reshape(-1, U, K, N)


def _octave(averages: Averages, a: np.ndarray, c: np.ndarray, octave: float) -> np.ndarray:
    """Those at shifts a [R, N] with variances c [R] between 2^octave and twice that: [Q, R, N]."""
    low, high = float(a.min()), float(a.max())
    least = 2.0**octave
    panels = max(1, int(np.ceil((high - low) / np.sqrt(least)))) if least > 0.0 else 1 << 30
    variances = c if len(c) <= _NODES else least * (1.5 + 0.5 * _POINTS)
    if 2 * _NODES * panels * len(variances) >= a.size:
        return averages(a.reshape(-1), np.repeat(c, a.shape[1])).reshape(-1, *a.shape)
    width = (high - low) / panels + TINY
    nodes = (low + width * (np.arange(panels) + 0.5))[:, None] + 0.5 * width * _POINTS
    table = averages(np.tile(nodes.reshape(-1), len(variances)), np.repeat(variances, nodes.size))
    series = np.moveaxis(table.reshape(len(table), len(variances), panels, _NODES) @ _TO_SERIES.T, 0, 2)
    between = polynomials(2.0 * c / least - 3.0, _NODES) @ _TO_SERIES  # from values at the nodes in c
    to_rows = np.eye(len(c)) if variances is c else between
    parts = np.array_split(np.arange(len(c)), max(1, a.size * len(table) * _NODES // BLOCK))
    found: list[np.ndarray] = []
    for rows in parts:
        found.append(_summed(np.tensordot(to_rows[rows], series, 1), (a[rows] - low) / width))
    return np.concatenate(found, axis=1)


def _summed(series: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Series [R, panels, Q, degree] at places counted in panels [R, N]: [Q, R, N]."""
    panel = np.clip(along.astype(int), 0, series.shape[1] - 1)
    here = series[np.arange(len(along))[:, None], panel]  # [R, N, Q, degree]
    found = here @ polynomials(2.0 * (along - panel) - 1.0, _NODES)[..., None]
    return np.moveaxis(found[..., 0], -1, 0)


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
        ends = slope[..., None] * kappa[:, None, [0, -1], [0, -1]] + shift[:, None]  # [U, K, 2]
        if parity:
            kappa = kappa[..., kappa.shape[-1] // 2 :]
        argument = slope[:, :, None, None] * kappa[:, None] + shift[:, None, None]  # [U, K, pieces, nodes]
        rows = argument.reshape(-1, *argument.shape[2:]), scale.reshape(-1)
        self._shape = (*argument.shape[:2], -1)
        if (closed := straight_moments(f, rows[0], rows[1][:, None, None])) is not None:
            self._found = _on_nested_rules(closed[0], parity)
            return
        n, error = resolution(f, ends, scale, reach, INNER_TOLERANCE)
        if error == np.inf:
            alone = [resolution(f, *one, reach, INNER_TOLERANCE) for one in zip(ends, scale, strict=True)]
            self.error = np.array([1.0 * (error == np.inf) for _, error in alone])
            n = max((n for n, error in alone if error < np.inf), default=_FEWEST)
        if n >= UNRESOLVED:
            takes = [slice(None, None, stride) if parity else nested(stride) for stride in STRIDES]
            self._found = [_mirrored(one, parity) for one in _coarsened(f, *rows, n, reach, takes)]
        else:
            found = moments_at(f, argument.reshape(*argument.shape[:2], -1), scale, n, reach)
            self._found = _on_nested_rules(Moments(*(part.reshape(rows[0].shape) for part in found)), parity)

    def moments(self, stride: int) -> Moments:
        """The moments [U, K, N] on the rule with every `stride`-th node."""
        return Moments(*(part.reshape(self._shape) for part in self._found[STRIDES.index(stride)]))


def _on_nested_rules(fine: Moments, parity: str | None) -> list[Moments]:
    """The moments on three nested rules, from those on the finest."""
    whole = _mirrored(fine, parity)
    return [Moments(*(part[..., nested(stride)] for part in whole)) for stride in STRIDES]


def moments_at(f: Function, a: np.ndarray, scale: np.ndarray, n: int, reach: float) -> Moments:
    """Moments of f(a + scale·z) at arguments a [U, K, N] with scales [U, K], by rules of n intervals."""

    def averages(a: np.ndarray, c: np.ndarray) -> np.ndarray:
        parts = cache_parts(len(a), n * pieces(f))
        return np.concatenate([sample(f, a[p], np.sqrt(c[p]), n, reach).moments() for p in parts], axis=-1)

    return Moments(*tabulated(averages, a, scale**2))


def _coarsened(
    f: Function, a: np.ndarray, scale: np.ndarray, n: int, reach: float, takes: list[slice]
) -> list[Moments]:
    """Moments at arguments a [M, pieces, nodes] and at some of the nodes only, on coarser rules over z as well."""
    found: list[Moments] = []
    for stride, take in zip(STRIDES, takes, strict=True):
        at = a[..., take]
        flat, scales = at.reshape(-1), np.repeat(scale, at[0].size)
        parts = (sample(f, flat[p], scales[p], n, reach) for p in cache_parts(len(flat), n * pieces(f)))
        moments = zip(*(part.moments(stride) for part in parts), strict=True)
        found.append(Moments(*(np.concatenate(one).reshape(at.shape) for one in moments)))
    return found


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


def pieces(f: Function) -> int:
    """Into how many a line over z is cut."""
    return len(f.breakpoints) + 3 if f.breakpoints else 1


def cache_parts(count: int, each: int) -> list[slice]:
    """Parts of `count` averages with so many function values each, few enough at a time to stay in cache."""
    size = max(1, _IN_CACHE // each)
    return [slice(start, start + size) for start in range(0, count, size)]
