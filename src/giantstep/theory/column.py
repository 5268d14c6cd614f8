"""Moments of a function of one variable along κ: what features and labels of one direction are tabulated from."""

from __future__ import annotations

import numpy as np

from ..functions import Function
from ..gaussian import LOST, UNRESOLVED, Moments, nested, resolution, round_up, sample

INNER_TOLERANCE = 1e-11  # of the estimate, which is that of a rule with half the points or worse

_IN_CACHE = 1 << 16  # function values that pass after pass finds in the processor's cache


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
        symmetric: bool,
    ):
        self._parity = f.parity if symmetric and not shift.any() else None
        if self._parity:
            kappa = kappa[..., kappa.shape[-1] // 2 :]
        argument = slope[:, :, None, None] * kappa[:, None] + shift[:, None, None]
        span, widest = round_up(float(np.abs(argument).max())), round_up(float(scale.max()))
        n, error = resolution(f, widest, reach, span, INNER_TOLERANCE)
        if error > LOST:
            self.error = error
        scale, self._resolved = scale[:, :, None, None], None
        if n >= UNRESOLVED or error > LOST:
            self._samples = sample(f, argument, scale, n, reach)
            return
        each = n * (len(f.breakpoints) + 3 if f.breakpoints else 1)  # the line is cut in so many pieces

        def averages(a: np.ndarray, s: np.ndarray) -> Moments:
            parts = [sample(f, part, s, n, reach).moments() for part in _split(a, each, -1)]
            return Moments(*(np.concatenate(found, axis=-1) for found in zip(*parts, strict=True)))

        layers = _split(argument, each, 0)
        parts = [averages(a, s) for a, s in zip(layers, np.array_split(scale, len(layers)), strict=True)]
        self._resolved = Moments(*map(np.concatenate, zip(*parts, strict=True)))

    def moments(self, stride: int) -> Moments:
        """The moments [U, K, N] on the rule with every `stride`-th node."""
        take = slice(None, None, stride) if self._parity else nested(stride)
        if self._resolved is None:
            found = self._samples.moments(stride, (slice(None), slice(None), slice(None), take))
        else:
            found = Moments(*(m[..., take] for m in self._resolved))
        if self._parity:
            sign = 1.0 if self._parity == "even" else -1.0
            found = Moments(
                *(
                    np.concatenate([flip * half[..., :0:-1], half], axis=-1)
                    for half, flip in zip(found, (sign, -sign, sign, 1.0, 1.0), strict=True)
                )
            )
        return Moments(*(m.reshape(*m.shape[:2], -1) for m in found))


def _split(argument: np.ndarray, each: int, axis: int) -> list[np.ndarray]:
    """Parts along an axis, at which so many function values each are in cache, as far as that axis goes."""
    count = min(argument.shape[axis], -(-argument.size * each // _IN_CACHE))
    return np.array_split(argument, count, axis=axis)
