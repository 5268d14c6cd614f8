"""How far a bulk reaches that goes on in a tail too thin for any real network to have eigenvalues in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

BEYOND = 1e-4
"""Share of the bulk that counts as a tail: less than one eigenvalue in ten thousand."""
_NEAR = 0.9  # of the edge: what ends there has no tail to speak of


def end_of_most(spectrum: xr.Dataset) -> float:
    """The eigenvalue beyond which no more than `BEYOND` of the bulk lies, at one setting; the upper edge, where the
    bulk goes on for less than a tenth beyond it.

    Rare samples of a step, or inputs far along the spike, make tails: the upper edge is where these end, which may be
    at twice the largest eigenvalue of networks that anybody trains.
    """
    x, share = (
        np.ravel(values) for values in (spectrum["eigenvalue"], spectrum["weight"] * spectrum["density"])
    )
    known = np.isfinite(x)
    x, share = x[known], share[known]
    order = np.argsort(-x)
    above = np.cumsum(share[order])
    edge = float(np.nanmax(spectrum["edge"].values, initial=0.0))
    if not above.size:
        return edge
    end = float(x[order][np.searchsorted(above, BEYOND * above[-1])])
    return end if end < _NEAR * edge else edge
