"""Warnings of a prediction: where real networks give other numbers, and which points have failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError, LimitWarning, warn
from .status import (
    CONVERGED,
    FEW_EIGENVALUES,
    IMPRECISE,
    LIMIT_ALONE,
    RARELY_SEEN,
    REAL_SIZE,
    SCATTERED,
    SQUARED,
    UNSOLVED,
    WIDE,
)

if TYPE_CHECKING:
    from ..answers.arrays import NamedArrays

_FEW = 0.3  # share up to which a first order is worth saying

_SENTENCES = {
    LIMIT_ALONE: (
        "the limit d = inf is out of reach of real sizes at {points} points: where {where}, the test error is"
        f" {{error:.4g}} in the limit and {{sized_error:.4g}} at d = {REAL_SIZE:g}; for networks of a"
        " certain size use simulate, or predict with d="
    ),
    RARELY_SEEN: (
        "at {points} points, inputs so rare that a million samples may hold none make much of the error: where"
        " {where}, they make {rare:.0%} of the test error {error:.4g}, and real data sets give other answers; use a"
        " larger lam"
    ),
    SCATTERED: (
        "labels have tails too heavy for the steps' batches at {points} points: where {where}, their mean square varies"
        " by {scatter:.0%} between batches, and networks of this size may be several per cent from the test error"
        " {error:.4g} on average; give a larger d or alpha0"
    ),
    SQUARED: (
        "at {points} points, networks of that size learn some of the target's quadratic part, which the theory leaves"
        f" out: where {{where}}, those of that size (of d = {REAL_SIZE:g} where it is infinite) have a test error below"
        " {error:.4g}, {less}; simulate, or consider a larger d"
    ),
    FEW_EIGENVALUES: (
        "a few eigenvalues of the inputs hold much of the rows at {points} points: where {where}, squared row norms"
        " have a relative variance (spread) of {spread:.2g}, and rows a mean squared cosine (share) of {share:.2g};"
        " networks of this size are off by up to 9 % around 0.05 and 16 % around 0.3; give a smaller eta or a larger d,"
        " or simulate"
    ),
}


def remark(found: NamedArrays, doubts: dict[str, np.ndarray]) -> None:
    """Warn where the limit is not what real networks give: once for each reason, with the worst point's numbers."""
    error, code = found["test_error"].values, found["code"].values
    if (code == CONVERGED).all():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(np.log(error / doubts["sized_error"]))
    widest = np.maximum(doubts["spread"], doubts["share"])
    sizes = {LIMIT_ALONE: far, RARELY_SEEN: doubts["rare"], SCATTERED: doubts["scatter"], SQUARED: doubts["squares"]}
    points = {doubt: (code == doubt, size) for doubt, size in sizes.items()}
    # of wide rows also where the code says something worse
    points[FEW_EIGENVALUES] = (widest > WIDE) & ~np.isin(code, (UNSOLVED, IMPRECISE)), widest
    for doubt, (marked, size) in points.items():
        if not marked.any():
            continue
        at = _worst(size, marked)
        numbers = {name: values[at] for name, values in doubts.items()}
        squares = numbers["squares"]
        less = f"to first order by {squares:.0%} of it" if squares < _FEW else "by a large part of it"
        said = {"points": f"{marked.sum()} of {marked.size}", "where": _where(found, at), "less": less}
        warn(_SENTENCES[doubt].format(error=error[at], **said, **numbers), LimitWarning)


def check_converged(found: NamedArrays, throw: bool) -> None:
    """Raise or warn if a point has failed, with what is known of the first that has."""
    failed = ~found["converged"].values
    if not failed.any():
        return
    first = tuple(map(int, np.argwhere(failed)[0]))
    status, residual, error = (found[name].values[first] for name in ("status", "residual", "quadrature_error"))
    message = (
        f"{failed.sum()} of {failed.size} points failed; the first at {_where(found, first)}:"
        f" {status} (residual {residual:.1e}, quadrature error {error:.1e})"
    )
    if throw:
        raise ConvergenceError(message + "; the partial result is in this exception's .partial", found.dataset())
    warn(message)


def _worst(size: np.ndarray, marked: np.ndarray) -> tuple[int, ...]:
    """Where `size` is largest among marked points."""
    flat = np.where(marked, np.nan_to_num(size, nan=np.inf), -np.inf).argmax()
    return tuple(map(int, np.unravel_index(flat, size.shape)))


def _where(found: NamedArrays, at: tuple[int, ...]) -> str:
    """The parameters of a point, in words."""
    point = dict(zip(found["converged"].dims, at, strict=True))
    own = {name: one.at(point) for name, one in found.coords.items() if point.keys() >= set(one.dims)}
    return ", ".join(f"{name} = {_said(one.values)}" for name, one in own.items())


def _said(value: np.ndarray) -> str:
    """A coordinate in words: a number, or a label of a dimension."""
    return f"{float(value):.6g}" if value.dtype.kind in "fiu" else str(value)
