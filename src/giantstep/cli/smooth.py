"""The theory's line behind simulated points: exact at its nodes, which are dense where it bends."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import LimitWarning
from .options import FEATURES_ONLY, NETWORK_ONLY

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

_FIRST, _FINEST = (
    16,
    512,
)  # intervals to begin with, and how many of the finest make the whole: about a pixel each
_VISIBLE = 0.004  # of the picture's height: half of a line's width, which it may be off between its nodes
_SAFETY = 4.0  # nodes around an interval may show a quarter of what bends within it
_ALONG = {
    *NETWORK_ONLY,
    *FEATURES_ONLY,
    "noise",
    "exponent",
    "beta",
    "alpha",
    "lam",
}  # what theory can be asked along


def smooth(theory: Callable[..., xr.Dataset], found: xr.Dataset, name: str, x: str | None) -> xr.Dataset:
    """The theory along the plot's x, so that points lie on a curve rather than on a polygon.

    What a prediction or a comparison has `found` at the points is taken from there, and is all there is where x is no
    continuous parameter. Intervals are halved where the chord is visibly off the curve: by h²/8 times its second
    derivative, as nodes show it.
    """
    import numpy as np
    import xarray as xr

    from ..answers.dims import COUNTED
    from ..plotting.drawing import abscissa
    from ..plotting.style import log_spaced, spans_decades

    x = abscissa(found, [name], x)
    known = found[name].sel(part="theory", drop=True) if "part" in found.dims else found[name]
    known = known.sortby(x)
    given = known[x].values
    if x not in _ALONG or x in COUNTED or len(given) < 2 or known.isnull().any():
        return known.to_dataset(name=name)  # points that failed would be halved in vain
    decades = log_spaced(given)
    low, high = float(given[0]), float(given[-1])
    first = (np.geomspace if decades else np.linspace)(low, high, _FIRST + 1)
    new, finest = np.setdiff1d(first, given), np.ptp(_scaled(given, decades)) / _FINEST
    while new.size:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)  # the points have said it
            more = theory(**{x: new})[name].drop_vars(set(known.coords) - set(known.dims), errors="ignore")
        known = xr.concat([known, more], x, coords="minimal", compat="override").sortby(x)
        if more.isnull().any():
            break
        at = _scaled(known[x].values, decades)
        values = known.transpose(x, ...).values.reshape(len(at), -1)
        off = _off_the_chord(at, _scaled(values, decades and spans_decades(values)))
        split = (_SAFETY * off > _VISIBLE) & (np.diff(at) > 1.01 * finest)
        middle = 0.5 * (at[1:] + at[:-1])[split]
        new = np.exp(middle) if decades else middle
    return known.to_dataset(name=name)


def _scaled(values: np.ndarray, decades: bool) -> np.ndarray:
    """Values as the picture's axis shows them."""
    import numpy as np

    return np.log(values) if decades else values


def _off_the_chord(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far, over the height of the picture, curves [n, curves] leave the chord of each interval; [n - 1]."""
    import numpy as np

    step = np.diff(x)
    with np.errstate(invalid="ignore"):
        slopes = np.diff(values, axis=0) / step[:, None]
        bend = np.abs(np.diff(slopes, axis=0) / (0.5 * (step[1:] + step[:-1]))[:, None])
        height = np.ptp(values[np.isfinite(values)]) if np.isfinite(values).any() else 0.0
    bend = np.nan_to_num(bend, nan=np.inf).max(axis=1)  # beside a gap, all is unknown
    larger = np.maximum(np.append(bend, 0.0), np.append(0.0, bend))
    return step**2 / 8.0 * larger / (height or 1.0)
