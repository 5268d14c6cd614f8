"""Warnings of a prediction: where real networks give other numbers, and which points have failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError, LimitWarning, warn
from .status import IMPRECISE, LIMIT_ALONE, RARELY_SEEN, REAL_SIZE, SCATTERED, SQUARED, UNSOLVED, WIDE

if TYPE_CHECKING:
    from ..answers.arrays import NamedArrays

_FEW = 0.3  # share up to which a first order is worth saying


def remark(found: NamedArrays, doubts: dict[str, np.ndarray]) -> None:
    """Warn where the limit is not what real networks give: once for each reason, with the worst point's numbers."""
    for message in _doubts(found, doubts):
        warn(message, LimitWarning)


def _doubts(found: NamedArrays, doubts: dict[str, np.ndarray]) -> Iterator[str]:
    error, code = found["test_error"].values, found["code"].values
    if (marked := code == LIMIT_ALONE).any():
        sized = doubts["sized_error"]
        with np.errstate(divide="ignore", invalid="ignore"):
            at = _worst(np.abs(np.log(error / sized)), marked)
        yield (
            f"the limit d = inf is out of reach of real sizes at {marked.sum()} of {marked.size} points: where"
            f" {_where(found, at)}, the test error is {error[at]:.4g} in the limit and {sized[at]:.4g} at"
            f" d = {REAL_SIZE:g}; simulate, or predict with d=, shows what networks of a size do"
        )
    if (marked := code == RARELY_SEEN).any():
        at = _worst(doubts["rare"], marked)
        share = doubts["rare"][at]
        yield (
            f"inputs that a million samples may not hold decide {marked.sum()} of {marked.size} points: where"
            f" {_where(found, at)}, {share:.0%} of the average that is the test error {error[at]:.4g} comes from"
            " them, and real data sets give other answers; use a larger lam"
        )
    if (marked := code == SCATTERED).any():
        at = _worst(doubts["scatter"], marked)
        yield (
            f"labels have tails too heavy for the steps' batches at {marked.sum()} of {marked.size} points: where"
            f" {_where(found, at)}, their mean square varies by {doubts['scatter'][at]:.0%} between batches, and"
            f" networks of this size may be several per cent from the test error {error[at]:.4g} on average; give a"
            " larger d or alpha0"
        )
    if (marked := code == SQUARED).any():
        at = _worst(doubts["squares"], marked)
        share = doubts["squares"][at]
        less = f"to first order by {share:.0%} of it" if share < _FEW else "by a large part of it"
        yield (
            f"neurons' own squares learn of the target's quadratic part at {marked.sum()} of {marked.size} points,"
            f" which the theory leaves out: where {_where(found, at)}, networks of that size (of d = {REAL_SIZE:g}"
            f" where it is infinite) have a test error below {error[at]:.4g}, {less}; simulate, or consider a larger d"
        )
    spread, share = doubts["spread"], doubts["share"]
    widest = np.maximum(spread, share)
    if (marked := (widest > WIDE) & ~np.isin(code, (UNSOLVED, IMPRECISE))).any():
        at = _worst(widest, marked)
        yield (
            f"a few eigenvalues of the inputs hold much of the rows at {marked.sum()} of {marked.size} points: where"
            f" {_where(found, at)}, squared row norms have a relative variance (spread) of {spread[at]:.2g}, and rows a"
            f" mean squared cosine (share) of {share[at]:.2g}; networks of this size are off by up to 9 % around 0.05"
            " and 16 % around 0.3; give a smaller eta or a larger d, or simulate"
        )


def check_converged(found: NamedArrays, throw: bool) -> None:
    """Raise or warn if a point has failed, with what is known of the first that has."""
    failed = ~found["converged"].values
    if not failed.any():
        return
    first = tuple(map(int, np.argwhere(failed)[0]))
    status, residual, error = (
        found[name].values[first] for name in ("status", "residual", "quadrature_error")
    )
    message = (
        f"{failed.sum()} of {failed.size} points failed; the first at {_where(found, first)}:"
        f" {status} (residual {residual:.1e}, quadrature error {error:.1e})"
    )
    if throw:
        raise ConvergenceError(
            message + "; the partial result is in this exception's .partial", found.dataset()
        )
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
