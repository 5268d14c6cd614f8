"""What most figures need: a curve by theory, the same at d = ∞, and simulations at a few of its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from .cached_call import CachedCall
from .registry import Size

if TYPE_CHECKING:
    import xarray as xr

    from .registry import Data

Problem = Callable[[np.ndarray], tuple[Any, Mapping[str, Any]]]
"""From values along the horizontal axis to a model and the rest of the call (alpha, lam)."""


def curve_parts(
    panel: str,
    problem: Problem,
    target: str,
    at: Sequence[float],
    fine: np.ndarray,
    size: Size,
    seed: int,
    bulks: Sequence[str],
    **simulation: Any,
) -> dict[str, CachedCall]:
    """Theory of each bulk with the finite-size correction, the limit of the first, and simulations `at` points."""
    points = np.asarray(at, dtype=float)
    model, ratios = problem(np.union1d(fine, points))
    found = {
        f"{panel}-{bulk}": CachedCall("predict", model, (target,), {**ratios, "bulk": bulk, "d": size.d})
        for bulk in bulks
    }
    model, ratios = problem(fine)
    found[f"{panel}-limit"] = CachedCall("predict", model, (target,), {**ratios, "bulk": bulks[0]})
    model, ratios = problem(points)
    run = {"d": size.d, "trials": size.trials, "seed": seed, "n_test": size.n_test}
    found[f"{panel}-simulation"] = CachedCall("simulate", model, (target,), {**ratios, **run, **simulation})
    return found


def curve_comparisons(data: Data, panels: Mapping[str, str], bulks: Sequence[str]) -> dict[str, xr.Dataset]:
    """The test errors of each panel against each bulk's theory; `panels` gives their names in words."""
    return {
        f"{words}, {bulk}": compare(data[f"{panel}-{bulk}"], data[f"{panel}-simulation"])[["test_error"]]
        for panel, words in panels.items()
        for bulk in bulks
    }
